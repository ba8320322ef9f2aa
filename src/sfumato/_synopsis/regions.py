"""Density clusters of a grid: connected cells with more rows than noise and background explain.

Released counts are smoothed as far as their noise asks for. Cells are then taken from the densest
down: each joins the region of its densest neighbour, and two regions that meet become one unless
both stand out where they meet (Chazal, Guibas, Oudot, Skraba 2013). At last regions grow over the
cells around them that are above the background. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.ndimage import gaussian_filter

from sfumato._base.types import Floats, Ints

# Widths of the smoothing kernel, in cells: the first at which the density of most rows is so many
# deviations from 0 is taken.
_WIDTHS = (0.0, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_CLEAR = 10.0
_CUT = 3.0

# Deviations above the background up to which a cell may be noise.
_ABOVE = 3.0

# A region begins at this part of the usual density above the background, and is apart from another
# where the density between them falls to this part of its own peak: so clear are densities that
# noise does not cut a ring in two.
_DENSE = 0.15
_VALLEY = 0.5

# Up to so many axes cells that share a corner are neighbours.
_CORNERS = 3

# Deviations by which the weight of a whole region must exceed that of as many cells around it.
_WEIGHTY = 5.0


@dataclass(frozen=True, eq=False)
class _Density:
    """Smoothed weights, an array of d axes, and what is known of their error.

    `norm` is the deviation of smoothed noise of deviation 1; `usual` the mean density that a row
    has around it; `background` that of most cells.
    """

    values: Floats
    noise_std: float
    norm: float
    usual: float
    background: float

    def error(self, value: float) -> float:
        """The deviation of a density of this value: noise, and chance which rows there are."""
        return math.sqrt(self.noise_std**2 + max(value, 0.0)) * self.norm


def dense_regions(grid: Floats, noise_std: float, least: float) -> Ints:
    """The region of every cell of a grid with d axes: 0, 1, … by falling weight, −1 outside.

    A region has at least `least` rows.
    """
    density = _smoothed(grid, noise_std)
    low = density.background + _ABOVE * density.error(density.background)
    high = max(
        low + density.noise_std * density.norm,
        density.background + _DENSE * (density.usual - density.background),
    )
    labels = _ordered(_joined(density, high), grid)
    labels = _ordered(_without_noise(labels, grid, density), grid, least)
    return _ordered(_grown(labels, density.values, low), grid)


def _smoothed(grid: Floats, noise_std: float) -> _Density:
    """Smooth weights as little as makes them clear; as much as is tried where nothing is."""
    for width in _WIDTHS:
        values = gaussian_filter(grid, width, mode="constant", truncate=_CUT) if width else grid
        norm = _norm(width, grid.ndim)
        over = np.maximum(values - 2 * noise_std * norm, 0.0)
        usual = float(np.vdot(values, over) / over.sum()) if over.any() else 0.0
        background = max(0.0, float(np.median(values)))
        density = _Density(values, noise_std, norm, usual, background)
        if usual > _CLEAR * density.error(usual):
            break
    return density


def _norm(width: float, n_features: int) -> float:
    """The length of the kernel in as many dimensions."""
    if not width:
        return 1.0
    line = np.zeros(2 * math.ceil(_CUT * width) + 3)
    line[len(line) // 2] = 1.0
    kernel = gaussian_filter(line, width, mode="constant", truncate=_CUT)
    return float(np.sqrt(np.square(kernel).sum())) ** n_features


def _joined(density: _Density, high: float) -> Ints:
    """The region of every cell above `high`, named by its densest cell, −1 elsewhere."""
    values = density.values.ravel()
    dense = np.flatnonzero(values > high)
    order = dense[np.argsort(-values[dense], kind="stable")]
    denser, starts = _denser_neighbours(density.values.shape, order)
    heights = values[order].tolist()
    parent = list(range(len(order)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, height in enumerate(heights):
        met = sorted({root(j) for j in denser[starts[i] : starts[i + 1]]})
        for other in met:
            # The first is the densest. A region that does not stand out here becomes part of it.
            if other == met[0]:
                parent[i] = other
            elif height > _VALLEY * heights[other]:
                parent[other] = met[0]
    labels = np.full(len(values), -1, dtype=np.int64)
    labels[order] = [root(i) for i in range(len(order))]
    return labels.reshape(density.values.shape)


def _denser_neighbours(shape: tuple[int, ...], order: Ints) -> tuple[list[int], list[int]]:
    """For cells in this order: their neighbours before them, and where those of each begin."""
    rank = np.full(math.prod(shape), -1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    ranks = rank.reshape(shape)
    pairs = [(ranks[here].ravel(), ranks[there].ravel()) for here, there in _shifts(shape)]
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    later, earlier = np.maximum(one, other), np.minimum(one, other)
    later, earlier = later[earlier >= 0], earlier[earlier >= 0]
    sorting = np.argsort(later, kind="stable")
    starts = np.searchsorted(later[sorting], np.arange(len(order) + 1))
    return earlier[sorting].tolist(), starts.tolist()


Slices = tuple[slice, ...]


def _shifts(shape: tuple[int, ...]) -> Iterator[tuple[Slices, Slices]]:
    """Views of a grid and of itself moved by one cell; each direction once.

    Up to three axes corners are neighbours too; beyond there would be too many.
    """
    d = len(shape)
    near = product((-1, 0, 1), repeat=d) if d <= _CORNERS else map(tuple, np.eye(d, dtype=int))
    for step in near:
        if step > (0,) * d:
            moves = list(zip(step, shape, strict=True))
            here = tuple(slice(max(0, -by), n - max(0, by)) for by, n in moves)
            yield here, tuple(slice(max(0, by), n - max(0, -by)) for by, n in moves)


def _grown(labels: Ints, values: Floats, low: float) -> Ints:
    """Give cells above `low` the region of their densest neighbour that has one, ring by ring."""
    labels = labels.copy()
    pairs = list(_shifts(values.shape))
    pairs += [(there, here) for here, there in pairs]
    while True:
        free = (values > low) & (labels < 0)
        best, found = np.full(values.shape, -np.inf), np.full(values.shape, -1)
        for here, there in pairs:
            better = free[here] & (labels[there] >= 0) & (values[there] > best[here])
            best[here][better] = values[there][better]
            found[here][better] = labels[there][better]
        if not (found >= 0).any():
            return labels
        labels[found >= 0] = found[found >= 0]


def _without_noise(labels: Ints, grid: Floats, density: _Density) -> Ints:
    """Leave out regions 0, 1, … whose weight above the background is no more than noise."""
    inside = labels >= 0
    cells = np.bincount(labels[inside])
    over = np.bincount(labels[inside], grid[inside]) - cells * density.background
    noise = np.sqrt(cells * (density.noise_std**2 + density.background))
    clear = np.append(over > _WEIGHTY * noise, False)
    return np.where(clear[labels], labels, -1)


def _ordered(labels: Ints, grid: Floats, least: float = -math.inf) -> Ints:
    """Number regions by falling weight, and leave out those that weigh less."""
    inside = labels >= 0
    if not inside.any():
        return labels
    names, cells = np.unique(labels[inside], return_inverse=True)
    weights = np.bincount(cells, grid[inside])
    order = np.argsort(-weights, kind="stable")
    order = order[weights[order] >= least]
    places = np.full(len(names), -1)
    places[order] = np.arange(len(order))
    numbered = np.full(labels.shape, -1, dtype=np.int64)
    numbered[inside] = places[cells]
    return numbered
