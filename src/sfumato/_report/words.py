"""The guarantee in words that can be quoted, and what is not promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from sfumato._accounting.guarantee import ONE_ROW
from sfumato._accounting.receipt import Receipt
from sfumato._accounting.text import shown_above
from sfumato._base.markup import Markup, element

PRIORS = (0.01, 0.1, 0.5)
"""Beliefs before a release for which the largest belief after it is told."""


@dataclass(frozen=True)
class Promise:
    """What some releases about the same rows promise together: their ε and their δ add up."""

    epsilon: Fraction
    delta: Fraction
    neighbours: str
    finite_precision: float

    @classmethod
    def of(cls, receipts: Sequence[Receipt]) -> Promise:
        """The promise of all of them; those that protect other units are refused."""
        units = {receipt.guarantee.neighbours for receipt in receipts}
        if len(units) > 1:
            raise ValueError(f"the releases protect unlike units: {', '.join(sorted(units))}")
        return cls(
            sum((receipt.guarantee.amount for receipt in receipts), Fraction(0)),
            sum((receipt.guarantee.delta for receipt in receipts), Fraction(0)),
            units.pop(),
            math.fsum(receipt.finite_precision_delta for receipt in receipts),
        )

    @property
    def numbers(self) -> str:
        """ε, and δ if there is one."""
        delta = f", δ = {float(self.delta):.3g}" if self.delta else ""
        return f"ε = {float(self.epsilon):.6g}{delta}"

    @property
    def unit(self) -> str:
        """Who or what is protected, in words."""
        if self.neighbours == ONE_ROW:
            return "one row of the table"
        return f"{self.neighbours}, which is all that is used of a person"

    @property
    def member(self) -> str:
        """Whose being there is hidden."""
        return "a given row" if self.neighbours == ONE_ROW else "a given person (group of rows)"

    def quoted(self) -> Markup:
        """The sentences as a page shows them; as markup, which the data of a page never has."""
        return element("blockquote", *(element("p", said) for said in self.sentences()))

    def sentences(self) -> list[str]:
        """The guarantee, in sentences that can be quoted."""
        member = self.member
        most = percent(after(0.5, self.epsilon, self.delta))
        if not self.delta:
            belief = (
                f"Whoever believed before this release that {member} is in the data with a "
                f"probability of 50 % can believe so with at most {most} after it, whatever else "
                "they know."
            )
        else:
            belief = (
                f"Whoever guesses whether {member} is in the data, where both were equally likely "
                f"before, is right with a probability of at most {most} after this release, "
                "whatever else they know."
            )
        factor = f"at most e^ε ≈ {_factor(self.epsilon)}"
        exact = f", up to a probability of δ = {float(self.delta):.3g}" if self.delta else ""
        formal = (
            f"Formally, this is differential privacy with {self.numbers}: adding or removing "
            f"{self.neighbours} changes the probability of any outcome by a factor of {factor}"
            f"{exact}."
        )
        return [belief, formal, self._precision()]

    def _precision(self) -> str:
        if self.finite_precision >= 1:
            return "At this ε the finite precision of the samplers leaves no guarantee."
        return (
            "The finite precision of the random numbers adds at most "
            f"{shown_above(self.finite_precision, 2)} to δ."
        )

    def beliefs(self) -> list[tuple[str, str]]:
        """Beliefs before, and the most that they can become; without δ alone."""
        if self.delta:
            return []
        return [(f"{100 * p:g} %", percent(after(p, self.epsilon))) for p in PRIORS]


def after(prior: float, epsilon: Fraction, delta: Fraction = Fraction(0)) -> float:
    """The most that a belief becomes: p·e^ε / (1 − p + p·e^ε).

    With δ, for a belief of one half: how often a guess is right at most, (e^ε + δ)/(1 + e^ε)
    (Kairouz, Oh, Viswanath 2015).
    """
    shrink = math.exp(-float(epsilon))
    belief = prior / (prior + (1 - prior) * shrink)
    return min(1.0, belief + float(delta) * shrink / (1 + shrink))


def percent(share: float) -> str:
    """A share in per cent, rounded up to a tenth: what is called the most must not be less."""
    up = Decimal(100 * share * (1 - 1e-15)).quantize(Decimal("0.1"), ROUND_CEILING)
    return f"{up:f}".removesuffix(".0") + " %"


def _factor(epsilon: Fraction) -> str:
    return f"{math.exp(float(epsilon)):.3g}" if epsilon < 700 else "beyond all numbers"


def not_promised(neighbours: str) -> list[str]:
    """What the guarantee does not say, in sentences that can be quoted."""
    first = (
        "Only one row is protected. Of a person with several rows, all of them together are not: "
        "their ε is a multiple of the one above."
        if neighbours == ONE_ROW
        else "A person is protected as far as the groups name people: rows of one person under two "
        "names are two persons."
    )
    return [
        first,
        "What is true of the population can be learned, and applies to people whether their rows "
        "were in the data or not. Differential privacy limits what taking part adds to that.",
        "Other releases about the same rows are not covered, be they made before or after. Their ε "
        "and δ add to these.",
        "Bounds, levels, the number of clusters and every other setting are taken as public. If "
        "they were chosen by looking at the rows, or a step before the fit learned from them, the "
        "guarantee does not hold.",
        "It is not promised that the clusters are right: noise moves centres and sizes, and small "
        "clusters can vanish in it or be made by it.",
        "The rows themselves, the machine that holds them and the people who run it are trusted. "
        "The time that a computation takes is not hidden.",
    ]
