"""Is a cluster real? Valleys of density between centres, on the cells that were released.

Where one clump is split in two, the density between its halves is no lower than in them: along any
line the density of one clump (uniform, Gaussian, or any other that is log-concave) rises and falls
once. Between two clusters it falls and rises again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from sfumato._base.types import Floats, Ints, Rng
from sfumato._synopsis.cells import Cells, GridCells

# Places along the way from one centre to the other; those in the middle may be the valley.
_PLACES = 9
_MIDDLE = slice(2, 7)

# Half the width of the cube around a place that density is averaged over, in distances of the two.
_AROUND = 0.2

# Draws from the null: one clump, as dense in between as in the thinner of both.
_DRAWS = 500

# A valley that is less deep than this part of the thinner peak may come from the shape of cells.
SHALLOW = 0.3

# A centre that is this much thinner than its neighbour is no part of a clump that was split.
_NOTHING = 0.1
# Provided that its neighbour is so many deviations of its noise above nothing.
_CLEAR = 4.0

# Of more centres only the nearest are looked at.
_NEIGHBOURS = 12


def evidence_of(
    cells: Cells, weights: Floats, noise_std: float, centers: Floats, rng: Rng
) -> Floats:
    """How surely each of k centres (k, d), in the cube, is a cluster of its own: (k,), 0 to 1.

    1 − p of the least clear valley around it, by a parametric bootstrap; p is multiplied by the
    number of places where noise could have made one. `rng` is public randomness.
    """
    k, pairs = len(centers), neighbours(centers)
    draws = rng.normal(size=(_DRAWS, _PLACES))
    chances = np.zeros(k)
    if k == 1:
        return np.array([1 - _tail(float(weights.sum()), np.full(len(cells), noise_std), 0.0)])
    for i, j in pairs:
        both = _chances(cells, weights, noise_std, centers[[i, j]], draws)
        chances[[i, j]] = np.maximum(chances[[i, j]], both)
    return 1 - np.minimum(chances, 1.0)


def neighbours(centers: Floats) -> list[tuple[int, int]]:
    """Pairs of centres (k, d) without a third inside the ball that they span (Gabriel 1969)."""
    found = set()
    number = min(len(centers), _NEIGHBOURS + 1)
    _, near = cKDTree(centers).query(centers, number)
    for i, those in enumerate(near.reshape(len(centers), number)):
        others = those[those != i]
        gaps = np.square(centers[others] - centers[i]).sum(axis=1)
        between = np.square(centers[others][:, None] - centers[others]).sum(axis=2)
        hidden = (gaps[:, None] + between < gaps * (1 - 1e-9)).any(axis=0)
        found |= {(min(i, j), max(i, j)) for j in others[~hidden].tolist()}
    return sorted(found)


def _chances(
    cells: Cells,
    weights: Floats,
    noise_std: float,
    ends: Floats,
    draws: Floats,
) -> tuple[float, float]:
    """The chance that one clump shows such a valley between two centres (2, d), for each.

    Next to a clump a centre where there is next to nothing says nothing against the clump.
    """
    apart = float(np.linalg.norm(ends[1] - ends[0]))
    if apart < 1e-9:
        return 1.0, 1.0
    way = ends[0] + np.linspace(0, 1, _PLACES)[:, None] * (ends[1] - ends[0])
    shares = _shares(cells, way, _AROUND * apart)
    densities = shares.table @ weights[shares.cells]
    level = max(float(min(densities[0], densities[-1])), 0.0)
    variances = noise_std**2 + level * shares.volumes
    flat = np.full(_PLACES, level)
    flat[[0, -1]] = np.maximum(densities[[0, -1]], level)
    noise = draws @ _root((shares.table * variances) @ shares.table.T).T
    by_chance = max(float(_depth(flat + noise).mean()), 0.0)
    found = float(_depth(densities[None])[0]) - SHALLOW * level - by_chance
    lowest = _MIDDLE.start + int(densities[_MIDDLE].argmin())
    contrast = shares.table[-1 if densities[-1] < densities[0] else 0] - shares.table[lowest]
    sampled = float(np.square(contrast) @ (level * shares.volumes))
    looks = min((2 / (_AROUND * apart)) ** ends.shape[1], float(len(cells))) + 1
    chance = float(looks) * _tail(found, np.abs(contrast) * noise_std, sampled)
    both = densities[[0, -1]]
    clear = both > _CLEAR * noise_std * np.linalg.norm(shares.table[[0, -1]], axis=1)
    alone = clear & (both > both[::-1] / _NOTHING)
    return 0.0 if alone[0] else chance, 0.0 if alone[1] else chance


def _root(covariance: Floats) -> Floats:
    """A square root of a covariance (m, m), also where places share all of their cells."""
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


class _Shares(NamedTuple):
    """What each of some cells (m,) adds to the density at every place, (places, m)."""

    cells: Ints
    volumes: Floats
    table: Floats


def _shares(cells: Cells, places: Floats, half: float) -> _Shares:
    """Of the cells around places (n, d), averaged over cubes of this half width inside bounds."""
    lows, highs = np.maximum(places - half, -1.0), np.minimum(places + half, 1.0)
    chosen, middles, halves = _touching(cells, lows.min(axis=0), highs.max(axis=0))
    upper = np.minimum(highs[:, None], middles + halves)
    lower = np.maximum(lows[:, None], middles - halves)
    common = np.maximum(upper - lower, 0.0).prod(axis=2)
    held = common.any(axis=0)
    volumes = (2 * halves).prod(axis=1)[held]
    whole = np.maximum(common.sum(axis=1, keepdims=True), 1e-300)
    return _Shares(chosen[held], volumes, common[:, held] / volumes / whole)


def _touching(cells: Cells, low: Floats, high: Floats) -> tuple[Ints, Floats, Floats]:
    """Cells that a box touches: their indices (m,), middles (m, d) and half widths (m, d)."""
    if isinstance(cells, GridCells):
        shape = np.array(cells.shape)
        first = np.clip(np.floor((low + 1) / 2 * shape), 0, shape - 1).astype(int)
        last = np.clip(np.floor((high + 1) / 2 * shape), 0, shape - 1).astype(int)
        axes = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
        chosen = np.ravel_multi_index(np.ix_(*axes), cells.shape).ravel()
        middles = cells.take(chosen).middles
    else:
        inside = (np.abs(cells.middles - (low + high) / 2) * 2 <= cells.widths + high - low).all(1)
        chosen, middles = np.flatnonzero(inside), cells.middles[inside]
    widths = cells.widths if len(cells.widths) == 1 else cells.widths[chosen]
    return chosen, middles, np.broadcast_to(widths / 2, middles.shape)


def _depth(densities: Floats) -> Floats:
    """How far the valley lies below the thinner end: densities (m, places)."""
    ends = np.minimum(densities[:, 0], densities[:, -1])
    found: Floats = ends - densities[:, _MIDDLE].min(axis=1)
    return found


def _tail(above: float, stds: Floats, variance: float) -> float:
    """The chance that noise is so far above 0: Laplace of deviations (m,), Gaussian of the rest.

    Chernoff's bound, with the factor of Bahadur and Rao 1960.
    """
    if above <= 0:
        return 1.0
    scales = stds / math.sqrt(2)
    total = math.sqrt(float(np.square(stds).sum()) + variance)
    if total <= 0:
        return 0.0
    most = float(scales.max(initial=0.0))
    end = min(1 / most if most > 0 else math.inf, above / max(variance, 1e-300), 1e3 / total)
    tilts = end * np.linspace(0, 1, 128, endpoint=False)[1:]
    laplace = -np.log1p(-np.square(tilts[:, None] * scales)).sum(axis=1)
    rate = float((tilts * above - laplace - variance * tilts**2 / 2).max())
    return 1.0 if rate <= 0 else math.exp(-rate) / (1 + math.sqrt(4 * math.pi * rate))
