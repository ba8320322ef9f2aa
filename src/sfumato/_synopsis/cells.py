"""Where the cells of a synopsis lie, in the cube [−1, 1]^d that the bounds span; their weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato._base.types import Floats, Ints
from sfumato._synopsis.kmeans import sums_by_center

# Up to so many coordinates are kept; of a larger grid they are worked out block by block.
_KEPT = 2**24


@dataclass(frozen=True)
class GridCells:
    """Equal cells, `shape[i]` slices along axis i; the last axis runs fastest."""

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.shape or min(self.shape) < 1:
            raise ValueError(f"a grid needs at least one slice on each axis, got {self.shape}")

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, block: slice) -> Floats:
        """Return the middles of a block of cells."""
        if len(self) * self.n_features <= _KEPT:
            return self._all[block]
        start, stop, _ = block.indices(len(self))
        return self._between(start, stop)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.shape)

    @property
    def widths(self) -> Floats:
        """The width of every cell: one row, the same for all."""
        return np.divide(2.0, self.shape)[None]

    def take(self, indices: Ints) -> LooseCells:
        """Some of the cells, by indices (m,)."""
        head, tail = self._halves
        rows, columns = np.divmod(indices, len(tail))
        return LooseCells(np.hstack([head[rows], tail[columns]]), self.widths)

    def to_dict(self) -> dict[str, Any]:
        """The grid as plain values."""
        return {"shape": list(self.shape)}

    @cached_property
    def _all(self) -> Floats:
        return self._between(0, len(self))

    @cached_property
    def _halves(self) -> tuple[Floats, Floats]:
        """The middles along the first axes and along the others: the rest is looking up."""
        first = (self.n_features + 1) // 2
        return _product(self.shape[:first]), _product(self.shape[first:])

    def _between(self, start: int, stop: int) -> Floats:
        head, tail = self._halves
        first, last = start // len(tail), -(-stop // len(tail))
        whole = np.empty((max(last - first, 0), len(tail), self.n_features))
        whole[:, :, : head.shape[1]] = head[first:last, None]
        whole[:, :, head.shape[1] :] = tail
        skip = first * len(tail)
        return whole.reshape(-1, self.n_features)[start - skip : stop - skip]


@dataclass(frozen=True, eq=False)
class LooseCells:
    """Cells of any place and size: their middles, and a width for each or one row for all."""

    middles: Floats
    widths: Floats

    def __post_init__(self) -> None:
        middles, widths = frozen(self.middles), frozen(self.widths)
        if middles.ndim != 2 or 0 in middles.shape:
            raise ValueError(f"cells are a table of (cells, columns), got shape {middles.shape}")
        if widths.shape not in (middles.shape, (1, middles.shape[1])):
            raise ValueError(
                f"{len(middles)} cells need widths of shape {middles.shape} or "
                f"{(1, middles.shape[1])}, got {widths.shape}"
            )
        if not (np.isfinite(middles).all() and np.isfinite(widths).all() and widths.min() > 0):
            raise ValueError("cells need finite middles and widths above 0")
        object.__setattr__(self, "middles", middles)
        object.__setattr__(self, "widths", widths)

    def __len__(self) -> int:
        return len(self.middles)

    def __getitem__(self, block: slice) -> Floats:
        """Return the middles of a block of cells."""
        return self.middles[block]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.middles.shape[1])

    def take(self, indices: Ints) -> LooseCells:
        """Some of the cells, by indices (m,)."""
        widths = self.widths if len(self.widths) == 1 else self.widths[indices]
        return LooseCells(self.middles[indices], widths)

    def to_dict(self) -> dict[str, Any]:
        """The cells as plain values."""
        return {"middles": self.middles.tolist(), "widths": self.widths.tolist()}


Cells = GridCells | LooseCells


def _product(shape: tuple[int, ...]) -> Floats:
    """The middles of all cells of a grid; of no axes, one cell without coordinates."""
    if not shape:
        return np.empty((1, 0))
    axes = np.meshgrid(*[(2 * np.arange(n) + 1) / n - 1 for n in shape], indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, len(shape))


def cells_from_dict(data: dict[str, Any]) -> Cells:
    """Read back what `to_dict` wrote."""
    if "shape" in data:
        return GridCells(tuple(int(n) for n in data["shape"]))
    return LooseCells(np.array(data["middles"]), np.array(data["widths"]))


def cut(cells: Cells, least: int) -> LooseCells:
    """Cut cells evenly into at least `least` pieces, those of one cell after each other.

    Where that would be far more pieces, because there are many columns, the cells stay whole.
    """
    d = cells.n_features
    cuts = max(1, math.ceil((least / len(cells)) ** (1 / d) - 1e-9))
    if len(cells) * cuts**d > 8 * least:
        cuts = 1
    steps = np.stack(np.unravel_index(np.arange(cuts**d), (cuts,) * d), axis=1)
    offsets = (2 * steps + 1) / (2 * cuts) - 0.5
    pieces = cells[:][:, None] + cells.widths[:, None] * offsets
    widths = cells.widths / cuts
    if len(widths) > 1:
        widths = np.repeat(widths, cuts**d, axis=0)
    return LooseCells(pieces.reshape(-1, d), widths)


def frozen(values: ArrayLike) -> Floats:
    """Copy numbers, of any shape, into an array that cannot be written."""
    copy = np.array(values, dtype=np.float64)
    copy.flags.writeable = False
    return copy


BLOCK = 2**17
"""Numbers worked on at a time."""

# Up to so many points the table of weights, cells and sums is computed once.
_TABLE_KEPT = 2**16


@dataclass(frozen=True)
class WeightedCells:
    """Points (n, d) in the cube with weights (n,): cells, pieces of cells, or cells summed up.

    `n_cells` (n,) is the number of cells that a point stands for, `sums` (n, d) is Σ weight·x over
    them; where they are None every point is one cell. `squares` is Σ weight·|x|² over all cells.
    """

    points: Floats | Cells
    weights: Floats
    noise_std: float
    squares: float = 0.0
    n_cells: Floats | None = None
    sums: Floats | None = None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.points[:1].shape[1])

    def blocks(self, size: int) -> Iterator[tuple[Floats, Floats]]:
        """Yield points (m, d) and a table (2 + d, m) of their weights, numbers of cells, sums."""
        small = len(self.weights) <= _TABLE_KEPT
        for start in range(0, len(self.weights), size):
            part = slice(start, start + size)
            points = self.points[part]
            yield points, self._table[:, part] if small else self._rows(points, part)

    @cached_property
    def _table(self) -> Floats:
        return self._rows(self.points[:], slice(None))

    def _rows(self, points: Floats, part: slice) -> Floats:
        weights = self.weights[part]
        n_cells = np.ones(len(weights)) if self.n_cells is None else self.n_cells[part]
        sums = points * weights[:, None] if self.sums is None else self.sums[part]
        return np.vstack([weights, n_cells, sums.T])

    def with_squares(self) -> WeightedCells:
        """The same, with `squares` computed."""
        blocks = self.blocks(BLOCK)
        return replace(self, squares=sum(float(np.vdot(x.T, table[2:])) for x, table in blocks))


def whole(cells: Cells, weights: Floats, noise_std: float) -> WeightedCells:
    """Every cell, its weight in its middle; weights: (n_cells,)."""
    return WeightedCells(cells, weights, noise_std).with_squares()


def coarser(cells: WeightedCells, limit: int) -> WeightedCells:
    """The same weights on at most `limit` points: neighbouring cells are summed up.

    With so many columns that no axis could be cut in two, the heaviest cells alone.
    """
    n_features = cells.n_features
    per_axis = int(limit ** (1 / n_features) + 1e-9)
    if per_axis < 2:
        return _heaviest(cells, limit)
    strides = per_axis ** np.arange(n_features)
    sums = np.zeros((2 + 2 * n_features, per_axis**n_features))
    for points, table in cells.blocks(BLOCK):
        slices = ((points + 1) * (per_axis / 2)).astype(np.int64)
        bins = np.clip(slices, 0, per_axis - 1) @ strides
        sums += sums_by_center(bins, np.vstack([table, points.T * table[1]]), sums.shape[1])
    sums = sums[:, sums[1] > 0]
    places = (sums[2 + n_features :] / sums[1]).T
    moments = sums[2 : 2 + n_features].T
    return replace(cells, points=places, weights=sums[0], n_cells=sums[1], sums=moments)


def finer(cells: Cells, weights: Floats, noise_std: float, least: int) -> WeightedCells:
    """Cells with weights (n_cells,), in at least `least` pieces of equal weight: see `cut`."""
    points = cut(cells, least)
    pieces = len(points) // len(cells)
    parts = np.full(len(points), 1 / pieces)
    weights = np.repeat(weights, pieces) * parts
    return WeightedCells(points, weights, noise_std, n_cells=parts).with_squares()


def _heaviest(cells: WeightedCells, limit: int) -> WeightedCells:
    chosen = np.sort(np.argpartition(cells.weights, -limit)[-limit:])
    grid = cells.points
    points = grid[chosen] if isinstance(grid, np.ndarray) else grid.take(chosen).middles
    return WeightedCells(points, cells.weights[chosen], cells.noise_std).with_squares()
