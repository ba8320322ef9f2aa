"""What may be set, checked when it is set."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato.parameters import check_positive, check_whole

BUDGET = ("candidates", "search", "recovery", "rounds", "choice among runs")

# Numbers, and the least that each may be.
LEAST = {
    "dimensions": 1,
    "runs": 1,
    "partitions": 1,
    "depths": 1,
    "swaps": 0,
    "subset": 1,
    "rounds": 0,
}


def whole_or_none(value: object, name: str) -> int | None:
    """A whole number that is large enough, or None."""
    return None if value is None else check_whole(value, name, LEAST[name])


def check_gamma(value: float | None) -> None:
    """Refuse a factor that is not positive."""
    if value is not None:
        check_positive(value, "gamma")


def check_failure(value: float | None) -> None:
    """Refuse what is not a probability between 0 and 1."""
    if value is not None and not 0 < check_positive(value, "failure") < 1:
        raise ValueError(f"failure must lie between 0 and 1, got {value!r}")


def check_flag(value: object, name: str) -> None:
    """Refuse anything but True, False and None."""
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{name} must be True, False or None, got {value!r}")


def check_budget(budget: Sequence[float] | None) -> tuple[float, ...] | None:
    """Five weights, of which candidates and recovery are positive."""
    if budget is None:
        return None
    given = tuple(budget)
    if len(given) != len(BUDGET):
        raise ValueError(f"budget has five weights, for {', '.join(BUDGET)}; got {budget!r}")
    for name, weight in zip(BUDGET, given, strict=True):
        if weight or name in ("candidates", "recovery"):
            check_positive(weight, f"budget of {name}")
    return given


def weights_of(budget: Sequence[float | Fraction], needed: Sequence[bool]) -> list[Fraction]:
    """The weights as exact numbers; what there is to buy must have one."""
    for name, weight, must in zip(BUDGET, budget, needed, strict=True):
        if must and not weight:
            raise ValueError(f"the budget has nothing for {name}, which this setting buys")
    return [weight if isinstance(weight, Fraction) else _exact(weight) for weight in budget]


def _exact(weight: float) -> Fraction:
    return check_positive(weight, "budget") if weight else Fraction(0)
