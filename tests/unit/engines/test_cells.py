"""Tables in memory and files through a schema: what is refused, before any charge, and how."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato._base.validation import NoFeature
from sfumato._schema.kinds import Date, Number
from sfumato._schema.levels import Category
from sfumato._schema.schema import Schema
from sfumato.engines._cells import points_in
from sfumato.engines._elsewhere import names_of
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines._open import elsewhere, rows_of
from sfumato.engines._parts import divided

DAYS = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)]
FRAME = pd.DataFrame({"age": [1, 2], "note": ["a", "b"], "day": DAYS, "ok": [True, False]})
AGE = Schema(age=Number(0, 10))


@pytest.fixture
def tables(tmp_path):
    table = pa.Table.from_pandas(FRAME)
    pq.write_table(table, tmp_path / "a.parquet")
    return {
        "pandas": FRAME,
        "polars": pl.from_pandas(FRAME),
        "pyarrow": table,
        "batch": table.to_batches()[0],
        "parquet": tmp_path / "a.parquet",
    }


KINDS = ("pandas", "polars", "pyarrow", "batch", "parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_are_not_there(tables, kind):
    with pytest.raises(ValueError, match="there is no column 'x'; the columns are age, note, day"):
        rows_of(tables[kind], schema=Schema(age=Number(0, 10), x=Number(0, 1)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"day": Number(0, 1)}, r"'day' is declared Number but holds dates.*declare Date"),
        (
            {"age": Date("2020-01-01", "2021-01-01")},
            r"'age' is declared Date.*Number\(lower, upper\)",
        ),
        ({"ok": Category("True", "False")}, r"'ok' is declared Category.*declare Flag\(\)"),
    ],
)
def test_types_that_cannot_be_meant(tables, kind, column, said):
    with pytest.raises(TypeError, match=said):
        rows_of(tables[kind], schema=Schema(column))


@pytest.mark.parametrize("kind", KINDS)
def test_text_will_do_for_every_kind(tables, kind):
    """Cells that are none of what is declared are missing."""
    schema = Schema(note=Number(0, 1), age=Number(0, 10))
    (block,) = rows_of(tables[kind], schema=schema).split(schema.box, 1, 1)
    assert len(block) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_schema_the_column_and_a_remedy_are_named(tables, kind):
    said = r"column 'note' is text .*: leave it out \(bounds=.*or declare Category\(…\) in a schema"
    with pytest.raises(NoFeature, match=said):
        rows_of(tables[kind])


def test_lists_are_no_cells(tmp_path):
    table = pa.table({"age": [1.0], "tags": [["a"]]})
    pq.write_table(table, tmp_path / "a.parquet")
    schema = Schema(age=Number(0, 1), tags=Category("a", "b"))
    for source in (table, pl.from_arrow(table), tmp_path / "a.parquet"):
        with pytest.raises(TypeError, match=r"'tags'.*leave it out of the schema"):
            rows_of(source, schema=schema)
        assert rows_of(source, schema=Schema(age=Number(0, 1))).n_features == 1


def test_columns_that_are_not_named_are_left_alone(tables):
    for kind in KINDS:
        assert rows_of(tables[kind], schema=AGE).n_features == 1
    frame = FRAME.assign(junk=[object(), {}], z=[1j, 2j])
    assert rows_of(frame, schema=AGE).n_features == 1


def test_labels_are_no_feature(tables):
    schema = Schema(age=Number(0, 1), note=Category("a", "b"))
    for kind in KINDS:
        with pytest.raises(ValueError, match="'note' holds labels of rows"):
            rows_of(tables[kind], groups="note", schema=schema)
        with pytest.raises(ValueError, match="'note' holds labels of rows"):
            divided(tables[kind], "note", ["a"], schema=schema)


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (np.zeros((2, 3)), ValueError, "the schema has 2 columns that take part, the data has 3"),
        (np.zeros(2), ValueError, "rows and columns"),
        (np.zeros((2, 2), dtype=complex), TypeError, "leave it out"),
        (np.zeros((2, 2), dtype="M8[D]"), TypeError, "declare Date"),
        ([[1, "a"], [2]], ValueError, "unequal length"),
        (pd.Series([1, 2]), ValueError, "no columns"),
        (pl.Series([1, 2]), ValueError, "no columns"),
        (pl.LazyFrame({"a": [1]}), TypeError, "collect"),
        (pa.array([1]), TypeError, "pyarrow"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), ValueError, "2 columns are named 'a'"),
    ],
)
def test_tables_that_are_none(data, error, said):
    with pytest.raises(error, match=said):
        rows_of(data, schema=Schema(a=Number(0, 1), b=Number(0, 1)))


def test_rows_that_are_opened_already():
    rows = rows_of(FRAME, schema=AGE)
    assert rows_of(rows, schema=AGE) is rows
    with pytest.raises(ValueError, match=r"2 coordinates.*1 columns"):
        rows_of(rows, schema=Schema(a=Number(0, 1), b=Number(0, 1)))


def test_arrays_keep_the_types_of_their_cells():
    """Numbers beside text stay numbers, and masked cells are missing."""
    schema = Schema(a=Number(0, 2), b=Category("x", "True"))
    (block,) = rows_of([[True, "x"], [2.0, "x"]], schema=schema).split(schema.box, 1, 1)
    assert sorted(block[:, 0].tolist()) == [0, 2**15 - 1]
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [1, 0]])
    found = points_in(Schema(a=Category(1, 3), b=Category(2, 4)), masked)
    assert np.isnan(found).tolist() == [[False, False, True, True], [True, True, False, False]]
    times = np.ma.array(np.array([DAYS], dtype="M8[ns]").T, mask=[[0], [1]])
    found = points_in(Schema(a=Date("2020-01-01", "2020-01-02")), times)
    np.testing.assert_array_equal(found, [[-1], [np.nan]])


def test_partitions_are_read_whatever_their_types():
    """Types of a partition may be others than were declared; nothing is refused on a worker."""
    schema = Schema(a=Number(0, 1), b=Date("2020-01-01", "2020-01-02"))
    frame = pd.DataFrame({"a": DAYS, "b": [1.5, 2.5]})
    assert np.isnan(points_in(schema, frame)).all()


def test_a_schema_names_the_features(tmp_path):
    (tmp_path / "a.csv").write_text("note,age\nx,1\n")
    for source in (FRAME, np.zeros((2, 1)), tmp_path / "a.csv"):
        assert names_of(elsewhere(source), source, None, 1, AGE) == ("age",)


def test_text_tables_and_their_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("note,age\nx,1\n")
    with pytest.raises(ValueError, match=r"name the columns.*no 'x' in it"):
        rows_of(path, schema=Schema(x=Number(0, 1)))
    with pytest.raises(ValueError, match="there is no column 'x'; the columns are note, age"):
        rows_of(TableFile(path, header=True), schema=Schema(x=Number(0, 1)))
    # Columns that are listed are the features in their order, whatever they are called.
    layout = layout_of(TableFile(path, ("age",)), schema=Schema(years=Number(0, 2)))
    np.testing.assert_array_equal(next(layout.blocks()).values, [[0.0]])
    with pytest.raises(ValueError, match="the schema has 1 columns that take part"):
        rows_of(TableFile(path, ("age", "note")), schema=AGE)
    # Positions are names of columns that have none.
    path.write_text("7,1\n8,2\n")
    layout = layout_of(TableFile(path, header=False), schema=Schema({"1": Number(0, 2)}))
    np.testing.assert_array_equal(next(layout.blocks()).values, [[0.0], [1.0]])


def test_arrays_on_disk(tmp_path):
    schema = Schema(a=Category("x", "y"), b=Category("1", "2"))
    np.save(tmp_path / "text.npy", np.array([["x", "1"], ["z", "2"]]))
    (block,) = rows_of(tmp_path / "text.npy", schema=schema).split(schema.box, 1, 1)
    assert len(block) == 2
    np.save(tmp_path / "days.npy", np.array([["2020-01-01"], ["NaT"]], dtype="M8[ns]"))
    days = Schema(a=Date("2020-01-01", "2020-01-02"))
    (block,) = rows_of(tmp_path / "days.npy", schema=days).split(days.box, 1, 1)
    assert block.tolist() == [[-(2**15 - 1)]]
    with pytest.raises(TypeError, match="declare Date"):
        rows_of(tmp_path / "days.npy", schema=AGE)
    with pytest.raises(ValueError, match=r"must hold numbers.*schema"):
        rows_of(tmp_path / "text.npy")
    with pytest.raises(ValueError, match="the schema has 1 columns"):
        rows_of(tmp_path / "text.npy", schema=AGE)
