"""First centres that look at no data: sphere packings."""

from __future__ import annotations

import numpy as np

from sfumato._base.types import Floats, Mask, Rng
from sfumato._lattice.box import REACH

# The radius is found to 1/128 of the box's half width.
_HALVINGS = 7
_TRIES_PER_POINT = 20
_FEW_TRIES = 4
_MANY_FEATURES = 16
_WORK = 2.5e7
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
    return int(np.clip(_WORK / (k * k * n_features), 2, limit)) * k


def _bisect(k: int, n_features: int, rng: Rng) -> tuple[Floats, float]:
    """Find a packing with the largest radius, and that radius: 0 where it is not searched for."""
    best = rng.uniform(-1, 1, (k, n_features))
    feasible, infeasible = 0.0, 1.0
    if k * k * n_features > _WORK:
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
