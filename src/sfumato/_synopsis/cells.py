"""Where the cells of a synopsis lie, in the cube [−1, 1]^d that the bounds span."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato._base.types import Floats, Ints

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

    def take(self, numbers: Ints) -> LooseCells:
        """Some of the cells, by their numbers."""
        head, tail = self._halves
        rows, columns = np.divmod(numbers, len(tail))
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

    def take(self, numbers: Ints) -> LooseCells:
        """Some of the cells, by their numbers."""
        widths = self.widths if len(self.widths) == 1 else self.widths[numbers]
        return LooseCells(self.middles[numbers], widths)

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
    """Copy numbers into an array that cannot be written."""
    copy = np.array(values, dtype=np.float64)
    copy.flags.writeable = False
    return copy
