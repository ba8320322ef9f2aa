"""k-median on points with weights of at least 0: Weiszfeld steps, and swaps of one centre.

The cost is Σ weight × √(distance² + width²) to the nearest centre: a point stands for a cell, in
which rows lie anywhere. Only released numbers come here, and rows of those who own them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats, Ints, Rng
from sfumato._synopsis.kmeans import Weighted, draw, sums_by_center, swap_losses

# The part of the cost that a step must save.
_WORTH = 1e-6
_SWAP_WORTH = 1e-4
# A swap may cost this part more before the other centres move.
_HOPE = 0.05

_FIRST_STEPS = 15
_STEPS_AFTER_SWAP = 8
_LAST_STEPS = 100
_CANDIDATES = 24
_EXAMINED = 4
_MAX_SWAPS = 200

# Points × centres × steps: fewer swaps where one step is a lot of work.
_SWAP_WORK = 1e8
# Of more points × centres the search sees a sample, of at least so many points for each centre.
_SEARCHED = 2**18
_SAMPLED = 64

# A point lies at a centre if it is no further away: distances are no more exact.
_LEAST = 1e-7


class State(NamedTuple):
    """Centres (k, d), the nearest of every point, the distance to it, (n,), and the cost."""

    centers: Floats
    own: Ints
    first: Floats
    cost: float


class Points(NamedTuple):
    """Points with weights, and their squared widths (n,)."""

    mass: Weighted
    widths: Floats

    def to(self, centers: Floats) -> Floats:
        """Distances (k, n) to centres (k, d)."""
        found: Floats = np.sqrt(self.mass.lifted.to(centers) + self.widths)
        return found

    def assign(self, centers: Floats) -> State:
        """Assign every point to the nearest of centres (k, d)."""
        own, squares = self.mass.lifted.nearest(centers)
        first = np.sqrt(squares + self.widths)
        return State(centers, own, first, float(self.mass.weights @ first))

    def second(self, state: State) -> Floats:
        """The distance of the second nearest centre, (n,)."""
        found: Floats = np.sqrt(self.mass.lifted.second(state.centers, state.own) + self.widths)
        return found

    def take(self, indices: Ints, weights: Floats) -> Points:
        """Some of the points, by indices (m,), with other weights (m,)."""
        return Points(Weighted.of(self.mass.points[indices], weights), self.widths[indices])


def weighted_kmedian(
    points: Floats,
    weights: Floats,
    k: int,
    rng: Rng,
    *,
    widths: Floats | float = 0.0,
    n_starts: int = 4,
    patience: int = 10,
) -> tuple[Floats, float]:
    """Find k centres of points (n, d) with weights (n,) of at least 0; returns them and their cost.

    `widths` are the mean squared distances of rows from the point that stands for them: of a cell,
    Σ half² / 3. The lowest of `n_starts` costs wins; a search ends after `patience` swaps in a row
    that save nothing. Of at most k points with weight each is a centre, some of them repeated;
    without any weight all points weigh the same.
    """
    if not len(points):
        raise ValueError("k-median needs at least one point, got none")
    heavy, unit = np.flatnonzero(weights > 0), 1.0
    if not len(heavy):
        heavy, weights, unit = np.arange(len(points)), np.ones(len(points)), 0.0
    squares = np.broadcast_to(np.asarray(widths, dtype=np.float64), len(points))[heavy]
    if len(heavy) <= k:
        alone = float(weights[heavy] @ np.sqrt(squares))
        return points[heavy[np.arange(k) % len(heavy)]], unit * alone
    middle = np.average(points[heavy], axis=0, weights=weights[heavy])
    held = Points(Weighted.of(points[heavy] - middle, weights[heavy]), squares)
    most = max(_SEARCHED // k, _SAMPLED * k)
    part = held if len(heavy) <= most else _sample(held, most, rng)
    found = [_search(part, k, rng, patience) for _ in range(n_starts)]
    best = min(found, key=lambda state: state.cost)
    best = weiszfeld(held, held.assign(best.centers), _LAST_STEPS)
    return np.ascontiguousarray(best.centers + middle), unit * best.cost


def weiszfeld(held: Points, state: State, steps: int) -> State:
    """Move every centre to the mean of its points, weighted by 1 / distance; again and again.

    Weiszfeld 1937, and assignments anew. No step raises the cost; the last is one that saves
    next to nothing.
    """
    for _ in range(steps):
        after = held.assign(_moved(held, state))
        saved = state.cost - after.cost
        state = after if saved > 0 else state
        if saved <= _WORTH * state.cost:
            break
    return state


def _moved(held: Points, state: State) -> Floats:
    """Where one step takes the centres, (k, d).

    What lies at a centre holds it back by its weight: Vardi, Zhang 2000.
    """
    mass, k = held.mass, len(state.centers)
    here = state.first < _LEAST
    pull = np.where(here, 0.0, mass.weights / np.maximum(state.first, _LEAST))
    table = np.vstack([pull, mass.points.T * pull, mass.weights * here])
    sums = sums_by_center(state.own, table, k)
    pulls, stay = sums[0], sums[-1]
    force = np.sqrt(np.square(sums[1:-1].T - pulls[:, None] * state.centers).sum(axis=1))
    free = np.where(force > stay, 1 - stay / np.maximum(force, 1e-300), 0.0)
    means = np.divide(sums[1:-1], pulls, out=state.centers.T.copy(), where=pulls > 0).T
    moved: Floats = state.centers + free[:, None] * (means - state.centers)
    return moved


def _sample(held: Points, most: int, rng: Rng) -> Points:
    """Points sampled by weight and by weight × distance from the middle, systematically."""
    weights = held.mass.weights
    far = weights * np.sqrt(held.mass.lifted.squares)
    chances = weights / weights.sum() + far / max(far.sum(), 1e-300)
    sums = np.cumsum(chances)
    marks = (np.arange(most) + rng.random()) * (sums[-1] / most)
    hits = np.bincount(np.searchsorted(sums[:-1], marks, side="right"))
    drawn = np.flatnonzero(hits)
    return held.take(drawn, weights[drawn] * hits[drawn] * (sums[-1] / most) / chances[drawn])


def _search(held: Points, k: int, rng: Rng, patience: int) -> State:
    state = weiszfeld(held, held.assign(_seeds(held, k, rng)), _FIRST_STEPS)
    state = _swap(held, state, rng, patience)
    return weiszfeld(held, state, _LAST_STEPS)


def _seeds(held: Points, k: int, rng: Rng) -> Floats:
    """Greedy k-means++ for distances: of points drawn by cost, the one that lowers it most."""
    mass, candidates = held.mass, 2 + int(np.log(k))
    chosen = draw(mass.weights, 1, rng)
    first = held.to(mass.points[chosen])[0]
    while len(chosen) < k:
        drawn = draw(mass.weights * first, candidates, rng)
        gaps = np.minimum(first, held.to(mass.points[drawn]))
        best = int((gaps @ mass.weights).argmin())
        chosen, first = np.append(chosen, drawn[best]), gaps[best]
    return mass.points[chosen]


def _swap(held: Points, state: State, rng: Rng, patience: int) -> State:
    """Swap one centre for a point and take steps, as long as that lowers the cost."""
    k, failures = len(state.centers), 0
    limit = min(max(int(_SWAP_WORK / (len(held.mass) * k)), 2), _MAX_SWAPS)
    for _ in range(limit if k > 1 else 0):
        tried = _try(held, state, rng)
        better = tried.cost < state.cost * (1 - _SWAP_WORTH)
        state, failures = (tried, 0) if better else (state, failures + 1)
        if failures == patience:
            break
    return state


def _try(held: Points, state: State, rng: Rng) -> State:
    """Swap a point drawn by its cost and the centre that is missed least."""
    mass, k = held.mass, len(state.centers)
    drawn = draw(mass.weights * state.first, _CANDIDATES, rng)
    gaps = held.to(mass.points[drawn])
    costs = np.minimum(state.first, gaps) @ mass.weights
    best = costs.argsort()[:_EXAMINED]
    second = held.second(state)
    lost = swap_losses(mass.weights, state.own, state.first, second, gaps[best], k)
    after = costs[best] + lost.min(axis=1)
    pick = int(after.argmin())
    if after[pick] > (1 + _HOPE) * state.cost:
        return state
    centers = state.centers.copy()
    centers[lost[pick].argmin()] = mass.points[drawn[best[pick]]]
    return weiszfeld(held, held.assign(centers), _STEPS_AFTER_SWAP)
