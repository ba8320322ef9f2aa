"""Schemas: coordinates of rows, back to the users' units, and what is refused by name."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._schema.kinds import Cycle, Date, Flag, Number
from sfumato._schema.levels import Category, Ordinal
from sfumato._schema.schema import Schema
from sfumato._schema.types import Declared, check_types, no_feature

NAN = math.nan
SCHEMA = Schema(
    age=Number(0, 100, source="The law says so."),
    sex=Category("F", "M", weight=0.5),
    grade=Ordinal("a", "b", "c"),
    ill=Flag(missing="drop"),
    day=Date("2020-01-01", "2020-01-03"),
    hour=Cycle(24),
    name=Category("x", "y", weight=0),
    groups="id",
)
HALF = math.sqrt(0.5)
ROWS = [
    ("50", "F", "b", "yes", "2020-01-02", "6"),
    ("", "M", "c", "no", "2020-01-01", "18"),
    ("100", "?", "a", "", "2020-01-03", "0"),
    ("1000", "M", "z", "1", "x", "x"),
]
POINTS = [
    # age, grade, ill, day, hour (two), sex (two): categories come last
    [0, 0, 1, 0, 0, 1, HALF / 2, -HALF / 2],
    [NAN, 1, -1, -1, 0, -1, -HALF / 2, HALF / 2],
    [NAN] * 8,
    [1, NAN, 1, NAN, NAN, NAN, -HALF / 2, HALF / 2],
]


def encoded(rows, schema=SCHEMA):
    """The points of rows of cells."""
    return schema.encode([list(column) for column in zip(*rows, strict=True)])


def test_rows_are_encoded():
    found = encoded(ROWS)
    assert SCHEMA.width == 8
    assert SCHEMA.features == ("age", "sex", "grade", "ill", "day", "hour")
    np.testing.assert_allclose(found, POINTS, atol=1e-4)
    assert SCHEMA.coordinate_names == (
        *("age", "grade", "ill", "day", "hour (cos)", "hour (sin)", "sex=F", "sex=M"),
    )
    assert SCHEMA.box.n_features == 8
    assert SCHEMA.levels == ((6, 2, round(HALF * 0.5 * (2**15 - 1))),)


rows = st.lists(st.sampled_from(ROWS), min_size=1, max_size=9)


@given(rows, st.integers(0, 9))
@example(ROWS, 2)
@example(ROWS[::-1], 1)
def test_a_row_is_encoded_by_itself(given, cut):
    whole = encoded(given)
    alone = np.concatenate([encoded([row]) for row in given])
    np.testing.assert_array_equal(whole, alone)
    parts = [encoded(part) for part in (given[:cut], given[cut:]) if part]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_the_lattice_leaves_dropped_rows_out():
    points = encoded(ROWS)
    out = np.empty(points.shape, dtype=np.int16)
    assert SCHEMA.box.write_lattice(points, out).tolist() == [True, True, False, True]
    high = SCHEMA.levels[0][2]
    assert out[0, 6:].tolist() == [high, -high]


def test_points_are_decoded():
    found = SCHEMA.decode(encoded(ROWS[:1]))
    assert SCHEMA.number_names == ("age", "sex=F", "sex=M", "grade", "ill", "day", "hour")
    np.testing.assert_allclose(found, [[50, 1, 0, 1, 1, 18263, 6]], atol=1e-3)
    (words,) = SCHEMA.in_words(encoded(ROWS[:1]))
    assert words["age"] == pytest.approx(50)
    assert words["sex"]["leading"] == "F"
    assert words["day"] == "2020-01-02"
    cells = SCHEMA.cells(encoded(ROWS[:2]))
    assert cells["sex"] == ["F", "M"]
    assert cells["ill"] == [True, False]
    assert cells["grade"] == ["b", "c"]
    assert cells["day"] == ["2020-01-02", "2020-01-01"]
    assert cells["age"] == [50, None]


def test_a_settled_point_has_shares_that_are_a_distribution():
    point = np.array([[2.0, 0, 0, 0, 0, 0, 1.0, 1.0]])
    found = SCHEMA.settled(point)
    np.testing.assert_allclose(SCHEMA.decode(found)[0, 1:3], [0.5, 0.5])
    assert found[0, 0] == 1
    np.testing.assert_allclose(SCHEMA.settled(found), found)


def test_columns_are_needed_one_for_each_feature():
    with pytest.raises(ValueError, match="6 columns are needed, got 1"):
        SCHEMA.encode([["1"]])


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        ({}, ValueError, "at least one column"),
        ({"a": Number(0, 1, weight=0)}, ValueError, "at least one column"),
        ({"a": Number}, TypeError, r"write Number\(…\)"),
        ({"a": (0, 1)}, TypeError, r"Number\(lower, upper\)"),
        ({"": Number(0, 1)}, TypeError, "columns have names"),
        ({"a": Number(1, 0)}, ValueError, "column 'a'"),
    ],
)
def test_what_cannot_be_meant_is_refused(columns, error, said):
    with pytest.raises(error, match=said):
        Schema(columns)


def test_groups_are_no_feature():
    with pytest.raises(ValueError, match="whose rows are whose"):
        Schema(a=Number(0, 1), groups="a")


def test_bounds_are_a_schema():
    found = Schema.of_bounds({"a": (0, 1), "b": (np.float64(2), 3)})
    assert found == Schema(a=Number(0, 1), b=Number(2.0, 3))
    with pytest.raises(ValueError, match="pair"):
        Schema.of_bounds({"a": 3})


def test_some_columns_are_a_schema():
    found = SCHEMA.over(["name", "age"])
    assert found.features == ("name", "age")
    assert found.columns["name"].weight == 1
    with pytest.raises(ValueError, match="no column 'q'; its columns are age"):
        SCHEMA.over(["q"])


def test_notes_say_what_was_declared():
    assert "declared of age: 0 to 100 (The law says so)" in SCHEMA.notes()
    assert hash(SCHEMA) == hash(Schema.from_dict(SCHEMA.to_dict()))


FAMILIES = ["number", "bool", "text", "time", "any", "other"]
TAKEN = {
    "age": {"number", "bool", "text", "any"},
    "sex": {"number", "text", "time", "any"},
    "grade": {"number", "text", "time", "any"},
    "ill": {"number", "bool", "text", "any"},
    "day": {"text", "time", "any"},
    "hour": {"number", "bool", "text", "any"},
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", TAKEN)
def test_declared_types(name, family):
    schema = SCHEMA.over([name])
    declared = [Declared(name, family, "its type")]
    if family in TAKEN[name]:
        check_types(schema, declared)
        return
    with pytest.raises(TypeError, match=f"column '{name}' is declared.*its type.*: .+"):
        check_types(schema, declared)


def test_types_that_will_do_by_what_is_declared():
    check_types(Schema(a=Category(0, 1)), [Declared("a", "bool", "bool")])
    dates = Schema(a=Date("2020-01-01", "2021-01-01", format="%Y%m%d"))
    check_types(dates, [Declared("a", "number", "int64")])


def test_remedies_are_named():
    assert no_feature(Declared("note", "text", "string")) == (
        "column 'note' is text (string): leave it out (bounds={'age': (17, 90), …} names the "
        "columns that take part), or declare Category(…) in a schema"
    )
    assert "Date(…)" in no_feature(Declared("day", "time", "date32[day]"))
    assert "schema" not in no_feature(Declared("tags", "other", "list<string>"))
    assert "of type object" in no_feature(Declared("a", "any", "object"))
