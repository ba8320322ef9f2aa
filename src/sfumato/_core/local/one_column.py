"""Local mechanisms for one column of a row.

Each is a discrete distribution with rational probabilities on the integers of the output lattice,
built so that the ratio of the probabilities of one report under any two values is at most
e^epsilon, exactly (docs/proofs/local-mechanisms.md). Values lie in -reach ... reach. `values` and
the reports drawn for them: (n,), lattice steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._base.types import Ints
from sfumato._core.sampling.bernoulli import (
    CHANCE_BITS,
    LARGEST,
    bernoulli,
    divide_at_random,
    exp_below,
)
from sfumato._core.sampling.exact import arithmetic, as_real, uniform_below
from sfumato._core.sampling.stream import Stream
from sfumato._lattice.box import REACH

LEAST = Fraction(1, 2**20)
"""Smallest epsilon of a column: reports stay below 2^38 lattice steps then."""


def check_column_epsilon(epsilon: Fraction) -> None:
    """Refuse an epsilon that leaves a column's report without any meaning."""
    if epsilon < LEAST:
        raise ValueError(
            f"epsilon comes to {float(epsilon):.3g} for one column, at least 2^-20 (about 1e-6) "
            "is supported; a larger epsilon or fewer columns would work"
        )


@dataclass(frozen=True)
class TwoPoint:
    """Report -height or +height, the latter with probability (height + value) / 2 height.

    Duchi, Jordan and Wainwright (2018) in one column. The mean is the value, exactly.

    Guarantee: both reports have probabilities between (height - reach) and (height + reach) over
    2 height, so their ratio is at most (height + reach) / (height - reach); `of` takes the
    smallest whole height for which that is at most e^epsilon.
    """

    height: int
    reach: int = REACH

    @classmethod
    def of(cls, epsilon: Fraction, reach: int = REACH) -> TwoPoint:
        """Return the mechanism for an epsilon."""
        check_column_epsilon(epsilon)
        ratio = exp_below(epsilon)
        return cls(math.ceil(reach * (ratio + 1) / (ratio - 1)), reach)

    def draw(self, stream: Stream, values: Ints) -> Ints:
        """Draw a report for each value."""
        up = divide_at_random(stream, values + self.height, 2 * self.height)
        return (2 * up - 1) * self.height

    def mean(self, value: int) -> Fraction:
        """Return the mean of the reports: the value."""
        return Fraction(value)

    def square(self, value: int) -> Fraction:
        """Return the mean of the squared reports."""
        return Fraction(self.height**2)


@dataclass(frozen=True)
class Window:
    """Report a number near the value with probability `near`, or any number of the range.

    Near is uniform on the 2 half + 1 numbers round a centre, value * stretch / reach rounded up or
    down at random; the range goes from -(stretch + half) to stretch + half.

    Guarantee: whatever the value, each report of the range has a probability of at least
    (1 - near) / range and at most that plus near / window; `piecewise` and `square_wave` choose
    the numbers so that the ratio of the two is at most e^epsilon.
    """

    half: int
    stretch: int
    near: Fraction
    reach: int = REACH

    @classmethod
    def piecewise(cls, epsilon: Fraction, reach: int = REACH) -> Window:
        """Return the Piecewise Mechanism (Wang et al. 2019), whose mean is the value, exactly.

        The window is theirs, 2 reach / (e^(epsilon / 2) - 1), and the stretch the smallest that
        epsilon allows.
        """
        check_column_epsilon(epsilon)
        ratio = exp_below(epsilon)
        half = math.floor(reach / (exp_below(epsilon / 2) - 1))
        window = 2 * half + 1
        stretch = math.ceil(ratio * reach * window / ((ratio - 1) * window - 2 * reach))
        return cls(half, stretch, Fraction(reach, stretch), reach)

    @classmethod
    def square_wave(cls, epsilon: Fraction, reach: int = REACH) -> Window:
        """Return Square Wave (Li et al. 2020); its mean is the value times `near`.

        The window is theirs, the one with the most mutual information for a uniform value.
        """
        check_column_epsilon(epsilon)
        ratio = exp_below(epsilon)
        half = math.floor(2 * reach * _wave_half(epsilon) + Fraction(1, 2))
        odds = (ratio - 1) * (2 * half + 1) / (2 * (reach + half) + 1)
        return cls(half, reach, odds / (1 + odds), reach)

    @property
    def window(self) -> int:
        """Number of reports near a value."""
        return 2 * self.half + 1

    @property
    def range(self) -> int:
        """Number of reports."""
        return 2 * (self.stretch + self.half) + 1

    def draw(self, stream: Stream, values: Ints) -> Ints:
        """Draw a report for each value."""
        centers = divide_at_random(stream, values * self.stretch, self.reach)
        near = bernoulli(stream, self.near, values.size)
        widths = np.where(near, self.window, self.range)
        offsets: Ints = uniform_below(stream, widths) - widths // 2
        return offsets + np.where(near, centers, 0)

    def mean(self, value: int) -> Fraction:
        """Return the mean of the reports of a value."""
        return self.near * self.stretch * value / self.reach

    def square(self, value: int) -> Fraction:
        """Return the mean of the squared reports of a value."""
        center = Fraction(value * self.stretch, self.reach)
        up = center % 1  # probability of rounding up
        near = center**2 + up * (1 - up) + Fraction(self.window**2 - 1, 12)
        return self.near * near + (1 - self.near) * Fraction(self.range**2 - 1, 12)


def _wave_half(epsilon: Fraction) -> Fraction:
    """Half a window over the width of the column (Li et al. 2020, Eq. 6), just below."""
    context = arithmetic(CHANCE_BITS)
    e = as_real(context, min(epsilon, LARGEST))
    power = context.exp(e)
    share = (e * power - power + 1) / (2 * power * (power - 1 - e))
    return Fraction(int(context.floor(context.ldexp(share, CHANCE_BITS))), 1 << CHANCE_BITS)


_ROOT = 405 * math.sqrt(241)
SWITCH = math.log((-5 + 2 * (6353 - _ROOT) ** (1 / 3) + 2 * (6353 + _ROOT) ** (1 / 3)) / 27)
"""Epsilon from which the Piecewise Mechanism takes part (Wang et al. 2019, Eq. 6): 0.61."""


@dataclass(frozen=True)
class Mixture:
    """Report by the first mechanism with probability `share`, by the second otherwise.

    Guarantee: the choice does not depend on the value: the ratio is at most the larger of both.
    """

    first: ColumnMechanism
    second: ColumnMechanism
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
    def parts(self) -> list[tuple[ColumnMechanism, Fraction]]:
        """The mechanisms that are ever used, with their shares."""
        both = [(self.first, self.share), (self.second, 1 - self.share)]
        return [(mechanism, share) for mechanism, share in both if share]

    def draw(self, stream: Stream, values: Ints) -> Ints:
        """Draw a report for each value."""
        if len(self.parts) == 1:
            return self.parts[0][0].draw(stream, values)
        first = bernoulli(stream, self.share, values.size)
        return np.where(first, self.first.draw(stream, values), self.second.draw(stream, values))

    def mean(self, value: int) -> Fraction:
        """Return the mean of the reports of a value."""
        return sum((share * part.mean(value) for part, share in self.parts), Fraction(0))

    def square(self, value: int) -> Fraction:
        """Return the mean of the squared reports of a value."""
        return sum((share * part.square(value) for part, share in self.parts), Fraction(0))


ColumnMechanism = TwoPoint | Window | Mixture
"""The mechanisms for one column: a closed set."""
