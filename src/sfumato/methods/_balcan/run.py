"""One run: project, cut cubes, search among their middles, average in all columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Ints, Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import Cost, Swaps
from sfumato._core.queries.counts import Nearest, NearestInProjection
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato._synopsis.denoise import denoise_leaves
from sfumato._synopsis.kmeans import Weighted, assign, lloyd, weighted_kmeans
from sfumato.methods._auto.refine import has_cube
from sfumato.methods._balcan.config import PhaseBudget, Recipe, Sizes
from sfumato.methods._balcan.partition import Cutting, into_ball, partition, shifted_cube, threshold
from sfumato.methods._base import Centers, Task, projection_of
from sfumato.methods._dplloyd import lloyd_step, move_to_means


def recovered(
    curator: Curator, projection: Projection, found: Floats, shares: Sequence[Share], noise: str
) -> tuple[Floats, Floats]:
    """Average the rows nearest to each projected centre, then take rounds of private k-means.

    Edler 2023, Algorithms 5 and 6. found: (k, p), lattice steps of the view; returns centres (k, d)
    in lattice steps and sizes (k,). A centre whose noisy count is too small stays at the shortest
    point that is projected to where it was found.
    """
    lifted = found @ np.linalg.pinv(projection.directions).T + projection.offset
    points: Floats = np.clip(lifted, -REACH, REACH).astype(np.float64)
    cells = NearestInProjection(projection, Nearest(found.astype(np.int64)))
    first, *rounds = shares
    points, sizes = move_to_means(curator, cells, points, first, drawable(noise, curator, first))
    for share in rounds:
        points, sizes = lloyd_step(curator, points, share, drawable(noise, curator, share))
    return points, sizes


def drawable(noise: str, curator: Curator, share: Share) -> str:
    """The noise itself; Laplace noise in place of cube noise that cannot be sampled for a share."""
    return "laplace" if noise == "cube" and not has_cube(curator, share) else noise


# Swaps that are scored at once; of more candidates a random part is taken.
_MAX_SWAPS = 2**20

# Lloyd steps among the cubes.
_STEPS = 20


def pooled(cuts: list[Cutting], k: int, deepest: bool) -> Floats:
    """The candidates of all partitions: at least k, filled up with the fullest cubes not cut."""
    found = np.concatenate([cut.candidates(k if deepest else None) for cut in cuts])
    if len(found) < k:
        leaves = np.concatenate([cut.leaves for cut in cuts])
        counts = np.concatenate([cut.counts for cut in cuts])
        fullest = np.argsort(-counts, kind="stable")[: k - len(found)]
        found = np.concatenate([found, leaves[fullest]])
    points = np.unique(into_ball(found), axis=0)
    # Cubes of several partitions may share their middle.
    return points if len(points) >= k else points[np.arange(k) % len(points)]


def by_swaps(
    view: Curator, points: Floats, k: int, share: Share, swaps: int, recipe: Recipe, rng: Rng
) -> Floats:
    """Start at random, swap one centre at a time for less cost, and choose among all sets seen.

    Edler 2023, Algorithms 4 and 11. points: (m, p), lattice steps of the view; returns (k, p).
    Without candidates to swap with, the share stays unspent.
    """
    chosen = rng.choice(len(points), k, replace=False)
    if len(points) == k:
        return points[chosen]
    shares = share.evenly(swaps + 1 if swaps > 1 else 1)
    seen: list[Floats] = []
    for part in shares[:swaps]:
        others = _others(len(points), chosen, recipe.subset, rng)
        query = Swaps(points[chosen].astype(np.int64), points[others].astype(np.int64))
        (pick,) = view.choose(query, share=part, law=recipe.law)
        chosen = chosen.copy()
        chosen[pick // len(others)] = others[pick % len(others)]
        seen.append(points[chosen])
    if len(seen) == 1:
        return seen[0]
    (best,) = view.choose(Cost(np.array(seen).astype(np.int64)), share=shares[-1], law=recipe.law)
    return seen[best]


def _others(m: int, chosen: Ints, subset: int | None, rng: Rng) -> Ints:
    """Indices of candidates for a swap: all of m but the chosen (k,), or a random part."""
    others = np.setdiff1d(np.arange(m), chosen)
    limit = min(subset or m, max(1, _MAX_SWAPS // len(chosen)))
    if len(others) <= limit:
        return others
    return np.sort(rng.choice(others, limit, replace=False))


def by_weights(view: Curator, points: Floats, k: int, share: Share, rng: Rng) -> Floats:
    """Estimate how many rows are nearest to each candidate, and cluster the candidates by that.

    points: (m, p), lattice steps of the view; returns (k, p).
    """
    answer = view.counts(Nearest(points.astype(np.int64)), share=share)
    weights = denoise_leaves(answer.values, np.ones(len(points)), answer.noise_std / math.sqrt(2))
    centers, _ = weighted_kmeans(points / REACH, weights, k, rng)
    return np.rint(centers * REACH)


def by_cubes(cuts: list[Cutting], k: int, rng: Rng, start: Floats | None = None) -> Floats:
    """Cluster the cubes that were counted but not cut, by those counts: post-processing.

    With a start (k, p), lattice steps of the view, Lloyd steps begin there.
    """
    points = into_ball(np.concatenate([cut.leaves for cut in cuts])) / REACH
    weights = np.concatenate(
        [denoise_leaves(cut.counts, cut.volumes, cut.noise_std / math.sqrt(2)) for cut in cuts]
    )
    held = weights > 0
    if start is None or not held.any():
        found, _ = weighted_kmeans(points, weights, k, rng)
    else:
        mass = Weighted.of(points[held], weights[held])
        found = lloyd(mass, assign(mass, start / REACH), _STEPS).centers
    return np.rint(found * REACH)


@dataclass(frozen=True)
class Run:
    """Finds one set of centres among about n rows, with this noise on the averages."""

    recipe: Recipe
    sizes: Sizes
    task: Task
    n: float
    noise: str

    def __call__(self, curator: Curator, budget: PhaseBudget, rng: Rng) -> Centers:
        """Find one set of centres. Where p is d nothing is projected."""
        before = budget.spent()
        projection = gaussian_projection(self.task.n_features, self.sizes.dimensions, rng)
        view = curator.view(projection)
        cuts = self._cuts(view, budget, rng)
        found, how = self._search(view, cuts, budget, budget.spent() - before, rng)
        shares = budget.averages(budget.spent() - before, self.sizes.rounds)
        points, sizes = recovered(curator, projection, found, shares, self.noise)
        return Centers(points, sizes, (*self._notes(cuts), how))

    def _cuts(self, view: Curator, budget: PhaseBudget, rng: Rng) -> list[Cutting]:
        sizes, cuttings = self.sizes, []
        for share in budget.candidates(sizes.partitions):
            shares = share.evenly(sizes.depths)
            failure = self.recipe.failure / sizes.partitions
            gamma = threshold(self.recipe.gamma, float(shares[0].amount), self.n, failure)
            corners, side = shifted_cube(sizes.dimensions, sizes.depths, rng)
            cuttings.append(Cutting(corners, side, shares, gamma))
        return partition(view, cuttings)

    def _search(
        self, view: Curator, cuts: list[Cutting], budget: PhaseBudget, spent: Fraction, rng: Rng
    ) -> tuple[Floats, str]:
        """Find k centres in the view; returns them and how, in words."""
        recipe, k = self.recipe, self.task.k
        cells = f"the noisy counts of {sum(len(cut.counts) for cut in cuts):,} cubes"
        if recipe.search == "coreset" and recipe.weights == "cubes":
            return by_cubes(cuts, k, rng), f"clusters of {cells}"
        points = pooled(cuts, k, recipe.deepest)
        many = f"{len(points):,} candidates"
        if recipe.search == "swaps" and not self.sizes.swaps:
            return points[rng.choice(len(points), k, replace=False)], f"{k} random ones of {many}"
        share = budget.search(spent)
        if recipe.search == "swaps":
            found = by_swaps(view, points, k, share, self.sizes.swaps, recipe, rng)
            return found, f"{self.sizes.swaps} swaps with {many}"
        found, how_found = by_weights(view, points, k, share, rng), f"clusters of {many} by weight"
        if recipe.weights == "bought":
            return found, how_found
        return by_cubes(cuts, k, rng, found), f"{how_found}, then Lloyd steps on {cells}"

    def _notes(self, cuts: list[Cutting]) -> tuple[str, ...]:
        sizes, deepest = self.sizes, max(len(cut.levels) for cut in cuts)
        return (
            f"{sizes.partitions} partitions in {sizes.dimensions} dimensions, "
            f"{deepest - 1} of {sizes.depths} depths reached",
        )


def gaussian_projection(d: int, p: int, rng: Rng) -> Projection:
    """Gaussian directions over √p, scaled so that the ball of radius √d has radius REACH."""
    directions = np.eye(d) if p == d else rng.normal(size=(p, d)) / math.sqrt(p)
    return projection_of(directions, np.zeros(d), 1 / math.sqrt(d), ball=True)
