"""One run: project, cut cubes, search among their middles, average in all columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Nearest, NearestInProjection
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato.methods._auto.refine import has_cube
from sfumato.methods._balcan.config import PhaseBudget, Recipe, Sizes
from sfumato.methods._balcan.partition import Cutting, partition, shifted_cube, threshold
from sfumato.methods._balcan.search import by_cubes, by_swaps, by_weights, pooled
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


@dataclass(frozen=True)
class Run:
    """Finds one set of centres among about n rows, with this noise on the averages."""

    recipe: Recipe
    sizes: Sizes
    task: Task
    n: float
    noise: str

    def __call__(self, curator: Curator, budget: PhaseBudget, rng: np.random.Generator) -> Centers:
        """Find one set of centres. Where p is d nothing is projected."""
        before = budget.spent()
        projection = gaussian_projection(self.task.n_features, self.sizes.dimensions, rng)
        view = curator.view(projection)
        cuts = self._cuts(view, budget, rng)
        found, how = self._search(view, cuts, budget, budget.spent() - before, rng)
        shares = budget.averages(budget.spent() - before, self.sizes.rounds)
        points, sizes = recovered(curator, projection, found, shares, self.noise)
        return Centers(points, sizes, (*self._notes(cuts), how))

    def _cuts(self, view: Curator, budget: PhaseBudget, rng: np.random.Generator) -> list[Cutting]:
        sizes, cuttings = self.sizes, []
        for share in budget.candidates(sizes.partitions):
            shares = share.evenly(sizes.depths)
            failure = self.recipe.failure / sizes.partitions
            gamma = threshold(self.recipe.gamma, float(shares[0].amount), self.n, failure)
            corners, side = shifted_cube(sizes.dimensions, sizes.depths, rng)
            cuttings.append(Cutting(corners, side, shares, gamma))
        return partition(view, cuttings)

    def _search(
        self,
        view: Curator,
        cuts: list[Cutting],
        budget: PhaseBudget,
        spent: Fraction,
        rng: np.random.Generator,
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


def gaussian_projection(d: int, p: int, rng: np.random.Generator) -> Projection:
    """Gaussian directions over √p, scaled so that the ball of radius √d has radius REACH."""
    directions = np.eye(d) if p == d else rng.normal(size=(p, d)) / math.sqrt(p)
    return projection_of(directions, np.zeros(d), 1 / math.sqrt(d), ball=True)
