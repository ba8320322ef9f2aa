"""k-means on cells whose weights may be negative.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.2: negative
counts cancel the positive noise of other cells, so no weight is clipped or rounded. Departs from it
after the starts: the best of them are improved by swaps, and large cells are cut into even pieces.
Everything here works on released numbers, in the cube [−1, 1]^d.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.box import REACH, Floats
from sfumato.synopsis.cells import Cells
from sfumato.synopsis.mass import BLOCK, Mass, coarser, finer, whole
from sfumato.synopsis.swaps import best_swaps

_STEPS = 50
_STILL = 1e-4

# All starts take a few steps, the better ones go on, the best are improved by swaps.
_FIRST_STEPS = 2
_MORE_STEPS = 8
_GO_ON = 5
_BEST = 2
_STEPS_AFTER_SWAP = 6
_WORTH = 1e-3
_SWAPPED = 2**24

# Points per centre: below _SCARCE starts get lost, below _PLENTY the size of the cells shows.
_SCARCE = 12
_PLENTY = 32

# Points that starts are tried on, and those that the best of them are improved on in between.
_FEW = 2**11
_MANY = 2**15

# Points × centres × steps on a level that starts close to its end.
_POLISH = 3e7


class Solution(NamedTuple):
    """Centres, the weight nearest to each, and the cost Σ w·min|x − c|², all in the cube."""

    centers: Floats
    sizes: Floats
    cost: float


class Solver:
    """k-means on one synopsis, for as many k as are asked for."""

    def __init__(self, cells: Cells, weights: Floats, noise_std: float) -> None:
        self._released = (cells, weights, noise_std)
        self._whole = whole(cells, weights, noise_std)
        self._sums: dict[int, Mass] = {}

    def solve(self, k: int, *, n_starts: int, rng: np.random.Generator) -> Solution:
        """Find k centres from sphere-packing starts; the lowest cost on the cells wins."""
        from sfumato.methods.starts import sphere_packings

        levels = self._levels(k)
        starts = sphere_packings(n_starts, k, self._whole.n_features, rng) / REACH
        starts, costs = lloyd(levels[0], starts, steps=_FIRST_STEPS)
        ends, costs = lloyd(levels[0], starts[costs.argsort()[:_GO_ON]], steps=_MORE_STEPS)
        # Many starts end in the same place: of equal costs one is enough.
        _, best = np.unique(costs.round(9), return_index=True)
        swapped = [_improve(levels[0], ends[i], costs[i]) for i in best[:_BEST]]
        centers = min(swapped, key=lambda end: end[1])[0][None]
        for mass in levels[1:] or levels:
            steps = int(np.clip(_POLISH / (len(mass.weights) * k), 5, _STEPS))
            centers, _ = lloyd(mass, centers, steps=steps)
        table = totals(levels[-1], centers)
        cost = float(_costs(levels[-1], table, centers)[0])
        return Solution(centers[0], table[0, :, 0], cost)

    def _levels(self, k: int) -> list[Mass]:
        """What to search on, then what to polish on: pieces of few cells, sums of many."""
        n_cells = len(self._whole.weights)
        if n_cells < _SCARCE * k:
            return [self._fine(_PLENTY * k), self._whole]
        if n_cells < _PLENTY * k:
            return [self._whole, self._fine(4 * _PLENTY * k)]
        levels = [self._whole]
        for most in (_MANY, max(_FEW, _PLENTY * k)):
            if 2 * most < len(levels[0].weights):
                levels.insert(0, self._coarse(levels[0], most))
        return levels

    def _fine(self, least: int) -> Mass:
        return finer(*self._released, least)

    def _coarse(self, mass: Mass, most: int) -> Mass:
        if most not in self._sums:
            self._sums[most] = coarser(mass, most)
        return self._sums[most]


def lloyd(mass: Mass, starts: Floats, *, steps: int = _STEPS) -> tuple[Floats, Floats]:
    """Move the centres of every start until they hold still; returns them and their costs.

    Signed weights can make a step worse: what counts is the best that a start has come by.
    """
    centers, best = starts.copy(), starts.copy()
    costs = np.full(len(starts), np.inf)
    moving = np.arange(len(starts))
    for _ in range(steps):
        now = centers[moving]
        table = totals(mass, now)
        cost = _costs(mass, table, now)
        better = cost < costs[moving]
        costs[moving[better]] = cost[better]
        best[moving[better]] = now[better]
        moved = _means(mass, table, now)
        centers[moving] = moved
        moving = moving[np.abs(moved - now).max(axis=(1, 2)) > _STILL]
        if not len(moving):
            break
    return best, costs


def totals(mass: Mass, centers: Floats) -> Floats:
    """Weight, cells and pull of all that is nearest to each centre: (starts, k, 2 + d)."""
    starts, k, n_features = centers.shape
    flat = centers.reshape(-1, n_features)
    # |x − c|² and |c|² − 2x·c order the centres alike.
    slopes, offsets = -2 * flat.T, np.square(flat).sum(axis=1)
    first = np.arange(starts) * k
    out = np.zeros((2 + n_features, len(flat)))
    for points, table in mass.blocks(max(1, BLOCK // len(flat))):
        scores = points @ slopes
        scores += offsets
        labels = (scores.reshape(-1, starts, k).argmin(axis=2) + first).ravel()
        rows = table if starts == 1 else np.repeat(table, starts, axis=1)
        for row, total in zip(rows, out, strict=True):
            total += np.bincount(labels, row, len(flat))
    return np.moveaxis(out.reshape(-1, starts, k), 0, 2)


def _costs(mass: Mass, table: Floats, centers: Floats) -> Floats:
    weights, pulls = table[..., 0], table[..., 2:]
    saved = 2 * (pulls * centers).sum(axis=2) - weights * np.square(centers).sum(axis=2)
    costs: Floats = mass.squares - saved.sum(axis=1)
    return costs


def _means(mass: Mass, table: Floats, centers: Floats) -> Floats:
    """Σ w·x / Σ w where Σ w stands out from the noise of its cells; elsewhere the old centre."""
    weights, cells = table[..., 0], table[..., 1]
    clear = weights > np.maximum(mass.noise_std * np.sqrt(cells), 1e-9)
    means = table[..., 2:] / np.where(clear, weights, 1.0)[..., None]
    return np.where(clear[..., None], np.clip(means, -1, 1), centers)


def _improve(mass: Mass, centers: Floats, cost: float) -> tuple[Floats, float]:
    """Put one centre elsewhere and let all settle, as long as that lowers the cost."""
    if len(centers) == 1 or len(centers) * len(mass.weights) > _SWAPPED:
        return centers, cost
    for _ in range(len(centers) + 10):
        variants = best_swaps(mass, centers)
        if not len(variants):
            break
        ends, costs = lloyd(mass, variants, steps=_STEPS_AFTER_SWAP)
        if costs.min() >= cost - _WORTH * abs(cost):
            break
        centers, cost = ends[costs.argmin()], float(costs.min())
    return centers, cost
