"""A range of nearly all rows of a column, from noisy counts of log2 bins, or of equal bins.

Post-processing: no row is read. `counts`: (bins,), noisy rows of one column; `scale`: of their
Laplace noise, in rows; `edges`: (bins + 1,), the user's units.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from sfumato._base.types import Floats, Ints
from sfumato._core.queries.histograms import LogBins
from sfumato._lattice.box import REACH

_CUT = 0.01
"""The part of the rows that equal bins may leave outside where the noise would allow more."""

# Part of the rows that a short run of bins must hold, and how much of that may be noise.
_CROWDED = 0.95
_LUCK = 0.1

# A bin with a count above this number of noise scales is not left outside.
_SIGNIFICANT = 7

# Least margin of a cut in standard deviations of noise, and the part of outermost rows.
_CAUTION = 0.25
_OUTER = 0.05


@dataclass(frozen=True)
class Span:
    """A range of one column with an estimate of its rows.

    A narrower range starts at or below `touch[0]` and ends at or above `touch[1]`.
    """

    lower: float
    upper: float
    rows: float
    touch: tuple[float, float]

    def edges(self, bins: int) -> Floats:
        """The edges of equal bins; the range may be as wide as float64."""
        part = np.arange(bins + 1) / bins
        return self.lower * (1 - part) + self.upper * part


def locate(span: Span, counts: Floats, scale: float) -> Span:
    """Return a span three times as wide as a short run of bins that holds nearly all rows.

    The best of many runs has the luckiest noise: only runs so short that noise cannot pass for
    many rows are tried. A span without such a run stays as it is.
    """
    bins = len(counts)
    root = min(max(0.0, (_LUCK * span.rows / scale - math.log(bins)) / 4), bins)
    edges = span.edges(bins)
    sums = np.concatenate(([0.0], np.cumsum(counts)))
    for length in range(1, int(min(root**2, bins / 8)) + 1):
        best, held = _fullest(span, edges, sums[length:] - sums[:-length])
        if held >= _CROWDED * span.rows:
            low, high = float(edges[best]), float(edges[best + length])
            more = high - low
            # Zero is not passed where no value of the other sign was significant.
            lower = max(low - more, 0.0) if span.lower >= 0 else low - more
            upper = min(high + more, 0.0) if span.upper <= 0 else high + more
            return replace(span, lower=_finite(lower), upper=_finite(upper))
    return span


def trim(span: Span, counts: Floats, scale: float) -> tuple[float, float]:
    """Cut the ends that hold few rows, then widen for the tails; bounds in the user's units.

    A run of bins may leave out a part `_CUT` of the rows, less a margin for noise, but no
    significant bin.
    """
    edges = span.edges(len(counts))
    out = np.flatnonzero((counts > _SIGNIFICANT * scale) & (counts >= _CUT * span.rows))
    if len(out):
        first, last = span.touch
        touch = min(first, float(edges[out[0]])), max(last, float(edges[out[-1] + 1]))
        span = replace(span, touch=touch)
    low, high = _narrowest(span, np.concatenate(([0.0], np.cumsum(counts))), scale)
    lower, upper = with_tails(edges[low : high + 1], counts[low:high])
    return legal(max(lower, span.lower), min(upper, span.upper))


def with_tails(edges: Floats, counts: Floats) -> tuple[float, float]:
    """The range of some bins, widened for the tails of its rows.

    Of the rows left outside some lie far beyond where they thin out. Where the middle row lies at a
    part p of the range, its width is given back p² times below and (1 − p)² times above: a quarter
    at each end, and more at the end to which a column is skewed. Where rows end all at once that is
    too much, so it is no more than twice what the outermost rows take.
    """
    sums = np.concatenate(([0.0], np.cumsum(np.maximum(counts, 0.0))))
    places = np.array([_OUTER, 0.5, 1 - _OUTER]) * sums[-1]
    # Halves: the range may be as wide as float64.
    low, high = float(edges[0]) / 2, float(edges[-1]) / 2
    first, middle, last = (np.interp(places, sums, edges) / 2).tolist()
    width = high - low
    part = (middle - low) / width
    below = min(width * part**2, 2 * (first - low))
    above = min(width * (1 - part) ** 2, 2 * (high - last))
    return 2 * (low - below), 2 * (high + above)


def cautious(noise: float, rows: float) -> float:
    """Margin in rows for noise of this standard deviation.

    Where noise is a large part of the rows, a range too wide is better than rows cut off.
    """
    return min(1.0, max(_CAUTION, 10 * noise / rows)) * noise


def _narrowest(span: Span, sums: Floats, scale: float) -> tuple[int, int]:
    """The shortest run of bins that leaves out few rows. `sums`: (bins + 1,), cumulated counts."""
    bins = len(sums) - 1
    edges = span.edges(bins)
    for length in range(1, bins):
        inside = sums[length:] - sums[:-length]
        # The fewer bins are added up: those inside, or those outside.
        held = inside if 2 * length <= bins else span.rows - (sums[-1] - inside)
        noise = scale * math.sqrt(2 * min(length, bins - length))
        best, most = _fullest(span, edges, held)
        if most >= (1 - _CUT) * span.rows + cautious(noise, span.rows):
            return best, best + length
    return 0, bins


def _fullest(span: Span, edges: Floats, held: Floats) -> tuple[int, float]:
    """The run of bins that touches what it must and holds most rows; `held`: (runs,), by place."""
    length, (first, last) = len(edges) - len(held), span.touch
    held = np.where((edges[:-length] <= first) & (edges[length:] >= last), held, -np.inf)
    best = int(np.argmax(held))
    return best, float(held[best])


def legal(lower: float, upper: float) -> tuple[float, float]:
    """The same bounds, finite and as far apart as a `Box` needs."""
    lower, upper = _finite(lower), _finite(upper)
    least = 8 * REACH * math.ulp(max(abs(lower), abs(upper)))
    if upper / 2 - lower / 2 >= least:
        return lower, upper
    middle = lower / 2 + upper / 2
    return _finite(middle - 2 * least), _finite(middle + 2 * least)


def _finite(value: float) -> float:
    return min(max(value, -sys.float_info.max), sys.float_info.max)


_CUT_LOG = 0.003
"""The part of the rows that log2 bins may leave outside where the noise would allow more."""

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
        touch = (_BINS.edges(self.first)[1], _BINS.edges(self.last)[0])
        return Span(*_ends(self.lowest, self.highest), self.rows, touch)

    def ends(self) -> tuple[float, float]:
        """Bounds in the user's units: the narrowest run of enough bins, widened for the tails."""
        # Halves: the range may be as wide as float64.
        widths = {run: _ends(*run)[1] / 2 - _ends(*run)[0] / 2 for run in self._enough()}
        low, high = min(widths, key=widths.__getitem__)
        bins = self._bins(low, high)
        edges = [_BINS.edges(bin_)[0] for bin_ in bins.tolist()]
        lower, upper = with_tails(np.array([*edges, _BINS.edges(high)[1]]), self.counts[bins])
        lowest, highest = _ends(self.lowest, self.highest)
        return legal(max(lower, lowest), min(upper, highest))

    def _enough(self) -> list[tuple[int, int]]:
        """Runs of bins that leave out a part `_CUT_LOG` of the rows, less a margin for noise."""
        rows, counts = self.rows, self.counts
        runs = [(self.lowest, self.highest)]
        for low in range(self.lowest, self.first + 1):
            for high in range(self.last, self.highest + 1):
                outside = np.append(counts[self.lowest : low], counts[high + 1 : self.highest + 1])
                doubt = cautious(self.scale * math.sqrt(2 * len(outside)), rows)
                if outside.sum() <= _CUT_LOG * rows - doubt:
                    runs.append((low, high))
        return runs


def _ends(low: int, high: int) -> tuple[float, float]:
    """The range of a run of bins."""
    return _BINS.edges(low)[0], _BINS.edges(high)[1]


def find_support(counts: Floats, scale: float, columns: int) -> ColumnSupport | None:
    """Find the significant bins of one column of `columns`, and those beside them."""
    found = (_significant(counts, scale, level / columns) for level in _LEVELS)
    windows = next((some for some in found if some), None)
    if windows is None:
        return None
    if counts[_BINS.zero] > _JOINING_ZEROS * scale:
        windows.append((_BINS.zero, _BINS.zero))
    first, last = min(low for low, _ in windows), max(high for _, high in windows)
    lowest, highest = _farthest(counts, scale, first, -1), _farthest(counts, scale, last, 1)
    if lowest == highest == _BINS.zero:
        return None
    return ColumnSupport(counts, scale, first, last, lowest, highest)


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
    many = [(low, high) for low, high in found if counts[low : high + 1].sum() >= _CUT_LOG * rows]
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


def tail(windows: int, t: Floats) -> Floats:
    """P(sum of `windows` Laplace variables of scale 1 > t), for t ≥ 0 of any shape.

    The sum is the difference of two Gamma variables; its density above 0 is a mixture of Gamma
    densities of shapes 1 to `windows`.
    """
    total = np.zeros_like(t)
    for i in range(windows):
        weight = math.comb(windows - 1 + i, i) / 2.0 ** (windows + i)
        total += weight * sum(t**k / math.factorial(k) for k in range(windows - i))
    return total * np.exp(-t)
