"""What an account is charged with: exact shares, the caps on them, and the entries it keeps.

Two currencies simply add: pure ε, and μ² of Gaussian DP. Plain (ε, δ) charges add in both of their
numbers. A share by itself is a claim: see `Ledger.charge`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from sfumato.gdp import mu2_of

if TYPE_CHECKING:
    from sfumato.budget import Account

Kind = Literal["pure", "gdp", "approximate"]

ZERO = Fraction(0)


def check_exact(*amounts: object) -> None:
    """Refuse floats: one NaN would pass every comparison with a cap."""
    for amount in amounts:
        if type(amount) not in (int, Fraction):
            raise TypeError(
                f"budget is counted in Fractions such as Fraction(1, 10), got {amount!r}"
            )


@dataclass(frozen=True)
class Share:
    """A part of an account: an amount of ε ("pure"), of μ² ("gdp") or (ε, δ) ("approximate")."""

    kind: Kind
    amount: Fraction
    delta: Fraction = ZERO
    account: Account | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.kind) is not str:
            raise TypeError(f"the kind of a share is a word such as 'pure', got {self.kind!r}")
        check_exact(self.amount, self.delta)

    def split(self, *weights: float | Fraction) -> tuple[Share, ...]:
        """Divide into parts proportional to `weights`; the parts sum exactly to the whole."""
        if not weights or not all(0 < w < float("inf") for w in weights):
            raise ValueError(f"weights must be positive numbers, got {weights}")
        exact = [Fraction(w) for w in weights]
        total = sum(exact)
        return tuple(
            replace(self, amount=self.amount * w / total, delta=self.delta * w / total)
            for w in exact
        )

    def evenly(self, n: int) -> tuple[Share, ...]:
        """Divide into `n` equal parts."""
        return self.split(*[1] * n)


@dataclass(frozen=True)
class Caps:
    """What one fit may spend in each currency, decided before a row is read."""

    pure: Fraction = ZERO
    gaussian: tuple[Fraction, Fraction] = (ZERO, ZERO)
    approximate: tuple[Fraction, Fraction] = (ZERO, ZERO)

    def __post_init__(self) -> None:
        pairs = (self.gaussian, self.approximate)
        # A list could grow after it was granted.
        if any(type(pair) is not tuple or len(pair) != 2 for pair in pairs):
            raise TypeError("caps of Gaussian and of plain charges are tuples (ε, δ)")
        amounts = (self.pure, *self.gaussian, *self.approximate)
        check_exact(*amounts)
        if min(amounts) < 0 or max(self.gaussian[1], self.approximate[1]) >= 1:
            raise ValueError("caps must not be negative, and every δ must lie below 1")
        if (self.gaussian[0] > 0) != (self.gaussian[1] > 0):
            raise ValueError("Gaussian noise needs both an ε and a δ above 0")

    @property
    def epsilon(self) -> Fraction:
        """ε of all currencies together."""
        return self.pure + self.gaussian[0] + self.approximate[0]

    @property
    def delta(self) -> Fraction:
        """δ of all currencies together."""
        return self.gaussian[1] + self.approximate[1]

    def of(self, kind: Kind) -> tuple[Fraction, Fraction]:
        """(amount, δ) that may be charged in one currency."""
        if kind == "pure":
            return self.pure, ZERO
        if kind == "gdp":
            return (mu2_of(*self.gaussian) if self.gaussian[1] else ZERO), ZERO
        if kind == "approximate":
            return self.approximate
        raise TypeError(f"a {kind!r} guarantee does not add to differential privacy of a dataset")


@dataclass(frozen=True)
class Entry:
    """One line of an account: what was asked, what it cost, how it was noised."""

    question: str
    share: Share
    law: str
    scale: Fraction
    noise: str
    slack: float
    released: bool = False
