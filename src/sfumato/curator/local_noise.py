"""Local mechanisms that add noise to every column: Laplace and Staircase."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato.box import REACH, Ints
from sfumato.curator.coins import CHANCE_BITS, LARGEST, coins
from sfumato.curator.local_lattice import LocalLattice
from sfumato.curator.local_pieces import check_column_epsilon
from sfumato.curator.local_rows import check_columns
from sfumato.curator.noise import Noise, check_scale, laplace_slack
from sfumato.curator.samplers import geometric
from sfumato.curator.settle import arithmetic, as_real, uniform_below
from sfumato.curator.slack import staircase_slack
from sfumato.curator.stream import Stream
from sfumato.guarantee import ANY_TWO_ROWS, Guarantee


@dataclass(frozen=True)
class LaplaceLaw:
    """Reports with discrete Laplace noise on every column.

    Guarantee: local, epsilon for the whole row. Two lattice rows are at most 2 reach apart in each
    of d columns, so with scale 2 reach d / epsilon the probabilities of a report differ by
    a factor of at most e^epsilon (docs/proofs/discrete-laplace.md).
    """

    epsilon: Fraction
    columns: int
    reach: int = REACH

    @property
    def scale(self) -> Fraction:
        """Scale of the noise in lattice steps."""
        return Fraction(2 * self.reach * self.columns) / self.epsilon

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon between any two rows."""
        return Guarantee("local", self.epsilon, neighbours=ANY_TWO_ROWS)

    @property
    def words(self) -> str:
        """The law and how it divides epsilon, for the receipt."""
        return f"discrete Laplace, {_divided(self.epsilon, self.columns)}"

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a lattice that the law was not made for, or too much noise."""
        check_columns(lattice, self.columns, self.reach)
        check_column_epsilon(self.epsilon / self.columns)
        check_scale(self.scale)

    def slack(self, lattice: LocalLattice) -> float:
        """Proven distance of the sampler to its law, for one block of rows."""
        return laplace_slack(lattice.block_rows * lattice.n_features)

    def draw(self, noise: Noise, rows: Ints) -> Ints:
        """Draw a report for each lattice row."""
        return rows + noise.laplace(self.scale, rows.size).reshape(rows.shape)

    @property
    def shrinks(self) -> float:
        """The mean of the reports over the value."""
        return 1.0

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports."""
        return 0.5 / math.sinh(0.5 / float(self.scale)) ** 2


@dataclass(frozen=True)
class StaircaseLaw:
    """Reports with staircase noise on every column (Geng and Viswanath 2014, discrete case).

    The noise is least often more than it must be: P(z) falls by e^(-epsilon / d) at |z| = tread,
    and again every 2 reach steps. `tread` is between 1 and 2 reach.

    Guarantee: local, epsilon for the whole row. Two lattice rows are at most 2 reach apart in each
    of d columns, and over 2 reach steps P falls at most once.
    """

    epsilon: Fraction
    columns: int
    tread: int
    reach: int = REACH

    @classmethod
    def of(
        cls, epsilon: Fraction, columns: int, gamma: Fraction | None = None, reach: int = REACH
    ) -> StaircaseLaw:
        """Return the law whose tread is gamma of the width, by default that of least mean |z|."""
        share = _best_gamma(epsilon / columns) if gamma is None else gamma
        if not 0 < share <= 1:
            raise ValueError(f"gamma must be a number above 0, at most 1, got {float(share):.6g}")
        return cls(epsilon, columns, max(1, round(share * 2 * reach)), reach)

    @property
    def width(self) -> int:
        """Steps between the bounds of a column, after which the noise falls again."""
        return 2 * self.reach

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon between any two rows."""
        return Guarantee("local", self.epsilon, neighbours=ANY_TWO_ROWS)

    @property
    def words(self) -> str:
        """The law and how it divides epsilon, for the receipt."""
        return f"Staircase, {_divided(self.epsilon, self.columns)}"

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a lattice that the law was not made for, or too much noise."""
        check_columns(lattice, self.columns, self.reach)
        check_column_epsilon(self.epsilon / self.columns)

    def slack(self, lattice: LocalLattice) -> float:
        """Proven distance of the sampler to its law, for one block of rows."""
        return staircase_slack(lattice.block_rows * lattice.n_features)

    def draw(self, noise: Noise, rows: Ints) -> Ints:
        """Draw a report for each lattice row."""
        stream = noise.stream()
        if stream is None:
            return rows.copy()
        drawn = staircase(stream, self.epsilon / self.columns, self.width, self.tread, rows.size)
        return rows + drawn.reshape(rows.shape)

    @property
    def shrinks(self) -> float:
        """The mean of the reports over the value."""
        return 1.0

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports."""
        return _staircase_variance(self.epsilon / self.columns, self.width, self.tread)


def staircase(stream: Stream, epsilon: Fraction, width: int, tread: int, size: int) -> Ints:
    """Draw discrete staircase noise: P(z) falls by e^-epsilon at |z| = tread + k width.

    Guarantee: z is uniform among the 2 (m width + tread) - 1 integers nearest to zero, where
    P(m) is proportional to that number times e^(-m epsilon): a geometric number, or one more than
    the sum of two (docs/proofs/local-mechanisms.md). Within 2^-125 of the law in statistical
    distance.
    """
    scale = 1 / epsilon
    single = coins(stream, single_chance(epsilon, width, tread), size)
    first, second = geometric(stream, scale, size), geometric(stream, scale, size)
    ends: Ints = np.where(single, first, first + second + 1) * width + tread
    return uniform_below(stream, 2 * ends - 1) - (ends - 1)


@lru_cache(maxsize=256)
def single_chance(epsilon: Fraction, width: int, tread: int) -> Fraction:
    """Return the chance that m is one geometric number, to 256 bits."""
    context = arithmetic(CHANCE_BITS)
    fall = context.exp(-as_real(context, epsilon))
    single = (2 * tread - 1) * (1 - fall)
    chance = single / (single + 2 * width * fall)
    return Fraction(int(context.floor(context.ldexp(chance, CHANCE_BITS))), 1 << CHANCE_BITS)


def _staircase_variance(epsilon: Fraction, width: int, tread: int) -> float:
    single, fall = float(single_chance(epsilon, width, tread)), math.exp(-float(epsilon))
    rest = -math.expm1(-float(epsilon))
    mean, spread = fall / rest, fall / rest**2  # of a geometric number
    first = single * mean + (1 - single) * (1 + 2 * mean)
    second = single * (spread + mean**2) + (1 - single) * (2 * spread + (1 + 2 * mean) ** 2)
    # z is uniform on 2 e - 1 numbers, e = m width + tread, so its variance is e (e - 1) / 3
    return (width**2 * second + width * (2 * tread - 1) * first + tread * (tread - 1)) / 3


def _best_gamma(epsilon: Fraction) -> Fraction:
    """Return the share of a step that is high, for the least mean |z|: 1 / (1 + e^(ε/2))."""
    context = arithmetic(CHANCE_BITS)
    share = 1 / (1 + context.exp(as_real(context, min(epsilon, LARGEST)) / 2))
    return Fraction(float(share))


def _divided(epsilon: Fraction, columns: int) -> str:
    each = f"ε = {float(epsilon / columns):.6g}"
    return f"with {each}" if columns == 1 else f"every column with {each}, which add up over a row"
