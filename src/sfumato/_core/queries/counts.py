"""The queries the curator answers: a closed set of frozen data that know their sensitivity.

A query cuts the lattice into cells (`Nearest`, `Grid`, `Cubes`, `NearestInProjection`) and asks for
a statistic of every cell (`Counts`, `Totals`). It is also the kernel of the pass over the rows:
pure, free of noise and budget, so that it can travel to wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import cast

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import Cubes, Grid, Nearest, NearestInProjection, Sensitivity
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._lattice.box import MAX_NUMBERS, REACH
from sfumato._lattice.kernels import dispatch as kernels

__all__ = [
    "CELLS",
    "MAX_NUMBERS",
    "QUERIES",
    "Cells",
    "Counts",
    "CountsBatch",
    "Cubes",
    "Grid",
    "Nearest",
    "NearestInProjection",
    "Query",
    "RowsBeyond",
    "Sensitivity",
    "Totals",
    "check_batch",
    "check_query",
]

Cells = Nearest | Grid | Cubes | NearestInProjection
CELLS = (Nearest, Grid, Cubes, NearestInProjection)


@dataclass(frozen=True)
class Counts:
    """How many rows lie in each cell.

    Sensitivity: a row lies in one cell, or in none of some `Cubes`, and moves its count by 1;
    L1 = L2 = 1.
    """

    cells: Cells

    def __str__(self) -> str:
        return f"counts of {self.cells}"

    def sensitivity(self) -> Sensitivity:
        """What one row can change."""
        return Sensitivity(1, 1)

    def empty(self) -> Ints:
        """Zero for every cell."""
        return np.zeros(self.cells.n_cells, dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        if isinstance(self.cells, Nearest):
            kernels.nearest_counts(rows, self.cells.centers, state)
        elif isinstance(self.cells, Grid):
            kernels.grid_counts(rows, self.cells.per_axis, state)
        else:
            self.cells.count(rows, state)


@dataclass(frozen=True)
class Totals:
    """The count (column 0) and the coordinate sums (columns 1…d) of each cell, from one pass.

    With a `radius` R, the same for all cells or one for each, a row enters as u, its difference to
    its centre shortened to at most the R steps of its cell: with v = row − centre, u = v if
    Σv² ≤ R², else u_i = sign(v_i)·⌊|v_i|·R/⌈√Σv²⌉⌋.

    Sensitivity: a row lies in one cell. Its coordinates are at most REACH, so the sums move by at
    most d·REACH in L1 and √d·REACH in L2, reached in a corner. With a radius Σu² ≤ R² exactly,
    because every rounding is towards zero, so L2 ≤ R and L1 ≤ ⌊√d·R⌋ (Cauchy–Schwarz, integers),
    with the largest R for the whole answer and with R_j for cell j.
    The pair (u, 1) lies in the cylinder {‖u‖₂ ≤ R_j} × [−1, 1]; without a radius (x, REACH·1) lies
    in the cube of side 2·REACH. The count's own sensitivity is that of `Counts`.
    """

    cells: Nearest | Grid | NearestInProjection
    radius: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.cells, Cubes):
            raise ValueError("halves of cubes are counted, not summed: ask for counts")
        if self.radius is None:
            return
        if not isinstance(self.cells, Nearest):
            raise ValueError("a radius needs cells with centres: ask about Nearest cells")
        if type(self.radius) is not int:
            # A tuple of plain integers: equal queries stay equal, and can be hashed.
            object.__setattr__(self, "radius", _one_each(self.radius, self.cells.n_cells))
        widest = 2 * REACH * (isqrt(self.cells.n_features) + 1)
        if not all(type(r) is int and 1 <= r <= widest for r in self.radii):
            raise ValueError(
                f"a radius is a whole number of lattice steps from 1 to {widest}, got {self.radius}"
            )

    def __str__(self) -> str:
        if self.radius is None:
            return f"sums of {self.cells}"
        low, high = (f"{radius / REACH:.2g}" for radius in (min(self.radii), max(self.radii)))
        near = high if low == high else f"{low} to {high}"
        return f"sums of {self.cells}, clipped at {near} × the half width"

    @property
    def radii(self) -> tuple[int, ...]:
        """The radius of every cell, where there is one."""
        if self.radius is None:
            return ()
        if isinstance(self.radius, int):
            return (self.radius,) * self.cells.n_cells
        return tuple(self.radius)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.cells.n_features

    def sensitivity(self) -> Sensitivity:
        """What one row can change in the sums."""
        d = self.n_features
        if self.radius is None:
            return Sensitivity(d * REACH, d * REACH * REACH)
        return self._within(max(self.radii))

    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """What one row can change in the sums of each cell, where cells have radii."""
        return tuple(self._within(r) for r in self.radii)

    def _within(self, radius: int) -> Sensitivity:
        return Sensitivity(isqrt(self.n_features * radius * radius), radius * radius)

    def empty(self) -> Ints:
        """Zero for every count and sum."""
        return np.zeros((self.cells.n_cells, self.n_features + 1), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add one block of rows."""
        if isinstance(self.cells, Grid):
            kernels.grid_totals(rows, self.cells.per_axis, state)
        elif isinstance(self.cells, NearestInProjection):
            self.cells.total(rows, state)
        elif self.radius is None:
            kernels.nearest_totals(rows, self.cells.centers, state)
        else:
            radii = np.array(self.radii, dtype=np.int64)
            kernels.nearest_clipped(rows, self.cells.centers, radii, state)


def _one_each(radii: object, n_cells: int) -> tuple[object, ...]:
    """Radii as plain integers, where they are whole numbers, one for each cell."""
    if not isinstance(radii, Sequence | np.ndarray):
        return (radii,)
    each = tuple(int(r) if isinstance(r, np.integer) else r for r in radii)
    if len(each) != n_cells:
        raise ValueError(f"{len(each)} radii were given for {n_cells} cells: give one for each")
    return each


@dataclass(frozen=True)
class CountsBatch:
    """Several counts of the same rows from one pass: one's numbers after those of the one before.

    Sensitivity: that of `Counts` for the numbers of each, which are released as its own answer.
    """

    queries: tuple[Counts, ...]

    def lines(self) -> list[slice]:
        """Where the numbers of each are."""
        ends = np.cumsum([0, *(q.cells.n_cells for q in self.queries)]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def empty(self) -> Ints:
        """Zero for every cell of each."""
        return np.concatenate([q.empty() for q in self.queries])

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows in the cells of each."""
        for query, lines in zip(self.queries, self.lines(), strict=True):
            query.add(rows, state[lines])


Query = Counts | Totals
QUERIES = (Counts, Totals)


def check_query(query: object, n_features: int) -> Query:
    """Refuse anything but the curator's own queries about tables of this width."""
    cells = getattr(query, "cells", None)
    # Exact types: a subclass, or somebody else's class, could keep the rows that it is shown.
    if type(query) not in QUERIES or type(cells) not in CELLS:
        foreign = cells if type(query) in QUERIES else query
        raise TypeError(
            f"{type(foreign).__name__} is not one of the curator's own queries: "
            f"{', '.join(c.__name__ for c in CELLS)}"
        )
    known = cast(Query, query)
    if known.cells.n_features != n_features:
        raise ValueError(
            f"the cells have {known.cells.n_features} columns, the data has {n_features}"
        )
    width = n_features + 1 if isinstance(known, Totals) else 1
    _check_numbers(str(known), known.cells.n_cells * width)
    return known


def check_batch(cells: Sequence[Cells], n_features: int) -> CountsBatch:
    """Refuse the same in each of several counts, and more numbers than fit in all of them."""
    if not cells:
        raise ValueError("there is no query: ask about the cells of at least one")
    for one in cells:
        check_query(Counts(one), n_features)
    _check_numbers(f"an answer of {len(cells)} counts", sum(one.n_cells for one in cells))
    return CountsBatch(tuple(Counts(one) for one in cells))


def _check_numbers(what: str, numbers: int) -> None:
    if numbers > MAX_NUMBERS:
        raise ValueError(
            f"{what} has {numbers:,} numbers; at most {MAX_NUMBERS:,} fit: ask for fewer cells"
        )
