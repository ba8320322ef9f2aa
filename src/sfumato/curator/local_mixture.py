"""The Hybrid Mechanism: one of two pieces, by a coin that does not look at the value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.box import REACH, Ints
from sfumato.curator.coins import LARGEST, coins
from sfumato.curator.local_pieces import Chances, Piece, TwoPoint, Window
from sfumato.curator.stream import Stream

SWITCH = math.log(
    (
        -5
        + 2 * (6353 - 405 * math.sqrt(241)) ** (1 / 3)
        + 2 * (6353 + 405 * math.sqrt(241)) ** (1 / 3)
    )
    / 27
)
"""Epsilon from which the Piecewise Mechanism takes part (Wang et al. 2019, Eq. 6): 0.61."""


@dataclass(frozen=True)
class Mixture:
    """Report by the first piece with chance `share`, by the second otherwise.

    Guarantee: the coin does not look at the value, so the ratio is at most the larger of the two.
    """

    first: Piece
    second: Piece
    share: Fraction

    @classmethod
    def hybrid(cls, epsilon: Fraction, reach: int = REACH) -> Mixture:
        """Return the Hybrid Mechanism (Wang et al. 2019): Piecewise, or two points.

        The share of Piecewise, 1 - e^(-epsilon / 2) above an epsilon of 0.61 and 0 below, makes
        the largest variance least; it has no part in the guarantee.
        """
        share = Fraction(-math.expm1(-float(min(epsilon, LARGEST)) / 2)) if epsilon > SWITCH else 0
        return cls(Window.piecewise(epsilon, reach), TwoPoint.of(epsilon, reach), Fraction(share))

    @property
    def parts(self) -> list[tuple[Piece, Fraction]]:
        """The pieces that are ever used, with their shares."""
        both = [(self.first, self.share), (self.second, 1 - self.share)]
        return [(piece, share) for piece, share in both if share]

    @property
    def ratio(self) -> Fraction:
        """Upper bound of the ratio of the probabilities of one report under two values."""
        return max(piece.ratio for piece, _ in self.parts)

    def draw(self, stream: Stream, values: Ints) -> Ints:
        """Draw a report for each value."""
        if len(self.parts) == 1:
            return self.parts[0][0].draw(stream, values)
        first = coins(stream, self.share, values.size)
        return np.where(first, self.first.draw(stream, values), self.second.draw(stream, values))

    def chances(self, value: int) -> Chances:
        """Return the probability of every report of a value."""
        found: Chances = {}
        for piece, share in self.parts:
            for report, chance in piece.chances(value).items():
                found[report] = found.get(report, Fraction(0)) + share * chance
        return found

    def mean(self, value: int) -> Fraction:
        """Return the mean of the reports of a value."""
        return sum((share * piece.mean(value) for piece, share in self.parts), Fraction(0))

    def square(self, value: int) -> Fraction:
        """Return the mean of the squared reports of a value."""
        return sum((share * piece.square(value) for piece, share in self.parts), Fraction(0))
