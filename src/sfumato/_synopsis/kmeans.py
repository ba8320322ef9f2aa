"""k-means on weighted points, with swaps that lead out of local optima.

`weighted_kmeans` takes weights of at least 0: greedy k-means++ (Arthur, Vassilvitskii 2007), Lloyd
steps, and swaps of one centre at a time (Lattanzi, Sohler 2019).

`SignedKMeans` takes noisy counts as they were released: negative ones cancel the positive noise of
other cells, so no weight is clipped or rounded (Su, Cao, Li, Bertino, Jin. Differentially private
k-means clustering. CODASPY 2016, §4.2). Departs from the paper after the starts: the best of them
are improved by swaps, and large cells are cut into even pieces.

Only released numbers come here. Both share distances, sums by centre, and the cost of a swap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats, Ints
from sfumato._lattice.box import REACH
from sfumato._synopsis.cells import BLOCK, Cells, WeightedCells, coarser, finer, whole
from sfumato._synopsis.distances import Lifted, lift, sums_by_center, swap_losses
from sfumato._synopsis.starts import draw, greedy_seeds, sphere_packings

# A swap may cost this part more before the other centres move.
_HOPE = 0.05

# ---- Weights of at least 0 ----

# The part of the cost that a step must save.
_WORTH = 1e-5
# Up to so many points × centres looking at all of them is cheaper than at the moved ones.
_SMALL = 2**16

_FIRST_STEPS = 12
_STEPS_AFTER_SWAP = 8
_LAST_STEPS = 60
# Two starts that end so close to each other have found the same.
_SAME = 1e-4
# Points × centres up to which all starts are tried.
_QUICK = 2**13

_CANDIDATES = 24
_EXAMINED = 4
_MAX_SWAPS = 400

# Points × centres × steps: fewer starts, swaps and last steps where one step is a lot of work.
_START_WORK = 2e6
_SWAP_WORK = 1e8
_LAST_WORK = 3e8
# Of more points × centres the search sees a sample, of at least so many points for each centre.
_SEARCHED = 2**22
_SAMPLED = 64


@dataclass(frozen=True)
class Weighted:
    """Points (n, d), weights (n,), and a table (1 + d, n) of the weights and w·x."""

    points: Floats
    weights: Floats
    lifted: Lifted
    table: Floats

    @classmethod
    def of(cls, points: Floats, weights: Floats) -> Weighted:
        """Prepare points (n, d) with weights (n,) for many steps."""
        return cls(points, weights, lift(points), np.vstack([weights, points.T * weights]))

    def __len__(self) -> int:
        return len(self.weights)


class State(NamedTuple):
    """Centres (k, d), the nearest of every point, its squared distance, and sums by centre."""

    centers: Floats
    own: Ints
    first: Floats
    sums: Floats
    cost: float


def assign(mass: Weighted, centers: Floats) -> State:
    """Assign every point to the nearest of centres (k, d)."""
    own, first = mass.lifted.nearest(centers)
    sums = sums_by_center(own, mass.table, len(centers))
    return State(centers, own, first, sums, float(mass.weights @ first))


def lloyd(mass: Weighted, state: State, steps: int, goal: float = np.inf) -> State:
    """Take Lloyd steps until they save too little, or a cost below `goal` is out of reach."""
    least = _WORTH / (10 * len(state.centers))
    for step in range(steps):
        held = state.sums[0]
        means = np.divide(state.sums[1:], held, out=state.centers.T.copy(), where=held > 0)
        # To move a centre by s saves its weight × s².
        saved = held * np.square(means - state.centers.T).sum(axis=0)
        moved = np.flatnonzero(saved > least * state.cost)
        if not len(moved):
            break
        after = move(mass, state, moved, means.T[moved])
        pace = state.cost - after.cost
        worth = pace >= _WORTH * state.cost
        state = after if pace > 0 else state
        if not worth or state.cost - pace * (steps - step) > goal:
            break
    return state


def move(mass: Weighted, state: State, moved: Ints, to: Floats) -> State:
    """Move the centres `moved` to points (len(moved), d), and reassign the points concerned."""
    centers = state.centers.copy()
    centers[moved] = to
    k = len(centers)
    if k * len(mass) <= _SMALL or 3 * len(moved) > k:
        return assign(mass, centers)
    own, first = state.own.copy(), state.first.copy()
    nearer, gaps = mass.lifted.nearest(to)
    closer = np.flatnonzero(gaps < first)
    own[closer], first[closer] = moved[nearer[closer]], gaps[closer]
    # Points of a centre that moved may now be nearer to any other.
    gone = np.zeros(k, dtype=bool)
    gone[moved] = True
    left = np.flatnonzero(gone[state.own])
    own[left], first[left] = mass.lifted.take(left).nearest(centers)
    changed = np.flatnonzero(own != state.own)
    table = mass.table[:, changed]
    sums = (
        state.sums
        + sums_by_center(own[changed], table, k)
        - sums_by_center(state.own[changed], table, k)
    )
    return State(centers, own, first, sums, float(mass.weights @ first))


def weighted_kmeans(
    points: Floats,
    weights: Floats,
    k: int,
    rng: np.random.Generator,
    *,
    n_starts: int = 4,
    patience: int = 10,
) -> tuple[Floats, float]:
    """Find k centres of points (n, d) with weights (n,) of at least 0; returns them and their cost.

    The lowest of at most `n_starts` costs wins; a search ends after `patience` swaps in a row that
    save nothing. Of at most k points with weight each is a centre, some of them repeated; without
    any weight all points weigh the same.
    """
    if not len(points):
        raise ValueError("k-means needs at least one point, got none")
    heavy = np.flatnonzero(weights > 0)
    unit = 1.0
    if not len(heavy):
        heavy, weights, unit = np.arange(len(points)), np.ones(len(points)), 0.0
    if len(heavy) <= k:
        return points[heavy[np.arange(k) % len(heavy)]], 0.0
    # About their middle squared distances lose the fewest digits.
    middle = np.average(points[heavy], axis=0, weights=weights[heavy])
    mass = Weighted.of(points[heavy] - middle, weights[heavy])
    max_points = max(_SEARCHED // k, _SAMPLED * k)
    if len(mass) <= max_points:
        best = _best(mass, k, rng, n_starts, patience)
    else:
        found = _best(_sample(mass, max_points, rng), k, rng, n_starts, patience)
        best = lloyd(mass, assign(mass, found.centers), _steps(mass, k, _LAST_WORK, _LAST_STEPS))
    return best.centers + middle, unit * best.cost


def _sample(mass: Weighted, max_points: int, rng: np.random.Generator) -> Weighted:
    """Points sampled by weight and by weight × distance² (Bachem et al. 2018)."""
    far = mass.weights * mass.lifted.squares
    chances = mass.weights / mass.weights.sum() + far / max(far.sum(), 1e-300)
    sums = np.cumsum(chances)
    # Systematic sampling: evenly spaced marks spread over the list.
    marks = (np.arange(max_points) + rng.random()) * (sums[-1] / max_points)
    hits = np.bincount(np.searchsorted(sums[:-1], marks, side="right"))
    drawn = np.flatnonzero(hits)
    weights = mass.weights[drawn] * hits[drawn] * (sums[-1] / max_points) / chances[drawn]
    return Weighted.of(mass.points[drawn], weights)


def _best(mass: Weighted, k: int, rng: np.random.Generator, n_starts: int, patience: int) -> State:
    """Search from a few starts; where one takes long, stop once two have ended alike."""
    best = _search(mass, k, rng, patience)
    quick = len(mass) * k <= _QUICK
    for _ in range(_steps(mass, k, _START_WORK, n_starts) - 1):
        found = _search(mass, k, rng, patience)
        same = abs(found.cost - best.cost) <= _SAME * best.cost
        best = found if found.cost < best.cost else best
        if same and not quick:
            break
    return best


def _steps(mass: Weighted, k: int, work: float, limit: int) -> int:
    """How many steps through all points so much work allows: from 2 up to the limit."""
    return min(max(int(work / (len(mass) * k)), 2), limit)


def _search(mass: Weighted, k: int, rng: np.random.Generator, patience: int) -> State:
    state = lloyd(
        mass,
        assign(mass, greedy_seeds(mass.points, mass.weights, mass.lifted, k, rng)),
        _FIRST_STEPS,
    )
    state = _swap(mass, state, rng, patience)
    return lloyd(mass, state, _steps(mass, k, _LAST_WORK, _LAST_STEPS))


def _swap(mass: Weighted, state: State, rng: np.random.Generator, patience: int) -> State:
    """Swap one centre for a point and take Lloyd steps, as long as that lowers the cost."""
    k, failures = len(state.centers), 0
    second = mass.lifted.second(state.centers, state.own)
    for _ in range(_steps(mass, k, _SWAP_WORK, _MAX_SWAPS)):
        if k == 1 or failures == patience:
            break
        tried = _try(mass, state, second, rng)
        if tried.cost < state.cost * (1 - _WORTH):
            state, failures = tried, 0
            second = mass.lifted.second(state.centers, state.own)
        else:
            failures += 1
    return state


def _try(mass: Weighted, state: State, second: Floats, rng: np.random.Generator) -> State:
    """Swap a point drawn by its cost and a centre; second: (n,), squared distances."""
    drawn = draw(mass.weights * state.first, _CANDIDATES, rng)
    gaps = mass.lifted.to(mass.points[drawn])
    costs = np.minimum(state.first, gaps) @ mass.weights
    best = costs.argsort()[:_EXAMINED]
    k = len(state.centers)
    lost = swap_losses(mass.weights, state.own, state.first, second, gaps[best], k)
    after = costs[best] + lost.min(axis=1)
    pick = int(after.argmin())
    if after[pick] > (1 + _HOPE) * state.cost:
        return state
    new = mass.points[drawn[best[pick]]][None]
    swapped = move(mass, state, lost[pick].argmin(keepdims=True), new)
    return lloyd(mass, swapped, _STEPS_AFTER_SWAP, state.cost)


# ---- Signed weights ----

_STEPS = 50
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

    def solve(self, k: int, *, n_starts: int, rng: np.random.Generator) -> Clusters:
        """Find k centres, in the cube, from sphere-packing starts; the lowest cost wins."""
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
        table = totals(levels[-1], centers)
        cost = float(_costs(levels[-1], table, centers)[0])
        return Clusters(centers[0], table[0, :, 0], cost)

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
    flat = centers.reshape(-1, n_features)
    # |x − c|² and |c|² − 2x·c order the centres alike.
    slopes, offsets = -2 * flat.T, np.square(flat).sum(axis=1)
    first = np.arange(starts) * k
    out = np.zeros((2 + n_features, len(flat)))
    for points, table in cells.blocks(max(1, BLOCK // len(flat))):
        scores = points @ slopes
        scores += offsets
        labels = (scores.reshape(-1, starts, k).argmin(axis=2) + first).ravel()
        out += sums_by_center(
            labels, table if starts == 1 else np.repeat(table, starts, axis=1), len(flat)
        )
    return np.moveaxis(out.reshape(-1, starts, k), 0, 2)


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
    best = best[saved[best, away[best]] > -_HOPE * abs(weights @ first)]
    variants = np.repeat(centers[None], len(best), axis=0)
    variants[np.arange(len(best)), away[best]] = points[places[best]]
    return variants
