"""Rulers laid on raw columns that have no bounds yet, and the one question about them.

A ruler turns each cell into the number of the bin it lies in, from the public ruler and the bits of
that one cell. Like the questions it travels to wherever the rows are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, ldexp
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.box import BLOCK_CELLS, Floats, Ints, Lattice
from sfumato.curator.cells import MAX_NUMBERS
from sfumato.curator.questions import Sensitivity

MISSING = -1
"""The bin of a cell that is counted nowhere."""

MOST_SLICES = 2**15 - 1

_EXPONENTS = 2046


@dataclass(frozen=True)
class Octaves:
    """Powers of two with their sign: bin 2046 ± e holds 2^(e−1023) ≤ ±x < 2^(e−1022).

    Bin 2046 holds 0 and what is smaller than the least normal float64. NaN and infinite cells are
    counted nowhere.
    """

    n_features: int

    def __str__(self) -> str:
        return "powers of two"

    @property
    def bins(self) -> int:
        """Number of bins of each column."""
        return 2 * _EXPONENTS + 1

    @property
    def zero(self) -> int:
        """The bin around 0."""
        return _EXPONENTS

    def edges(self, bin_: int) -> tuple[float, float]:
        """The bounds of a bin; those of the bin around 0 are both 0."""
        exponent = abs(bin_ - _EXPONENTS)
        if not exponent:
            return 0.0, 0.0
        low = ldexp(1.0, exponent - 1023)
        high = sys.float_info.max if exponent == _EXPONENTS else 2 * low
        return (low, high) if bin_ > _EXPONENTS else (-high, -low)

    def write_lattice(self, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
        """Write the bin of every cell; every row is kept."""
        for values, bins in _blocks(rows, out):
            bits = values.view(np.int64)
            exponents = (bits >> 52) & 0x7FF
            place = _EXPONENTS + np.where(bits < 0, -exponents, exponents)
            bins[:] = np.where(exponents > _EXPONENTS, MISSING, place)
        return np.ones(len(rows), dtype=np.bool_)


@dataclass(frozen=True)
class Slices:
    """Equal slices of a range in each column; what lies outside is counted nowhere."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    bins: int

    def __post_init__(self) -> None:
        pairs = list(zip(self.lower, self.upper, strict=True))
        if not all(isfinite(low) and isfinite(high) and low < high for low, high in pairs):
            raise ValueError("the ranges to slice must be finite, their lower bound first")
        if type(self.bins) is not int or not 1 <= self.bins <= MOST_SLICES:
            raise ValueError(f"a range has 1 to {MOST_SLICES} slices, got {self.bins!r}")

    def __str__(self) -> str:
        return f"{self.bins} slices of a range"

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.lower)

    def write_lattice(self, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
        """Write the slice of every cell; every row is kept."""
        low, high = np.array(self.lower), np.array(self.upper)
        # Halves: the difference of two large numbers must not overflow.
        step = (high / 2 - low / 2) / self.bins
        for values, bins in _blocks(rows, out):
            inside = (values >= low) & (values <= high)
            place = (np.where(inside, values, low) / 2 - low / 2) / step
            slices = np.clip(np.floor(place), 0, self.bins - 1)
            bins[:] = np.where(inside, slices, MISSING)
        return np.ones(len(rows), dtype=np.bool_)


Ruler = Octaves | Slices
RULERS = (Octaves, Slices)


@dataclass(frozen=True)
class Histogram:
    """How many cells of each column lie in each bin of a ruler.

    Sensitivity: a row has one cell in each of d columns, which lies in one bin or in none. It moves
    at most d counts by 1: L1 = d, L2 = √d, reached by every row without a missing cell.
    """

    ruler: Ruler

    def __str__(self) -> str:
        return f"histograms of columns by {self.ruler}"

    def sensitivity(self) -> Sensitivity:
        """What one row can change."""
        d = self.ruler.n_features
        return Sensitivity(d, d)

    def empty(self) -> Ints:
        """Zero for every bin of every column."""
        return np.zeros((self.ruler.n_features, self.ruler.bins), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows, given by the bins of their cells."""
        for column, counts in enumerate(state):
            places = rows[:, column]
            counts += np.bincount(places[places != MISSING], minlength=len(counts))


def check_ruler(ruler: object, n_features: int) -> Ruler:
    """Refuse anything but the curator's own rulers for tables of this width."""
    if type(ruler) not in RULERS:
        raise TypeError(
            f"{type(ruler).__name__} is not one of the curator's own rulers: "
            f"{', '.join(r.__name__ for r in RULERS)}"
        )
    known = cast(Ruler, ruler)
    if known.n_features != n_features:
        raise ValueError(f"the ruler has {known.n_features} columns, the data has {n_features}")
    if known.bins * n_features > MAX_NUMBERS:
        raise ValueError(
            f"histograms of {n_features} columns by {known} have more than {MAX_NUMBERS:,} "
            "numbers; private bounds are for fewer columns"
        )
    return known


def _blocks(rows: NDArray[Any], out: Lattice) -> Iterator[tuple[Floats, Lattice]]:
    """Float64 blocks of rows, each with the place for its bins."""
    step = max(1, BLOCK_CELLS // rows.shape[1])
    # No value may raise a warning, which a caller could turn into an exception.
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            yield np.ascontiguousarray(rows[block], dtype=np.float64), out[block]
