"""Small clusters for a tree of clusters: of a grid in few columns, by `auto` in more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._base.types import Floats, Rng
from sfumato._core.curator import Curator
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.dendrogram import ward_linkage
from sfumato._uncertainty import Errors
from sfumato.methods._auto import Auto
from sfumato.methods._auto.budget import LOW
from sfumato.methods._base import NUMBER, PlannedTask, Prediction, Task
from sfumato.methods._histogram import GridHistogram

# Released weight × ε of a small cluster of cells, and how many of them there are.
_ROWS_PER_LEAF = 30
_FEWEST, _MOST = 16, 400


AnyTask = TypeVar("AnyTask", bound=Task)


@dataclass(frozen=True)
class Leaves:
    """Small clusters: centres (m, d) in lattice steps, weights (m,) above 0, and their tree."""

    points: Floats
    weights: Floats
    linkage: Floats
    notes: tuple[str, ...] = ()
    synopsis: Synopsis | None = None
    errors: Errors | None = None


@dataclass(frozen=True)
class SmallClusters:
    """At most `n_leaves` small clusters, by default as many as noise allows.

    In more than three columns they are k-means centres of `auto`, so their number is fixed before.
    """

    n_leaves: int | None = None
    usual: int = 40

    def caps(self, task: Task) -> Caps:
        """Those of the grid, or of `auto`."""
        few = task.n_features <= LOW
        return GridHistogram().caps(task) if few else Auto().caps(self._wider(task))

    def predict(self, task: PlannedTask) -> Prediction:
        """The means of clusters of n/k rows by the cells of the grid; or of small clusters."""
        if task.n_features > LOW:
            return Auto().predict(self._wider(task))
        expected = GridHistogram().predict(task)
        memory = expected.memory + NUMBER * (self.n_leaves or _MOST) ** 2
        return replace(expected, memory=memory)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Leaves:
        """Release small clusters; their tree is post-processing."""
        if task.n_features > LOW:
            return self._by_centers(curator, self._wider(task), account, rng)
        found = GridHistogram()(curator, task, account=account, rng=rng)
        weight = float(found.synopsis.weights.sum()) / max(found.synopsis.noise_std, 1e-9)
        most = self.n_leaves or int(np.clip(weight / _ROWS_PER_LEAF, _FEWEST, _MOST))
        tree = found.synopsis.dendrogram(most, random_state=rng)
        points = curator.box.to_cube(tree.leaves) * REACH
        notes = (*found.notes, f"{len(tree)} small clusters of its cells")
        return Leaves(points, tree.weights, tree.linkage, notes, found.synopsis)

    def _by_centers(self, curator: Curator, task: Task, account: Account, rng: Rng) -> Leaves:
        centers = Auto()(curator, task, account=account, rng=rng)
        held = centers.sizes > 0
        if not held.any():
            held = np.ones(len(centers.sizes), dtype=bool)
        points, weights = centers.points[held], np.maximum(centers.sizes[held], 1.0)
        linkage = ward_linkage(points / REACH, weights)
        kept, whole = np.flatnonzero(held), np.ones(int(held.sum()), dtype=np.int64)
        errors = centers.errors and centers.errors.take(kept, whole)
        return Leaves(points, weights, linkage, centers.notes, centers.synopsis, errors)

    def _wider(self, task: AnyTask) -> AnyTask:
        """The same task for small clusters."""
        return replace(task, k=self.n_leaves or max(self.usual, 2 * task.k))
