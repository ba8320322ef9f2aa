"""Kinds of columns: coordinates, what they mean, and every policy for missing cells."""

import datetime
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._schema.kinds import Cycle, Date, Flag, Number
from sfumato._schema.schema import Schema

NAN = math.nan
SCALES = [
    Number(0, 10),
    Number(-5, 5, scale="asinh"),
    Number(1, 1000, scale="log"),
    Number(0, 1000, scale="log"),
    Number(0, 100, scale="sqrt"),
]


def points(column, cells):
    """The coordinates of cells, with the column's weight and policy."""
    return column.encoded(cells)[1]


@pytest.mark.parametrize("column", SCALES)
def test_ends_are_two_apart_and_what_lies_outside_is_clipped(column):
    cells = [column.lower, column.upper, column.lower - 1e9, column.upper + 1e9, "x"]
    np.testing.assert_array_equal(points(column, cells)[:, 0], [-1, 1, -1, 1, NAN])


@pytest.mark.parametrize("column", SCALES)
def test_what_is_encoded_is_decoded(column):
    cells = np.linspace(column.lower, column.upper, 501)
    found = column.decoded(points(column, cells))[:, 0]
    np.testing.assert_allclose(found, cells, atol=2e-3 * (column.upper - column.lower))
    assert (np.diff(points(column, cells)[:, 0]) >= 0).all()
    beyond = column.decoded(np.array([[-9.0], [9.0]]))[:, 0]
    np.testing.assert_allclose(beyond, [column.lower, column.upper], rtol=1e-12)


def test_a_scale_measures_as_it_says():
    column = Number(1, 10_000, scale="log")
    steps = np.diff(points(column, [1, 10, 100, 1000, 10_000])[:, 0])
    np.testing.assert_allclose(steps, 0.5, atol=1e-4)


@pytest.mark.parametrize("column", [*SCALES, Cycle(24), Date("2020-01-01", "2021-01-01"), Flag()])
@given(data=st.data())
@example(data=None)
def test_a_row_is_encoded_by_itself(column, data):
    """The same bits in every order and beside any others."""
    rng = np.random.default_rng(3)
    cells = [*rng.uniform(-10, 1100, 200), NAN, 0.0, 1.0]
    if isinstance(column, Date):
        cells = list(np.datetime64("2019-12-01") + rng.integers(0, 500, 203).astype("m8[D]"))
    order = (
        rng.permutation(203) if data is None else np.array(data.draw(st.permutations(range(203))))
    )
    whole = points(column, np.array(cells))
    moved = points(column, np.array([cells[i] for i in order]))
    np.testing.assert_array_equal(whole[order], moved)
    few = points(column, np.array(cells[:5]))
    np.testing.assert_array_equal(whole[:5], few)
    alone = np.concatenate([points(column, [cell]) for cell in cells[:20]])
    np.testing.assert_array_equal(whole[:20], alone)


def test_flags_and_dates_lie_on_a_line():
    np.testing.assert_array_equal(points(Flag(), [True, "no", None])[:, 0], [1, -1, NAN])
    column = Date("2020-01-01", "2020-01-11")
    cells = ["2020-01-01", "2020-01-06", "2020-01-11", "1970-01-01", "2999-01-01", "", "1/1/2020"]
    expected = [-1, 0, 1, -1, 1, NAN, NAN]
    np.testing.assert_array_equal(points(column, cells)[:, 0], expected)
    assert column.in_words(np.array([18262.7])) == "2020-01-01"
    assert column.cell(NAN) is None


def test_a_cycle_comes_round():
    column = Cycle(24)
    found = points(column, [0, 24, -24, 12, 6, 23.999, "x"])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert np.linalg.norm(found[0] - found[3]) == pytest.approx(2)
    assert np.linalg.norm(found[0] - found[5]) < 1e-3
    assert np.isnan(found[6]).all()
    hours = np.arange(0, 24, 0.5)
    np.testing.assert_allclose(column.decoded(points(column, hours))[:, 0], hours, atol=2e-3)
    far = points(column, [1, 23, 3])
    assert np.linalg.norm(far[0] - far[1]) == pytest.approx(
        np.linalg.norm(far[0] - far[2]), abs=1e-3
    )


POLICIES = [
    ("ignore", NAN),
    ("drop", NAN),
    ("center", 0.0),
    (10, 1.0),
]


@pytest.mark.parametrize(("policy", "expected"), POLICIES)
@pytest.mark.parametrize("cell", ["", None, "x", math.inf, NAN])
def test_policies_for_missing_cells(policy, expected, cell):
    codes, found = Number(0, 10, missing=policy, weight=0.5).encoded(["0", cell])
    np.testing.assert_array_equal(found[:, 0], [-0.5, expected * 0.5])
    assert math.isnan(codes[1]) == (policy in ("ignore", "drop", "center"))


def test_a_public_value_is_written_as_the_ends_are():
    column = Date("2020-01-01", "2020-01-11", format="%d.%m.%Y", missing="2020-01-06")
    cells = ["06.01.2020", "2020-01-06", "2020-01-11", "11.01.2020"]
    np.testing.assert_array_equal(points(column, cells)[:, 0], [0, 0, 0, 1])
    np.testing.assert_array_equal(points(column, ["2020-01-06"])[:, 0], [0])
    np.testing.assert_array_equal(column.codes(["2020-01-06"]), [NAN])


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (Number(1, 1), "below its upper"),
        (Number(NAN, 1), "finite"),
        (Number("a", 1), "finite"),
        (Number(0, 1, scale="cube"), "scale"),
        (Number(-1, 1, scale="log"), "at least 0"),
        (Number(-1, 1, scale="sqrt"), "asinh"),
        (Number(0, 1, weight=2), "weight"),
        (Number(0, 1, weight=True), "weight"),
        (Number(0, 1, missing="guess"), "missing='guess'"),
        (Date("2020-01-02", "2020-01-01"), "earlier one first"),
        (Date("2020", "2021"), "ISO dates"),
        (Date("2020-01-01", "2021-01-01", missing="x"), "missing='x'"),
        (Cycle(0), "above 0"),
        (Cycle(math.inf), "above 0"),
        (Flag(missing="maybe"), "missing='maybe'"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_the_name_of_its_column(column, said):
    with pytest.raises(ValueError, match=said) as refused:
        column.check("x")
    assert "'x'" in str(refused.value)
    with pytest.raises(TypeError, match="sentence"):
        Number(0, 1, source=3).check("x")


@pytest.mark.parametrize("column", [*SCALES, Cycle(7.5), Flag(), Date("2020-01-01", "2020-02-01")])
def test_columns_travel(column):
    again = pickle.loads(pickle.dumps(column))
    assert again == column
    assert again.public() == column.public()
    assert len(pickle.dumps(column)) < 500


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (Number(0, 10), "0 to 10"),
        (Number(1, 10, scale="log"), "1 to 10, log scale"),
        (Flag(), "yes or no"),
        (Cycle(24), "period 24"),
        (Date("2020-01-01", "2020-02-01"), "2020-01-01 to 2020-02-01"),
    ],
)
def test_what_is_public_is_said(column, said):
    assert column.public() == said


@pytest.mark.parametrize("kind", [datetime.date, np.datetime64, datetime.datetime])
def test_dates_of_python_and_numpy_are_kept_as_text(kind):
    """A model with its schema is saved as JSON, after the charge."""
    ends = (
        [kind("2020-01-01"), kind("2026-12-31")]
        if kind is np.datetime64
        else [kind(2020, 1, 1), kind(2026, 12, 31)]
    )
    declared, written = Schema(when=Date(*ends)), Schema(when=Date("2020-01-01", "2026-12-31"))
    assert declared.columns["when"].ends == written.columns["when"].ends
    assert Schema.from_dict(json.loads(json.dumps(declared.to_dict()))) == declared
