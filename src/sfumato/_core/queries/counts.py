"""Counts and sums of cells: queries that know their sensitivity.

A query cuts the lattice into cells (`Nearest`, `Grid`, `Cubes`, `NearestInProjection`) and asks for
a statistic of every cell (`Counts`, `Totals`). It is also the kernel of the pass over the rows:
pure, free of noise and budget, so that it can travel to wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import Grid as Grid
from sfumato._core.queries.cells import Nearest as Nearest
from sfumato._core.queries.cells import Parts
from sfumato._core.queries.cells import Sensitivity as Sensitivity
from sfumato._core.queries.cubes import Cubes as Cubes
from sfumato._core.queries.cubes import NearestInProjection as NearestInProjection
from sfumato._core.queries.first_below import RowsBeyond as RowsBeyond
from sfumato._lattice.box import MAX_NUMBERS as MAX_NUMBERS
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels import dispatch as kernels

Cells = Nearest | Grid | Cubes | NearestInProjection
CELLS = (Nearest, Grid, Cubes, NearestInProjection)


class _OfCells:
    """What queries about cells share."""

    cells: Cells

    @property
    def parts(self) -> Parts:
        """Its cells."""
        return ((self.cells, CELLS),)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.cells.n_features


@dataclass(frozen=True)
class Counts(_OfCells):
    """How many rows lie in each cell.

    Sensitivity: a row lies in one cell or, outside of all `Cubes` or with a gap, in none, and moves
    its count by 1; L1 = L2 = 1.
    """

    cells: Cells

    def __str__(self) -> str:
        return f"counts of {self.cells}"

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return self.cells.n_cells

    def sensitivity(self) -> Sensitivity:
        """What one row can change."""
        return Sensitivity(1, 1)

    def empty(self) -> Ints:
        """Zero for every cell."""
        return np.zeros(self.cells.n_cells, dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        self.cells.count(rows, state)


@dataclass(frozen=True)
class Totals(_OfCells):
    """The count (column 0) and the coordinate sums (columns 1…d) of each cell, from one pass.

    With a `radius` R, the same for all cells or one for each, a row enters as u, its difference to
    its centre shortened to at most the R steps of its cell: with v = row − centre, u = v if
    Σv² ≤ R², else u_i = sign(v_i)·⌊|v_i|·R/⌈√Σv²⌉⌋.

    With `columns` q only the first q columns of a row are summed, and clipped, as if it had no
    others; its cell is found by all of them.

    Sensitivity: a row lies in one cell. Its coordinates are at most REACH, so the sums move by at
    most d·REACH in L1 and √d·REACH in L2, reached in a corner; one that stands for an absent
    coordinate is 0 or its centre's, both at most REACH, and differs from the centre's by 0. With a
    radius Σu² ≤ R² exactly, because every rounding is towards zero, so L2 ≤ R and L1 ≤ ⌊√d·R⌋
    (Cauchy–Schwarz, integers), with the largest R for the whole answer and with R_j for cell j.
    With `columns` the same holds with q in place of d, because which cell a row lies in does not
    enter.
    The pair (u, 1) lies in the cylinder {‖u‖₂ ≤ R_j} × [−1, 1]; without a radius (x, REACH·1) lies
    in the cube of side 2·REACH. The count's own sensitivity is that of `Counts`.
    """

    cells: Nearest | Grid | NearestInProjection
    radius: int | Sequence[int] | None = None
    columns: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.cells, Cubes):
            raise ValueError("halves of cubes are counted, not summed: ask for counts")
        if self.columns is not None:
            self._check_columns(self.columns)
        if self.radius is None:
            return
        if not isinstance(self.cells, Nearest):
            raise ValueError("a radius needs cells with centres: ask about Nearest cells")
        if type(self.radius) is not int:
            # A tuple of plain integers: equal queries stay equal, and can be hashed.
            object.__setattr__(self, "radius", _one_each(self.radius, self.cells.n_cells))
        widest = 2 * REACH * (isqrt(self.n_summed) + 1)
        if not all(type(r) is int and 1 <= r <= widest for r in self.radii):
            raise ValueError(
                f"a radius is a whole number of lattice steps from 1 to {widest}, got {self.radius}"
            )

    def _check_columns(self, columns: int) -> None:
        if not isinstance(self.cells, Nearest):
            raise ValueError("sums of the first columns are those of Nearest cells")
        if type(columns) is not int or not 1 <= columns <= self.n_features:
            raise ValueError(
                f"columns is a whole number from 1 to {self.n_features}, got {columns!r}"
            )

    def __str__(self) -> str:
        some = "" if self.columns is None else f"{self.columns} columns in "
        if self.radius is None:
            return f"sums of {some}{self.cells}"
        low, high = (f"{radius / REACH:.2g}" for radius in (min(self.radii), max(self.radii)))
        near = high if low == high else f"{low} to {high}"
        return f"sums of {some}{self.cells}, clipped at {near} × the half width"

    @property
    def radii(self) -> tuple[int, ...]:
        """The radius of every cell, where there is one."""
        if self.radius is None:
            return ()
        if isinstance(self.radius, int):
            return (self.radius,) * self.cells.n_cells
        return tuple(self.radius)

    @property
    def n_summed(self) -> int:
        """Columns that are summed."""
        return self.n_features if self.columns is None else self.columns

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return self.cells.n_cells * (self.n_summed + 1)

    def sensitivity(self) -> Sensitivity:
        """What one row can change in the sums."""
        d = self.n_summed
        if self.radius is None:
            return Sensitivity(d * REACH, d * REACH * REACH)
        return self._within(max(self.radii))

    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """What one row can change in the sums of each cell, where cells have radii."""
        return tuple(self._within(r) for r in self.radii)

    def _within(self, radius: int) -> Sensitivity:
        return Sensitivity(isqrt(self.n_summed * radius * radius), radius * radius)

    def empty(self) -> Ints:
        """Zero for every count and sum."""
        return np.zeros((self.cells.n_cells, self.n_summed + 1), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add one block of rows."""
        radii = np.array(self.radii, dtype=np.int64)
        if isinstance(self.cells, Nearest) and self.columns is not None:
            kernels.nearest_first(rows, self.cells.centers, radii, state)
        elif isinstance(self.cells, Nearest) and self.radius is not None:
            kernels.nearest_clipped(rows, self.cells.centers, radii, state)
        else:
            self.cells.total(rows, state)


def _one_each(radii: object, n_cells: int) -> tuple[object, ...]:
    """Radii as plain integers, where they are whole numbers, one for each cell."""
    if not isinstance(radii, Sequence | np.ndarray):
        return (radii,)
    each = tuple(int(r) if isinstance(r, np.integer) else r for r in radii)
    if len(each) != n_cells:
        raise ValueError(f"{len(each)} radii were given for {n_cells} cells: give one for each")
    return each
