"""Noisy counts of cells, denoised and clustered: all after the counts is post-processing."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato._core.queries.privtree import Domain
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells, LooseCells
from sfumato._synopsis.denoise import denoise_grid, denoise_leaves
from sfumato._synopsis.kmeans import nearest, weighted_kmeans
from sfumato.methods._auto.refine import Clusters, radii_of

# Leaves are counted with what the shape of the tree leaves of its share.
_SHAPE = Fraction(1, 2)

# To few cells so many points per cluster are added, which together weigh next to nothing.
_FEW = 3
_LIGHT = 0.03


class Counted(NamedTuple):
    """What was released of some cells, and the denoised counts (n_cells,)."""

    synopsis: Synopsis
    weights: Floats


def on_grid(curator: Curator, grid: Grid, share: Share) -> Counted:
    """Release the counts of a grid."""
    answer = curator.counts(grid, share=share)
    scale = answer.noise_std / sqrt(2)
    weights = denoise_grid(answer.values, grid.per_axis, grid.n_features, scale)
    cells = GridCells((grid.per_axis,) * grid.n_features)
    return Counted(Synopsis(curator.box, cells, answer.values, answer.noise_std), weights)


def on_tree(
    curator: Curator, share: Share, domain: Domain | None = None, shape: Fraction = _SHAPE
) -> Counted:
    """Release a PrivTree, deep where rows lie close together, and the counts of its leaves."""
    d = curator.box.n_features
    for_shape, for_counts = share.split(shape, 1 - shape)
    whole = Domain((-REACH,) * d, (REACH,) * d)
    tree = curator.grow(domain or whole, share=for_shape, counts=for_counts)
    answer, halves = tree.counts, tree.halves() / REACH
    weights = denoise_leaves(answer.values, halves.prod(axis=1), answer.noise_std / sqrt(2))
    cells = LooseCells(tree.centers() / REACH, 2 * halves)
    return Counted(Synopsis(curator.box, cells, answer.values, answer.noise_std), weights)


def centers_of(counted: Counted, k: int, quantile: float, rng: Rng) -> Clusters:
    """Cluster the cells by their denoised counts; the radii hold a part `quantile` of these."""
    layout, weights = counted.synopsis.layout, counted.weights
    middles = layout[:]
    halves = np.broadcast_to(layout.widths / 2, middles.shape)
    if np.count_nonzero(weights) < k:
        weights = np.maximum(counted.synopsis.weights, 0) + 1e-6
        extra = rng.normal(size=(_FEW * k, middles.shape[1])) * halves.max(axis=0) / 3
        middles = np.vstack([middles, np.average(middles, axis=0, weights=weights) + extra])
        halves = np.vstack([halves, np.tile(halves.max(axis=0) / 2, (len(extra), 1))])
        weights = np.append(weights, np.full(len(extra), _LIGHT * weights.sum() / len(extra)))
    held = weights > 0
    middles, halves, weights = middles[held], halves[held], weights[held]
    centers, _ = weighted_kmeans(middles, weights, k, rng)
    radii = radii_of(middles, weights, np.square(halves).sum(axis=1), centers, quantile)
    own, _ = nearest(middles, centers)
    return Clusters(centers * REACH, np.bincount(own, weights, k).astype(np.float64), radii * REACH)
