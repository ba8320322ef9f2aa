"""Rows that count as several: what they look like to a curator, on every engine that is at hand."""

from fractions import Fraction

import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Curator, Number, Schema, Weight
from sfumato._accounting.budget import Caps
from sfumato._core.queries.cells import Grid
from sfumato._core.weighted import WeightedRows, repeated, weighted
from sfumato._lattice.box import ABSENT, REACH
from sfumato.engines._open import rows_of
from tests.no_noise import NoNoise

SCHEMA = Schema(a=Number(0, 1), b=Number(0, 1), w=Weight(0, 4))
RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(
    {"w": RNG.integers(-1, 7, 300), "b": RNG.uniform(size=300), "a": RNG.uniform(size=300)}
).assign(who=np.arange(300) % 60)
COPIES = FRAME.w.clip(0, 4)
REPEATED = FRAME.loc[FRAME.index.repeat(COPIES), ["a", "b"]]


def counts(curator, cells=16):
    share = curator.reserve("test", Caps(pure=Fraction(1))).rest("pure")
    return curator.counts(Grid(cells, 2), share=share).values


def opened(table, schema=SCHEMA, **settings):
    return Curator(table, schema=schema, epsilon=3.0, noise=NoNoise(), **settings)


def expected():
    return counts(opened(REPEATED, SCHEMA.unweighted))


def test_rows_are_repeated_and_lose_their_last_column():
    rows = np.array([[1, 2, 2], [3, 4, 0], [5, 6, REACH], [7, 8, ABSENT], [9, 9, -1]], np.int16)
    assert repeated(rows, 3).tolist() == [[1, 2]] * 2 + [[5, 6]] * 3
    assert repeated(rows[:0], 3).shape == (0, 2)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_table_counts_as_the_table_of_its_copies(monkeypatch, threads):
    monkeypatch.setenv("SFUMATO_THREADS", threads)
    np.testing.assert_array_equal(counts(opened(FRAME)), expected())
    array = FRAME[["a", "b", "w"]].to_numpy()
    np.testing.assert_array_equal(counts(opened(array)), expected())


def test_so_does_one_in_files_or_on_dask(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / "rows.parquet", row_group_size=70)
    tables = [
        tmp_path / "rows.csv",
        tmp_path / "rows.parquet",
        dask.dataframe.from_pandas(FRAME, npartitions=3),
    ]
    for table in tables:
        np.testing.assert_array_equal(counts(opened(table)), expected())


def test_what_rows_say_of_themselves():
    rows = weighted(rows_of(FRAME, groups="who", max_rows_per_group=2, schema=SCHEMA), SCHEMA)
    assert isinstance(rows, WeightedRows)
    assert (rows.n_features, rows.max_rows_per_group, rows.in_memory) == (2, 2, True)
    assert rows.keeping(5).max_rows_per_group == 5
    assert rows.keeping(5).most == 4
    # Rows of the table, not copies: 60 people of five.
    assert rows.group_sizes(6).tolist() == [0, 0, 0, 0, 60, 0]
    plain = rows_of(FRAME, schema=SCHEMA.unweighted)
    assert weighted(plain, SCHEMA.unweighted) is plain


def test_a_curator_knows_the_copies_of_a_neighbour():
    assert opened(FRAME).rows_per_neighbour == 4
    assert opened(FRAME).neighbours == "one row"
    assert opened(FRAME).source == "Rows in memory"
    people = opened(FRAME, groups="who", max_rows_per_group=3)
    assert (people.rows_per_neighbour, people.neighbours) == (12, "one group of at most 3 rows")
    assert opened(FRAME, SCHEMA.unweighted).rows_per_neighbour == 1
    part = opened(FRAME).by("who", values=[3])[3]
    assert part.rows_per_neighbour == part.over(["b"]).rows_per_neighbour == 4
    assert counts(part).sum() == COPIES[FRAME.who == 3].sum()


def test_few_rows_of_a_group_are_kept_before_they_are_repeated():
    alone = Schema(a=Number(0, 1), b=Number(0, 1), w=Weight(0, 4), groups="who")
    kept = counts(opened(FRAME.assign(w=4), alone, max_rows_per_group=2))
    assert kept.sum() == 60 * 2 * 4
    assert (kept % 4 == 0).all()
