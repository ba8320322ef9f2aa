"""Local mechanisms for whole rows: how epsilon is divided among the columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.box import REACH, Ints
from sfumato.curator.coins import (
    coins,
    divide_at_random,
    exp_below,
    leaning_signs,
    signs,
    subsets,
)
from sfumato.curator.local_lattice import LocalLattice
from sfumato.curator.local_mixture import Mixture
from sfumato.curator.local_pieces import Piece, TwoPoint, Window, check_column_epsilon
from sfumato.curator.noise import MAX_DIM, Noise
from sfumato.curator.slack import pieces_slack
from sfumato.guarantee import ANY_TWO_ROWS, Guarantee

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
