"""Local mechanisms for whole rows: how epsilon is divided among the columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato._accounting.guarantee import ANY_TWO_ROWS, Guarantee
from sfumato._base.types import Ints
from sfumato._core.local.lattice import LocalLattice
from sfumato._core.local.one_column import Mixture, Piece, TwoPoint, Window, check_column_epsilon
from sfumato._core.sampling.additive import MAX_DIM, check_scale, geometric
from sfumato._core.sampling.bernoulli import (
    CHANCE_BITS,
    LARGEST,
    coins,
    divide_at_random,
    exp_below,
    leaning_signs,
    signs,
    subsets,
)
from sfumato._core.sampling.exact import arithmetic, as_real, uniform_below
from sfumato._core.sampling.slack import laplace_slack, pieces_slack, staircase_slack
from sfumato._core.sampling.source import Noise
from sfumato._core.sampling.stream import Stream
from sfumato._lattice.box import REACH

PER_SAMPLED = Fraction(5, 2)
"""Epsilon for which Wang et al. (2019, Eq. 12) report one more column of a row."""


def check_columns(lattice: LocalLattice, columns: int, reach: int) -> None:
    """Refuse a lattice that a law for so many columns of this reach was not made for."""
    if lattice.n_features != columns:
        raise ValueError(
            f"the law was made for {columns} columns, the bounds have {lattice.n_features}"
        )
    if columns > MAX_DIM:
        raise ValueError(f"a local mechanism supports up to {MAX_DIM} columns, got {columns}")
    if any(steps != reach for steps in lattice.reach.tolist()):
        raise ValueError(
            "a local mechanism measures each column by its own bounds: units='box' is needed"
        )


@dataclass(frozen=True)
class PieceLaw:
    """A piece for each column of a row, or for some columns of it that are drawn at random.

    With `sampled` of the columns, each reported with epsilon / sampled, reports are stretched by
    columns / sampled and the other columns are reported at their middle, which keeps the mean
    (Wang et al. 2019, Algorithm 4; Harmony, Nguyên et al. 2016, with one column).

    Guarantee: local, epsilon for the whole row. Which columns are reported does not depend on the
    row; given them, the reports of `sampled` columns are independent, each with a ratio of at most
    e^(epsilon / sampled). Stretching looks at the report alone.
    """

    name: str
    epsilon: Fraction
    columns: int
    sampled: int
    piece: Piece
    reach: int = REACH

    @classmethod
    def piecewise(cls, epsilon: Fraction, columns: int, sampled: int | None = None) -> PieceLaw:
        """Return the Piecewise Mechanism (Wang et al. 2019)."""
        sampled = sampled_columns(epsilon, columns) if sampled is None else sampled
        piece = Window.piecewise(epsilon / sampled)
        return cls("Piecewise Mechanism", epsilon, columns, sampled, piece)

    @classmethod
    def hybrid(cls, epsilon: Fraction, columns: int, sampled: int | None = None) -> PieceLaw:
        """Return the Hybrid Mechanism (Wang et al. 2019)."""
        sampled = sampled_columns(epsilon, columns) if sampled is None else sampled
        piece = Mixture.hybrid(epsilon / sampled)
        return cls("Hybrid Mechanism", epsilon, columns, sampled, piece)

    @classmethod
    def harmony(cls, epsilon: Fraction, columns: int) -> PieceLaw:
        """Return Harmony (Nguyên et al. 2016): one column, one of two reports."""
        return cls("Harmony", epsilon, columns, 1, TwoPoint.of(epsilon))

    @classmethod
    def square_wave(cls, epsilon: Fraction, columns: int) -> PieceLaw:
        """Return Square Wave (Li et al. 2020) on every column."""
        piece = Window.square_wave(epsilon / columns)
        return cls("Square Wave", epsilon, columns, columns, piece)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon between any two rows."""
        return Guarantee("local", self.epsilon, neighbours=ANY_TWO_ROWS)

    @property
    def words(self) -> str:
        """The law and how it divides epsilon, for the receipt."""
        each = f"ε = {float(self.epsilon / self.sampled):.6g}"
        if self.columns == 1:
            return f"{self.name} with {each}"
        if self.sampled == self.columns:
            return f"{self.name}, every column with {each}, which add up over a row"
        return (
            f"{self.name}, {self.sampled} of {self.columns} columns, drawn at random for each row, "
            f"with {each} each and stretched by {self.columns}/{self.sampled}; "
            "the others at their middle"
        )

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a lattice that the law was not made for."""
        check_columns(lattice, self.columns, self.reach)

    def slack(self, lattice: LocalLattice) -> float:
        """Proven distance of the sampler to its law, for one block of rows."""
        return pieces_slack(lattice.block_rows * lattice.n_features)

    def draw(self, noise: Noise, rows: Ints) -> Ints:
        """Draw a report for each lattice row."""
        stream = noise.stream()
        if stream is None:
            return rows.copy()
        if self.sampled == self.columns:
            return self.piece.draw(stream, rows.ravel()).reshape(rows.shape)
        chosen = subsets(stream, len(rows), self.columns, self.sampled)
        values = np.take_along_axis(rows, chosen, axis=1)
        drawn = self.piece.draw(stream, values.ravel()).reshape(values.shape)
        stretch = Fraction(self.columns, self.sampled)
        drawn = divide_at_random(stream, drawn * stretch.numerator, stretch.denominator)
        reports = np.zeros_like(rows)
        np.put_along_axis(reports, chosen, drawn, axis=1)
        return reports

    @property
    def shrinks(self) -> float:
        """The mean of the reports over the value: 1 but for Square Wave."""
        return float(self.piece.mean(self.reach) / self.reach)

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports, but for 1/4 that rounding may add."""
        stretch = Fraction(self.columns, self.sampled)
        return float(stretch * self.piece.square(value) - self.piece.mean(value) ** 2)


def sampled_columns(epsilon: Fraction, columns: int) -> int:
    """Return how many columns of a row to report for the least variance (Wang et al., Eq. 12)."""
    return max(1, min(columns, math.floor(epsilon / PER_SAMPLED)))


@dataclass(frozen=True)
class DuchiLaw:
    """Report a corner of a cube that leans towards the row (Duchi, Jordan and Wainwright 2018).

    The row is rounded at random to a corner v; the report is height times v with its signs
    multiplied by s, where s is drawn, with chance `lean`, from the sign vectors in which +1 leads,
    otherwise from all of them. The mean is the row, exactly.

    Guarantee: local, epsilon for the whole row. For any v a report has a chance of (1 - lean) /
    2^d, plus lean / leading if it agrees with v in more than half of the columns; a row mixes
    these over v. `of` takes the smallest height for which the ratio is at most e^epsilon. Reports
    that agree with v in exactly half of the columns count as not leading: the published sampler
    has them on both sides, which for even d has a ratio of e^epsilon + 1 (Nguyên et al. 2016).
    """

    epsilon: Fraction
    columns: int
    height: int
    reach: int = REACH

    @classmethod
    def of(cls, epsilon: Fraction, columns: int, reach: int = REACH) -> DuchiLaw:
        """Return the law for an epsilon."""
        check_column_epsilon(epsilon)
        odds = (exp_below(epsilon) - 1) * leading(columns) / (1 << columns)
        return cls(
            epsilon, columns, math.ceil(reach * (1 + odds) / (agreement(columns) * odds)), reach
        )

    @property
    def lean(self) -> Fraction:
        """Chance that signs are drawn from those in which +1 leads."""
        return self.reach / (agreement(self.columns) * self.height)

    @property
    def ratio(self) -> Fraction:
        """Largest ratio of the probabilities of one report under two rows."""
        return 1 + self.lean / (1 - self.lean) * (1 << self.columns) / leading(self.columns)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon between any two rows."""
        return Guarantee("local", self.epsilon, neighbours=ANY_TWO_ROWS)

    @property
    def words(self) -> str:
        """The law, for the receipt."""
        return (
            f"Duchi et al., all {self.columns} columns at once with ε = {float(self.epsilon):.6g}"
        )

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a lattice that the law was not made for."""
        check_columns(lattice, self.columns, self.reach)

    def slack(self, lattice: LocalLattice) -> float:
        """Proven distance of the sampler to its law, for one block of rows."""
        return pieces_slack(lattice.block_rows * lattice.n_features)

    def draw(self, noise: Noise, rows: Ints) -> Ints:
        """Draw a report for each lattice row."""
        stream = noise.stream()
        if stream is None:
            return rows.copy()
        corners = 2 * divide_at_random(stream, rows + self.reach, 2 * self.reach) - 1
        lean = coins(stream, self.lean, len(rows))
        ahead, fair = leaning_signs(stream, *rows.shape), signs(stream, rows.shape)
        reports: Ints = self.height * corners * np.where(lean[:, None], ahead, fair)
        return reports

    @property
    def shrinks(self) -> float:
        """The mean of the reports over the value."""
        return 1.0

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports."""
        return float(self.height**2 - value**2)


def leading(columns: int) -> int:
    """Return how many sign vectors have more +1 than -1."""
    ties = math.comb(columns, columns // 2) if columns % 2 == 0 else 0
    return ((1 << columns) - ties) // 2


def agreement(columns: int) -> Fraction:
    """Return the mean of a sign, over the sign vectors in which +1 leads."""
    return Fraction(math.comb(columns - 1, columns // 2), leading(columns))


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
