"""Columns, formats, groups and checks of files."""

import gzip
import math
import sys
from decimal import Decimal

import numpy as np
import pytest

from sfumato._lattice.box import ABSENT, Box
from sfumato.cli._inspect import Place, check_file
from sfumato.engines._files import TableFile, layout_of, open_file
from sfumato.engines.formats import _csv as delimited
from tests.unit.tables import read


@pytest.fixture
def table(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


def test_gzip_and_tsv(tmp_path):
    path = tmp_path / "data.tsv.gz"
    path.write_bytes(gzip.compress(b"a b\tc\n1\t2\n\t\n"))
    layout = layout_of(path, header=True)
    assert layout.names == ("a b", "c")
    np.testing.assert_array_equal(read(layout)[0], [[1, 2], [np.nan, np.nan]])


def test_columns_by_name_and_position_in_the_given_order(table):
    path = table("a,b,c,1\n1,2,3,4\n5,6,7,8\n")
    layout = layout_of(path, columns=["c", 0], header=True)
    assert layout.names == ("c", "a")
    np.testing.assert_array_equal(read(layout)[0], [[3, 1], [7, 5]])
    assert layout_of(path, columns=["1"], header=True).names == ("1",)
    assert layout_of(path, columns=[1, "2"], header=True).names == ("b", "c")
    assert layout_of(path, columns=4, header=True).names == ("a", "b", "c", "1")
    with pytest.raises(ValueError, match="has 4 columns, not 3"):
        layout_of(path, columns=3, header=True)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"columns": ["d"]}, "no column 'd'; the columns are a, b, c"),
        ({"columns": [3]}, "no column 3"),
        ({"columns": [-1]}, "no column -1"),
        ({"columns": ["a", "a"]}, "'a' is asked for twice"),
        ({"columns": ["a", 0]}, "'a' is asked for twice"),
        ({"columns": []}, "no column is left"),
        ({"groups": "d"}, "no column 'd'"),
        ({"groups": "a", "columns": ["a", "b"]}, "cannot be a feature as well"),
    ],
)
def test_wrong_columns_are_named(table, asked, message):
    with pytest.raises(ValueError, match=message):
        layout_of(table("a,b,c\n1,2,3\n"), header=True, **asked)


def test_columns_must_be_a_list_and_groups_a_column(table):
    path = table("a,b\n1,2\n")
    with pytest.raises(TypeError, match="list of names"):
        layout_of(path, columns="ab", header=True)
    with pytest.raises(TypeError, match="name or the position"):
        layout_of(path, groups=[1, 2], header=True)


def test_two_columns_of_one_name_are_told_apart_by_position(table):
    path = table("a,a,b\n1,2,3\n")
    with pytest.raises(ValueError, match=r"2 columns are named 'a': .* one of 0, 1"):
        layout_of(path, columns=["a"])
    np.testing.assert_array_equal(read(layout_of(path, columns=[1], header=True))[0], [[2]])


def test_long_listings_are_cut(table):
    path = table(",".join(f"c{i}" for i in range(100)) + "\n")
    with pytest.raises(ValueError, match="c29 and 70 more"):
        layout_of(path, columns=["x"], header=True)


@pytest.mark.parametrize("text", ["", "\n\n", "  \n", "\ufeff"])
def test_an_empty_file_has_no_columns(table, text):
    with pytest.raises(ValueError, match="is empty"):
        layout_of(table(text))


def test_files_that_are_not_there_or_not_known(table, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.csv"):
        open_file(tmp_path / "gone.csv")
    with pytest.raises(IsADirectoryError, match="directory"):
        open_file(tmp_path)
    with pytest.raises(ValueError, match=r"\.csv, .*\.parquet, got 'data.xlsx'"):
        open_file(table("a", "data.xlsx"))
    (tmp_path / "wide.csv").write_bytes("a,b\n1,2".encode("utf-16"))
    with pytest.raises(ValueError, match="UTF-16"):
        open_file(tmp_path / "wide.csv")


def test_a_header_without_rows_is_no_error(table):
    path = table("a,b\n")
    assert check_file(layout_of(path, header=True)).rows == 0
    assert open_file(path, header=True).n_features == 2


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "i4", "u1", "?", "longdouble"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, dtype, order):
    array = np.asarray(np.arange(12).reshape(4, 3) % 2, dtype=dtype, order=order)
    np.save(tmp_path / "data.npy", array)
    layout = layout_of(tmp_path / "data.npy", columns=[2, 0])
    assert (layout.names, layout.titles) == (("2", "0"), ("column 2", "column 0"))
    values = read(layout)[0]
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, array[:, [2, 0]].astype(float))
    with pytest.raises(ValueError, match="only positions: 0 to 2"):
        layout_of(tmp_path / "data.npy", columns=["a"])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(3.0),
        np.zeros((2, 0)),
        np.zeros((2, 2, 2)),
        np.zeros((2, 2), dtype=complex),
        np.array([["a", "b"]]),
        np.array([[{}, None]], dtype=object),
        np.zeros(2, dtype=[("a", float)]),
    ],
)
def test_npy_that_is_no_table_of_numbers(tmp_path, array):
    np.save(tmp_path / "data.npy", array, allow_pickle=True)
    with pytest.raises(ValueError, match=r"data\.npy (must hold|is not)"):
        open_file(tmp_path / "data.npy")


def test_npy_that_is_something_else(table):
    for text in ("", "hello"):
        with pytest.raises(ValueError, match="is not an array of numbers"):
            open_file(table(text, "data.npy"))


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {
        "name": ["x", "y", None],
        "a": pa.array([1, None, 3], pa.int64()),
        "b": [1.5, math.nan, math.inf],
        "flag": [True, None, False],
        "money": pa.array([1, 2, None], pa.decimal128(9, 2)),
        "big": pa.array([2**63 - 1, 0, 0], pa.int64()),
        "__index_level_0__": [5, 6, 7],
    }
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match=r"these do not: name \(string\)"):
        layout_of(path)
    layout = layout_of(path, groups="name")
    assert layout.names == ("a", "b", "flag", "money", "big")
    expected = np.array([[1, 1.5, 1, 1, 2.0**63], [np.nan] * 3 + [2, 0], [3, np.nan, 0, np.nan, 0]])
    np.testing.assert_array_equal(read(layout)[0], expected)
    backwards = layout_of(path, columns=["b", "a"])
    np.testing.assert_array_equal(read(backwards)[0], expected[:, [1, 0]])
    assert list(layout.table.cells(0)) == [["x", "y", None]]


def test_parquet_that_is_something_else(table):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        open_file(table("hello", "data.parquet"))


def test_parquet_without_pyarrow_names_the_extra(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[parquet\]" in a clone'):
        open_file(table("hello", "data.parquet"))


class Total:
    """A kernel that adds up (1, row)."""

    def empty(self):
        return np.zeros(3, dtype=np.int64)

    def add(self, rows, state):
        state[0] += len(rows)
        state[1:] += rows.sum(axis=0, dtype=np.int64)


BOX = Box((-32767.0, -32767.0), (32767.0, 32767.0))


def test_rows_fold_exactly_and_again(table):
    rows = open_file(table("a,b\n1,2\nx,4\n5\n"), header=True)
    # This kernel takes what is absent for a number, as none of the curator's does.
    centred = Box(BOX.lower, BOX.upper, "center")
    for _ in range(2):
        assert rows.fold(centred, Total()).tolist() == [3, 6, 6]
        assert rows.fold(BOX, Total()).tolist() == [3, 6 + ABSENT, 6 + ABSENT]


def test_groups_keep_few_rows_of_each_and_are_no_feature(table):
    path = table('who,a,b\nann,1,2\n"bob",3,4\n ann ,1,2\nann,1,2\n,5,6\n')
    for most, total in ((1, [3, 9, 12]), (2, [4, 10, 14])):
        rows = open_file(path, groups="who", max_rows_per_group=most)
        assert rows.n_features == 2
        assert rows.fold(BOX, Total()).tolist() == total


def test_a_table_file_goes_wherever_a_path_goes(table):
    path = table("1,2,x\n3,4,y\n")
    rows = open_file(TableFile(path, columns=(1, 0), header=False))
    assert rows.fold(BOX, Total()).tolist() == [2, 6, 4]
    rows = open_file(TableFile(path, columns=(1, 0), header=False), groups=2)
    assert rows.fold(BOX, Total()).tolist() == [2, 6, 4]
    rows = open_file(TableFile(path, columns=3, header=False), groups=2)
    assert rows.fold(BOX, Total()).tolist() == [2, 4, 6]


def test_a_file_that_changes_after_opening_is_refused(table):
    path = table("a,b\n1,2\n")
    rows = open_file(path, header=True)
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(RuntimeError, match="has changed since it was opened"):
        rows.fold(BOX, Total())


def test_checking_names_places_and_no_values(table):
    path = table("a,b\n1,2\n\nsecret,3\n4\n5,6,7\n,NA\ninf,99\n")
    report = check_file(layout_of(path, header=True), box=Box((0.0, 0.0), (10.0, 10.0)))
    assert (report.rows, report.ragged, report.text, report.clean) == (6, 2, 1, False)
    assert report.places == (Place(4, "a"), Place(5, None), Place(6, None))
    a, b = report.columns
    assert (a.numbers, a.missing, a.text, a.outside) == (3, 2, 1, 0)
    assert (b.numbers, b.missing, b.text, b.outside) == (4, 2, 0, 1)
    assert "secret" not in str(report)


def test_checking_keeps_few_places_of_many(table):
    path = table("a,b,c\n" + "x,1,y\n" * 50)
    report = check_file(layout_of(path, header=True))
    assert report.columns[0].outside is None
    assert [str(place) for place in report.places] == [
        f"line {line}, column {name!r}" for line in (2, 3, 4) for name in "ac"
    ]


def test_checking_says_how_far_it_got(table, monkeypatch):
    monkeypatch.setattr(delimited, "_CHARACTERS", 8)
    heard = []
    check_file(layout_of(table("a,b\n" + "1,2\n" * 9), header=True), on_rows=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 9


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"sep": 5}, ValueError),
        ({"header": Decimal("sNaN")}, ValueError),
        ({"header": 2}, ValueError),
        ({"names": 5}, TypeError),
        ({"names": "age"}, TypeError),
        ({"path": 5}, TypeError),
        ({"path": (None,)}, TypeError),
    ],
)
def test_what_is_declared_has_a_type(tmp_path, wrong, error):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(error, match=f"{next(iter(wrong))}|separator"):
        open_file(TableFile(**{"path": tmp_path / "a.csv", "header": True, **wrong}))
