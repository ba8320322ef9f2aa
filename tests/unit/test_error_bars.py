"""Error bars in the user's units: plain bounds, and every kind of column."""

import numpy as np
import pytest

from sfumato import Category, Cycle, Number, Schema
from sfumato._error_bars import (
    check_level,
    doubts,
    evidence_in_numbers,
    intervals_of,
    lines_of,
    size_intervals,
    std_of,
)
from sfumato._lattice.box import REACH, Box
from sfumato._uncertainty import Errors, Estimate

BOX = Box((0.0, -10.0), (10.0, 10.0))


def bars(values, stds):
    return Estimate(np.array(values) * REACH, np.array(stds) * REACH, "gaussian")


def test_plain_columns_are_scaled_and_stay_inside_their_bounds():
    one = bars([[0.0, 0.9]], [[0.1, 0.1]])
    assert std_of(one, BOX, None)[0] == pytest.approx([0.5, 1.0])
    centers = BOX.from_lattice(one.values)
    (ends,) = intervals_of(one, centers, 0.95, BOX, None)
    assert ends[0] == pytest.approx([5 - 0.98, 5 + 0.98], abs=1e-3)
    assert ends[1] == pytest.approx([9 - 1.96, 10], abs=1e-3)


def test_a_centre_that_was_shrunk_far_is_inside_its_interval():
    one = bars([[0.0, 0.0]], [[0.01, 0.01]])
    (ends,) = intervals_of(one, np.array([[9.0, 0.0]]), 0.95, BOX, None)
    assert ends[0, 1] == 9.0
    assert ends[1, 1] < 0.3


def test_numbers_shares_and_hours_have_deviations_of_their_own():
    schema = Schema(age=Number(0, 100), sex=Category("F", "M"), hour=Cycle(24))
    half = np.sqrt(0.5)
    # Order of coordinates: age, cosine, sine, F, M.
    one = bars([[0.0, 0.0, 0.5, half * 0.2, -half * 0.2]], [[0.1, 0.01, 0.01, 0.1, 0.1]])
    stds = std_of(one, schema.box, schema)[0]
    assert schema.number_names == ("age", "sex=F", "sex=M", "hour")
    assert stds[0] == pytest.approx(5.0)
    assert stds[1:3] == pytest.approx([0.1 / (2 * half)] * 2)
    assert stds[3] == pytest.approx(0.01 / 0.5 * 24 / (2 * np.pi))
    centers = schema.decode(one.values / REACH)
    (ends,) = intervals_of(one, centers, 0.95, schema.box, schema)
    assert ends[0] == pytest.approx([50 - 9.8, 50 + 9.8], abs=0.01)
    assert ends[1].mean() == pytest.approx(0.6)
    assert ends[3].mean() == pytest.approx(6.0)


def test_a_logarithmic_column_has_the_slope_of_its_place():
    schema = Schema(income=Number(1, 10_000, scale="log"))
    one = bars([[0.0]], [[0.01]])
    assert std_of(one, schema.box, schema)[0, 0] == pytest.approx(
        100 * np.log(100) * 0.01, rel=1e-3
    )
    low, high = intervals_of(one, np.array([[100.0]]), 0.95, schema.box, schema)[0, 0]
    assert low * high == pytest.approx(100**2)


def test_sizes_are_not_below_zero():
    sizes = Estimate(np.array([100.0, -3.0]), np.array([5.0, 1.0]), "laplace")
    ends = size_intervals(sizes, sizes.values, 0.95)
    assert ends[0] == pytest.approx([100 - 10.59, 100 + 10.59], abs=0.01)
    assert ends[1].tolist() == [0.0, 0.0]


def test_a_receipt_has_a_line_for_each_centre():
    errors = Errors(bars([[0.0, 0.0]], [[0.1, 0.1]]), Estimate(np.ones(1), np.full(1, 7.0), "cube"))
    assert lines_of(errors, BOX, None) == ("centre 0: size ± 7 rows, coordinates ± 0.5 to 1",)
    sizes = Estimate(np.ones(50), np.full(50, 7.0), "cube")
    lines = lines_of(Errors(None, sizes), BOX, None)
    assert lines[0] == "centre 0: size ± 7 rows"
    assert lines[40:] == ("10 more centres",)
    assert lines_of(Errors(None, None), BOX, None) == ()


def test_without_cells_sizes_and_gaps_are_compared_with_their_noise():
    centers = bars([[0.0], [0.5], [0.505]], [[0.01]] * 3)
    sizes = Estimate(np.array([1000.0, 900.0, 800.0]), np.full(3, 10.0), "laplace")
    found = evidence_in_numbers(Errors(centers, sizes), centers.values)
    assert found[0] > 0.99
    assert (found[1:] < 0.5).all()
    few = Estimate(np.array([15.0, -900.0, 800.0]), np.full(3, 10.0), "laplace")
    found = evidence_in_numbers(Errors(None, few), centers.values)
    assert (found[:2] < 0.95).all()
    assert found[2] > 0.99


def test_doubts_are_named():
    assert doubts(np.array([1.0, 0.97])) == ""
    assert doubts(np.array([1.0, 0.2])).startswith("1 of 2 clusters may be made by noise")


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, True, "0.95", None, float("nan")])
def test_levels_lie_between_0_and_1(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        check_level(level)
