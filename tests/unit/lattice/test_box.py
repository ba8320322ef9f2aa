"""Bounds, lattice, clipping, and what becomes of cells that are not numbers."""

import warnings
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._lattice.box import ABSENT, REACH, Box, NanPolicy

POLICIES = get_args(NanPolicy)
any_float = st.floats(allow_nan=True, allow_infinity=True)
row_lists = st.lists(st.tuples(any_float, any_float), max_size=12)

ODD = [(0.3, 1.7), (np.nan, 2.0), (-0.0, np.inf), (1e308, -1e308), (5e-324, -3.0), (1.0, 3.0)]

BOX = Box((0.0, -3.0), (1.0, 3.0))
EVERY_POINT = np.arange(-REACH, REACH + 1)[:, None]


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (-1e308, 1e308), (40.48, 40.92), (1e6, 1e6 + 1), (-5, 1e-3), (1e-300, 3e-300)],
)
def test_every_lattice_point_makes_the_round_trip(low, high):
    box = Box.of((low, high), 1)
    np.testing.assert_array_equal(box.to_lattice(box.from_lattice(EVERY_POINT)), EVERY_POINT)


@given(st.floats(-1e300, 1e300), st.floats(1e-3, 1e300))
@example(0.0, 1.0)
@example(-1e300, 1e300)
@example(1e6, 1e-3)
@example(-7.3, 0.1)
def test_the_round_trip_holds_for_every_box_that_is_accepted(low, width):
    try:
        box = Box.of((low, low + width), 1)
    except ValueError:
        return
    some = EVERY_POINT[:: 1 + REACH // 50]
    np.testing.assert_array_equal(box.to_lattice(box.from_lattice(some)), some)
    ends = box.to_lattice([[low], [low + width]])
    assert ends.tolist() == [[-REACH], [REACH]]


@given(row_lists)
@example(ODD)
def test_any_row_becomes_a_lattice_row(rows):
    box = Box(BOX.lower, BOX.upper, "center")
    lattice = box.to_lattice(np.array(rows, dtype=float).reshape(-1, 2))
    assert lattice.dtype == np.int16
    assert lattice.shape == (len(rows), 2)
    assert (np.abs(lattice.astype(int)) <= REACH).all()


@given(row_lists)
@example(ODD)
@example([(np.nan, np.inf), (np.nan, 1.0), (-1e308, 1e308)])
def test_a_coordinate_is_absent_if_its_cell_is_no_finite_number_and_then_only(rows):
    values = np.array(rows, dtype=float).reshape(-1, 2)
    present = np.isfinite(values)
    values, present = values[present.any(axis=1)], present[present.any(axis=1)]
    lattice = BOX.to_lattice(np.array(rows, dtype=float).reshape(-1, 2))
    np.testing.assert_array_equal(lattice == ABSENT, ~present)
    centred = Box(BOX.lower, BOX.upper, "center").to_lattice(values)
    np.testing.assert_array_equal(lattice[present], centred[present])


@given(row_lists, st.sampled_from(["ignore", "center", "drop"]))
@example(ODD, "ignore")
@example(ODD, "center")
@example(ODD, "drop")
@example([(np.nan, 1.0), (0.25, -2.0)], "center")
def test_a_row_becomes_the_same_whatever_stands_beside_it(rows, nan):
    box = Box(BOX.lower, BOX.upper, nan)
    together = box.to_lattice(np.array(rows, dtype=float).reshape(-1, 2))
    alone = [box.to_lattice(np.array([row])) for row in rows]
    np.testing.assert_array_equal(together, np.concatenate([together[:0], *alone]))


def test_nan_policies():
    rows = np.array([[np.nan, 3.0], [np.inf, -np.inf], [1.0, -3.0]])
    found = {nan: Box(BOX.lower, BOX.upper, nan).to_lattice(rows).tolist() for nan in POLICIES}
    assert found == {
        "ignore": [[ABSENT, REACH], [REACH, -REACH]],
        "center": [[0, REACH], [0, 0], [REACH, -REACH]],
        "drop": [[REACH, -REACH]],
    }
    assert BOX == Box(BOX.lower, BOX.upper, "ignore") == Box.of((BOX.lower, BOX.upper), 2)


def test_what_is_absent_is_absent_from_the_cube():
    rows = [[np.nan, 3.0], [np.inf, -np.inf], [1.0, -3.0]]
    nan = np.nan
    np.testing.assert_array_equal(BOX.to_cube(rows), [[nan, 1], [nan, nan], [1, -1]])
    for policy in ("center", "drop"):
        cube = Box(BOX.lower, BOX.upper, policy).to_cube(rows)
        np.testing.assert_array_equal(cube, [[0, 1], [0, 0], [1, -1]])


def test_rows_outside_are_clipped():
    rows = np.array([[-5.0, 99.0], [1e308, -1e308]])
    assert BOX.to_lattice(rows).tolist() == [[-REACH, REACH], [REACH, -REACH]]


def test_rounding_is_to_the_nearest_step():
    step = BOX.step[0]
    x = 0.5 + np.array([0.4, 0.6, -0.4, -0.6])[:, None] * [step, 0]
    assert BOX.to_lattice(x)[:, 0].tolist() == [0, 1, 0, -1]


@given(row_lists)
@example(ODD)
def test_the_cube_is_the_lattice_without_rounding(rows):
    values = np.array(rows, dtype=float).reshape(-1, 2)
    box = Box(BOX.lower, BOX.upper, "center")
    np.testing.assert_allclose(
        box.to_cube(values) * REACH, box.to_lattice(values), rtol=0, atol=0.5 + 1e-9
    )


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (None, "bounds are required"),
        ("0,1", "must be a pair"),
        (3, "must be a pair"),
        ((0, 1, 2), "must be a pair"),
        ((1, 0), "must lie below"),
        ((1, 1), "must lie below"),
        ((0, np.nan), "must be finite"),
        ((-np.inf, 1), "must be finite"),
        (([0, 0, 0], 1), "2 of them"),
        (("a", "b"), "must be numbers"),
        ((0, [[1, 2]]), "one number or 2"),
        ((1e16, 1e16 + 2), "too close together"),
        ((0, 5e-324), "too close together"),
    ],
)
def test_bad_bounds_are_refused(bounds, message):
    with pytest.raises(ValueError, match=message):
        Box.of(bounds, 2)


def test_other_bad_boxes_are_refused():
    with pytest.raises(ValueError, match="0 columns"):
        Box.of((0, 1), 0)
    with pytest.raises(ValueError, match="nan must be"):
        Box.of((0, 1), 2, nan="zero")
    with pytest.raises(ValueError, match="one lower and one upper"):
        Box((0.0,), (1.0, 2.0))


@pytest.mark.parametrize(
    "bounds",
    [
        *((0, 10**400), (-(10**400), 0), (0, np.longdouble("1e4000")), np.array([0, 1j]), {0, 1}),
        *({"a": (0, 1)}, {0: 1, 1: 2}, np.array(1), b"01", iter((0, 1))),
        *(np.ma.masked_array([0, 5], mask=[1, 0]), pd.DataFrame({"lower": [0], "upper": [1]})),
    ],
    ids=map(str, range(12)),
)
def test_bounds_that_are_none_are_refused_without_a_warning(bounds):
    with warnings.catch_warnings(action="error"), pytest.raises(ValueError, match="bounds"):
        Box.of(bounds, 1)


def test_bounds_with_an_index_of_their_own_go_by_position():
    assert Box.of(pd.Series([0, 1], ["x", "y"]), 2) == Box.of((0, 1), 2)


@pytest.mark.parametrize("wrong", [10**400, "1", None, 1j])
def test_a_box_has_finite_numbers(wrong):
    with pytest.raises(ValueError, match="must be finite numbers"):
        Box((0.0,), (wrong,))


def test_points_too_large_for_a_float_raise_no_warning():
    """Rows that a caller brings are put in the cube: their values decide on no warning."""
    with warnings.catch_warnings(action="error"):
        assert np.isnan(BOX.to_cube(np.full((1, 2), np.longdouble("1e4000")))).all()
