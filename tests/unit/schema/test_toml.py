"""Blanks of templates: named all at once, and no level is taken for one."""

import pytest

from sfumato import Schema
from sfumato._schema.toml import parsed


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
        parsed(text, "x.toml")


def test_a_level_may_be_a_question_mark(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[columns.work]\nkind = "category"\nlevels = ["?", "own"]\nmissing = "?"\n')
    assert Schema.read(path).columns["work"].levels == ("?", "own")


def test_levels_are_a_list(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[columns.work]\nkind = "category"\nlevels = "ab"\n')
    with pytest.raises(ValueError, match="levels of column 'work' must be a list, got 'ab'"):
        Schema.read(path)
