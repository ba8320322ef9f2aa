"""Swaps: which centre to take away, and where to put it instead."""

from __future__ import annotations

import numpy as np

from sfumato.box import Floats
from sfumato.synopsis.distances import lift
from sfumato.synopsis.mass import Mass

_CANDIDATES = 128
_VARIANTS = 3
_HOPE = 0.05


def best_swaps(mass: Mass, centers: Floats) -> Floats:
    """Return the few most promising sets that differ from `centers` in one of them, if any are.

    New places are points with much cost. What a swap saves is told before any other centre moves,
    so that one which costs a little more can still be worth it.
    """
    points, weights = mass.points[:], mass.weights
    lifted = lift(points)
    own, first = lifted.nearest(centers)
    second = lifted.second(centers, own)
    places = (weights * first).argsort()[-_CANDIDATES:]
    new = lifted.to(points[places])
    kept = np.minimum(first, new)
    # Losing a centre sends its points to the second nearest, or to the new place.
    owners = np.zeros((len(points), len(centers)))
    owners[np.arange(len(points)), own] = weights
    lost = (np.minimum(second, new) - kept) @ owners
    saved = ((first - kept) @ weights)[:, None] - lost
    away = saved.argmax(axis=1)
    best = saved.max(axis=1).argsort()[-_VARIANTS:]
    best = best[saved[best, away[best]] > -_HOPE * abs(weights @ first)]
    variants = np.repeat(centers[None], len(best), axis=0)
    variants[np.arange(len(best)), away[best]] = points[places[best]]
    return variants
