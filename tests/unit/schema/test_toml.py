"""Schemas as files: what is written is read again, and what is wrong is said by name."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._schema import toml
from sfumato._schema.kinds import Cycle, Date, Flag, Number
from sfumato._schema.levels import Category, Ordinal
from sfumato._schema.schema import Schema

SCHEMA = Schema(
    {"a name": Number(0, 1.5, scale="log", weight=0.5), 'quo"te': Flag(missing="drop")},
    sex=Category("F", 'a "b"\n\\', "é\x7f", missing="level", source="The form."),
    grade=Ordinal(1, 2, 3),
    day=Date("2020-01-01", "2021-01-01", format="%d.%m.%Y", missing="2020-06-01"),
    hour=Cycle(24),
    groups="id",
)


def test_what_is_written_is_read_again(tmp_path):
    SCHEMA.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == SCHEMA
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA


@given(st.text(min_size=1), st.lists(st.text(min_size=1), min_size=2, max_size=4), st.text())
@example("a", ["x", "y"], "")
@example('"', ["\\", "\x7f\n"], "\x00")
@example("ключ", ["\u2028", "'''"], '"""')
def test_any_text_is_written_and_read(name, levels, source):
    data = {"columns": {name: {"kind": "category", "levels": levels, "source": source}}}
    assert toml.parsed(toml.written(data), "here") == data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a =", "is not TOML"),
        ("", "table of columns"),
        ("columns = 3", "table of columns"),
        ("rows = 3\n[columns]", "rows is not known"),
        ("[columns.a]\nlower = 0", "column 'a' needs a kind"),
        ('[columns.a]\nkind = "number"\nlower = 0', "column 'a' of kind number.*upper"),
        ('[columns.a]\nkind = "flag"\ncolour = 1', "column 'a' of kind flag.*colour"),
        ('[columns.a]\nkind = "number"\nlower = 1\nupper = 0', "column 'a'.*below"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, said):
    path = tmp_path / "schema.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"schema.toml.*{said}"):
        Schema.read(path)


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "schema.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not UTF-8"):
        Schema.read(tmp_path / "schema.toml")


def test_all_blanks_are_named():
    text = """
        [columns.age]
        kind = "number"
        lower = 0
        upper = "?"
        [columns."a b"]
        kind = "?"
        [columns.sex]
        kind = "category"
        levels = ["?"]
        [columns.at]
        kind = "date"
        first = "?"
        last = "?"
        format = "?"
        [columns.hour]
        kind = "cycle"
        period = "?"
    """
    blanks = "age: upper; a b: kind; sex: levels; at: first, last, format; hour: period$"
    with pytest.raises(ValueError, match=f"^x.toml has blanks.*: {blanks}"):
        toml.parsed(text, "x.toml")


def test_a_level_may_be_a_question_mark(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[columns.work]\nkind = "category"\nlevels = ["?", "own"]\nmissing = "?"\n')
    assert Schema.read(path).columns["work"].levels == ("?", "own")


def test_levels_are_a_list(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[columns.work]\nkind = "category"\nlevels = "ab"\n')
    with pytest.raises(ValueError, match="levels of column 'work' must be a list, got 'ab'"):
        Schema.read(path)
