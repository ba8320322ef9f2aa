"""Through a schema every engine gives the rows that memory gives, and a record more is one more.

The same law as tests/laws/test_source_schema.py, on clusters.
"""

import pickle

import numpy as np
import pytest

from sfumato._schema.levels import Category
from sfumato._schema.schema import Schema
from sfumato.engines._files import layout_of
from sfumato.engines._open import rows_of
from sfumato.engines._parts import divided
from sfumato.engines.formats._records import _checked
from tests.laws import mixed
from tests.laws.mixed import NEW, RECORDS, SCHEMA, points_seen
from tests.unit.cuts import tiny

REFERENCE = points_seen(rows_of(mixed.as_objects(RECORDS), schema=SCHEMA))
IDS = [record[-1] for record in RECORDS]
GROUPED = points_seen(rows_of(mixed.as_objects(RECORDS), groups=IDS, schema=SCHEMA))
PLACES = [0, 4, len(RECORDS)]


def grown(number):
    """The table with a new record, and what is to be seen of it."""
    new, place = NEW[number], PLACES[number % len(PLACES)]
    alone = points_seen(rows_of(mixed.as_objects([new]), schema=SCHEMA))
    return [*RECORDS[:place], new, *RECORDS[place:]], REFERENCE + alone


def check_files(opener, folder, number, names):
    """Check files on an engine, and that a record more is one row more."""
    records, after = grown(number)
    before, more = (mixed.write_files(folder / f"{i}", r) for i, r in enumerate((RECORDS, records)))
    for name in names:
        with tiny(), opener(before[name], schema=SCHEMA) as rows:
            assert points_seen(rows) == REFERENCE
        with tiny(), opener(more[name], schema=SCHEMA) as rows:
            assert points_seen(rows) == after
    with tiny(), opener(before[names[0]], groups="id", schema=SCHEMA) as rows:
        assert points_seen(rows) == GROUPED


def check_frame(made):
    """Check a data frame of an engine, made of one of pandas."""
    table = made(mixed.as_pandas(RECORDS))
    assert points_seen(rows_of(table, schema=SCHEMA)) == REFERENCE
    assert points_seen(rows_of(table, groups="id", schema=SCHEMA)) == GROUPED
    parts = divided(table, "id", ["7", ""], schema=SCHEMA)
    assert [points_seen(part).total() for part in parts] == [2, 2]
    records, after = grown(0)
    assert points_seen(rows_of(made(mixed.as_pandas(records)), schema=SCHEMA)) == after


def test_what_travels_to_workers_is_small(tmp_path):
    """No row, and no table of a scale or of a circle."""
    from sfumato.engines._partitions import pieces_of

    points_seen(rows_of(mixed.as_objects(RECORDS), schema=SCHEMA))
    files = mixed.write_files(tmp_path / "rows", RECORDS * 5)
    assert len(pickle.dumps(SCHEMA)) < 4096
    _checked.cache_clear()
    with tiny():
        pieces = pieces_of(layout_of(files["rows.csv"], groups="id", schema=SCHEMA))
    assert len(pieces) > 1
    assert all(len(pickle.dumps(piece)) < 4096 for piece in pieces)
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("number", range(len(NEW)))
def test_compss(compss_files, tmp_path, number):
    check_files(compss_files, tmp_path, number, ["rows.csv", "typed.parquet", "parts"])


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("number", [1, 2])
def test_files_on_dask(dask_client, tmp_path, monkeypatch, number):
    from contextlib import contextmanager

    from sfumato.engines._dask import files_on

    monkeypatch.setattr("sfumato.engines._partitions._LEAST_CELLS", 4)

    @contextmanager
    def opener(file, groups=None, schema=None):
        yield files_on(dask_client, layout_of(file, groups=groups, schema=schema))

    check_files(opener, tmp_path, number, ["rows.csv", "typed.parquet"])


@pytest.mark.xdist_group("dask")
def test_frames_of_dask(dask_client):
    import dask.dataframe

    with dask_client.as_current():
        check_frame(lambda frame: dask.dataframe.from_pandas(frame, npartitions=3, sort=False))


@pytest.mark.xdist_group("dask")
def test_arrays_of_dask(dask_client):
    import dask.array

    with dask_client.as_current():
        table = dask.array.from_array(mixed.as_objects(RECORDS), chunks=(4, 2))
        ids = np.array(IDS)
        assert points_seen(rows_of(table, schema=SCHEMA)) == REFERENCE
        assert points_seen(rows_of(table, groups=ids, schema=SCHEMA)) == GROUPED


@pytest.mark.xdist_group("dask")
def test_dask_reads_no_other_column(dask_client, tmp_path):
    """A column that the schema does not name may be anything."""
    import dask.dataframe

    frame = mixed.as_pandas(RECORDS)
    frame["note"] = [{"a": i} for i in range(len(frame))]
    table = dask.dataframe.from_pandas(frame, npartitions=2, sort=False)
    with dask_client.as_current():
        assert points_seen(rows_of(table, schema=SCHEMA)) == REFERENCE


@pytest.mark.xdist_group("spark")
def test_files_on_spark(spark, tmp_path, monkeypatch):
    from sfumato.engines._spark import open_spark_files

    monkeypatch.setattr("sfumato.engines._partitions._LEAST_CELLS", 4)
    check_files(open_spark_files, tmp_path, 2, ["rows.csv"])


SPARK = (
    "note string, day timestamp_ntz, id string, ward string, income double, hour double, "
    "ill boolean, grade string"
)


@pytest.mark.xdist_group("spark")
def test_frames_of_spark(spark):
    def made(frame):
        columns = [frame[name].astype(object).tolist() for name in mixed.NAMES]
        rows = [
            [None if cell is None or cell != cell else cell for cell in map(plain, row)]
            for row in zip(*columns, strict=True)
        ]
        return spark.createDataFrame(rows, SPARK).repartition(3)

    check_frame(made)


def plain(cell):
    """A cell as Spark takes it; pandas marks missing cells in three ways."""
    import pandas

    if cell is pandas.NA or cell is pandas.NaT:
        return None
    return cell.to_pydatetime() if hasattr(cell, "to_pydatetime") else cell


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    ("column", "error", "said"),
    [
        ({"day": mixed.Number(0, 1)}, TypeError, "'day' is declared Number.*declare Date"),
        ({"ill": Category("yes", "no")}, TypeError, r"'ill' is declared Category.*Flag\(\)"),
        ({"tags": Category("a", "b")}, TypeError, "'tags'.*leave it out of the schema"),
        ({"other": Category("a", "b")}, ValueError, "there is no column 'other'; the columns are"),
    ],
)
def test_spark_refuses_by_declared_types(spark, column, error, said):
    frame = spark.createDataFrame([], f"{SPARK}, tags array<string>")
    with pytest.raises(error, match=said):
        rows_of(frame, schema=Schema(column))
