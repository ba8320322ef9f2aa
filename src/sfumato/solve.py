"""k-means on weighted cells whose weights may be negative.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.2: negative
counts cancel the positive noise of other cells, so no weight is clipped or rounded. Everything here
works on released numbers, in the cube [−1, 1]^d.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sfumato.box import REACH, Floats
from sfumato.synopsis_cells import Cells

_BLOCK = 2**17
_STEPS = 50
_STILL = 1e-4

# (cells at most, starts that go on): large synopses are solved on coarser sums of cells first.
_LEVELS = ((2**11, 4), (2**15, 2))


class Solution(NamedTuple):
    """Centres, the weight nearest to each, and the cost Σ w·min|x − c|², all in the cube."""

    centers: Floats
    sizes: Floats
    cost: float


@dataclass(frozen=True)
class Mass:
    """Points that pull centres: each is a cell, or stands for several that go together.

    `cells` says how many cells a point stands for, and `pulls` is Σ weight·x over them; where they
    are None every point is one cell. `squares` is Σ weight·|x|² of all cells.
    """

    points: Floats | Cells
    weights: Floats
    noise_std: float
    squares: float = 0.0
    cells: Floats | None = None
    pulls: Floats | None = None

    def blocks(self, most: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield points and, in the rows of a second table, their weights, cells and pulls."""
        for start in range(0, len(self.weights), most):
            part = slice(start, start + most)
            points, weights = self.points[part], self.weights[part]
            cells = np.ones(len(weights)) if self.cells is None else self.cells[part]
            pulls = points * weights[:, None] if self.pulls is None else self.pulls[part]
            yield points, np.vstack([weights, cells, pulls.T])


def levels_of(cells: Cells, weights: Floats, noise_std: float) -> list[Mass]:
    """All cells as a mass, after the coarser sums of them that are worth solving first."""
    whole = Mass(cells, weights, noise_std)
    squares = sum(
        float(np.einsum("ij,ji->", points, table[2:])) for points, table in whole.blocks(_BLOCK)
    )
    whole = replace(whole, squares=squares)
    coarser = [_coarse(whole, cells.n_features, most) for most, _ in _LEVELS if most < len(weights)]
    return [*coarser, whole]


def solve(levels: list[Mass], k: int, *, n_starts: int, rng: np.random.Generator) -> Solution:
    """Find k centres from sphere-packing starts; the lowest cost on the cells wins."""
    from sfumato.methods.starts import sphere_packings

    n_features = levels[-1].points[:1].shape[1]
    centers = sphere_packings(n_starts, k, n_features, rng) / REACH
    for mass, (_, keep) in zip(levels[:-1], _LEVELS, strict=False):
        centers, costs = lloyd(mass, centers)
        # Many starts end in the same place: of equal costs one is enough.
        _, best = np.unique(costs.round(9), return_index=True)
        centers = centers[best[:keep]]
    centers, costs = lloyd(levels[-1], centers)
    best = int(costs.argmin())
    return Solution(centers[best], totals(levels[-1], centers[best][None])[0, :, 0], costs[best])


def lloyd(mass: Mass, starts: Floats, *, steps: int = _STEPS) -> tuple[Floats, Floats]:
    """Move the centres of every start until they hold still; returns them and their costs.

    Signed weights can make a step worse: what counts is the best that a start has come by.
    """
    centers, best = starts.copy(), starts.copy()
    costs = np.full(len(starts), np.inf)
    moving = np.arange(len(starts))
    for _ in range(steps):
        table = totals(mass, centers[moving])
        now = _costs(mass, table, centers[moving])
        better = now < costs[moving]
        costs[moving[better]] = now[better]
        best[moving[better]] = centers[moving[better]]
        moved = _means(mass, table, centers[moving])
        still = np.abs(moved - centers[moving]).max(axis=(1, 2)) <= _STILL
        centers[moving] = moved
        moving = moving[~still]
        if not len(moving):
            break
    return best, costs


def totals(mass: Mass, centers: Floats) -> Floats:
    """Weight, number of cells and pull of all that is nearest to each centre: (starts, k, 2 + d)."""
    starts, k, n_features = centers.shape
    flat = centers.reshape(-1, n_features)
    # |x − c|² and |c|² − 2x·c order the centres alike.
    slopes, offsets = -2 * flat.T, np.square(flat).sum(axis=1)
    first = np.arange(starts) * k
    out = np.zeros((2 + n_features, len(flat)))
    for points, table in mass.blocks(max(1, _BLOCK // len(flat))):
        scores = points @ slopes
        scores += offsets
        labels = (scores.reshape(-1, starts, k).argmin(axis=2) + first).ravel()
        for row, total in zip(np.repeat(table, starts, axis=1), out, strict=True):
            total += np.bincount(labels, row, len(flat))
    return np.moveaxis(out.reshape(-1, starts, k), 0, 2)


def _costs(mass: Mass, table: Floats, centers: Floats) -> Floats:
    weights, pulls = table[..., 0], table[..., 2:]
    saved = (2 * pulls * centers).sum(axis=2) - weights * np.square(centers).sum(axis=2)
    costs: Floats = mass.squares - saved.sum(axis=1)
    return costs


def _means(mass: Mass, table: Floats, centers: Floats) -> Floats:
    """Σ w·x / Σ w where Σ w stands out from the noise of its cells; elsewhere the old centre."""
    weights, cells = table[..., 0], table[..., 1]
    clear = weights > np.maximum(mass.noise_std * np.sqrt(cells), 1e-9)
    means = table[..., 2:] / np.where(clear, weights, 1.0)[..., None]
    return np.where(clear[..., None], np.clip(means, -1, 1), centers)


def _coarse(mass: Mass, n_features: int, most: int) -> Mass:
    """The same mass on fewer points, none of it lost: neighbouring cells go together.

    With so many columns that no axis could be cut in two, the heaviest cells alone.
    """
    per_axis = int(most ** (1 / n_features) + 1e-9)
    if per_axis < 2:
        heavy = np.sort(np.argpartition(mass.weights, -most)[-most:])
        points = np.concatenate([mass.points[i : i + 1] for i in heavy.tolist()])
        return Mass(points, mass.weights[heavy], mass.noise_std)
    scale = per_axis ** np.arange(n_features)
    sums = np.zeros((2 + 2 * n_features, per_axis**n_features))
    for points, table in mass.blocks(_BLOCK):
        bins = np.clip(((points + 1) * (per_axis / 2)).astype(np.int64), 0, per_axis - 1) @ scale
        for row, total in zip(np.vstack([table, points.T]), sums, strict=True):
            total += np.bincount(bins, row, sums.shape[1])
    sums = sums[:, sums[1] > 0]
    weights, cells, places = sums[0], sums[1], sums[2 + n_features :]
    pulls = sums[2 : 2 + n_features].T
    return Mass((places / cells).T, weights, mass.noise_std, mass.squares, cells, pulls)
