"""One run: project, cut cubes, search among their middles, average in all columns.

Candidates for centres are the middles of shifted cubes, cut in halves as long as noisy counts say
it is worth it: Edler 2023, Algorithms 2, 3, 9 and 10. Departs from them: under adding or removing a
row one cube of each depth changes, so that a depth costs a depth's part of ε and not twice that;
the first cube holds the whole ball whatever its shift; cubes that are found at the last depth are
candidates too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Ints, Mask, Rng
from sfumato._core.curator import Answer, Curator
from sfumato._core.queries.choose import Cost, Swaps
from sfumato._core.queries.counts import Cubes, Nearest, NearestInProjection
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato._synopsis.denoise import denoise_leaves
from sfumato._synopsis.kmeans import Weighted, assign, lloyd, weighted_kmeans
from sfumato.methods._auto.refine import has_cube
from sfumato.methods._balcan.config import PhaseBudget, Sizes, max_cubes, together
from sfumato.methods._base import Centers, Task, directions_of, projection_of
from sfumato.methods._dplloyd import Step, lloyd_step, move_to_means


def shifted_cube(p: int, depths: int, rng: Rng) -> tuple[Ints, int]:
    """A cube that holds the ball of radius REACH, and its side, a multiple of 2^depths."""
    unit = 2**depths
    side = -(-4 * REACH // unit) * unit
    # Its lower corner is at most −REACH and its upper one at least REACH.
    return rng.integers(REACH - side, -REACH, (1, p), endpoint=True), side


@dataclass
class Cutting:
    """A cube while it is cut, as long as a noisy count of a part passes γ, in rows.

    corners: (m, p), lattice steps of the view, of the cubes to cut next. One share is charged for
    each depth. It ends when no part passes: what is left stays unspent. `levels` are the middles of
    cubes that were cut, depth by depth; `noise_std` is that of the last counts.
    """

    corners: Ints
    side: int
    shares: Sequence[Share]
    gamma: float

    def __post_init__(self) -> None:
        self.noise_std = 0.0
        self.levels = [_middles(self.corners, self.side)]
        self._found: list[tuple[Floats, Floats, int]] = []

    @property
    def goes_on(self) -> bool:
        """Whether there are cubes to cut, and a share for it."""
        return len(self.corners) > 0 and self._depth < len(self.shares)

    @property
    def _depth(self) -> int:
        return len(self._found)

    @property
    def share(self) -> Share:
        """The share of the next depth."""
        return self.shares[self._depth]

    def cut(self, cubes: Cubes, answer: Answer) -> None:
        """Go down one depth, to the halves whose noisy counts pass."""
        corners, side = cubes.children(), self.side // 2
        kept = _fullest(answer.values, self.gamma, corners.shape[1])
        last = self._depth == len(self.shares) - 1
        left = np.ones(len(kept), dtype=bool) if last else ~kept
        self._found.append((_middles(corners[left], side), answer.values[left], side))
        self.corners, self.side, self.noise_std = corners[kept], side, answer.noise_std
        if len(self.corners):
            self.levels.append(_middles(self.corners, side))

    @property
    def leaves(self) -> Floats:
        """The middles (m, p) of cubes that were counted and not cut."""
        return np.concatenate([middles for middles, _, _ in self._found])

    @property
    def counts(self) -> Floats:
        """The noisy counts (m,) of the leaves."""
        return np.concatenate([counts for _, counts, _ in self._found])

    @property
    def volumes(self) -> Floats:
        """The volumes (m,) of the leaves."""
        return np.concatenate([np.full(len(c), float(s) ** m.shape[1]) for m, c, s in self._found])

    def candidates(self, least: int | None) -> Floats:
        """All middles; or the deepest, depth by depth, until there are at least so many."""
        if least is None:
            return np.concatenate(self.levels)
        kept: list[Floats] = []
        for level in reversed(self.levels):
            kept.append(level)
            if sum(map(len, kept)) >= least:
                break
        return np.concatenate(kept)


def partition(view: Curator, cuttings: list[Cutting]) -> list[Cutting]:
    """Cut all cubes to the end. Each pass over the rows is a depth of as many as fit together."""
    p = view.box.n_features
    for start in range(0, len(cuttings), together(p)):
        active = cuttings[start : start + together(p)]
        while active := [cutting for cutting in active if cutting.goes_on]:
            cubes = [Cubes(cutting.corners, cutting.side) for cutting in active]
            answers = view.counts_of_each(cubes, share=[cutting.share for cutting in active])
            for cutting, asked, answer in zip(active, cubes, answers, strict=True):
                cutting.cut(asked, answer)
    return cuttings


def into_ball(points: Floats) -> Floats:
    """Whole points (m, p) of the ball of radius REACH: those outside come to its surface."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    inside: Floats = np.trunc(points * np.minimum(1.0, REACH / np.maximum(lengths, 1.0)))
    return inside


def _middles(corners: Ints, side: int) -> Floats:
    return corners.astype(np.float64) + side / 2


def _fullest(counts: Floats, gamma: float, p: int) -> Mask:
    """Which cubes with noisy counts (m,) are cut next: those above γ, of too many the fullest."""
    limit = max_cubes(p)
    kept = counts > gamma
    if kept.sum() > limit:
        kept = np.zeros(len(counts), dtype=bool)
        kept[np.argsort(-counts, kind="stable")[:limit]] = True
    return kept


def recovered(
    curator: Curator, projection: Projection, found: Floats, shares: Sequence[Share], noise: str
) -> Step:
    """Average the rows nearest to each projected centre, then take rounds of private k-means.

    Edler 2023, Algorithms 5 and 6. found: (k, p), lattice steps of the view; returns centres (k, d)
    in lattice steps and sizes (k,). A centre whose noisy count is too small stays at the shortest
    point that is projected to where it was found.
    """
    lifted = found @ np.linalg.pinv(directions_of(projection)).T + projection.offset
    points: Floats = np.clip(lifted, -REACH, REACH).astype(np.float64)
    cells = NearestInProjection(projection, Nearest(found.astype(np.int64)))
    first, *rounds = shares
    step = move_to_means(curator, cells, points, first, drawable(noise, curator, first))
    for share in rounds:
        step = lloyd_step(curator, step.points, share, drawable(noise, curator, share))
    return step


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


def by_swaps(view: Curator, points: Floats, k: int, share: Share, sizes: Sizes, rng: Rng) -> Floats:
    """Start at random, swap one centre at a time for less cost, and choose among all sets seen.

    Edler 2023, Algorithms 4 and 11. points: (m, p), lattice steps of the view; returns (k, p).
    Without candidates to swap with, the share stays unspent.
    """
    chosen = rng.choice(len(points), k, replace=False)
    if len(points) == k:
        return points[chosen]
    shares = share.evenly(sizes.swaps + 1 if sizes.swaps > 1 else 1)
    seen: list[Floats] = []
    for part in shares[: sizes.swaps]:
        others = _others(len(points), chosen, sizes.subset, rng)
        query = Swaps(points[chosen].astype(np.int64), points[others].astype(np.int64))
        (pick,) = view.choose(query, share=part, law=sizes.law)
        chosen = chosen.copy()
        chosen[pick // len(others)] = others[pick % len(others)]
        seen.append(points[chosen])
    if len(seen) == 1:
        return seen[0]
    (best,) = view.choose(Cost(np.array(seen).astype(np.int64)), share=shares[-1], law=sizes.law)
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

    sizes: Sizes
    task: Task
    n: float
    noise: str

    def __call__(self, curator: Curator, budget: PhaseBudget, rng: Rng) -> Centers:
        """Find one set of centres. Where p is d nothing is projected."""
        sizes = self.sizes
        projection = gaussian_projection(self.task.n_features, sizes.dimensions, rng)
        view = curator.view(projection)
        cuts = self._cuts(view, budget, rng)
        found, how = self._search(view, cuts, budget, rng)
        shares = budget.averages(sizes.rounds)
        step = recovered(curator, projection, found, shares, self.noise)
        reached = max(len(cut.levels) for cut in cuts) - 1
        note = (
            f"{sizes.partitions} partitions in {sizes.dimensions} dimensions, "
            f"{reached} of {sizes.depths} depths reached"
        )
        return Centers(step.points, step.sizes, (note, how), errors=step.errors)

    def _cuts(self, view: Curator, budget: PhaseBudget, rng: Rng) -> list[Cutting]:
        sizes, cuttings = self.sizes, []
        for share in budget.candidates(sizes.partitions):
            shares = share.evenly(sizes.depths)
            gamma = sizes.threshold(float(shares[0].amount), self.n)
            corners, side = shifted_cube(sizes.dimensions, sizes.depths, rng)
            cuttings.append(Cutting(corners, side, shares, gamma))
        return partition(view, cuttings)

    def _search(
        self, view: Curator, cuts: list[Cutting], budget: PhaseBudget, rng: Rng
    ) -> tuple[Floats, str]:
        """Find k centres in the view; returns them and how, in words."""
        sizes, k = self.sizes, self.task.k
        cells = f"the noisy counts of {sum(len(cut.counts) for cut in cuts):,} cubes"
        if sizes.search == "coreset" and sizes.weights == "cubes":
            return by_cubes(cuts, k, rng), f"clusters of {cells}"
        points = pooled(cuts, k, sizes.deepest)
        many = f"{len(points):,} candidates"
        if sizes.search == "swaps" and not sizes.swaps:
            return points[rng.choice(len(points), k, replace=False)], f"{k} random ones of {many}"
        share = budget.search()
        if sizes.search == "swaps":
            found = by_swaps(view, points, k, share, sizes, rng)
            return found, f"{sizes.swaps} swaps with {many}"
        found, how_found = by_weights(view, points, k, share, rng), f"clusters of {many} by weight"
        if sizes.weights == "bought":
            return found, how_found
        return by_cubes(cuts, k, rng, found), f"{how_found}, then Lloyd steps on {cells}"


def gaussian_projection(d: int, p: int, rng: Rng) -> Projection:
    """Gaussian directions over √p, scaled so that the ball of radius √d has radius REACH."""
    directions = np.eye(d) if p == d else rng.normal(size=(p, d)) / math.sqrt(p)
    return projection_of(directions, np.zeros(d), 1 / math.sqrt(d), ball=True)
