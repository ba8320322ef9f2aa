"""Cells of the lattice, nearest centre or grid, and the sensitivity of what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._base.validation import in_digits, is_whole
from sfumato._lattice.box import MAX_NUMBERS, REACH
from sfumato._lattice.kernels import dispatch as kernels

Parts = tuple[tuple[object, tuple[type, ...]], ...]
"""What a query is made of, each with the types that are allowed there."""


@dataclass(frozen=True)
class Sensitivity:
    """The most that one row can move an answer: in L1, and in L2 (squared). Exact integers."""

    l1: int
    l2_squared: int

    def times(self, rows: int) -> Sensitivity:
        """The same for `rows` rows at once."""
        return Sensitivity(self.l1 * rows, self.l2_squared * rows * rows)


class ByContent:
    """Queries of one type are equal if all that they hold is, arrays included."""

    __match_args__: tuple[str, ...]
    """The names of what a dataclass holds."""

    @property
    def _content(self) -> tuple[object, ...]:
        values = [getattr(self, name) for name in self.__match_args__]
        return tuple((v.shape, v.tobytes()) if isinstance(v, np.ndarray) else v for v in values)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


def lattice_points(values: ArrayLike, name: str, shape: str) -> Ints:
    """Public points, rounded to the lattice, in an array that stays as it is."""
    try:
        with np.errstate(all="ignore"):
            points = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, and of shape {shape}") from None
    if points.ndim != shape.count(",") + 1 or 0 in points.shape or not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite and of shape {shape}, got {points.shape}")
    lattice = np.clip(np.rint(points), -REACH, REACH).astype(np.int64, order="C")
    lattice.flags.writeable = False
    return lattice


@dataclass(frozen=True, eq=False)
class Nearest(ByContent):
    """Each row belongs to its nearest centre, the first one where two are equally near.

    Centres are rounded to the lattice, so that distances are exact integers and the cell of a row
    does not depend on any other row. Distances are over the columns that a row has; in sums an
    absent coordinate is that of the centre. A row that has none is in no cell.
    """

    centers: Ints
    chapter: ClassVar[str] = "Core queries"

    def __post_init__(self) -> None:
        object.__setattr__(self, "centers", lattice_points(self.centers, "centres", "(k, d)"))

    def __str__(self) -> str:
        return f"{self.n_cells} nearest-centre cells"

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.centers)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.centers.shape[1])

    def count(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows, (n, d), into a state of shape (cells,)."""
        kernels.nearest_counts(rows, self.centers, state)

    def total(self, rows: Lattice, state: Ints) -> None:
        """Count and sum one block of rows, (n, d), into a state of shape (cells, 1 + d)."""
        kernels.nearest_totals(rows, self.centers, state)


@dataclass(frozen=True)
class Grid:
    """`per_axis` equal slices along each of `n_features` columns.

    A row with a gap is in no cell, unless there is one cell for all: there an absent coordinate
    adds 0 to the sums.
    """

    per_axis: int
    n_features: int
    chapter: ClassVar[str] = "Core queries"

    def __post_init__(self) -> None:
        given = self.per_axis, self.n_features
        if not all(map(is_whole, given)):
            raise TypeError(f"the slices and the axes of a grid are whole numbers, got {given}")
        # Plain integers: those of NumPy wrap, and a power that wraps is a small number of cells.
        object.__setattr__(self, "per_axis", int(self.per_axis))
        object.__setattr__(self, "n_features", int(self.n_features))
        if not 1 <= self.per_axis <= 2 * REACH + 1 or self.n_features < 1:
            raise ValueError(
                f"a grid needs 1 to {2 * REACH + 1} slices on at least one axis, "
                f"got {self.per_axis} on {self.n_features}"
            )
        # More than 25 axes of two slices are too many: no need to work out the power.
        axes = min(self.n_features, MAX_NUMBERS.bit_length())
        if self.per_axis**axes > MAX_NUMBERS:
            raise ValueError(
                f"a grid of {self.per_axis} slices in {in_digits(self.n_features)} dimensions has "
                f"{self.per_axis}^{in_digits(self.n_features)} cells; at most {MAX_NUMBERS:,} fit: "
                "take fewer slices, fewer columns, or a method that does not enumerate a grid"
            )

    def __str__(self) -> str:
        return f"a grid of {self.n_cells:,} cells ({self.per_axis} per column)"

    @property
    def n_cells(self) -> int:
        """Number of cells, empty ones included."""
        return int(self.per_axis**self.n_features)

    def centers(self) -> Floats:
        """The middle of every cell, (cells, d), in lattice steps, in the order of the answer."""
        middle = (np.arange(self.per_axis) + 0.5) * ((2 * REACH + 1) / self.per_axis)
        axes = np.meshgrid(*[middle - REACH - 0.5] * self.n_features, indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, self.n_features)

    def count(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows, (n, d), into a state of shape (cells,)."""
        kernels.grid_counts(rows, self.per_axis, state)

    def total(self, rows: Lattice, state: Ints) -> None:
        """Count and sum one block of rows, (n, d), into a state of shape (cells, 1 + d)."""
        kernels.grid_totals(rows, self.per_axis, state)
