"""k-means on noisy counts as they were released, from starts that look at no data.

Negative counts cancel the positive noise of other cells, so no weight is clipped or rounded (Su,
Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.2). Departs from
the paper after the starts: the best of them are improved by swaps, and large cells are cut into
even pieces. Only released numbers come here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats, Mask, Rng
from sfumato._lattice.box import REACH
from sfumato._synopsis.cells import BLOCK, Cells, WeightedCells, coarser, finer, whole
from sfumato._synopsis.kmeans import HOPE, lift, sums_by_center, swap_losses
from sfumato._synopsis.many import STEPS, nearest_by_tree, starts_by_cuts, uses_tree

_STEPS = 50
_CONVERGED = 300
_STILL = 1e-4

# All starts take a few steps, the better ones go on, the best are improved by swaps.
_EACH_START = 2
_BETTER_STARTS = (5, 8)
_BEST_STARTS = 2
_PLACES = 128
_VARIANTS = 3
_VARIANT_STEPS = 6
_IMPROVES = 1e-3
_SWAPPED = 2**24

# Points per centre: below _SCARCE starts get lost, below _PLENTY the size of the cells shows.
_SCARCE = 12
_PLENTY = 32

# Points that starts are tried on, and those that the best of them are improved on in between.
_FEW = 2**11
_MANY = 2**15

# More centres than this are searched for from one start, without swaps.
_COMPARED = 500

# Points × centres × steps on a level that starts close to its end.
_POLISH = 3e7


class Clusters(NamedTuple):
    """Centres (k, d), the noisy weight of each (k,), and the cost on the synopsis.

    The cost is Σ weight·min|x − c|² over the cells, in the cube [−1, 1]^d that the bounds span.
    """

    centers: Floats
    sizes: Floats
    cost: float


class SignedKMeans:
    """k-means on one synopsis, for as many k as are asked for; weights: (n_cells,)."""

    def __init__(self, cells: Cells, weights: Floats, noise_std: float) -> None:
        self._released = (cells, weights, noise_std)
        self._whole = whole(cells, weights, noise_std)
        self._sums: dict[int, WeightedCells] = {}

    def solve(self, k: int, *, n_starts: int, rng: Rng) -> Clusters:
        """Find k centres, in the cube, from sphere-packing starts; the lowest cost wins."""
        if k > _COMPARED:
            return self._solve_many(k)
        levels = self._levels(k)
        starts = sphere_packings(n_starts, k, self._whole.n_features, rng) / REACH
        starts, costs = signed_lloyd(levels[0], starts, steps=_EACH_START)
        number, steps = _BETTER_STARTS
        ends, costs = signed_lloyd(levels[0], starts[costs.argsort()[:number]], steps=steps)
        # Many starts end in the same place: of equal costs one is enough.
        _, best = np.unique(costs.round(9), return_index=True)
        swapped = [_improve(levels[0], ends[i], costs[i]) for i in best[:_BEST_STARTS]]
        centers = min(swapped, key=lambda end: end[1])[0][None]
        for cells in levels[1:] or levels:
            steps = int(np.clip(_POLISH / (len(cells.weights) * k), 5, _STEPS))
            centers, _ = signed_lloyd(cells, centers, steps=steps)
        return _clusters(levels[-1], centers)

    def solve_by_lloyd(self, k: int, *, n_starts: int, rng: Rng) -> Clusters:
        """The solver of the paper: Lloyd steps from every start, on the cells as released.

        Kept of ours: a centre whose weight does not stand out from the noise stays where it is, and
        of the places that a start has come by the best counts.
        """
        starts = sphere_packings(n_starts, k, self._whole.n_features, rng) / REACH
        ends, costs = signed_lloyd(self._whole, starts, steps=_CONVERGED)
        return _clusters(self._whole, ends[costs.argmin()][None])

    def _solve_many(self, k: int) -> Clusters:
        """One start, on pieces or sums of the cells, by the weights above 0; then all cells."""
        cells = self._whole
        if len(cells.weights) < _SCARCE * k:
            cells = finer(*self._released, _PLENTY * k)
        elif len(cells.weights) > 2 * _PLENTY * k:
            cells = coarser(cells, _PLENTY * k)
        positive = np.maximum(cells.weights, 0)
        if not positive.any():
            positive = np.ones(len(positive))
        centers = starts_by_cuts(cells.points[:], positive, k)[None]
        centers, _ = signed_lloyd(cells, centers, steps=STEPS)
        if len(cells.weights) != len(self._whole.weights):
            centers, _ = signed_lloyd(self._whole, centers, steps=_EACH_START)
        return _clusters(self._whole, centers)

    def _levels(self, k: int) -> list[WeightedCells]:
        """What to search on, then what to polish on: pieces of few cells, sums of many."""
        n_cells = len(self._whole.weights)
        if n_cells < _SCARCE * k:
            return [finer(*self._released, _PLENTY * k), self._whole]
        if n_cells < _PLENTY * k:
            return [self._whole, finer(*self._released, 4 * _PLENTY * k)]
        levels = [self._whole]
        for limit in (_MANY, max(_FEW, _PLENTY * k)):
            if 2 * limit < len(levels[0].weights):
                if limit not in self._sums:
                    self._sums[limit] = coarser(levels[0], limit)
                levels.insert(0, self._sums[limit])
        return levels


def _clusters(cells: WeightedCells, centers: Floats) -> Clusters:
    """What centres (1, k, d) hold of the cells, and what they cost."""
    table = totals(cells, centers)
    return Clusters(centers[0], table[0, :, 0], float(_costs(cells, table, centers)[0]))


def signed_lloyd(
    cells: WeightedCells, starts: Floats, *, steps: int = _STEPS
) -> tuple[Floats, Floats]:
    """Take Lloyd steps from starts (s, k, d) until they hold still; returns them and their costs.

    Signed weights can make a step worse: the best centres that a start has come by count.
    """
    centers, best = starts.copy(), starts.copy()
    costs = np.full(len(starts), np.inf)
    moving = np.arange(len(starts))
    for _ in range(steps):
        now = centers[moving]
        table = totals(cells, now)
        cost = _costs(cells, table, now)
        better = cost < costs[moving]
        costs[moving[better]] = cost[better]
        best[moving[better]] = now[better]
        moved = _means(cells, table, now)
        centers[moving] = moved
        moving = moving[np.abs(moved - now).max(axis=(1, 2)) > _STILL]
        if not len(moving):
            break
    return best, costs


def totals(cells: WeightedCells, centers: Floats) -> Floats:
    """Weight, number of cells and Σ w·x nearest to each of centres (s, k, d): (s, k, 2 + d)."""
    starts, k, n_features = centers.shape
    if starts == 1 and uses_tree(k, n_features):
        return _totals_by_tree(cells, centers[0])[None]
    flat = centers.reshape(-1, n_features)
    # |x − c|² and |c|² − 2x·c order the centres alike.
    slopes, offsets = -2 * flat.T, np.square(flat).sum(axis=1)
    first = np.arange(starts) * k
    out = np.zeros((2 + n_features, len(flat)))
    for points, table in cells.blocks(max(1, BLOCK // len(flat))):
        scores = points @ slopes
        scores += offsets
        labels = (scores.reshape(-1, starts, k).argmin(axis=2) + first).ravel()
        each = table if starts == 1 else np.repeat(table, starts, axis=1)
        out += sums_by_center(labels, each, len(flat))
    return np.moveaxis(out.reshape(-1, starts, k), 0, 2)


def _totals_by_tree(cells: WeightedCells, centers: Floats) -> Floats:
    """The same for one set of many centres (k, d): (k, 2 + d)."""
    k, n_features = centers.shape
    out = np.zeros((2 + n_features, k))
    for points, table in cells.blocks(BLOCK):
        out += sums_by_center(nearest_by_tree(points, centers)[0], table, k)
    return out.T


def _costs(cells: WeightedCells, table: Floats, centers: Floats) -> Floats:
    """The cost (s,) of centres (s, k, d) with `totals` (s, k, 2 + d)."""
    weights, sums = table[..., 0], table[..., 2:]
    saved = 2 * (sums * centers).sum(axis=2) - weights * np.square(centers).sum(axis=2)
    costs: Floats = cells.squares - saved.sum(axis=1)
    return costs


def _means(cells: WeightedCells, table: Floats, centers: Floats) -> Floats:
    """Σ w·x / Σ w where Σ w stands out from noise, else the old centre; shapes as in `totals`."""
    weights, n_cells = table[..., 0], table[..., 1]
    clear = weights > np.maximum(cells.noise_std * np.sqrt(n_cells), 1e-9)
    means = table[..., 2:] / np.where(clear, weights, 1.0)[..., None]
    return np.where(clear[..., None], np.clip(means, -1, 1), centers)


def _improve(cells: WeightedCells, centers: Floats, cost: float) -> tuple[Floats, float]:
    """Swap one of centres (k, d) and take Lloyd steps, as long as that lowers the cost."""
    if len(centers) == 1 or len(centers) * len(cells.weights) > _SWAPPED:
        return centers, cost
    for _ in range(len(centers) + 10):
        variants = best_swaps(cells, centers)
        if not len(variants):
            break
        ends, costs = signed_lloyd(cells, variants, steps=_VARIANT_STEPS)
        if costs.min() >= cost - _IMPROVES * abs(cost):
            break
        centers, cost = ends[costs.argmin()], float(costs.min())
    return centers, cost


def best_swaps(cells: WeightedCells, centers: Floats) -> Floats:
    """The few most promising sets (s, k, d) that differ from `centers` in one centre, if any.

    New places are points with much cost. What a swap saves is computed before the other centres
    move, so that one which costs a little more can still be worth it.
    """
    points, weights = cells.points[:], cells.weights
    lifted = lift(points)
    own, first = lifted.nearest(centers)
    places = (weights * first).argsort()[-_PLACES:]
    gaps = lifted.to(points[places])
    second = lifted.second(centers, own)
    lost = swap_losses(weights, own, first, second, gaps, len(centers))
    saved = ((first - np.minimum(first, gaps)) @ weights)[:, None] - lost
    away = saved.argmax(axis=1)
    best = saved.max(axis=1).argsort()[-_VARIANTS:]
    best = best[saved[best, away[best]] > -HOPE * abs(weights @ first)]
    variants = np.repeat(centers[None], len(best), axis=0)
    variants[np.arange(len(best)), away[best]] = points[places[best]]
    return variants


# The radius is found to 1/128 of the box's half width.
_HALVINGS = 7
_TRIES_PER_POINT = 20
_FEW_TRIES = 4
_MANY_FEATURES = 16
_PAIRS = 2.5e7
_SHRINK = 0.92


def sphere_packing(k: int, n_features: int, rng: Rng) -> Floats:
    """Place k random points at least a from each border and 2a from each other, in lattice units.

    The largest a for which placing succeeds is found by bisection (Su et al. 2015, §4.1.1). Where
    k²·d is too large to compare all pairs the points are uniformly random.
    """
    best, _ = _bisect(k, n_features, rng)
    return best * REACH


def sphere_packings(n: int, k: int, n_features: int, rng: Rng) -> Floats:
    """Place n sets of k points as `sphere_packing` does, with one search for the radius.

    The radius of a set that fails is made smaller until it succeeds.
    """
    _, radius = _bisect(k, n_features, rng)
    sets = rng.uniform(-1, 1, (n, k, n_features))
    left = np.arange(n if radius else 0)
    tries = _tries(k, n_features)
    # Bisection ends at a radius for which placing often fails.
    while len(left):
        radius *= _SHRINK
        points, placed = _throw_sets(len(left), (k, n_features), radius, tries, rng)
        sets[left[placed]] = points[placed]
        left = left[~placed]
    return sets * REACH


def _tries(k: int, n_features: int) -> int:
    # In many dimensions random points are far apart: a few tries find as good a packing.
    limit = _TRIES_PER_POINT if n_features < _MANY_FEATURES else _FEW_TRIES
    return int(np.clip(_PAIRS / (k * k * n_features), 2, limit)) * k


def _bisect(k: int, n_features: int, rng: Rng) -> tuple[Floats, float]:
    """Find a packing with the largest radius, and that radius: 0 where it is not searched for."""
    best = rng.uniform(-1, 1, (k, n_features))
    feasible, infeasible = 0.0, 1.0
    if k * k * n_features > _PAIRS:
        return best, feasible
    tries = _tries(k, n_features)
    for _ in range(_HALVINGS):
        radius = (feasible + infeasible) / 2
        points = _throw_darts(k, n_features, radius, tries, rng)
        if len(points) == k:
            feasible, best = radius, points
        else:
            infeasible = radius
    return best, feasible


def _throw_darts(k: int, n_features: int, radius: float, tries: int, rng: Rng) -> Floats:
    """Keep each of `tries` random points, in turn, if no point kept before is nearer than 2a."""
    darts = rng.uniform(radius - 1, 1 - radius, (tries, n_features))
    # |x − y|² ≥ 4a² with one product of the matrix and a vector.
    half = np.square(darts).sum(axis=1) / 2
    free = np.ones(tries, dtype=bool)
    kept: list[int] = []
    while len(kept) < k and free.any():
        chosen = int(np.argmax(free))
        kept.append(chosen)
        free &= half - darts @ darts[chosen] >= 2 * radius**2 - half[chosen]
        free[chosen] = False
    return darts[kept]


def _throw_sets(
    n: int, shape: tuple[int, int], radius: float, tries: int, rng: Rng
) -> tuple[Floats, Mask]:
    """Throw darts for n sets of `shape` at once; returns the sets and which of them are whole."""
    k, n_features = shape
    darts = rng.uniform(radius - 1, 1 - radius, (n_features, n, tries))
    free = np.ones((n, tries), dtype=bool)
    points = np.empty((k, n_features, n))
    placed = np.ones(n, dtype=bool)
    each = np.arange(n)
    for point in points:
        chosen = free.argmax(axis=1)
        placed &= free[each, chosen]
        point[:] = darts[:, each, chosen]
        free &= ((darts - point[:, :, None]) ** 2).sum(axis=0) >= (2 * radius) ** 2
        free[each, chosen] = False
    return np.moveaxis(points, 2, 0), placed
