"""First centres that look at no data."""

from __future__ import annotations

import numpy as np

from sfumato.box import REACH, Floats

_HALVINGS = 20
_TRIES_PER_POINT = 20
_WORK = 2.5e7


def sphere_packing(k: int, n_features: int, rng: np.random.Generator) -> Floats:
    """Place k random points at least a from each border and 2a from each other, in lattice units.

    The largest a for which placing succeeds is found by bisection (Su et al. 2015, §4.1.1). Where
    k²·d is too large to compare all pairs the points are uniformly random.
    """
    best = rng.uniform(-1, 1, (k, n_features))
    work = k * k * n_features
    if work > _WORK:
        return best * REACH
    tries = int(np.clip(_WORK / work, 2, _TRIES_PER_POINT)) * k
    feasible, infeasible = 0.0, 1.0
    for _ in range(_HALVINGS):
        radius = (feasible + infeasible) / 2
        points = _throw_darts(k, n_features, radius, tries, rng)
        if len(points) == k:
            feasible, best = radius, points
        else:
            infeasible = radius
    return best * REACH


def _throw_darts(
    k: int, n_features: int, radius: float, tries: int, rng: np.random.Generator
) -> Floats:
    """Keep each of `tries` random points, in turn, if no point kept before is nearer than 2a."""
    darts = rng.uniform(radius - 1, 1 - radius, (tries, n_features))
    free = np.ones(tries, dtype=bool)
    kept: list[int] = []
    while len(kept) < k and free.any():
        chosen = int(np.argmax(free))
        kept.append(chosen)
        free &= ((darts - darts[chosen]) ** 2).sum(axis=1) >= (2 * radius) ** 2
        free[chosen] = False
    return darts[kept]
