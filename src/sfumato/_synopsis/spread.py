"""Error bars of centres that are means of released cells."""

from __future__ import annotations

import numpy as np

from sfumato._base.types import Floats, Ints
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.kmeans import nearest
from sfumato._uncertainty import KNOWN, Errors, Estimate

_BLOCK = 2**18
_DISTANCES = 2**24


def synopsis_errors(synopsis: Synopsis, points: Floats) -> Errors:
    """Error bars of centres (k, d), lattice steps, that cells were clustered to.

    A cell belongs to the centre nearest to its middle, and this is taken as it is.
    """
    return cell_errors(synopsis, points, nearest_cells(synopsis, points))


def nearest_cells(synopsis: Synopsis, points: Floats) -> Ints:
    """The nearest of points (k, d), lattice steps, for every cell: (n_cells,)."""
    block = max(1, _DISTANCES // len(points))
    starts = range(0, len(synopsis), block)
    middles = (synopsis.layout[start : start + block] for start in starts)
    return np.concatenate([nearest(each, points / REACH)[0] for each in middles])


def cell_errors(synopsis: Synopsis, points: Floats, own: Ints) -> Errors:
    """Error bars of clusters of cells with centres (k, d), lattice steps; own: (n_cells,) or −1.

    The noise-free centre is the mean of the exact counts of the same cells. The noise of
    Σ weight·(middle − mean) is divided by the weight; where that says nothing the deviation is as
    wide as the bounds.
    """
    k, d = points.shape
    table = np.zeros((k, 2 + 3 * d))
    for start in range(0, len(synopsis), _BLOCK):
        labels = own[start : start + _BLOCK]
        inside = labels >= 0
        middles = synopsis.layout[start : start + _BLOCK][inside]
        weights = synopsis.weights[start : start + _BLOCK][inside]
        held = (np.ones(len(weights)), weights, *middles.T, *(middles**2).T, *(middles.T * weights))
        table += np.stack([np.bincount(labels[inside], each, k) for each in held], axis=1)
    cells, counts = table[:, 0], table[:, 1]
    firsts, seconds, sums = np.split(table[:, 2:], 3, axis=1)
    count_stds = synopsis.noise_std * np.sqrt(np.maximum(cells, 1.0))
    known = (counts > KNOWN * count_stds)[:, None]
    rows = np.where(known, counts[:, None], 1.0)
    means = sums / rows
    apart = np.maximum(seconds - 2 * means * firsts + cells[:, None] * means**2, 0.0)
    stds = np.where(known, np.minimum(synopsis.noise_std * np.sqrt(apart) / rows, 2.0), 2.0)
    values = np.where(known, means * REACH, points)
    sizes = Estimate(counts, count_stds, "gaussian")
    return Errors(Estimate(values, stds * REACH, "gaussian"), sizes)
