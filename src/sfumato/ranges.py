"""From noisy histograms of a column to a range that holds nearly all of it. Never sees a row."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.box import REACH, Floats, Ints
from sfumato.curator.rulers import Octaves

CUT = 0.01
"""The part of the rows that may be left outside where the noise would allow more."""

# Bins stand out by themselves at this level, in all columns together. Where none does, at the
# second: a wrong range costs no more than the default one.
_LEVELS = (0.001, 0.1)
_WINDOWS = (1, 2, 4)

# A bin k bins from one that stands out joins it above (2 + k) scales of noise: rows spread.
_NEAR = 6
_NEAR_PART = 0.002

# What a short run holds of a column that is crowded, and how much of that may be noise.
_CROWDED = 0.95
_LUCK = 0.3

# How sure a cut is at least, in deviations, and the outermost rows.
_CAUTION = 0.25
_OUTER = 0.05


@dataclass(frozen=True)
class Span:
    """A range of one column: about how many rows it holds, and what a part of it must touch.

    A narrower range starts at or below `touch[0]` and ends at or above `touch[1]`: in each stood
    out a bin of the first histogram.
    """

    lower: float
    upper: float
    rows: float
    touch: tuple[float, float]

    def edges(self, bins: int) -> Floats:
        """The ends of equal slices; the range may be as wide as float64."""
        part = np.arange(bins + 1) / bins
        return self.lower * (1 - part) + self.upper * part


def magnitude(counts: Floats, scale: float, columns: int) -> Span | None:
    """Find the powers of two that stand out of noise of this scale, and those beside them."""
    for level in _LEVELS:
        windows = _standing_out(counts, scale, level / columns)
        if windows:
            return _span(counts, scale, windows)
    return None


def locate(span: Span, counts: Floats, scale: float) -> Span:
    """Find a run of few slices that holds nearly all; the span three times as wide as that run.

    Looking at many runs finds luck: only runs so short that their noise cannot pass for
    many rows are looked at. A span without such a run stays as it is.
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
            lower, upper = _on_its_side(span, low - more, high + more)
            return replace(span, lower=_finite(lower), upper=_finite(upper))
    return span


def trim(span: Span, counts: Floats, scale: float) -> tuple[float, float]:
    """Cut the ends that hold next to nothing, then give back what the tails may need.

    A run of slices may leave out a part `CUT` of the rows, less a part of the noise, and of those
    some lie far beyond where rows thin out. Where the middle row lies at a part p of the run, its
    width is given back p² times below and (1 − p)² times above: a quarter at each end, and more at
    the end to which a column is skewed. Where rows end all at once that is too much, so it is no
    more than twice what the outermost rows take.
    """
    edges = span.edges(len(counts))
    first, last = _narrowest(span, np.concatenate(([0.0], np.cumsum(counts))), scale)
    low, high = float(edges[first]), float(edges[last])
    inside = counts[first:last]
    part = _reach(inside, 0.5) / len(inside)
    below = min(len(inside) * part**2, 2 * _reach(inside, _OUTER))
    above = min(len(inside) * (1 - part) ** 2, 2 * _reach(inside[::-1], _OUTER))
    # Halves: the range may be as wide as float64.
    step = (span.upper / 2 - span.lower / 2) / len(counts) * 2
    return legal(*_on_its_side(span, low - below * step, high + above * step))


def _reach(counts: Floats, part: float) -> float:
    """How many slices a part of the rows takes, counted from the first slice."""
    sums = np.cumsum(np.maximum(counts, 0.0))
    wanted = part * sums[-1]
    if not wanted > 0:
        return len(counts) * part
    place = int(np.searchsorted(sums, wanted))
    return place + 1 - float((sums[place] - wanted) / counts[place])


def _on_its_side(span: Span, lower: float, upper: float) -> tuple[float, float]:
    """Bounds that do not pass 0 where nothing of the other sign stood out."""
    lowest = 0.0 if span.lower >= 0 else -math.inf
    highest = 0.0 if span.upper <= 0 else math.inf
    return max(lower, lowest), min(upper, highest)


def _narrowest(span: Span, sums: Floats, scale: float) -> tuple[int, int]:
    """The shortest run of slices that leaves out next to nothing, given cumulated counts."""
    bins = len(sums) - 1
    edges = span.edges(bins)
    for length in range(1, bins):
        inside = sums[length:] - sums[:-length]
        # Few slices are added up: those inside, or those outside.
        held = inside if 2 * length <= bins else span.rows - (sums[-1] - inside)
        noise = scale * math.sqrt(2 * min(length, bins - length))
        held = np.where(_touching(span, edges, length), held, -np.inf)
        best = int(np.argmax(held))
        # Where noise is a large part of the rows, a range too wide is better than rows cut off.
        sure = min(1.0, max(_CAUTION, 10 * noise / span.rows))
        if held[best] >= (1 - CUT) * span.rows + sure * noise:
            return best, best + length
    return 0, bins


def legal(lower: float, upper: float) -> tuple[float, float]:
    """The same bounds, finite and as far apart as a `Box` needs."""
    lower, upper = _finite(lower), _finite(upper)
    least = 8 * REACH * math.ulp(max(abs(lower), abs(upper)))
    if upper / 2 - lower / 2 >= least:
        return lower, upper
    middle = lower / 2 + upper / 2
    return _finite(middle - 2 * least), _finite(middle + 2 * least)


def tail(windows: int, t: NDArray[np.float64]) -> Floats:
    """How likely the sum of some Laplace variables of scale 1 is above t, for t ≥ 0.

    The sum is the difference of two Gamma variables; its density above 0 is a mixture of Gamma
    densities of shapes 1 to `windows`.
    """
    total = np.zeros_like(t)
    for i in range(windows):
        weight = math.comb(windows - 1 + i, i) / 2.0 ** (windows + i)
        total += weight * sum(t**k / math.factorial(k) for k in range(windows - i))
    likely: Floats = total * np.exp(-t)
    return likely


def _prior(octaves: Octaves) -> Floats:
    """How a level is shared among the bins: sizes near 1 are likelier than 1e300."""
    exponent = np.abs(np.arange(octaves.bins) - octaves.zero) - 1023
    exponent[octaves.zero] = 0
    weight = 1.0 / (np.abs(exponent) + 16.0) ** 2
    shared: Floats = weight / weight.sum()
    return shared


def _standing_out(counts: Floats, scale: float, level: float) -> list[tuple[int, int]]:
    """Windows of 1, 2 and 4 bins with more rows than noise explains, each (first, last)."""
    left = counts.copy()
    shares = _prior(Octaves(1)) * (level / len(_WINDOWS))
    found: list[tuple[int, int]] = []
    for width in _WINDOWS:
        sums = np.convolve(left, np.ones(width), "valid")
        least = np.lib.stride_tricks.sliding_window_view(shares, width).min(axis=1)
        t = np.clip(sums / scale, 0, 700)
        out = np.flatnonzero((sums > 0) & (tail(width, t) < least))
        found += [(int(i), int(i) + width - 1) for i in out]
        # Wider windows look at what narrower ones have left.
        for i in out:
            left[i : i + width] = 0
    rows = counts[_marked(found, len(counts))].sum()
    return [(a, b) for a, b in found if counts[a : b + 1].sum() >= CUT * rows]


def _span(counts: Floats, scale: float, windows: list[tuple[int, int]]) -> Span | None:
    octaves = Octaves(1)
    marked = _marked(windows, len(counts))
    rows = float(counts[marked].sum())
    near = marked.copy()
    for away in range(1, _NEAR + 1):
        many = counts > (2 + away) * scale + _NEAR_PART * rows
        near[away:] |= marked[:-away] & many[away:]
        near[:-away] |= marked[away:] & many[:-away]
    bins: Ints = np.flatnonzero(near)
    lower, upper = octaves.edges(int(bins[0]))[0], octaves.edges(int(bins[-1]))[1]
    if lower == upper:
        # Nothing but zeros.
        return None
    touch = (
        octaves.edges(min(last for _, last in windows))[1],
        octaves.edges(max(first for first, _ in windows))[0],
    )
    return Span(lower, upper, float(counts[near].sum()), touch)


def _marked(windows: list[tuple[int, int]], bins: int) -> NDArray[np.bool_]:
    marked = np.zeros(bins, dtype=np.bool_)
    for first, last in windows:
        marked[first : last + 1] = True
    return marked


def _touching(span: Span, edges: Floats, length: int) -> NDArray[np.bool_]:
    first, last = span.touch
    touching: NDArray[np.bool_] = (edges[:-length] <= first) & (edges[length:] >= last)
    return touching


def _finite(value: float) -> float:
    return min(max(value, -sys.float_info.max), sys.float_info.max)
