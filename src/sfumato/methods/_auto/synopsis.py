"""Noisy counts of cells, denoised and clustered: everything after the counts is free."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato._core.queries.privtree import Domain
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells, LooseCells
from sfumato._synopsis.choose_k import Criterion, k_curve
from sfumato._synopsis.denoise import denoise_grid, denoise_leaves
from sfumato._synopsis.distances import nearest
from sfumato._synopsis.kmeans import weighted_kmeans
from sfumato.methods._auto.refine import radii_of
from sfumato.methods._base import Task

# Leaves are counted with what the shape of the tree leaves of its share.
_SHAPE = Fraction(1, 2)

# Few cells are joined by so many for each cluster, which together weigh next to nothing.
_FEW = 3
_LIGHT = 0.03


@dataclass(frozen=True)
class Counted:
    """Cells in lattice units, their noisy counts, and what is believed to be behind these."""

    cells: GridCells | LooseCells
    counts: Floats
    noise_std: float
    weights: Floats

    def synopsis(self, curator: Curator) -> Synopsis:
        """What was released, for any other use."""
        return Synopsis(curator.box, self.cells, self.counts, self.noise_std)


@dataclass(frozen=True)
class Choice:
    """How many clusters are wanted among about n rows: a number, or how to choose one."""

    task: Task
    n: float
    least: int
    by: Criterion

    def clusters(self, counted: Counted, rng: np.random.Generator) -> tuple[int, tuple[str, ...]]:
        """The number of clusters, and a remark if it was chosen."""
        if not self.task.choose_k:
            return self.task.k, ()
        curve = k_curve(
            counted.cells,
            counted.counts,
            counted.noise_std,
            k_range=(min(self.least, self.task.k), self.task.k),
            criterion=self.by,
            rng=rng,
        )
        return curve.best, (f"{curve.best} clusters, chosen on the released counts by {self.by}",)


@dataclass(frozen=True)
class Clusters:
    """Centres in lattice units, the weight around each and the radius that holds most of it."""

    centers: Floats
    sizes: Floats
    radii: Floats


def on_grid(curator: Curator, grid: Grid, share: Share) -> Counted:
    """Buy the counts of a grid."""
    answer = curator.counts(grid, share=share)
    scale = answer.noise_std / sqrt(2)
    weights = denoise_grid(answer.values, grid.per_axis, grid.n_features, scale)
    cells = GridCells((grid.per_axis,) * grid.n_features)
    return Counted(cells, answer.values, answer.noise_std, weights)


def on_tree(
    curator: Curator, share: Share, domain: Domain | None = None, shape: Fraction = _SHAPE
) -> Counted:
    """Buy a tree that is deep where rows lie close together, and the counts of its leaves."""
    d = curator.box.n_features
    for_shape, for_counts = share.split(shape, 1 - shape)
    whole = Domain((-REACH,) * d, (REACH,) * d)
    tree = curator.grow(domain or whole, share=for_shape, counts=for_counts)
    answer, halves = tree.counts, tree.halves() / REACH
    weights = denoise_leaves(answer.values, halves.prod(axis=1), answer.noise_std / sqrt(2))
    cells = LooseCells(tree.centers() / REACH, 2 * halves)
    return Counted(cells, answer.values, answer.noise_std, weights)


def centers_of(counted: Counted, k: int, quantile: float, rng: np.random.Generator) -> Clusters:
    """Cluster the cells by what is believed to be in them."""
    middles, weights = counted.cells[:], counted.weights
    halves = np.broadcast_to(counted.cells.widths / 2, middles.shape)
    if np.count_nonzero(weights) < k:
        weights = np.maximum(counted.counts, 0) + 1e-6
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
