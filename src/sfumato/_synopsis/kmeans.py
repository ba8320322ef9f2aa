"""k-means on points with weights of at least 0, with swaps that lead out of local optima.

Greedy k-means++ (Arthur, Vassilvitskii 2007), Lloyd steps, and swaps of one centre at a time
(Lattanzi, Sohler 2019). Only released numbers come here. Distances, sums by centre and the cost of
a swap also serve `signed_kmeans.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats, Ints, Rng
from sfumato._synopsis.many import MANY, STEPS, nearest_by_tree, starts_by_cuts, uses_tree

# A swap may cost this part more before the other centres move.
HOPE = 0.05

# Distances computed at a time: they should stay in the cache.
_BLOCK = 2**16


class Lifted(NamedTuple):
    """Points with a column of ones, so that one product gives |c|² − 2x·c; and their |x|².

    rows: (n, d + 1), squares: (n,).
    """

    rows: Floats
    squares: Floats

    def take(self, indices: Ints) -> Lifted:
        """Some of the points, by indices (m,)."""
        return Lifted(self.rows[indices], self.squares[indices])

    def to(self, centers: Floats) -> Floats:
        """Squared distances, (k, n), to centres (k, d)."""
        gaps: Floats = _slopes(centers).T @ self.rows.T
        gaps += self.squares
        return np.maximum(gaps, 0, out=gaps)

    def nearest(self, centers: Floats) -> tuple[Ints, Floats]:
        """The index of the nearest of centres (k, d), and its squared distance: (n,) each."""
        if uses_tree(*centers.shape):
            return nearest_by_tree(self.rows[:, :-1], centers)
        own, first = np.empty(len(self.rows), dtype=np.int64), np.empty(len(self.rows))
        for part, scores, lines in self._blocks(centers):
            own[part] = scores.argmin(axis=1)
            first[part] = scores[lines, own[part]]
        first += self.squares
        return own, np.maximum(first, 0, out=first)

    def second(self, centers: Floats, own: Ints) -> Floats:
        """The squared distance of the nearest centre but `own`, (n,); infinite if k = 1."""
        second = np.empty(len(self.rows))
        for part, scores, lines in self._blocks(centers):
            scores[lines, own[part]] = np.inf
            second[part] = scores.min(axis=1)
        second += self.squares
        return np.maximum(second, 0, out=second)

    def _blocks(self, centers: Floats) -> Iterator[tuple[slice, Floats, Ints]]:
        """Yield |c|² − 2x·c, (m, k), of some points at a time, and the indices of its lines."""
        slopes, size = _slopes(centers), max(1, _BLOCK // len(centers))
        lines = np.arange(min(size, len(self.rows)))
        for start in range(0, len(self.rows), size):
            part = slice(start, start + size)
            scores = self.rows[part] @ slopes
            yield part, scores, lines[: len(scores)]


def lift(points: Floats) -> Lifted:
    """Prepare points (n, d) for many distances."""
    ones = np.ones((len(points), 1))
    return Lifted(np.hstack([points, ones]), np.square(points).sum(axis=1))


def nearest(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """The index of the nearest of centres (k, d) to points (n, d), and its squared distance."""
    return lift(points).nearest(centers)


def _slopes(centers: Floats) -> Floats:
    """−2c and |c|² of centres (k, d): (d + 1, k)."""
    slopes = np.empty((centers.shape[1] + 1, len(centers)))
    np.multiply(centers.T, -2, out=slopes[:-1])
    slopes[-1] = np.square(centers).sum(axis=1)
    return slopes


def sums_by_center(own: Ints, table: Floats, k: int) -> Floats:
    """Sum every row of a table (m, n) by centre: (m, k)."""
    sums = np.empty((len(table), k))
    for row, total in zip(table, sums, strict=True):
        total[:] = np.bincount(own, row, k)
    return sums


def swap_losses(
    weights: Floats, own: Ints, first: Floats, second: Floats, gaps: Floats, k: int
) -> Floats:
    """What it costs to drop each centre after a new one was added: (new ones, k).

    `first` and `second` are squared distances to the nearest two centres, (n,); `gaps` those to
    every new one, (new ones, n). The points of a dropped centre go to their second or to the new.
    """
    more = weights * (np.minimum(second, gaps) - np.minimum(first, gaps))
    bins = own + k * np.arange(len(gaps))[:, None]
    losses = np.bincount(bins.ravel(), more.ravel(), k * len(gaps))
    return losses.astype(np.float64).reshape(-1, k)


def greedy_seeds(mass: Weighted, k: int, rng: Rng) -> Floats:
    """Greedy k-means++: k of the points, (k, d).

    Of a few points drawn by weight × squared distance, the one that lowers the cost most.
    """
    candidates = 2 + int(np.log(k))
    chosen = draw(mass.weights, 1, rng)
    first = mass.lifted.to(mass.points[chosen])[0]
    while len(chosen) < k:
        drawn = draw(mass.weights * first, candidates, rng)
        gaps = np.minimum(first, mass.lifted.to(mass.points[drawn]))
        best = int((gaps @ mass.weights).argmin())
        chosen = np.append(chosen, drawn[best])
        first = gaps[best]
    return mass.points[chosen]


def draw(chances: Floats, n: int, rng: Rng) -> Ints:
    """Draw n indices by chances (points,); all alike where every chance is 0."""
    sums = np.cumsum(chances)
    if sums[-1] <= 0:
        return rng.integers(len(chances), size=n)
    drawn: Ints = np.searchsorted(sums[:-1], rng.random(n) * sums[-1], side="right")
    return drawn


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
_MANY_WORK = 2e10
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
    points: Floats, weights: Floats, k: int, rng: Rng, *, n_starts: int = 4, patience: int = 10
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
    if k > MANY:
        best = _many(mass, k)
    elif len(mass) <= max_points:
        best = _best(mass, k, rng, n_starts, patience)
    else:
        found = _best(_sample(mass, max_points, rng), k, rng, n_starts, patience)
        best = lloyd(mass, assign(mass, found.centers), _steps(mass, k, _LAST_WORK, _LAST_STEPS))
    return best.centers + middle, unit * best.cost


def _many(mass: Weighted, k: int) -> State:
    """One start that is close to the end, and a few steps: swaps of single centres save little."""
    steps = STEPS if uses_tree(k, mass.points.shape[1]) else _steps(mass, k, _MANY_WORK, STEPS)
    return lloyd(mass, assign(mass, starts_by_cuts(mass.points, mass.weights, k)), steps)


def _sample(mass: Weighted, max_points: int, rng: Rng) -> Weighted:
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


def _best(mass: Weighted, k: int, rng: Rng, n_starts: int, patience: int) -> State:
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


def _search(mass: Weighted, k: int, rng: Rng, patience: int) -> State:
    state = lloyd(mass, assign(mass, greedy_seeds(mass, k, rng)), _FIRST_STEPS)
    state = _swap(mass, state, rng, patience)
    return lloyd(mass, state, _steps(mass, k, _LAST_WORK, _LAST_STEPS))


def _swap(mass: Weighted, state: State, rng: Rng, patience: int) -> State:
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


def _try(mass: Weighted, state: State, second: Floats, rng: Rng) -> State:
    """Swap a point drawn by its cost and a centre; second: (n,), squared distances."""
    drawn = draw(mass.weights * state.first, _CANDIDATES, rng)
    gaps = mass.lifted.to(mass.points[drawn])
    costs = np.minimum(state.first, gaps) @ mass.weights
    best = costs.argsort()[:_EXAMINED]
    k = len(state.centers)
    lost = swap_losses(mass.weights, state.own, state.first, second, gaps[best], k)
    after = costs[best] + lost.min(axis=1)
    pick = int(after.argmin())
    if after[pick] > (1 + HOPE) * state.cost:
        return state
    new = mass.points[drawn[best[pick]]][None]
    swapped = move(mass, state, lost[pick].argmin(keepdims=True), new)
    return lloyd(mass, swapped, _STEPS_AFTER_SWAP, state.cost)
