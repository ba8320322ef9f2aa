"""CSV against a slow oracle, and files broken by hand. No row may make reading fail."""

import csv
import io
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sfumato.engines import delimited
from sfumato.engines.checking import check_file
from sfumato.engines.files import columns_of, layout_of
from tests.unit.tables import read

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = re.compile(r"|n/?a|null|none|[+-]?(nan|inf|infinity)", re.IGNORECASE)
anything = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def oracle(data: bytes, width: int, skip: int):
    """Rows, text cells, ragged rows and line numbers, one line and one cell at a time."""
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", errors="replace").read()
    rows, words, ragged, numbers = [], [], [], []
    for number, line in enumerate(text.split("\n"), 1):
        if number <= skip or (not line.strip() and "," not in line):
            continue
        fields = next(csv.reader([line])) if '"' in line else line.split(",")
        cells = [cell.strip() for cell in (fields + [""] * width)[:width]]
        rows.append([float(c) if NUMBER.fullmatch(c) else math.nan for c in cells])
        words.append([not NUMBER.fullmatch(c) and not MISSING.fullmatch(c) for c in cells])
        ragged.append(len(fields) != width)
        numbers.append(number)
    return rows, words, ragged, numbers


def assert_as_oracle(path, data, width, skip):
    path.write_bytes(data)
    columns = [str(i) for i in range(width)] if skip == 0 else None
    layout = layout_of(path, columns=columns, header=skip > 0)
    assert len(layout.table.names) == width
    rows, words, ragged, numbers = oracle(data, width, skip)
    expected = np.array(rows, dtype=float).reshape(-1, width)
    expected[~np.isfinite(expected)] = np.nan
    found = read(layout)
    np.testing.assert_array_equal(found[0], expected)
    assert found[1].tolist() == words
    assert found[2].tolist() == ragged
    assert found[3].tolist() == numbers


@pytest.fixture(params=[7, 64, 4 * 2**20])
def chunk(request, monkeypatch):
    monkeypatch.setattr(delimited, "_CHARACTERS", request.param)


@pytest.fixture
def table(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


numbers = st.one_of(st.floats().map(repr), st.integers(-(10**9), 10**9).map(str))
odd = st.sampled_from(
    "| |NA|n/a|null|nan|-nan|-inf|1e999| 7 |1_000|１２|\x1c3|\x00|-|0x1F|1,5|1 2|é|\u2028|\x0b4|\t5"
    '|"2"|"2|2"|"a, b"|""|"1""2"|" 3"|"4"5'.split("|")
)
cells = st.one_of(numbers, odd, st.text(st.characters(codec="utf-8"), max_size=5))
lines = st.lists(st.lists(st.one_of(numbers, cells), max_size=5).map(",".join), max_size=8)


@pytest.mark.usefixtures("chunk")
@anything
@given(lines, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans())
@example(["1,2,3", '5,"1', '",6,7', "8,9,10"], "\n", True, False)
@example(["1,,3", ",,", ",2,", "4,,"], "\n", False, False)
@example([" , , ", "1,2,3", "", "  "], "\r\n", True, True)
def test_csv_reads_as_the_oracle(tmp_path, lines, newline, last, mark):
    data = newline.join(["a,b,c", *lines]) + newline * last
    data = ("\ufeff" * mark + data).encode()
    assert_as_oracle(tmp_path / "data.csv", data, width=3, skip=1)


@pytest.mark.usefixtures("chunk")
@anything
@given(st.lists(cells, max_size=8))
def test_one_column_reads_as_the_oracle(tmp_path, column):
    data = "\n".join(["a", *column]).encode()
    assert_as_oracle(tmp_path / "data.csv", data, width=1, skip=1)


@anything
@given(st.binary(max_size=60))
def test_no_bytes_make_reading_fail(tmp_path, data):
    assert_as_oracle(tmp_path / "data.csv", b"a,b\n" + data, width=2, skip=1)


@pytest.mark.usefixtures("chunk")
@anything
@given(st.lists(st.lists(numbers, min_size=2, max_size=2).map(",".join), min_size=1, max_size=8))
def test_numbers_come_back_as_they_were_written(tmp_path, rows):
    path = tmp_path / "data.csv"
    path.write_text("\n".join(rows))
    values = read(layout_of(path, header=False))[0]
    expected = np.array([[float(c) for c in row.split(",")] for row in rows])
    expected[~np.isfinite(expected)] = np.nan
    np.testing.assert_array_equal(values, expected)


@anything
@given(lines)
def test_a_row_is_read_the_same_whatever_its_neighbours(tmp_path, rows):
    rows = [row for row in "\n".join(rows).splitlines() if row.strip(" \t,")]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b,c", *rows]), newline="")
    together = read(layout_of(path))[0]
    alone = []
    for row in rows:
        path.write_text(f"a,b,c\n{row}\n", newline="")
        alone.append(read(layout_of(path))[0])
    np.testing.assert_array_equal(together, np.concatenate([np.empty((0, 3)), *alone]))


def test_an_open_quote_swallows_no_neighbours(table):
    values, _, ragged, _ = read(layout_of(table('a,b\n1,2\n"3,4\n5,6\n')))
    np.testing.assert_array_equal(values, [[1, 2], [np.nan, np.nan], [5, 6]])
    assert ragged.tolist() == [False, True, False]


def test_a_field_of_absurd_length_is_one_broken_row(table):
    path = table(f'a,b\n1,2\n"{"x" * 200_000}",4\n5,6\n')
    values, _, ragged, _ = read(layout_of(path))
    np.testing.assert_array_equal(values[[0, 2]], [[1, 2], [5, 6]])
    assert np.isnan(values[1]).all()
    assert ragged.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("text", "named", "names"),
    [
        ("age,hours\n1,2\n", True, ("age", "hours")),
        ("1,2\n3,4\n", False, ("0", "1")),
        ("1,,nan\n3,4,5\n", False, ("0", "1", "2")),
        (",age\n0,30\n", True, ("column 0", "age")),
        ('"a, b","c"\n1,2\n', True, ("a, b", "c")),
        ("\n\n a , b \n1,2\n", True, ("a", "b")),
        ("größe,年齢\n1,2\n", True, ("größe", "年齢")),
        ("a;b\n1;2\n", True, ("a", "b")),
        ('"a, b";c\n1;2\n', True, ("a, b", "c")),
        ("a\tb\n1\t2\n", True, ("a", "b")),
        ("a", True, ("a",)),
    ],
)
def test_header_and_delimiter_are_found(table, text, named, names):
    layout = layout_of(table(text))
    assert (layout.table.named, layout.names) == (named, names)
    assert not check_file(layout).ragged


def test_a_first_line_that_could_be_either_is_not_guessed_at(table):
    path = table("39,State-gov,77516\n50,Private,83311\n")
    with pytest.raises(ValueError, match="header=True") as caught:
        layout_of(path)
    assert "State-gov" not in str(caught.value)
    assert len(read(layout_of(path, header=False))[0]) == 2
    assert columns_of(path, header=True) == ("39", "State-gov", "77516")


def test_header_can_be_forced(table):
    path = table("2019,2020\n1,2\n")
    assert columns_of(path, header=True) == ("2019", "2020")
    assert len(read(layout_of(path, header=True))[0]) == 1
    with pytest.raises(ValueError, match="True, False or 'auto'"):
        layout_of(path, header="yes")
