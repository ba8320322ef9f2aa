"""Parameters as users type them, checked before anything is charged."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any, cast

import numpy as np


class NoFeature(TypeError, ValueError):  # noqa: N818
    """A table has a column that is no feature: it can be opened without it, or divided by it."""


def check_epsilon(value: Any) -> Fraction:  # noqa: ANN401
    """Read ε as the decimal that was written: 0.1 is 1/10, so that ten of them make 1."""
    return check_positive(value, "epsilon")


def check_positive(value: Any, name: str) -> Fraction:  # noqa: ANN401
    """Read a positive number as the decimal that was written."""
    number = _number(value, name, "a positive number such as 1.0")
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be a positive, finite number such as 1.0, got {value!r}")
    return _decimal(value)


def check_delta(value: Any) -> Fraction:  # noqa: ANN401
    """Read δ; 0 means pure differential privacy."""
    delta = _number(value, "delta", "0 (pure) or a small number such as 1e-6")
    if not 0 <= delta < 1:
        raise ValueError(
            f"delta must lie in [0, 1): 0 (pure) or a small number such as 1e-6, got {value!r}"
        )
    return _decimal(value)


def check_whole(value: Any, name: str, least: int = 1, most: int | None = None) -> int:  # noqa: ANN401
    """Read a whole number that is at least `least`, and at most `most` if there is such a limit."""
    if not is_whole(value):
        raise TypeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    whole = int(value)
    if most is not None and whole > most:
        raise ValueError(f"{name} must be at most {most:,}, got {in_digits(whole)}")
    return whole


def in_digits(value: int) -> str:
    """A whole number for a message: its digits, or of a very long one about how many it has."""
    if abs(value) < 10**18:
        return f"{value:,}"
    return f"about {'-' if value < 0 else ''}10^{int(value.bit_length() * math.log10(2))}"


def is_whole(value: Any) -> bool:  # noqa: ANN401
    """Whether something is a whole number. NumPy counts lengths of time among the integers."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)


PRIVATE = "private"
"""What users write in place of a number, or of bounds, that is to be estimated."""


def is_private(value: Any) -> bool:  # noqa: ANN401
    """Whether something is to be estimated, for a part of the budget."""
    return isinstance(value, str) and value == PRIVATE


def check_max_rows(value: Any, name: str = "max_rows_per_group") -> int | None:  # noqa: ANN401
    """Read how many rows of a group are kept; None if the number is to be chosen privately."""
    if is_private(value):
        return None
    if isinstance(value, str):
        raise TypeError(f"{name} must be a whole number or {PRIVATE!r}, got {value!r}")
    return check_whole(value, name)


def _number(value: Any, name: str, wanted: str) -> float:  # noqa: ANN401
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted}, got {value!r}")
    try:
        return float(value)
    except OverflowError:  # a whole number or a fraction beyond all floating-point numbers
        return math.inf if cast(Any, value) > 0 else -math.inf


def _decimal(value: Any) -> Fraction:  # noqa: ANN401
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(repr(float(value)))
