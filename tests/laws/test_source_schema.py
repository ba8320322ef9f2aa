"""Through a schema every source of one table gives the same rows, and a record more is one more.

On Dask's workers, Spark and COMPSs: tests/engines/test_sources_schema.py.
"""

import warnings
from contextlib import nullcontext

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest

from sfumato.engines._open import rows_of
from sfumato.engines._parts import divided
from sfumato.engines.formats._records import _checked
from tests.laws import mixed
from tests.laws.mixed import KEPT, NEW, RECORDS, SCHEMA, points_seen
from tests.unit.cuts import tiny

REFERENCE = points_seen(rows_of(mixed.as_objects(RECORDS), schema=SCHEMA))
IDS = [record[-1] for record in RECORDS]
GROUPED = points_seen(rows_of(mixed.as_objects(RECORDS), groups=IDS, schema=SCHEMA))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return mixed.write_files(tmp_path_factory.mktemp("mixed") / "rows", RECORDS)


FILES = ("rows.csv", "rows.tsv", "rows.csv.gz", "parts", "typed.parquet", "text.parquet")


WAYS = {"memory": nullcontext, "pieces": tiny}


def test_the_table_is_what_it_is_meant_to_be():
    assert REFERENCE.total() == len(REFERENCE) == KEPT
    # Of 7, 8, 10, 12 and nobody: who is not said to be ill or not is dropped.
    assert GROUPED.total() == 5


@pytest.mark.parametrize("name", mixed.arrays(RECORDS))
def test_arrays_are_read_by_position(name):
    table = mixed.arrays(RECORDS)[name]
    assert points_seen(rows_of(table, schema=SCHEMA)) == REFERENCE
    assert points_seen(rows_of(table, groups=IDS, schema=SCHEMA)) == GROUPED


@pytest.mark.parametrize("name", mixed.frames(RECORDS))
def test_frames_are_read_by_name(name):
    table = mixed.frames(RECORDS)[name]
    assert points_seen(rows_of(table, schema=SCHEMA)) == REFERENCE
    assert points_seen(rows_of(table, groups="id", schema=SCHEMA)) == GROUPED
    parts = divided(table, "id", ["7", ""], schema=SCHEMA)
    assert [points_seen(part).total() for part in parts] == [2, 2]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FILES)
def test_files_are_read_by_name(files, name, way):
    _checked.cache_clear()
    with WAYS[way]():
        assert points_seen(rows_of(files[name], schema=SCHEMA)) == REFERENCE
        assert points_seen(rows_of(files[name], groups="id", schema=SCHEMA)) == GROUPED
        parts = divided(files[name], "id", ["7", ""], schema=SCHEMA)
        assert [points_seen(part).total() for part in parts] == [2, 2]


@pytest.mark.parametrize("way", WAYS)
def test_files_without_names_are_read_by_position(files, tmp_path, way):
    np.save(tmp_path / "rows.npy", mixed.arrays(RECORDS)["text"].astype("U"))
    with WAYS[way]():
        assert points_seen(rows_of(files["bare.csv"], schema=SCHEMA)) == REFERENCE
        assert points_seen(rows_of(tmp_path / "rows.npy", schema=SCHEMA)) == REFERENCE


@pytest.mark.parametrize("name", ["pandas", "pandas, text", "pandas, zones"])
def test_frames_of_dask_without_a_client(name):
    table = dask.dataframe.from_pandas(mixed.frames(RECORDS)[name], npartitions=3, sort=False)
    assert points_seen(rows_of(table, schema=SCHEMA)) == REFERENCE
    assert points_seen(rows_of(table, groups="id", schema=SCHEMA)) == GROUPED
    parts = divided(table, "id", ["7", ""], schema=SCHEMA)
    assert [points_seen(part).total() for part in parts] == [2, 2]


@pytest.mark.parametrize("name", ["objects", "text"])
def test_arrays_of_dask_without_a_client(name):
    table = dask.array.from_array(mixed.arrays(RECORDS)[name], chunks=(4, 2))
    ids = np.array(IDS)
    assert points_seen(rows_of(table, schema=SCHEMA)) == REFERENCE
    assert points_seen(rows_of(table, groups=ids, schema=SCHEMA)) == GROUPED


def all_seen(folder, records):
    """What is seen of a table in every way in which it can be kept."""
    memory = {**mixed.arrays(records), **mixed.frames(records)}
    found = {name: points_seen(rows_of(table, schema=SCHEMA)) for name, table in memory.items()}
    for name, path in mixed.write_files(folder, records).items():
        found[name] = points_seen(rows_of(path, schema=SCHEMA))
        with tiny():
            _checked.cache_clear()
            assert points_seen(rows_of(path, schema=SCHEMA)) == found[name]
    return found


@pytest.mark.parametrize("place", [0, 4, len(RECORDS)])
@pytest.mark.parametrize("new", NEW, ids=range(len(NEW)))
def test_a_record_more_is_one_row_more(tmp_path, new, place):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = all_seen(tmp_path / "after", [*RECORDS[:place], new, *RECORDS[place:]])
        alone = points_seen(rows_of(mixed.as_pandas([new]), schema=SCHEMA))
    assert alone.total() == 1
    for name, rows in after.items():
        assert rows == REFERENCE + alone, name


def test_a_record_that_is_dropped_is_no_row(tmp_path):
    after = all_seen(tmp_path / "after", [*RECORDS, ("5", "south", "mild", "?", "", "1", "99")])
    assert all(rows == REFERENCE for rows in after.values())


def test_a_table_without_rows(tmp_path):
    assert all(not rows for rows in all_seen(tmp_path / "empty", []).values())


def test_rows_are_encoded_wherever_they_stand():
    """Blocks, spans and threads see other neighbours of a row."""
    many = pd.concat([mixed.as_pandas(RECORDS)] * 3000, ignore_index=True)
    found = points_seen(rows_of(many.sample(frac=1, random_state=1), schema=SCHEMA))
    assert found == type(found)({row: 3000 * count for row, count in REFERENCE.items()})
