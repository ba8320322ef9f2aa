"""Binnings of raw columns that have no bounds yet, and the one query about them.

A binning turns each cell into the number of its bin, by public edges and the bits of that one cell.
Like the queries it travels to wherever the rows are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._core.queries.cells import Parts, Sensitivity
from sfumato._lattice.box import BLOCK_CELLS

MISSING = -1
"""The bin of a cell that is counted nowhere."""

MOST_SLICES = 2**15 - 1

_HALVES = 4092
_SIZE = 2**63 - 1
_INFINITE = 0x7FF << 52


@dataclass(frozen=True)
class LogBins:
    """Powers of two with their sign, each cut at 3/2 of it: the bin of a cell is in its bits.

    Bin 4092 ± b holds ±x above edge b and up to edge b + 1, where edge 2e + 2045 is 2^e and the
    next one 3/2 · 2^e. Bin 4092 holds 0 and sizes up to the least normal float64. NaN and infinite
    cells are counted nowhere.
    """

    n_features: int

    def __str__(self) -> str:
        return "half octaves"

    @property
    def bins(self) -> int:
        """Number of bins of each column."""
        return 2 * _HALVES + 1

    @property
    def zero(self) -> int:
        """The bin around 0."""
        return _HALVES

    @property
    def n_looked_at(self) -> int:
        """Number of columns that are looked at: all."""
        return self.n_features

    def edges(self, bin_: int) -> tuple[float, float]:
        """The bounds of a bin; those of the bin around 0 are both 0."""
        place = abs(bin_ - _HALVES)
        if not place:
            return 0.0, 0.0
        low = _edge(place)
        high = sys.float_info.max if place == _HALVES else _edge(place + 1)
        return (low, high) if bin_ > _HALVES else (-high, -low)

    def write_lattice(self, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
        """Write the bin of every cell; every row is kept."""
        for values, bins in _blocks(rows, out):
            bits = values.view(np.int64)
            size = bits & _SIZE
            # The exponent and the first bit after it, of the next smaller number: edges belong to
            # the bin below, so that counts from 0 to 1 or to 16 end there.
            halves = np.maximum((size - 1) >> 51, 1) - 1
            place = _HALVES + np.where(bits < 0, -halves, halves)
            bins[:] = np.where(size >= _INFINITE, MISSING, place)
        return np.ones(len(rows), dtype=np.bool_)


def _edge(place: int) -> float:
    exponent, half = divmod(place + 1, 2)
    return ldexp(1.0 + half / 2, exponent - 1023)


@dataclass(frozen=True)
class EqualBins:
    """Equal slices of a range in some columns; what lies outside is counted nowhere.

    A column whose bounds are None is not looked at.
    """

    lower: tuple[float | None, ...]
    upper: tuple[float | None, ...]
    bins: int

    def __post_init__(self) -> None:
        ranges = [pair for pair in zip(self.lower, self.upper, strict=True) if pair != (None, None)]
        if not ranges:
            raise ValueError("there is nothing to slice: give the range of at least one column")
        if not all(_is_range(low, high) for low, high in ranges):
            raise ValueError("the ranges to slice must be finite, their lower bound first")
        if type(self.bins) is not int or not 1 <= self.bins <= MOST_SLICES:
            raise ValueError(f"a range has 1 to {MOST_SLICES} slices, got {self.bins!r}")

    def __str__(self) -> str:
        return f"{self.bins} slices of a range"

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.lower)

    @property
    def n_looked_at(self) -> int:
        """Number of columns that have a range."""
        return sum(low is not None for low in self.lower)

    def write_lattice(self, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
        """Write the slice of every cell; every row is kept."""
        # No cell lies between bounds that are not numbers.
        low, high = (np.array(side, dtype=np.float64) for side in (self.lower, self.upper))
        # Halves: the difference of two large numbers must not overflow.
        step = (high / 2 - low / 2) / self.bins
        for values, bins in _blocks(rows, out):
            inside = (values >= low) & (values <= high)
            place = (np.where(inside, values, low) / 2 - low / 2) / step
            slices = np.clip(np.floor(place), 0, self.bins - 1)
            bins[:] = np.where(inside, slices, MISSING)
        return np.ones(len(rows), dtype=np.bool_)


def _is_range(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and isfinite(low) and isfinite(high) and low < high


Binning = LogBins | EqualBins
BINNINGS = (LogBins, EqualBins)


@dataclass(frozen=True)
class Histogram:
    """How many cells of each column lie in each bin of a binning.

    Sensitivity: a row has one cell in each of the d columns that are looked at, which lies in one
    bin or in none. It moves at most d counts by 1: L1 = d, L2 = √d, reached where every cell lies
    in a bin.
    """

    binning: Binning

    @property
    def parts(self) -> Parts:
        """Its binning."""
        return ((self.binning, BINNINGS),)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.binning.n_features

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return self.n_features * self.binning.bins

    def __str__(self) -> str:
        return f"histograms of columns by {self.binning}"

    def sensitivity(self) -> Sensitivity:
        """What one row can change."""
        d = self.binning.n_looked_at
        return Sensitivity(d, d)

    def empty(self) -> Ints:
        """Zero for every bin of every column."""
        return np.zeros((self.binning.n_features, self.binning.bins), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows, given by the bins of their cells."""
        for column, counts in enumerate(state):
            places = rows[:, column]
            counts += np.bincount(places[places != MISSING], minlength=len(counts))


def _blocks(rows: NDArray[Any], out: Lattice) -> Iterator[tuple[Floats, Lattice]]:
    """Float64 blocks of rows, each with the place for its bins."""
    step = max(1, BLOCK_CELLS // rows.shape[1])
    # No value may raise a warning, which a caller could turn into an exception.
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            yield np.ascontiguousarray(rows[block], dtype=np.float64), out[block]
