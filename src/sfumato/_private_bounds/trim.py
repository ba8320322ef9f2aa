"""A range of nearly all rows, from noisy counts of equal bins. Post-processing: no row is read.

`counts`: (bins,), noisy rows of one column; `scale`: of their Laplace noise, in rows; `edges`:
(bins + 1,), the user's units.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats
from sfumato._lattice.box import REACH

_CUT = 0.01
"""The part of the rows that may be left outside where the noise would allow more."""

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
        held = np.where(_touching(span, edges, length), sums[length:] - sums[:-length], -np.inf)
        best = int(np.argmax(held))
        if held[best] >= _CROWDED * span.rows:
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
        held = np.where(_touching(span, edges, length), held, -np.inf)
        best = int(np.argmax(held))
        if held[best] >= (1 - _CUT) * span.rows + cautious(noise, span.rows):
            return best, best + length
    return 0, bins


def _touching(span: Span, edges: Floats, length: int) -> NDArray[np.bool_]:
    first, last = span.touch
    touching: NDArray[np.bool_] = (edges[:-length] <= first) & (edges[length:] >= last)
    return touching


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
