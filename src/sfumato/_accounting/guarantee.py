"""What a release promises, in numbers and in one plain sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato._accounting.budget import ZERO, Account, Caps
from sfumato._accounting.gaussian_dp import epsilon_of, rho_of

GuaranteeKind = Literal["pure", "gdp", "approximate", "metric", "local"]

ONE_ROW = "one row"
ANY_TWO_ROWS = "any two rows"

# More than what floats lose in a logarithm and its inverse.
_ROUNDING = 1e-12


def neighbours_of(max_rows: int | None) -> str:
    """Name the unit that is protected: a row, or a group of rows."""
    if max_rows is None:
        return ONE_ROW
    return f"one group of at most {max_rows} row" + ("s" if max_rows > 1 else "")


@dataclass(frozen=True)
class Guarantee:
    """A promise about everything that was released.

    `amount` is ε ("pure", "approximate", "local"), μ² ("gdp") or ε per unit of distance ("metric");
    `delta` is the δ of an "approximate" guarantee. `neighbours` names what two datasets may differ
    by. "local" and "metric" promise something about the report of each single row, whatever the
    other rows are; `snap` is what rounding rows to a lattice may add to a "metric" distance.
    """

    kind: GuaranteeKind
    amount: Fraction
    delta: Fraction = ZERO
    neighbours: str = ONE_ROW
    snap: float = 0.0

    def __add__(self, other: Guarantee) -> Guarantee:
        """Compose two releases about the same dataset, or two reports of the same row."""
        kinds = {self.kind, other.kind}
        if len(kinds) > 1 and kinds & {"metric", "local"}:
            raise TypeError(
                "a metric guarantee (ε per unit of distance), a local one (ε between any two rows) "
                "and differential privacy of a dataset protect different things and do not add up: "
                f"got {self.kind} and {other.kind}"
            )
        if self.neighbours != other.neighbours:
            raise TypeError(f"cannot add {self.neighbours!r} and {other.neighbours!r}")
        if self.kind != other.kind:
            raise TypeError(f"cannot add {self.kind} and {other.kind}: state both as (ε, δ) first")
        return Guarantee(
            self.kind,
            self.amount + other.amount,
            self.delta + other.delta,
            self.neighbours,
            max(self.snap, other.snap),
        )

    def as_epsilon_delta(self, delta: Fraction | None = None) -> tuple[Fraction, Fraction]:
        """Return (ε, δ), ε rounded up; a "gdp" guarantee needs the δ to be chosen."""
        if self.kind == "metric":
            raise TypeError("a metric guarantee has no (ε, δ) without a bound on distances")
        if self.kind != "gdp":
            return self.amount, self.delta
        if delta is None:
            raise ValueError("a Gaussian guarantee becomes (ε, δ) at a chosen δ: pass delta")
        return epsilon_of(self.amount, delta), delta

    def as_rho(self) -> Fraction:
        """Return ρ of zero-concentrated DP: μ²/2, or ε²/2 for pure ε."""
        if self.kind == "gdp":
            return rho_of(self.amount)
        if self.kind == "pure":
            return self.amount**2 / 2
        raise TypeError(f"a {self.kind} guarantee has no ρ")

    def in_words(self) -> str:
        """Say what is promised, in one sentence."""
        from sfumato._accounting.text import promise

        return promise(self)


def of_accounts(accounts: Sequence[Account], neighbours: str) -> Guarantee:
    """What some accounts promise together: their caps added up, whatever part was spent."""
    epsilon = sum((account.caps.epsilon for account in accounts), ZERO)
    delta = sum((account.caps.delta for account in accounts), ZERO)
    if delta:
        return Guarantee("approximate", epsilon, delta, neighbours)
    return Guarantee("pure", epsilon, ZERO, neighbours)


def rho_of_accounts(accounts: Sequence[Account]) -> float | None:
    """ρ of zero-concentrated DP that the caps of some accounts allow, rounded up.

    Pure charges to a part of at most ε are ε²/2-zCDP and Gaussian ones of at most μ² are
    μ²/2-zCDP, in every run. None beside a cap for plain (ε, δ) charges, and beyond what a float can
    hold.
    """
    return rho_of_caps([account.caps for account in accounts])


def rho_of_caps(caps: Sequence[Caps]) -> float | None:
    """See `rho_of_accounts`."""
    if any(max(one.approximate) > 0 for one in caps):
        return None
    exact = sum((sum(part**2 for part in one.parts) / 2 + rho_of(one.mu2) for one in caps), ZERO)
    try:
        rho = float(exact)
    except OverflowError:
        return None
    return rho if Fraction(rho) >= exact else math.nextafter(rho, math.inf)


def finite_precision_delta(epsilon: float, distance: float) -> float:
    """δ that samplers within this distance of their distributions add: (1 + e^ε)·distance.

    The distance is statistical (total variation).

    Rounded up; 1, which promises nothing, is the most. See docs/proofs/stream.md.
    """
    if not distance:
        return 0.0
    logarithm = math.log(distance) + epsilon + math.log1p(math.exp(-epsilon))
    return min(1.0, math.exp(min(logarithm, 0.0)) * (1 + _ROUNDING))
