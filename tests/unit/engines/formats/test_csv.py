"""Text tables against Python's csv, pandas and a slow reading of the grammar, record by record."""

import csv
import io
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sfumato.cli._inspect import check_file
from sfumato.engines._files import TableFile, layout_of, open_file
from sfumato.engines.formats import _csv as delimited
from sfumato.engines.formats import _records as records
from tests.unit.grammar import ENDS, Wrong, generator, parsed, soup, table_text
from tests.unit.tables import read

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = re.compile(r"|n/?a|null|none|nil|nat|[+-]?(nan|inf|infinity)", re.IGNORECASE)
anything = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

few_and_many = pytest.mark.parametrize(
    "texts", [1_000, pytest.param(10_000, marks=pytest.mark.slow)]
)


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


def written(path, text):
    """Write a file whose time may be that of the one before: what was found there is forgotten."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    records._checked.cache_clear()
    return path


def cells_of(table, width):
    """All fields, record by record, without the blanks around them."""
    columns = [[cell for block in table.cells(i) for cell in block] for i in range(width)]
    return list(zip(*columns, strict=True))


@few_and_many
def test_quotes_mean_what_the_grammar_says_or_are_refused_by_line(tmp_path, texts):
    """Agreement on every record, or on the line that is wrong."""
    rng, refused = generator(texts), 0
    for _ in range(texts):
        text = "h,i\n" + soup(rng)
        path = written(tmp_path / "data.csv", text)
        try:
            expected = [(*(f.strip() for f in fields), "")[:2] for _, fields in parsed(text)[1:]]
        except Wrong as wrong:
            refused += 1
            with pytest.raises(ValueError, match=rf"data\.csv, line {wrong.args[0]}: "):
                layout_of(path, header=True)
            continue
        assert cells_of(layout_of(path, header=True).table, 2) == expected, repr(text)
    assert 0.3 * texts < refused < 0.9 * texts


@few_and_many
def test_records_are_those_of_csv_and_pandas(tmp_path, monkeypatch, texts):
    """Files as careful writers write them; every fifth also cut wherever a record begins."""
    monkeypatch.setattr(records, "_GRAIN", 1)
    monkeypatch.setattr(delimited, "_CHARACTERS", 11)
    rng = generator(texts)
    for number in range(texts):
        end = ENDS[rng.integers(3)]
        text, mark, width = table_text(rng, end=end)
        path = written(tmp_path / "data.csv", text)
        layout = layout_of(path, header=True, sep=mark)
        ours = cells_of(layout.table, width)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        theirs = [tuple(c.strip() for c in row) for row in rows]
        # The module counts blank lines, as records of one blank cell or of none.
        theirs = [row for row in theirs[1:] if any(row) or len(row) == width > 1]
        full = [row for row in ours if any(row) or width > 1]
        assert full == theirs, repr(text)
        # pandas drops a record that begins with its separator behind a line end of \r alone.
        if end != "\r":
            frame = pd.read_csv(path, sep=mark, dtype=str, keep_default_na=False)
            found = [tuple(map(str.strip, row)) for row in frame.itertuples(index=False)]
            assert found == ours, repr(text)
        if number % 5 == 0:
            again = [row for piece in layout.table.pieces(1) for row in cells_of(piece, width)]
            assert again == ours, repr(text)


@pytest.mark.usefixtures("chunk")
@anything
@given(st.integers(0, 10**6), st.booleans())
@example(1, True)
@example(2, False)
@example(3, True)
@example(4, False)
@example(5, True)
@example(6, False)
def test_values_are_read_as_the_grammar_says(tmp_path, seed, mark):
    text, sep, width = table_text(generator(seed), mark=",", end=ENDS[seed % 3])
    path = written(tmp_path / "data.csv", "\ufeff" * mark + text)
    rows = parsed(text, sep)[1:]
    cells = [[c.strip() for c in fields] for _, fields in rows]
    expected = np.array(
        [[float(c) if NUMBER.fullmatch(c) else math.nan for c in row] for row in cells]
    ).reshape(-1, width)
    expected[~np.isfinite(expected)] = np.nan
    values, words, ragged, lines = read(layout_of(path, header=True))
    np.testing.assert_array_equal(values, expected)
    assert words.tolist() == [
        [not NUMBER.fullmatch(c) and not MISSING.fullmatch(c) for c in row] for row in cells
    ]
    assert not ragged.any()
    assert lines.tolist() == [line for line, _ in rows]


numbers = st.one_of(st.floats().map(repr), st.integers(-(10**9), 10**9).map(str))
odd = st.sampled_from(
    "| |NA|n/a|null|nan|-nan|-inf|1e999| 7 |1_000|１２|\x1c3|\x00|-|0x1F|1,5|1 2|é|\u2028|\x0b4|\t5"
    '|"2"|"a, b"|""|"1""2"|" 3"|"4\n5"|"\r\n"'.split("|")
)
plain = st.text(st.characters(codec="utf-8", exclude_characters='"'), max_size=5)
lines = st.lists(st.lists(st.one_of(numbers, odd, plain), max_size=5).map(",".join), max_size=8)


@pytest.mark.usefixtures("chunk")
@anything
@given(lines, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans())
@example(["1,,3", ",,", ",2,", "4,,"], "\n", False, False)
@example([" , , ", "1,2,3", "", "  "], "\r\n", True, True)
@example(['1,"a\nb",3', "4,5,6"], "\n", True, False)
def test_odd_cells_and_ragged_records_are_read_as_the_grammar_says(
    tmp_path, lines, newline, last, mark
):
    text = newline.join(["a,b,c", *lines]) + newline * last
    path = written(tmp_path / "data.csv", "\ufeff" * mark + text)
    rows = parsed(text)[1:]
    values, _, ragged, found = read(layout_of(path, header=True))
    assert found.tolist() == [line for line, _ in rows]
    assert ragged.tolist() == [len(fields) != 3 for _, fields in rows]
    expected = [[c.strip() for c in (*fields, "", "", "")[:3]] for _, fields in rows]
    cells = [[float(c) if NUMBER.fullmatch(c) else math.nan for c in row] for row in expected]
    cells = np.array(cells).reshape(-1, 3)
    cells[~np.isfinite(cells)] = np.nan
    np.testing.assert_array_equal(values, cells)


@anything
@given(st.binary(max_size=60))
@example(b"\xff,\xfe\n1,2")
def test_bytes_without_quotes_never_make_reading_fail(tmp_path, data):
    data = data.replace(b'"', b"")
    path = written(tmp_path / "data.csv", b"a,b\n" + data)
    text = data.decode("utf-8", "surrogateescape")
    assert len(read(layout_of(path, header=True))[0]) == len(parsed(text))


@pytest.mark.usefixtures("chunk")
@anything
@given(st.lists(st.lists(numbers, min_size=2, max_size=2).map(",".join), min_size=1, max_size=8))
@example(["1,-2.5", "5e-324,nan", "1.7976931348623157e+308,inf", "-0.0,123456789"])
def test_numbers_come_back_as_they_were_written(tmp_path, rows):
    path = written(tmp_path / "data.csv", "\n".join(rows))
    values = read(layout_of(path, header=False, columns=2))[0]
    expected = np.array([[float(c) for c in row.split(",")] for row in rows])
    expected[~np.isfinite(expected)] = np.nan
    np.testing.assert_array_equal(values, expected)


@anything
@given(lines)
@example(["1,2,3", '4,"5\n6",7', "8,9,10"])
def test_a_record_is_read_the_same_whatever_its_neighbours(tmp_path, rows):
    path = tmp_path / "data.csv"
    together = read(layout_of(written(path, "\n".join(["a,b,c", *rows])), header=True))[0]
    alone = [read(layout_of(written(path, f"a,b,c\n{row}\n"), header=True))[0] for row in rows]
    np.testing.assert_array_equal(together, np.concatenate([np.empty((0, 3)), *alone]))


def test_a_note_of_many_lines_is_one_row(table):
    note = "\n".join(f"{i},{i}" for i in range(200))
    path = table(f'a,b\n1,2\n"{note}",3\n4,5\n')
    values, text, ragged, lines = read(layout_of(path, header=True))
    np.testing.assert_array_equal(values, [[1, 2], [np.nan, 3], [4, 5]])
    assert text.tolist() == [[False, False], [True, False], [False, False]]
    assert not ragged.any()
    assert lines.tolist() == [2, 3, 203]


def test_a_byte_order_mark_is_nothing_wherever_it_is(table):
    """Rows may have been moved: a line of nothing else is blank, and no cell has one."""
    layout = layout_of(table("\ufeffa,b\n1,2\n\ufeff\n\ufeff3,x\ufeff\n"), header=True)
    np.testing.assert_array_equal(read(layout)[0], [[1, 2], [3, np.nan]])
    assert cells_of(layout.table, 2) == [("1", "2"), ("3", "x")]


def test_a_field_of_any_length_is_one_field(table):
    path = table(f'a,b\n1,2\n"{"x," * 200_000}",4\n5,6\n')
    values, _, ragged, _ = read(layout_of(path, header=True))
    np.testing.assert_array_equal(values, [[1, 2], [np.nan, 4], [5, 6]])
    assert not ragged.any()


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('a,b\n1,2\n"3,4\n5,6\n', 3, "never closed"),
        ('a,b\n1,2\n3,4"\n5,6\n', 3, "not quoted as a whole"),
        ('a,b\n1,2\n"3"4,5\n', 3, "follows the quote that ends"),
        ('a,b\n1, "2"\n', 2, "not quoted as a whole"),
        ('a,b\n"x\ny\nz",2\n3,5" disk\n', 5, "not quoted as a whole"),
        ('a,b\r\n1,2\r\n"3,4\r\n', 3, "never closed"),
        ('a,b\r1,2\r"3,4\r', 3, "never closed"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 3, 2**20])
def test_quotes_without_one_meaning_are_refused_with_their_line(
    table, monkeypatch, text, line, why, chunk
):
    monkeypatch.setattr(records, "_CHUNK", chunk)
    with pytest.raises(ValueError, match=why) as caught:
        open_file(table(text), header=True)
    assert f"data.csv, line {line}:" in str(caught.value)
    assert "disk" not in str(caught.value)


def test_a_first_record_that_never_ends_is_not_held(table, monkeypatch):
    monkeypatch.setattr(records, "_LONGEST", 1000)
    with pytest.raises(ValueError, match="longer than 1,000 characters"):
        layout_of(table('"a,b\n' + "1,2\n" * 1000), header=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age,hours\n1,2\n", ("age", "hours")),
        (",age\n0,30\n", ("column 0", "age")),
        ('"a, b","c"\n1,2\n', ("a, b", "c")),
        ('"a\nb",c\n1,2\n', ("a\nb", "c")),
        ("\n\n a , b \n1,2\n", ("a", "b")),
        ("größe,年齢\n1,2\n", ("größe", "年齢")),
        ("a;b\n1;2\n", ("a", "b")),
        ('"a, b";c\n1;2\n', ("a, b", "c")),
        ("a\tb\n1\t2\n", ("a", "b")),
        ("a|b\n1|2\n", ("a", "b")),
        ("2019,2020\n1,2\n", ("2019", "2020")),
        ("a", ("a",)),
    ],
)
def test_a_declared_header_says_names_and_separator(table, text, names):
    layout = layout_of(table(text), header=True)
    assert (layout.table.named, layout.names) == (True, names)
    assert not check_file(layout).ragged


FIRST_LINES = ["1,5", "a,b", "x;y", "1;2;3", "Ann Smith;44", ""]


@pytest.mark.parametrize("first", FIRST_LINES)
def test_without_a_declared_header_nothing_is_guessed(table, first):
    path = table(f"{first}\n1;2\n")
    for asked in ({}, {"columns": [0, 1]}, {"width": 2}, {"columns": ["age"]}, {"groups": "who"}):
        with pytest.raises(ValueError, match="TableFile") as caught:
            layout_of(path, **asked)
        assert "Ann" not in str(caught.value)


@pytest.mark.parametrize("first", FIRST_LINES)
def test_without_a_header_no_row_says_how_rows_are_read(table, first):
    """The first row of a file without a header was once asked for separator, width and names."""
    path = table(f"{first}\n" + "3;4\n" * 5)
    for asked in ({"columns": 2}, {"columns": [0, 1]}, {"width": 2}):
        layout = layout_of(path, header=False, sep=";", **asked)
        assert layout.given_names is None
        assert layout.names == ("0", "1")
        np.testing.assert_array_equal(read(layout)[0][-5:], [[3, 4]] * 5)
        assert len(read(layout)[0]) == 5 + (first != "")


def test_without_a_header_the_number_of_columns_is_declared(table):
    path = table("1,2,3\n4,5,6\n")
    with pytest.raises(ValueError, match="They are not counted in a row"):
        layout_of(path, header=False)
    assert layout_of(path, header=False, columns=3).names == ("0", "1", "2")
    np.testing.assert_array_equal(read(layout_of(path, header=False, columns=[2, 0]))[0][1], [6, 4])
    # Records with more fields than are asked for are as they should be; with fewer they are not.
    assert not check_file(layout_of(path, header=False, columns=[1])).ragged
    assert check_file(layout_of(path, header=False, columns=2)).ragged == 2
    assert check_file(layout_of(path, header=False, columns=[3])).ragged == 2
    assert len(layout_of(path, header=False, width=2, groups=0).positions) == 2
    with pytest.raises(ValueError, match="only positions: 0 to 0"):
        layout_of(path, header=False, columns=["age"])


def test_names_asked_for_that_are_in_the_first_line_make_it_a_header(table):
    path = table("age;hours, a week;who\n1;2;3\n")
    for asked in ({"columns": ["age"]}, {"groups": "who"}, {"columns": ["hours, a week", "age"]}):
        assert layout_of(path, **asked).table.named
    assert layout_of(TableFile(path, names=("age",))).names == ("age", "hours, a week", "who")
    with pytest.raises(ValueError, match="There is no 'weight' in it"):
        layout_of(path, columns=["age", "weight"])


@pytest.mark.parametrize(("name", "sep"), [("a.csv", ","), ("a.tsv", "\t")])
def test_without_a_header_the_name_of_the_file_says_the_separator(table, name, sep):
    path = table("1;2|3\n", name)
    assert layout_of(path, header=False, columns=2).table.delimiter == sep


@pytest.mark.parametrize("sep", ["", "ab", '"', "\n", "1", "a", "-", ".", "é"])
def test_separators_that_could_be_part_of_a_number_are_refused(table, sep):
    with pytest.raises(ValueError, match="separator"):
        layout_of(table("a,b\n"), header=True, sep=sep)


def test_a_header_is_declared_by_true_or_false(table):
    with pytest.raises(ValueError, match="True, False or None"):
        layout_of(table("a,b\n"), header="yes")
    with pytest.raises(ValueError, match="whole number"):
        layout_of(table("a,b\n"), header=False, columns=0)
