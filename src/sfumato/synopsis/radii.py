"""How far the clusters of a synopsis reach."""

from __future__ import annotations

import numpy as np

from sfumato.box import Floats
from sfumato.synopsis.distances import nearest

# No cluster is taken for smaller than this share of what holds for all points together.
_SMALLEST = 0.3


def radii_of(
    points: Floats,
    weights: Floats,
    halves_squared: Floats | float,
    centers: Floats,
    quantile: float,
) -> Floats:
    """Return the radius around every centre that holds a share `quantile` of its weight.

    `halves_squared` is Σ half² over the sides of each cell: rows lie anywhere in their cell, which
    adds a third of it to their squared distance. A cluster without weight gets the radius of all
    points together.
    """
    own, squares = nearest(points, centers)
    reach = np.sqrt(squares + np.broadcast_to(halves_squared, len(points)) / 3)
    weights = np.maximum(weights, 0.0)
    if not weights.any():
        weights = np.ones(len(points))
    order = np.lexsort((reach, own))
    order = order[weights[order] > 0]
    far_first = np.argsort(reach[order], kind="stable")
    overall = _quantiles(reach[order][far_first], weights[order][far_first], [0], quantile)[0]
    starts = np.flatnonzero(np.diff(own[order], prepend=-1))
    radii = np.full(len(centers), overall)
    found = _quantiles(reach[order], weights[order], starts, quantile)
    radii[own[order][starts]] = np.maximum(found, _SMALLEST * overall)
    return radii


def _quantiles(values: Floats, weights: Floats, starts: object, quantile: float) -> Floats:
    """A weighted quantile of each run of ascending values that begins at one of `starts`."""
    firsts = np.asarray(starts, dtype=np.int64)
    lasts = np.append(firsts[1:], len(values)) - 1
    sums = np.cumsum(weights)
    before = sums[firsts] - weights[firsts]
    found = np.searchsorted(sums, before + quantile * (sums[lasts] - before))
    chosen: Floats = values[np.clip(found, firsts, lasts)]
    return chosen
