"""Cells as a mass that pulls centres: as they are, in coarser sums, or cut into finer pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.box import Floats
from sfumato.synopsis.cells import Cells, cut

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
