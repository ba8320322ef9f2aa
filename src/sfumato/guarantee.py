"""What a release promises, in numbers and in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.budget import ZERO, Account
from sfumato.gdp import epsilon_of, rho_of

GuaranteeKind = Literal["pure", "gdp", "approximate", "metric"]

ONE_ROW = "one row"


def neighbours_of(max_rows: int | None) -> str:
    """Name the unit that is protected: a row, or a group of rows."""
    if max_rows is None:
        return ONE_ROW
    return f"one group of at most {max_rows} row" + ("s" if max_rows > 1 else "")


@dataclass(frozen=True)
class Guarantee:
    """A promise about everything that was released.

    `amount` is ε ("pure", "approximate"), μ² ("gdp") or ε per unit of distance ("metric"); `delta`
    is the δ of an "approximate" guarantee. `neighbours` names what two datasets may differ by.
    """

    kind: GuaranteeKind
    amount: Fraction
    delta: Fraction = ZERO
    neighbours: str = ONE_ROW

    def __add__(self, other: Guarantee) -> Guarantee:
        """Compose two releases about the same dataset."""
        if (self.kind == "metric") != (other.kind == "metric"):
            raise TypeError(
                "a metric guarantee (ε per unit of distance) and differential privacy of a dataset "
                "protect different things and do not add up"
            )
        if self.neighbours != other.neighbours:
            raise TypeError(f"cannot add {self.neighbours!r} and {other.neighbours!r}")
        if self.kind != other.kind:
            raise TypeError(f"cannot add {self.kind} and {other.kind}: state both as (ε, δ) first")
        return Guarantee(
            self.kind, self.amount + other.amount, self.delta + other.delta, self.neighbours
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
        if self.kind == "metric":
            return (
                "Two points at distance r look alike within a factor "
                f"exp({float(self.amount):.6g}·r) to whoever sees the released point."
            )
        ratio = f"a factor exp({float(self.amount):.6g})"
        if self.kind == "gdp":
            ratio = f"what one draw tells of N(0, 1) against N({float(self.amount) ** 0.5:.6g}, 1)"
        elif self.delta:
            ratio += f", but for a probability of {float(self.delta):.3g}"
        return (
            f"Adding or removing {self.neighbours} changes the probability of any outcome "
            f"by at most {ratio}."
        )


def of_accounts(accounts: Sequence[Account], neighbours: str) -> Guarantee:
    """What some accounts promise together: their caps added up, whatever part was spent."""
    epsilon = sum((account.caps.epsilon for account in accounts), ZERO)
    delta = sum((account.caps.delta for account in accounts), ZERO)
    if delta:
        return Guarantee("approximate", epsilon, delta, neighbours)
    return Guarantee("pure", epsilon, ZERO, neighbours)
