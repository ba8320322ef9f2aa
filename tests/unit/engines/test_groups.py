"""At most m rows of each group, whatever its label."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._lattice.box import Box
from sfumato.engines._groups import codes_of, sizes_of
from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Blocks
from tests.unit.rows import BOX, NAN, VALUES, Totals, fold, rows_in, uniform

groups_and_most = (st.lists(st.integers(0, 5), min_size=60, max_size=60), st.integers(1, 4))


@settings(max_examples=25, deadline=None)
@given(*groups_and_most, st.permutations(range(60)), st.sampled_from(["ignore", "center", "drop"]))
@example([0, 1, 2, 3, 4, 5] * 10, 1, range(59, -1, -1), "center")
@example([0] * 50 + [1, 2] * 5, 4, [*range(30, 60), *range(30)], "drop")
@example([0, 1, 2] * 20, 2, range(59, -1, -1), "ignore")
def test_groups_keep_few_rows_which_depend_on_their_own_rows_alone(labels, most, order, nan):
    values = uniform(60, seed=6)
    values[::9, 0] = NAN
    labels, order = np.array(labels), list(order)
    box = Box(BOX.lower, BOX.upper, nan)
    options = {"box": box, "max_rows_per_group": most}
    kept = rows_in(values, groups=labels, **options)
    assert rows_in(values[order], groups=labels[order], **options) == kept
    alone = Counter()
    for group in set(labels.tolist()):
        own = values[labels == group]
        rows = rows_in(own, groups=[group] * len(own), **options)
        assert rows.total() == min(most, len(box.to_lattice(own)))
        assert rows <= Counter(map(tuple, box.to_lattice(own).tolist()))
        alone += rows
    assert kept == alone


def test_groups_of_block_sources():
    labels = np.arange(200) % 17
    source = Blocks(lambda: iter(np.split(VALUES, [50, 51])), 3, n_rows=200)
    assert rows_in(source, groups=labels) == rows_in(VALUES, groups=labels)


class Odd:
    """An object that can be neither compared nor hashed."""

    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None


LABELS = [3, 1, None, 3, None, 2**60, 2**60 + 1, 1]
PARTITION = [{0, 3}, {1, 7}, {2, 4}, {5}, {6}]


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS, dtype=object),
        pd.Series(LABELS, dtype="Int64"),
        pd.Series(LABELS, dtype="int64[pyarrow]"),
        pd.Series(pd.Categorical([str(x) if x else None for x in LABELS])),
        pl.Series(LABELS),
        pa.array(LABELS),
        pa.chunked_array([pa.array(LABELS[:3]), pa.array(LABELS[3:])]),
        np.ma.array([x or 0 for x in LABELS], mask=[x is None for x in LABELS]),
        ["c", "a", NAN, "c", pd.NA, "d", "e", "a"],
        ["c", "a", "", "c", " NULL ", "d", "e", b"a"],
        [(3,), "a", [1], (3,), Odd(), b"b", 1, "a"],
        np.array([3, 1, NAN, 3, np.inf, 4, 5, 1]),
        np.array([3, 1, NAN, 3, NAN, 4, 5, 1], dtype=np.float16),
        np.array([b"3", b"1", b"", b"03", b"NA", b"4", b"5", b"1.0"]),
        np.array(["3", "1", "nan", "3", "nan", "4", "5", "1"]),
        np.array([3, 1, "NaT", 3, "NaT", 4, 5, 1], dtype="m8[s]"),
        pd.to_datetime(pd.Series([3, 1, None, 3, None, 4, 5, 1])),
        np.array([3, 1, 0, 3, 0, 4, 5, 1], dtype=np.uint8),
    ],
    ids=lambda labels: f"{type(labels).__module__}-{getattr(labels, 'dtype', 'objects')}",
)
def test_labels_of_every_kind(labels):
    codes = codes_of(labels).tolist()
    found = [{i for i, c in enumerate(codes) if c == code} for code in dict.fromkeys(codes)]
    assert found == PARTITION
    assert fold(VALUES[:8], groups=labels, max_rows_per_group=1)[:, 0].sum() == len(PARTITION)


@given(st.lists(st.lists(st.integers(0, 9), max_size=20), max_size=5), st.integers(1, 12))
@example([[0, 0, 1], [], [2, 0], [7]], 3)
@example([[], []], 4)
@example([[5] * 9, [5] * 9], 12)
def test_sizes_are_added_up_over_partitions_before_they_are_counted(parts, most):
    rows = Counter(code for part in parts for code in part)
    wanted = Counter(min(size, most) for size in rows.values())
    found = sizes_of([np.array(part, dtype=np.uint8) for part in parts], most)
    assert found.tolist() == [wanted[size] for size in range(1, most + 1)]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_other_numbers_of_rows_are_kept_of_the_same_rows(most):
    labels = np.arange(200) % 17
    rows = ArrayRows(VALUES, groups=labels, max_rows_per_group=3)
    before = rows.fold(BOX, Totals())
    other = rows.keeping(most)
    assert other.max_rows_per_group == most
    wanted = fold(VALUES, groups=labels, max_rows_per_group=most)
    np.testing.assert_array_equal(other.fold(BOX, Totals()), wanted)
    assert rows.max_rows_per_group == 3
    np.testing.assert_array_equal(rows.fold(BOX, Totals()), before)
