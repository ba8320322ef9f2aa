"""k-means on points with weights of at least 0, with swaps that lead out of local optima.

Greedy k-means++ (Arthur, Vassilvitskii 2007), Lloyd's steps, and swaps of one centre at a time
(Lattanzi, Sohler 2019), tried where the cost is and told apart by what they save exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.box import Floats, Ints
from sfumato.synopsis.distances import Lifted, lift, two_nearest

_FIRST_STEPS = 12
_STEPS_AFTER_SWAP = 8
_LAST_STEPS = 60
_WORTH = 1e-5
# Two starts that end so close to each other have found the same.
_SAME = 1e-4

_CANDIDATES = 24
_LOOKED_AT = 4
_HOPE = 0.05

# Points × centres × steps: fewer starts and swaps where one step is a lot of work.
_START_WORK = 1e7
_SWAP_WORK = 3e8
# Up to so many points × centres looking at all of them is cheaper than at the moved ones.
_SMALL = 2**16


@dataclass(frozen=True)
class _Mass:
    """Points about their mean, their weights, and the weights above w·x in the rows of a table."""

    places: Floats
    weights: Floats
    lifted: Lifted
    table: Floats


@dataclass(frozen=True)
class _State:
    """Centres, the nearest of every point, its squared distance, and the table's sums by centre."""

    centers: Floats
    own: Ints
    first: Floats
    sums: Floats
    cost: float


def weighted_kmeans(
    points: Floats,
    weights: Floats,
    k: int,
    rng: np.random.Generator,
    *,
    n_starts: int = 4,
    patience: int = 10,
) -> tuple[Floats, float]:
    """Find k centres of points with weights of at least 0; returns them and their cost.

    The lowest of at most `n_starts` costs wins; a search ends after `patience` swaps in a row that
    save nothing. Of at most k points with weight each is a centre, some of them twice or more
    often; without any weight all points weigh the same.
    """
    heavy = np.flatnonzero(weights > 0)
    scale = 1.0
    if not len(heavy):
        heavy, weights, scale = np.arange(len(points)), np.ones(len(points)), 0.0
    if len(heavy) <= k:
        return points[heavy[np.arange(k) % len(heavy)]], 0.0
    middle = np.average(points[heavy], axis=0, weights=weights[heavy])
    mass = _mass(points[heavy] - middle, weights[heavy])
    starts = int(np.clip(_START_WORK / (len(heavy) * k), 2, n_starts))
    best = _search(mass, k, rng, patience)
    for _ in range(starts - 1):
        found = _search(mass, k, rng, patience)
        same = abs(found.cost - best.cost) <= _SAME * best.cost
        best = found if found.cost < best.cost else best
        if same:
            break
    return best.centers + middle, scale * best.cost


def _mass(places: Floats, weights: Floats) -> _Mass:
    table = np.vstack([weights, places.T * weights])
    return _Mass(places, weights, lift(places), table)


def _search(mass: _Mass, k: int, rng: np.random.Generator, patience: int) -> _State:
    state = _settle(mass, _begin(mass, _seeds(mass, k, rng)), _FIRST_STEPS)
    state = _swap(mass, state, rng, patience)
    return _settle(mass, state, _LAST_STEPS)


def _seeds(mass: _Mass, k: int, rng: np.random.Generator) -> Floats:
    """Points drawn by weight × squared distance; of a few, the one that lowers the cost most."""
    candidates = 2 + int(np.log(k))
    chosen = _draw(mass.weights, 1, rng)
    first = mass.lifted.to(mass.places[chosen])[0]
    while len(chosen) < k:
        drawn = _draw(mass.weights * first, candidates, rng)
        gaps = np.minimum(first, mass.lifted.to(mass.places[drawn]))
        best = int((gaps @ mass.weights).argmin())
        chosen = np.append(chosen, drawn[best])
        first = gaps[best]
    return mass.places[chosen]


def _draw(chances: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Numbers of points by their chances; by nothing where all chances are 0."""
    sums = np.cumsum(chances)
    if sums[-1] <= 0:
        return rng.integers(len(chances), size=n)
    drawn: Ints = np.searchsorted(sums[:-1], rng.random(n) * sums[-1], side="right")
    return drawn


def _begin(mass: _Mass, centers: Floats) -> _State:
    own, first = mass.lifted.nearest(centers)
    sums = _sums(own, mass.table, len(centers))
    return _State(centers, own, first, sums, float(mass.weights @ first))


def _sums(own: Ints, table: Floats, k: int) -> Floats:
    return np.stack([np.bincount(own, row, k) for row in table])


def _settle(mass: _Mass, state: _State, steps: int, goal: float = np.inf) -> _State:
    """Take Lloyd's steps until they save nothing worth it, or the goal is out of reach."""
    least = _WORTH / len(state.centers)
    for step in range(steps):
        held = state.sums[0]
        means = np.where(held > 0, state.sums[1:] / np.where(held > 0, held, 1.0), state.centers.T)
        # To move a centre by s saves its weight × s².
        saved = held * np.square(means - state.centers.T).sum(axis=0)
        moved = np.flatnonzero(saved > 0.1 * least * state.cost)
        if not len(moved):
            break
        before, state = state, _move(mass, state, moved, means.T[moved])
        pace = before.cost - state.cost
        if pace < _WORTH * before.cost or state.cost - pace * (steps - step) > goal:
            break
    return state


def _move(mass: _Mass, state: _State, moved: Ints, to: Floats) -> _State:
    """Move some centres and look again at the points that this concerns."""
    centers = state.centers.copy()
    centers[moved] = to
    k = len(centers)
    if k * len(mass.weights) <= _SMALL or 3 * len(moved) > k:
        return _begin(mass, centers)
    own, first = state.own.copy(), state.first.copy()
    gone = np.zeros(k, dtype=bool)
    gone[moved] = True
    left = np.flatnonzero(gone[own])
    nearer, gaps = mass.lifted.nearest(to)
    closer = np.flatnonzero(gaps < first)
    own[closer], first[closer] = moved[nearer[closer]], gaps[closer]
    part = Lifted(mass.lifted.rows[left], mass.lifted.squares[left])
    own[left], first[left] = part.nearest(centers)
    changed = np.flatnonzero(own != state.own)
    table = mass.table[:, changed]
    sums = state.sums + _sums(own[changed], table, k) - _sums(state.own[changed], table, k)
    return _State(centers, own, first, sums, float(mass.weights @ first))


def _swap(mass: _Mass, state: _State, rng: np.random.Generator, patience: int) -> _State:
    """Put one centre elsewhere and let all settle, as long as that lowers the cost."""
    k, n = len(state.centers), len(mass.weights)
    second, failures = None, 0
    for _ in range(int(np.clip(_SWAP_WORK / (n * k), 20, 400)) if k > 1 else 0):
        if second is None:
            second = two_nearest(mass.places, state.centers)[2]
        tried = _try(mass, state, second, rng)
        if tried.cost < state.cost * (1 - _WORTH):
            state, second, failures = tried, None, 0
        else:
            failures += 1
        if failures == patience:
            break
    return state


def _try(mass: _Mass, state: _State, second: Floats, rng: np.random.Generator) -> _State:
    """Swap the most promising pair of a point drawn by its cost and a centre, and settle."""
    k = len(state.centers)
    drawn = _draw(mass.weights * state.first, _CANDIDATES, rng)
    gaps = mass.lifted.to(mass.places[drawn])
    costs = np.minimum(state.first, gaps) @ mass.weights
    best = costs.argsort()[:_LOOKED_AT]
    gaps = gaps[best]
    # Losing a centre sends its points to the second nearest, or to the new place.
    more = mass.weights * (np.minimum(second, gaps) - np.minimum(state.first, gaps))
    bins = state.own + k * np.arange(len(best))[:, None]
    lost = np.bincount(bins.ravel(), more.ravel(), k * len(best)).reshape(-1, k)
    after = costs[best] + lost.min(axis=1)
    pick = int(after.argmin())
    if after[pick] > (1 + _HOPE) * state.cost:
        return state
    new = mass.places[drawn[best[pick]]][None]
    swapped = _move(mass, state, lost[pick].argmin(keepdims=True), new)
    return _settle(mass, swapped, _STEPS_AFTER_SWAP, state.cost)
