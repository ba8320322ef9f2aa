"""The support of a column, from noisy counts of its log2 bins. Post-processing: no row is read.

`counts`: (bins,), noisy rows of one column; `scale`: of their Laplace noise, in rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints
from sfumato._core.queries.histograms import LogBins
from sfumato._private_bounds.trim import Span, cautious, legal, with_tails

_CUT = 0.003
"""The part of the rows that may be left outside where the noise would allow more."""

# Significance levels, over all columns together: the second where no bin passes the first.
_LEVELS = (0.001, 0.02)
_WINDOWS = (1, 2, 4, 8)

# One or two bins up to six octaves beside a significant one join it if their count is above this
# number of noise scales, and half a scale more for each octave of distance.
_BESIDE = 12
_JOINING = 6
_AWAY = 0.25

# Zeros join from any distance, but to hold 0 wrongly is worse than to be too wide.
_JOINING_ZEROS = 8

_NARROW = 5
"""Columns of one sign with fewer log2 bins than this get equal bins as well."""

_NOTHING = 64
"""Bins below the largest one, 32 octaves: smaller values count as zero."""

_BINS = LogBins(1)


@dataclass(frozen=True, eq=False)
class ColumnSupport:
    """The log2 bins of a column in which rows were found.

    Significant bins lie from `first` to `last`; with those that joined, from `lowest` to `highest`.
    """

    counts: Floats
    scale: float
    first: int
    last: int
    lowest: int
    highest: int

    @property
    def is_narrow(self) -> bool:
        """Whether log2 bins are too wide to tell where the rows end."""
        return self.last - self.first + 1 < _NARROW and not self.first <= _BINS.zero <= self.last

    @property
    def rows(self) -> float:
        """Estimated number of rows in the support."""
        bins = self._bins(self.lowest, self.highest)
        return max(float(self.counts[bins].sum()), self.scale)

    def _bins(self, low: int, high: int) -> Ints:
        """The bins of a run, without the many between its largest sizes and zero."""
        bins: Ints = np.arange(low, high + 1)
        place = np.abs(bins - _BINS.zero)
        kept: Ints = bins[(place == 0) | (place > place.max() - _NOTHING)]
        return kept

    def span(self) -> Span:
        """The range for equal bins."""
        return Span(
            _BINS.edges(self.lowest)[0],
            _BINS.edges(self.highest)[1],
            self.rows,
            (_BINS.edges(self.first)[1], _BINS.edges(self.last)[0]),
        )

    def ends(self) -> tuple[float, float]:
        """Bounds in the user's units: the narrowest run of enough bins, widened for the tails."""
        low, high = min(self._enough(), key=self._width)
        bins = self._bins(low, high)
        edges = [_BINS.edges(bin_)[0] for bin_ in bins.tolist()]
        lower, upper = with_tails(np.array([*edges, _BINS.edges(high)[1]]), self.counts[bins])
        lowest, highest = _BINS.edges(self.lowest)[0], _BINS.edges(self.highest)[1]
        return legal(max(lower, lowest), min(upper, highest))

    def _enough(self) -> list[tuple[int, int]]:
        """Runs of bins that leave out a part `_CUT` of the rows, less a margin for noise."""
        rows, counts = self.rows, self.counts
        runs = [(self.lowest, self.highest)]
        for low in range(self.lowest, self.first + 1):
            for high in range(self.last, self.highest + 1):
                outside = np.append(counts[self.lowest : low], counts[high + 1 : self.highest + 1])
                doubt = cautious(self.scale * math.sqrt(2 * len(outside)), rows)
                if outside.sum() <= _CUT * rows - doubt:
                    runs.append((low, high))
        return runs

    @staticmethod
    def _width(run: tuple[int, int]) -> float:
        low, high = run
        # Halves: the range may be as wide as float64.
        return _BINS.edges(high)[1] / 2 - _BINS.edges(low)[0] / 2


def find_support(counts: Floats, scale: float, columns: int) -> ColumnSupport | None:
    """Find the significant bins of one column of `columns`, and those beside them."""
    for level in _LEVELS:
        windows = _significant(counts, scale, level / columns)
        if windows:
            if counts[_BINS.zero] > _JOINING_ZEROS * scale:
                windows.append((_BINS.zero, _BINS.zero))
            first, last = min(low for low, _ in windows), max(high for _, high in windows)
            lowest, highest = (
                _farthest(counts, scale, start, step) for start, step in ((first, -1), (last, 1))
            )
            only_zeros = lowest == highest == _BINS.zero
            return (
                None if only_zeros else ColumnSupport(counts, scale, first, last, lowest, highest)
            )
    return None


def _farthest(counts: Floats, scale: float, start: int, step: int) -> int:
    """The last bin that joins on one side, `step` = ±1; none joins the bin of zeros."""
    farthest = start
    if start == _BINS.zero:
        return start
    for away in range(1, _BESIDE + 1):
        for width in (1, 2):
            outer = start + step * (away + width - 1)
            if not 0 <= outer < len(counts):
                continue
            inner = start + step * away
            rows = counts[min(inner, outer) : max(inner, outer) + 1].sum()
            if rows > (_JOINING + _AWAY * away) * scale * math.sqrt(width):
                farthest = outer if step * (outer - farthest) > 0 else farthest
    return farthest


def _significant(counts: Floats, scale: float, level: float) -> list[tuple[int, int]]:
    """Windows of bins, each (first, last), with larger counts than noise explains at a level."""
    left = counts.copy()
    share = level / len(_WINDOWS)
    found: list[tuple[int, int]] = []
    for width in _WINDOWS:
        sums = np.convolve(left, np.ones(width), "valid")
        # Below 4 scales no window is significant.
        some = np.flatnonzero(sums > 4 * scale)
        unlikely = tail(width, np.minimum(sums[some] / scale, 700)) < share * _prior(width)[some]
        out = some[unlikely]
        found += [(int(i), int(i) + width - 1) for i in out]
        # Wider windows test what narrower ones have left.
        for i in out:
            left[i : i + width] = 0
    marked = np.zeros(len(counts), dtype=np.bool_)
    for low, high in found:
        marked[low : high + 1] = True
    rows = counts[marked].sum()
    many = [(low, high) for low, high in found if counts[low : high + 1].sum() >= _CUT * rows]
    # Zeros have no width: where they are nearly all rows, small windows count as well.
    return found if set(many) == {(_BINS.zero, _BINS.zero)} else many


@cache
def _prior(width: int) -> Floats:
    """Part of a level for each window: magnitudes near 1 are likelier than 1e300."""
    exponent = np.abs(np.arange(_BINS.bins) - _BINS.zero) / 2 - 1023
    exponent[_BINS.zero] = 0
    weight = 1.0 / (np.abs(exponent) + 16.0) ** 2
    shared: Floats = weight / weight.sum()
    least: Floats = np.lib.stride_tricks.sliding_window_view(shared, width).min(axis=1)
    return least


def tail(windows: int, t: NDArray[np.float64]) -> Floats:
    """P(sum of `windows` Laplace variables of scale 1 > t), for t ≥ 0 of any shape.

    The sum is the difference of two Gamma variables; its density above 0 is a mixture of Gamma
    densities of shapes 1 to `windows`.
    """
    total = np.zeros_like(t)
    for i in range(windows):
        weight = math.comb(windows - 1 + i, i) / 2.0 ** (windows + i)
        total += weight * sum(t**k / math.factorial(k) for k in range(windows - i))
    return total * np.exp(-t)
