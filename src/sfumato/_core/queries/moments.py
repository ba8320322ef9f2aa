"""Second moments about the origin of the lattice: queries that know their sensitivity.

Coordinates enter in steps of 2^shift, cut off towards zero, so that noise of a moderate scale can
be drawn for a small share. At the default a coordinate loses at most 7 of its 32,767 steps. One
that is absent counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import ClassVar

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._core.queries.cells import Sensitivity
from sfumato._lattice.box import MAX_NUMBERS, REACH
from sfumato._lattice.kernels import numpy_loops as kernels

FINEST = 3
"""With steps of 2^FINEST the sums of 2^31 rows stay within int64."""

COARSEST = 14

DIAGONAL, UPPER = 70, 99
"""Whole numbers whose ratio is nearly √2, and not above it: 99² = 2·70² + 1."""


def longest_squared(n_features: int, shift: int, *, ball: bool) -> int:
    """Return the most that Σ y_a² of one coarse row can be."""
    if ball:
        return REACH * REACH >> 2 * shift
    return n_features * (REACH >> shift) ** 2


@dataclass(frozen=True)
class _OfColumns:
    """Columns, whose coordinates enter in steps of 2^shift."""

    n_features: int
    shift: int = FINEST

    def __post_init__(self) -> None:
        if type(self.n_features) is not int or self.n_features < 1:
            raise ValueError(f"moments need a whole number of columns, got {self.n_features}")
        if (numbers := self.n_features**self.axes) > MAX_NUMBERS:
            raise ValueError(
                f"{numbers:,} moments; at most {MAX_NUMBERS:,} fit: view fewer columns"
            )
        if type(self.shift) is not int or not FINEST <= self.shift <= COARSEST:
            raise ValueError(
                f"shift is a whole number from {FINEST} to {COARSEST}, got {self.shift}"
            )

    axes: ClassVar[int] = 1
    """Axes of the array that a pass adds up."""

    @property
    def step_squared(self) -> int:
        """The square of a coarse step, in squared lattice steps."""
        return 1 << 2 * self.shift


@dataclass(frozen=True)
class Squares(_OfColumns):
    """The sum of squares of every column: Σ y_a² with y = trunc(x / 2^shift).

    Sensitivity: a row adds (y_1² … y_d²), of which no number is negative, so its L1 norm is ‖y‖₂².
    In a ball ‖y‖₂² ≤ ⌊REACH²/4^shift⌋, whatever d; in a box |y_a| ≤ r = ⌊REACH/2^shift⌋ and the
    norm is at most d·r², reached in a corner. L2² = Σ y_a⁴ is at most the square of that norm in a
    ball, and at most d·r⁴ in a box.
    """

    def __str__(self) -> str:
        return f"squares of {self.n_features} columns"

    @property
    def n_numbers(self) -> int:
        """How many integers get noise."""
        return self.n_features

    def sensitivity(self, *, ball: bool) -> Sensitivity:
        """What one row can change, if rows are known to lie in a ball or only in the box."""
        most = longest_squared(self.n_features, self.shift, ball=ball)
        return Sensitivity(most, most * most if ball else most * (REACH >> self.shift) ** 2)

    def empty(self) -> Ints:
        """Zero for every column."""
        return np.zeros(self.n_features, dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add one block of rows."""
        kernels.add_squares(rows, self.shift, state)

    def line(self, state: Ints) -> Ints:
        """Return the integers that get noise."""
        return state[np.newaxis]

    def values(self, line: Ints) -> Floats:
        """Return what noisy integers say, in squared lattice steps."""
        values: Floats = line[0].astype(np.float64) * self.step_squared
        return values

    def deviation(self, std: float) -> float:
        """Return the deviation of a square, in squared steps, given that of its integer."""
        return std * self.step_squared


@dataclass(frozen=True)
class Products(_OfColumns):
    """The symmetric matrix Σ y·yᵀ with y = trunc(x / 2^shift).

    It gets its noise as the line of D = d(d+1)/2 integers 70·Σ y_a² and 99·Σ y_a·y_b (a < b).

    Sensitivity: a row adds a line v with ‖v‖² = 4900·Σ y_a⁴ + 9801·Σ_{a<b} y_a²·y_b². As
    4900 ≤ 9801/2 this is at most (9801/2)·‖y‖₂⁴, the bound of `longest_squared` for ‖y‖₂². It is
    an integer, so L2² is the integer part; L1 ≤ √D·L2 (Cauchy–Schwarz).
    """

    axes: ClassVar[int] = 2

    def __str__(self) -> str:
        return f"products of {self.n_features} columns"

    @property
    def n_numbers(self) -> int:
        """How many integers get noise: each pair of columns once."""
        return self.n_features * (self.n_features + 1) // 2

    def sensitivity(self, *, ball: bool) -> Sensitivity:
        """What one row can change, if rows are known to lie in a ball or only in the box."""
        most = longest_squared(self.n_features, self.shift, ball=ball)
        l2_squared = UPPER * UPPER * most * most // 2
        return Sensitivity(isqrt(self.n_numbers * l2_squared), l2_squared)

    def empty(self) -> Ints:
        """Zero for every pair of columns."""
        return np.zeros((self.n_features, self.n_features), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add one block of rows."""
        kernels.add_products(rows, self.shift, state)

    def line(self, state: Ints) -> Ints:
        """Return the integers that get noise: the weighted upper half."""
        return (state[np.triu_indices(self.n_features)] * self._weights())[np.newaxis]

    def values(self, line: Ints) -> Floats:
        """Return the matrix of noisy integers, mirrored, in squared lattice steps."""
        matrix = np.empty((self.n_features, self.n_features))
        a, b = np.triu_indices(self.n_features)
        matrix[a, b] = matrix[b, a] = line[0] / self._weights() * self.step_squared
        return matrix

    def deviation(self, std: float) -> float:
        """Return that of a diagonal entry, in squared steps; others have 70/99 of it."""
        return std / DIAGONAL * self.step_squared

    def _weights(self) -> Ints:
        a, b = np.triu_indices(self.n_features)
        return np.where(a == b, DIAGONAL, UPPER)


Moment = Squares | Products
MOMENTS = (Squares, Products)
