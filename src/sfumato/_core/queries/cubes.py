"""Cells for the papers' methods: halves of public cubes, and cells found in a projection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import ByContent, Nearest
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import MAX_NUMBERS
from sfumato._lattice.kernels import dispatch as kernels
from sfumato._lattice.kernels.cubes import Index, cells_of_nearest, child_counts, labelled_totals
from sfumato._lattice.kernels.gaps import complete

WIDEST = 2**20
"""The longest side of a cube, and the farthest corner, in lattice steps."""


@dataclass(frozen=True, eq=False)
class Cubes(ByContent):
    """The 2^p children of each of a cubes of equal side, which lie on one grid.

    A cube holds the points with corner ≤ x < corner + side on every axis; a child is its lower or
    upper half on each. Child number cube·2^p + b is the upper half on axis i if bit i of b is set.
    Corners may lie outside the lattice. A row belongs to at most one child, a function of that row;
    with a gap, to none.
    """

    corners: Ints
    side: int
    chapter: ClassVar[str] = "The papers' queries"

    def __post_init__(self) -> None:
        corners = np.asarray(self.corners)
        if corners.dtype.kind not in "iu" or corners.ndim != 2 or 0 in corners.shape:
            raise ValueError(
                "corners must be whole numbers of shape (cubes, p), "
                f"got {corners.dtype} of shape {corners.shape}"
            )
        if type(self.side) is not int or not 2 <= self.side <= WIDEST or self.side % 2:
            raise ValueError(f"a side is an even number from 2 to {WIDEST}, got {self.side}")
        if max(int(corners.max()), -int(corners.min())) > WIDEST:
            raise ValueError(f"corners must lie within ±{WIDEST}")
        a, p = corners.shape
        if p > MAX_NUMBERS.bit_length() or a << p > MAX_NUMBERS:
            raise ValueError(
                f"{a} cubes in {p} dimensions have {a}·2^{p} children; at most {MAX_NUMBERS:,} "
                "fit: ask about fewer cubes, or look at fewer dimensions"
            )
        corners = corners.astype(np.int64)
        if ((corners - corners[0]) % self.side).any():
            raise ValueError("cubes must lie on one grid, whole sides apart")
        if len(np.unique(corners, axis=0)) < a:
            raise ValueError("the same cube was given twice: cubes must be disjoint")
        corners.flags.writeable = False
        object.__setattr__(self, "corners", corners)

    def __str__(self) -> str:
        return f"{self.n_cells} halves of {len(self.corners)} cubes of side {self.side}"

    @property
    def n_cells(self) -> int:
        """Number of children, empty ones included."""
        return len(self.corners) << self.n_features

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.corners.shape[1])

    def children(self) -> Ints:
        """The lowest corner of every child, in the order of the answer; their side is half."""
        bits = np.arange(2**self.n_features)[:, np.newaxis] >> np.arange(self.n_features) & 1
        corners = self.corners[:, np.newaxis] + bits * (self.side // 2)
        return corners.reshape(-1, self.n_features)

    def count(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        child_counts(rows, self._index, state)

    @cached_property
    def _index(self) -> Index:
        return Index.of(self.corners, self.side)


@dataclass(frozen=True)
class NearestInProjection:
    """Each row belongs to the centre nearest to its projection; what is summed is the row.

    The cell of a row is a function of that row and of public numbers. A row with a gap is in none:
    there is no centre among the columns that could stand in for what is absent.
    """

    projection: Projection
    cells: Nearest
    chapter: ClassVar[str] = "The papers' queries"

    def __post_init__(self) -> None:
        # Exact types: a subclass could keep the rows that it is shown.
        if type(self.projection) is not Projection or type(self.cells) is not Nearest:
            raise TypeError(
                "rows are told apart through a Projection by Nearest cells, not through "
                f"{type(self.projection).__name__} by {type(self.cells).__name__}"
            )
        if self.projection.n_out != self.cells.n_features:
            raise ValueError(
                f"the cells have {self.cells.n_features} columns, "
                f"the projection shows {self.projection.n_out}"
            )

    def __str__(self) -> str:
        return f"{self.cells} of {self.projection}"

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.cells.n_cells

    @property
    def n_features(self) -> int:
        """Number of columns of the rows themselves."""
        return self.projection.n_features

    def count(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        kernels.nearest_counts(self.projection.see(complete(rows)), self.cells.centers, state)

    def total(self, rows: Lattice, state: Ints) -> None:
        """Count and sum one block of rows."""
        rows = complete(rows)
        labels = cells_of_nearest(self.projection.see(rows), self.cells.centers)
        labelled_totals(rows, labels, state)
