"""Parameters as users type them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato._base.validation import check_delta, check_epsilon, check_whole


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (1, Fraction(1)),
        (np.int64(3), Fraction(3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (1e-9, Fraction(1, 10**9)),
    ],
)
def test_epsilon_is_the_decimal_that_was_written(given, read):
    assert check_epsilon(given) == read


@pytest.mark.parametrize("bad", ["1", None, True, [1], 1j, Decimal("1")])
def test_what_is_not_a_number_is_a_type_error(bad):
    for check in (check_epsilon, check_delta):
        with pytest.raises(TypeError, match="must be"):
            check(bad)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), -0.0])
def test_epsilon_must_be_positive_and_finite(bad):
    with pytest.raises(ValueError, match="positive, finite"):
        check_epsilon(bad)


@pytest.mark.parametrize("bad", [1, 1.5, -1e-9, float("nan")])
def test_delta_lies_below_one(bad):
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        check_delta(bad)


def test_whole_numbers():
    assert check_whole(np.int32(4), "k") == 4
    for bad in (True, 2.0, "3", None):
        with pytest.raises(TypeError, match="k must be a whole number"):
            check_whole(bad, "k")
    for bad in (0, -3):
        with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
            check_whole(bad, "k")


@pytest.mark.parametrize("huge", [10**400, Fraction(10**400), np.longdouble("1e4000")])
def test_a_number_that_no_float_holds_is_refused(huge):
    for bad in (huge, -huge):
        with pytest.raises(ValueError, match="epsilon must be a positive, finite number"):
            check_epsilon(bad)
        with pytest.raises(ValueError, match="delta must lie in"):
            check_delta(bad)


def test_a_length_of_time_is_no_number():
    """NumPy counts it among the integers."""
    for check in (check_epsilon, check_delta, lambda value: check_whole(value, "k")):
        with pytest.raises(TypeError, match="must be"):
            check(np.timedelta64(3, "s"))
