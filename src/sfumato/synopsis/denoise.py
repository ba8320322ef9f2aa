"""Noisy counts of cells made counts of at least 0: empirical Bayes among cells that are alike.

Cells are alike if their neighbourhoods are equally full, or, in a tree, if they are equally large:
an isolated noisy maximum among empty cells is then told from a cell of a cluster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import uniform_filter

from sfumato.box import Floats, Ints
from sfumato.synopsis.prior import counts_behind

_LEAST = 40
_NEGLIGIBLE = 0.1
_NEAR_CUTS = (1.0, 3.0, 8.0)
_FAR_CUTS = (2.0, 6.0)
_FAR = 7
_POOLS = (3, 5, 9)
# In many boxes noise alone reaches 3; a little weight far from all rows draws a centre there.
_SIGNIFICANT = 4.0


def denoise_grid(weights: Floats, per_axis: int, n_features: int, scale: float) -> Floats:
    """Estimate the counts of an even grid from its counts with Laplace noise of this scale."""
    grid = weights.reshape((per_axis,) * n_features)
    far = min(_FAR, 2 * (per_axis // 4) + 1) if per_axis >= 8 else 3
    near = np.searchsorted(_NEAR_CUTS, _clearness(grid, 3, scale))
    wide = np.searchsorted(_FAR_CUTS, _clearness(grid, far, scale))
    kinds = near + (len(_NEAR_CUTS) + 1) * wide
    counts = _within(weights, kinds.ravel(), scale).reshape(grid.shape)
    counts[counts < _NEGLIGIBLE * scale] = 0
    return _pooled(grid, counts, scale).ravel()


def denoise_leaves(weights: Floats, volumes: ArrayLike, scale: float) -> Floats:
    """Estimate the counts of a tree's leaves among leaves of equal volume, the smallest first."""
    sizes = np.log2(np.asarray(volumes, dtype=np.float64))
    return _within(weights, np.rint(sizes - sizes.min()).astype(np.int64), scale)


def _within(weights: Floats, kinds: Ints, scale: float) -> Floats:
    """Estimate the counts of each kind of cell by themselves; rare kinds join their neighbours."""
    counts = np.empty(len(weights))
    for group in _groups(kinds):
        counts[group] = counts_behind(weights[group], scale)
    return counts


def _groups(kinds: Ints) -> list[Ints]:
    order = np.argsort(kinds, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(kinds[order])) + 1, len(order))
    cuts: list[int] = [0]
    for end in ends.tolist():
        if end - cuts[-1] >= _LEAST:
            cuts.append(end)
    # What is left over at the end is too little: it joins the last group.
    cuts = [*cuts[:-1], len(order)] if len(cuts) > 1 else [0, len(order)]
    return np.split(order, cuts[1:-1])


def _clearness(grid: Floats, width: int, scale: float) -> Floats:
    """By how many standard deviations the sum of a cell's neighbours stands out."""
    neighbours = _box_sums(np.ones_like(grid), width).round() - 1
    clearness: Floats = (_box_sums(grid, width) - grid) / _std(neighbours, scale)
    return clearness


def _pooled(grid: Floats, counts: Floats, scale: float) -> Floats:
    """Give cells that came out as 0 their box's mean where the box stands out as a whole."""
    empty = counts == 0
    for width in _POOLS:
        if width > max(grid.shape[0] // 2, 1):
            break
        cells = _box_sums(empty.astype(np.float64), width).round()
        sums = _box_sums(np.where(empty, grid, 0.0), width)
        full = empty & (sums > _SIGNIFICANT * _std(cells, scale))
        counts[full] = sums[full] / cells[full]
        empty &= ~full
    return counts


def _std(cells: Floats, scale: float) -> Floats:
    """The standard deviation of the noise of so many cells together."""
    std: Floats = scale * np.sqrt(2 * np.maximum(cells, 1))
    return std


def _box_sums(grid: Floats, width: int) -> Floats:
    """Sums over boxes around every cell; beyond the border is nothing."""
    sums: Floats = uniform_filter(grid, width, mode="constant") * width**grid.ndim
    return sums
