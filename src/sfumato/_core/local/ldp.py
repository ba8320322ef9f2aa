"""Mechanisms of local differential privacy for whole rows: how ε is divided among the columns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato._accounting.guarantee import ANY_TWO_ROWS, Guarantee
from sfumato._base.types import Ints
from sfumato._core.local.lattice import LocalLattice
from sfumato._core.local.one_column import ColumnMechanism, check_column_epsilon
from sfumato._core.sampling.additive import (
    GEOMETRIC_SLACK,
    MAX_DIM,
    check_scale,
    geometric,
    laplace,
    laplace_slack,
)
from sfumato._core.sampling.bernoulli import (
    CHANCE_BITS,
    LARGEST,
    bernoulli,
    divide_at_random,
    exp_below,
    fair_signs,
    majority_signs,
    subsets,
)
from sfumato._core.sampling.exact import UNSETTLED, arithmetic, as_real, uniform_below
from sfumato._core.sampling.source import Noise
from sfumato._core.sampling.stream import Stream, counter_mode_slack
from sfumato._lattice.box import REACH

PER_SAMPLED = Fraction(5, 2)
"""Epsilon for which Wang et al. (2019, Eq. 12) report one more column of a row."""


@dataclass(frozen=True)
class LatticeLDP(ABC):
    """A mechanism with `epsilon` between any two rows of `columns` values in -reach ... reach.

    Guarantee: local, epsilon for the whole row; each mechanism says why.
    """

    epsilon: Fraction
    columns: int
    reach: int = field(default=REACH, kw_only=True)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon between any two rows."""
        return Guarantee("local", self.epsilon, neighbours=ANY_TWO_ROWS)

    @property
    @abstractmethod
    def words(self) -> str:
        """The mechanism and how it divides epsilon, for the receipt."""

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a lattice that the mechanism was not made for."""
        if lattice.n_features != self.columns:
            raise ValueError(
                f"the mechanism was made for {self.columns} columns, "
                f"the bounds have {lattice.n_features}"
            )
        if self.columns > MAX_DIM:
            raise ValueError(
                f"a local mechanism supports up to {MAX_DIM} columns, got {self.columns}"
            )
        if any(steps != self.reach for steps in lattice.reach.tolist()):
            raise ValueError(
                "a local mechanism measures each column by its own bounds: units='box' is needed"
            )

    def slack(self, lattice: LocalLattice) -> float:
        """Proven statistical distance of the sampler to its distribution, for one block of rows."""
        return self._slack(lattice.block_rows * lattice.n_features)

    def _slack(self, cells: int) -> float:
        # A cell takes at most seven uniform numbers: half a block each in order and, where it is
        # settled, three more. A cell of Duchi's takes one, and few bits for signs.
        return 7.0 * cells * UNSETTLED + counter_mode_slack(25.0 * cells)

    def draw(self, noise: Noise, rows: Ints) -> Ints:
        """Draw a report for each row. rows, reports: (n, columns), lattice steps."""
        stream = noise.stream()
        return rows.copy() if stream is None else self._draw(stream, rows)

    @abstractmethod
    def _draw(self, stream: Stream, rows: Ints) -> Ints:
        """Draw a report for each row, (n, columns) lattice steps, with these random bits."""

    @property
    def shrinks(self) -> float:
        """Mean of the reports over the value: 1 where they are unbiased."""
        return 1.0

    @abstractmethod
    def variance(self, value: int) -> float:
        """Return the variance of the reports of a column's value, in squared lattice steps."""

    def _every_column(self) -> str:
        each = f"with ε = {float(self.epsilon / self.columns):.6g}"
        return each if self.columns == 1 else f"every column {each}, which add up over a row"


@dataclass(frozen=True)
class LatticeColumns(LatticeLDP):
    """A mechanism for one column, on every column of a row or on a random sample of them.

    With `sampled` of the columns, each reported with epsilon / sampled, reports are stretched by
    columns / sampled and the other columns are reported at their middle, which keeps the mean
    (Wang et al. 2019, Algorithm 4; Harmony, Nguyên et al. 2016, with one column).

    Guarantee: local, epsilon for the whole row. Which columns are reported does not depend on the
    row; given them, the reports of `sampled` columns are independent, each with a ratio of at most
    e^(epsilon / sampled). Stretching looks at the report alone.
    """

    name: str
    sampled: int
    column: ColumnMechanism

    @classmethod
    def of(
        cls,
        name: str,
        make: Callable[[Fraction], ColumnMechanism],
        epsilon: Fraction,
        columns: int,
        sampled: int,
    ) -> LatticeColumns:
        """Return a mechanism; `make` is given the epsilon of each column that is reported."""
        return cls(epsilon, columns, name, sampled, make(epsilon / sampled))

    @property
    def words(self) -> str:
        """The mechanism and how it divides epsilon, for the receipt."""
        if self.sampled == self.columns:
            return f"{self.name}{',' * (self.columns > 1)} {self._every_column()}"
        return (
            f"{self.name}, {self.sampled} of {self.columns} columns, drawn at random for each row, "
            f"with ε = {float(self.epsilon / self.sampled):.6g} each and stretched by "
            f"{self.columns}/{self.sampled}; the others at their middle"
        )

    def _draw(self, stream: Stream, rows: Ints) -> Ints:
        if self.sampled == self.columns:
            return self.column.draw(stream, rows.ravel()).reshape(rows.shape)
        chosen = subsets(stream, len(rows), self.columns, self.sampled)
        values = np.take_along_axis(rows, chosen, axis=1)
        drawn = self.column.draw(stream, values.ravel()).reshape(values.shape)
        stretch = Fraction(self.columns, self.sampled)
        drawn = divide_at_random(stream, drawn * stretch.numerator, stretch.denominator)
        reports = np.zeros_like(rows)
        np.put_along_axis(reports, chosen, drawn, axis=1)
        return reports

    @property
    def shrinks(self) -> float:
        """Mean of the reports over the value: 1 except for Square Wave."""
        return float(self.column.mean(self.reach) / self.reach)

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports, without 1/4 that rounding may add."""
        stretch = Fraction(self.columns, self.sampled)
        return float(stretch * self.column.square(value) - self.column.mean(value) ** 2)


def sampled_columns(epsilon: Fraction, columns: int) -> int:
    """Return how many columns of a row to report for the least variance (Wang et al., Eq. 12)."""
    return max(1, min(columns, math.floor(epsilon / PER_SAMPLED)))


@dataclass(frozen=True)
class LatticeDuchi(LatticeLDP):
    """Report a corner of a cube that leans towards the row (Duchi, Jordan and Wainwright 2018).

    The row is rounded at random to a corner v; the report is height times v with its signs
    multiplied by s, where s is drawn, with probability `lean`, from the sign vectors with more +1
    than -1, otherwise from all of them. The mean is the row, exactly.

    Guarantee: local, epsilon for the whole row. For any v a report has a probability of (1 - lean)
    / 2^d, plus lean / leading if it agrees with v in more than half of the columns; a row mixes
    these over v. `of` takes the smallest height for which the ratio is at most e^epsilon. Reports
    that agree with v in exactly half of the columns count as not leading: the published sampler
    has them on both sides, which for even d has a ratio of e^epsilon + 1 (Nguyên et al. 2016).
    """

    height: int

    @classmethod
    def of(cls, epsilon: Fraction, columns: int, reach: int = REACH) -> LatticeDuchi:
        """Return the mechanism for an epsilon."""
        check_column_epsilon(epsilon)
        odds = (exp_below(epsilon) - 1) * leading(columns) / (1 << columns)
        height = math.ceil(reach * (1 + odds) / (agreement(columns) * odds))
        return cls(epsilon, columns, height, reach=reach)

    @property
    def lean(self) -> Fraction:
        """Probability that signs are drawn from those with more +1 than -1."""
        return self.reach / (agreement(self.columns) * self.height)

    @property
    def words(self) -> str:
        """The mechanism, for the receipt."""
        return (
            f"Duchi et al., all {self.columns} columns at once with ε = {float(self.epsilon):.6g}"
        )

    def _draw(self, stream: Stream, rows: Ints) -> Ints:
        corners = 2 * divide_at_random(stream, rows + self.reach, 2 * self.reach) - 1
        lean = bernoulli(stream, self.lean, len(rows))
        ahead, fair = majority_signs(stream, *rows.shape), fair_signs(stream, rows.shape)
        reports: Ints = self.height * corners * np.where(lean[:, None], ahead, fair)
        return reports

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports, in squared lattice steps."""
        return float(self.height**2 - value**2)


def leading(columns: int) -> int:
    """Return how many sign vectors have more +1 than -1."""
    ties = math.comb(columns, columns // 2) if columns % 2 == 0 else 0
    return ((1 << columns) - ties) // 2


def agreement(columns: int) -> Fraction:
    """Return the mean of a sign, over the sign vectors with more +1 than -1."""
    return Fraction(math.comb(columns - 1, columns // 2), leading(columns))


@dataclass(frozen=True)
class LatticeLaplace(LatticeLDP):
    """Discrete Laplace noise on every column.

    Guarantee: local, epsilon for the whole row. Two lattice rows are at most 2 reach apart in each
    of d columns, so with scale 2 reach d / epsilon the probabilities of a report differ by
    a factor of at most e^epsilon (docs/proofs/discrete-laplace.md).
    """

    @property
    def scale(self) -> Fraction:
        """Scale of the noise in lattice steps."""
        return Fraction(2 * self.reach * self.columns) / self.epsilon

    @property
    def words(self) -> str:
        """The mechanism and how it divides epsilon, for the receipt."""
        return f"discrete Laplace, {self._every_column()}"

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a lattice that the mechanism was not made for, or too much noise."""
        super().check(lattice)
        check_column_epsilon(self.epsilon / self.columns)
        check_scale(self.scale)

    def _slack(self, cells: int) -> float:
        return laplace_slack(cells)

    def _draw(self, stream: Stream, rows: Ints) -> Ints:
        return rows + laplace(stream, self.scale, rows.size).reshape(rows.shape)

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports, in squared lattice steps."""
        # Beyond 300 steps an e-fold there is no noise, and sinh² leaves floating point.
        return 0.5 / math.sinh(min(0.5 / float(self.scale), 300.0)) ** 2


@dataclass(frozen=True)
class LatticeStaircase(LatticeLDP):
    """Staircase noise on every column (Geng and Viswanath 2014, discrete case).

    The probability mass function drops by e^(-epsilon / d) at |z| = tread, and again every 2 reach
    steps. `tread` is between 1 and 2 reach.

    Guarantee: local, epsilon for the whole row. Two lattice rows are at most 2 reach apart in each
    of d columns, and over 2 reach steps the probability drops at most once.
    """

    tread: int

    @classmethod
    def of(
        cls, epsilon: Fraction, columns: int, gamma: Fraction | None = None, reach: int = REACH
    ) -> LatticeStaircase:
        """Return the mechanism with tread gamma · 2 reach, by default that of least mean |z|."""
        share = _best_gamma(epsilon / columns) if gamma is None else gamma
        if not 0 < share <= 1:
            raise ValueError(f"gamma must be a number above 0, at most 1, got {float(share):.6g}")
        return cls(epsilon, columns, max(1, round(share * 2 * reach)), reach=reach)

    @property
    def width(self) -> int:
        """Steps between the bounds of a column, after which the probability drops again."""
        return 2 * self.reach

    @property
    def words(self) -> str:
        """The mechanism and how it divides epsilon, for the receipt."""
        return f"Staircase, {self._every_column()}"

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a lattice that the mechanism was not made for, or too much noise."""
        super().check(lattice)
        check_column_epsilon(self.epsilon / self.columns)

    def _slack(self, cells: int) -> float:
        # Two geometric numbers, a Bernoulli one whose chance is rounded to 2^-256, a uniform one.
        return 2.0 * cells * (GEOMETRIC_SLACK + 2.0**-256) + counter_mode_slack(24.0 * cells)

    def _draw(self, stream: Stream, rows: Ints) -> Ints:
        drawn = staircase(stream, self.epsilon / self.columns, self.width, self.tread, rows.size)
        return rows + drawn.reshape(rows.shape)

    def variance(self, value: int) -> float:
        """Return the variance of a column's reports, in squared lattice steps."""
        epsilon, width, tread = self.epsilon / self.columns, self.width, self.tread
        single, fall = float(single_chance(epsilon, width, tread)), math.exp(-float(epsilon))
        rest = -math.expm1(-float(epsilon))
        mean, spread = fall / rest, fall / rest**2  # of a geometric number
        first = single * mean + (1 - single) * (1 + 2 * mean)
        second = single * (spread + mean**2) + (1 - single) * (2 * spread + (1 + 2 * mean) ** 2)
        # z is uniform on 2 e - 1 numbers, e = m width + tread, so its variance is e (e - 1) / 3
        return (width**2 * second + width * (2 * tread - 1) * first + tread * (tread - 1)) / 3


def staircase(stream: Stream, epsilon: Fraction, width: int, tread: int, size: int) -> Ints:
    """Draw discrete staircase noise: P(z) drops by e^-epsilon at |z| = tread + k width.

    Guarantee: z is uniform among the 2 (m width + tread) - 1 integers nearest to zero, where
    P(m) is proportional to that number times e^(-m epsilon): a geometric number, or one more than
    the sum of two (docs/proofs/local-mechanisms.md). Within a statistical distance of
    2^-125.
    """
    scale = 1 / epsilon
    single = bernoulli(stream, single_chance(epsilon, width, tread), size)
    first, second = geometric(stream, scale, size), geometric(stream, scale, size)
    ends: Ints = np.where(single, first, first + second + 1) * width + tread
    return uniform_below(stream, 2 * ends - 1) - (ends - 1)


@lru_cache(maxsize=256)
def single_chance(epsilon: Fraction, width: int, tread: int) -> Fraction:
    """Return the probability that m is one geometric number, to 256 bits."""
    context = arithmetic(CHANCE_BITS)
    fall = context.exp(-as_real(context, epsilon))
    single = (2 * tread - 1) * (1 - fall)
    chance = single / (single + 2 * width * fall)
    return Fraction(int(context.floor(context.ldexp(chance, CHANCE_BITS))), 1 << CHANCE_BITS)


def _best_gamma(epsilon: Fraction) -> Fraction:
    """Return the share of a step that is high, for the least mean |z|: 1 / (1 + e^(ε/2))."""
    context = arithmetic(CHANCE_BITS)
    share = 1 / (1 + context.exp(as_real(context, min(epsilon, LARGEST)) / 2))
    return Fraction(float(share))
