"""The questions the curator answers: a closed set of frozen data that know their sensitivity.

A question cuts the lattice into cells (`Nearest`, `Grid`) and asks for a statistic of every cell
(`Counts`, `Totals`). It is also the kernel of the pass over the rows: pure, free of noise and
budget, so that it can travel to wherever the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any, cast

import numpy as np

from sfumato.box import REACH, Ints, Lattice
from sfumato.engines import kernels

MAX_NUMBERS = 20_000_000
"""The most integers that one answer may hold: 160 MB."""


@dataclass(frozen=True)
class Sensitivity:
    """The most that one row can move an answer: in L1, and in L2 (squared). Exact integers."""

    l1: int
    l2_squared: int

    def times(self, rows: int) -> Sensitivity:
        """The same for `rows` rows at once."""
        return Sensitivity(self.l1 * rows, self.l2_squared * rows * rows)


@dataclass(frozen=True, eq=False)
class Nearest:
    """Each row belongs to its nearest centre, the first one where two are equally near.

    Centres are rounded to the lattice, so that distances are exact integers and the cell of a row
    does not depend on any other row.
    """

    centers: Ints

    def __post_init__(self) -> None:
        points = np.asarray(self.centers, dtype=np.float64)
        if points.ndim != 2 or 0 in points.shape or not np.isfinite(points).all():
            raise ValueError(f"centres must be finite and of shape (k, d), got {points.shape}")
        lattice = np.clip(np.rint(points), -REACH, REACH).astype(np.int64)
        lattice.flags.writeable = False
        object.__setattr__(self, "centers", lattice)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nearest) and np.array_equal(self.centers, other.centers)

    def __hash__(self) -> int:
        return hash(self.centers.tobytes())

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


@dataclass(frozen=True)
class Grid:
    """`per_axis` equal slices along each of `n_features` columns."""

    per_axis: int
    n_features: int

    def __post_init__(self) -> None:
        if not 1 <= self.per_axis <= 2 * REACH + 1 or self.n_features < 1:
            raise ValueError(
                f"a grid needs 1 to {2 * REACH + 1} slices on at least one axis, "
                f"got {self.per_axis} on {self.n_features}"
            )
        if self.n_cells > MAX_NUMBERS:
            raise ValueError(
                f"a grid of {self.per_axis} slices in {self.n_features} dimensions has "
                f"{self.n_cells:.3g} cells; at most {MAX_NUMBERS:,} fit: take fewer slices, or a "
                "method that does not enumerate a grid"
            )

    def __str__(self) -> str:
        return f"{self.n_cells} grid cells ({self.per_axis} a side)"

    @property
    def n_cells(self) -> int:
        """Number of cells, empty ones included."""
        return int(self.per_axis**self.n_features)

    def centers(self) -> Any:  # noqa: ANN401
        """The middle of every cell, in lattice units, in the order of the answer."""
        middle = (np.arange(self.per_axis) + 0.5) * ((2 * REACH + 1) / self.per_axis)
        axes = np.meshgrid(*[middle - REACH - 0.5] * self.n_features, indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, self.n_features)


Cells = Nearest | Grid
CELLS = (Nearest, Grid)


@dataclass(frozen=True)
class Counts:
    """How many rows lie in each cell.

    Sensitivity: a row lies in one cell and moves its count by 1; L1 = L2 = 1, always reached.
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
        else:
            kernels.grid_counts(rows, self.cells.per_axis, state)


@dataclass(frozen=True)
class Totals:
    """The count (column 0) and the coordinate sums (columns 1…d) of each cell, from one pass.

    With a `radius` R a row enters as u, its difference to its centre shortened to at most R steps:
    with v = row − centre, u = v if Σv² ≤ R², else u_i = sign(v_i)·⌊|v_i|·R/⌈√Σv²⌉⌋.

    Sensitivity: a row lies in one cell. Its coordinates are at most REACH, so the sums move by at
    most d·REACH in L1 and √d·REACH in L2, reached in a corner. With a radius Σu² ≤ R² exactly,
    because every rounding is towards zero, so L2 ≤ R and L1 ≤ ⌊√d·R⌋ (Cauchy–Schwarz, integers).
    The pair (u, 1) lies in the cylinder {‖u‖₂ ≤ R} × {1}; without a radius (x, REACH·1) lies in
    the cube of side 2·REACH. The count's own sensitivity is that of `Counts`.
    """

    cells: Cells
    radius: int | None = None

    def __post_init__(self) -> None:
        if self.radius is None:
            return
        if not isinstance(self.cells, Nearest):
            raise ValueError("a radius needs cells with centres: ask about Nearest cells")
        widest = 2 * REACH * (isqrt(self.cells.n_features) + 1)
        if type(self.radius) is not int or not 1 <= self.radius <= widest:
            raise ValueError(
                f"a radius is a whole number of lattice steps from 1 to {widest}, got {self.radius}"
            )

    def __str__(self) -> str:
        near = f" within {self.radius} steps" if self.radius is not None else ""
        return f"sums of {self.cells}{near}"

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.cells.n_features

    def sensitivity(self) -> Sensitivity:
        """What one row can change in the sums."""
        d = self.n_features
        if self.radius is None:
            return Sensitivity(d * REACH, d * REACH * REACH)
        return Sensitivity(isqrt(d * self.radius * self.radius), self.radius * self.radius)

    def empty(self) -> Ints:
        """Zero for every count and sum."""
        return np.zeros((self.cells.n_cells, self.n_features + 1), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add one block of rows."""
        if isinstance(self.cells, Grid):
            kernels.grid_totals(rows, self.cells.per_axis, state)
        elif self.radius is None:
            kernels.nearest_totals(rows, self.cells.centers, state)
        else:
            kernels.nearest_clipped(rows, self.cells.centers, self.radius, state)


Question = Counts | Totals
QUESTIONS = (Counts, Totals)


def check_question(question: object, n_features: int) -> Question:
    """Refuse anything but the curator's own questions about tables of this width."""
    cells = getattr(question, "cells", None)
    # Exact types: a subclass, or somebody else's class, could keep the rows that it is shown.
    if type(question) not in QUESTIONS or type(cells) not in CELLS:
        foreign = cells if type(question) in QUESTIONS else question
        raise TypeError(
            f"{type(foreign).__name__} is not one of the curator's own questions: "
            f"{', '.join(c.__name__ for c in CELLS)}"
        )
    known = cast(Question, question)
    if known.cells.n_features != n_features:
        raise ValueError(
            f"the cells have {known.cells.n_features} columns, the data has {n_features}"
        )
    width = n_features + 1 if isinstance(known, Totals) else 1
    if known.cells.n_cells * width > MAX_NUMBERS:
        raise ValueError(
            f"{known} has {known.cells.n_cells * width:,} numbers; at most {MAX_NUMBERS:,} fit: "
            "ask for fewer cells"
        )
    return known
