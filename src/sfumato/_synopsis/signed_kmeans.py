"""k-means on cells whose weights may be negative.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.2: negative
counts cancel the positive noise of other cells, so no weight is clipped or rounded. Departs from it
after the starts: the best of them are improved by swaps, and large cells are cut into even pieces.
Everything here works on released numbers, in the cube [−1, 1]^d.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats
from sfumato._lattice.box import REACH
from sfumato._synopsis.cells import Cells, cut
from sfumato._synopsis.kmeans import lift

BLOCK = 2**17
"""Numbers worked on at a time."""

# Up to so many points the weights, cells and pulls are worked out once.
_KEPT = 2**16


@dataclass(frozen=True)
class Mass:
    """Points with weights: each is a cell, a piece of one, or stands for several together.

    `cells` says how many cells a point stands for, and `pulls` is Σ weight·x over them; where they
    are None every point is one cell. `squares` is Σ weight·|x|² over all cells.
    """

    points: Floats | Cells
    weights: Floats
    noise_std: float
    squares: float = 0.0
    cells: Floats | None = None
    pulls: Floats | None = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.points[:1].shape[1])

    def blocks(self, most: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield points and, in the rows of a second table, their weights, cells and pulls."""
        small = len(self.weights) <= _KEPT
        for start in range(0, len(self.weights), most):
            part = slice(start, start + most)
            points = self.points[part]
            yield points, self._table[:, part] if small else self._rows(points, part)

    @cached_property
    def _table(self) -> Floats:
        return self._rows(self.points[:], slice(None))

    def _rows(self, points: Floats, part: slice) -> Floats:
        weights = self.weights[part]
        cells = np.ones(len(weights)) if self.cells is None else self.cells[part]
        pulls = points * weights[:, None] if self.pulls is None else self.pulls[part]
        return np.vstack([weights, cells, pulls.T])


def whole(cells: Cells, weights: Floats, noise_std: float) -> Mass:
    """Every cell, its weight in its middle."""
    mass = Mass(cells, weights, noise_std)
    return replace(mass, squares=_squares(mass))


def coarser(mass: Mass, most: int) -> Mass:
    """The same mass on at most `most` points, none of it lost: neighbouring cells go together.

    With so many columns that no axis could be cut in two, the heaviest cells alone.
    """
    n_features = mass.n_features
    per_axis = int(most ** (1 / n_features) + 1e-9)
    if per_axis < 2:
        return _heaviest(mass, most)
    strides = per_axis ** np.arange(n_features)
    sums = np.zeros((2 + 2 * n_features, per_axis**n_features))
    for points, table in mass.blocks(BLOCK):
        slices = ((points + 1) * (per_axis / 2)).astype(np.int64)
        bins = np.clip(slices, 0, per_axis - 1) @ strides
        for row, total in zip(np.vstack([table, points.T * table[1]]), sums, strict=True):
            total += np.bincount(bins, row, len(total))
    sums = sums[:, sums[1] > 0]
    weights, cells, pulls = sums[0], sums[1], sums[2 : 2 + n_features].T
    places = (sums[2 + n_features :] / cells).T
    return replace(mass, points=places, weights=weights, cells=cells, pulls=pulls)


def finer(cells: Cells, weights: Floats, noise_std: float, least: int) -> Mass:
    """Cells cut into at least `least` pieces of equal weight, as far as `cut` does."""
    points = cut(cells, least)
    pieces = len(points) // len(cells)
    parts = np.full(len(points), 1 / pieces)
    mass = Mass(points, np.repeat(weights, pieces) * parts, noise_std, cells=parts)
    return replace(mass, squares=_squares(mass))


def _squares(mass: Mass) -> float:
    return sum(float(np.vdot(points.T, table[2:])) for points, table in mass.blocks(BLOCK))


def _heaviest(mass: Mass, most: int) -> Mass:
    chosen = np.sort(np.argpartition(mass.weights, -most)[-most:])
    points = (
        mass.points[chosen]
        if isinstance(mass.points, np.ndarray)
        else (mass.points.take(chosen).middles)
    )
    kept = Mass(points, mass.weights[chosen], mass.noise_std)
    return replace(kept, squares=_squares(kept))


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
        from sfumato._synopsis.starts import sphere_packings

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
