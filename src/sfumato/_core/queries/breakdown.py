"""Counts of the rows of each cell by bins of several columns, from one pass.

A column is a part of a row: the coordinates of a category (`Levels`), one number (`Slices`), or the
two coordinates of a point on a circle (`Directions`). Bins are public, and which bin a row lies in
is a function of that row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import ByContent, Nearest, Parts, Sensitivity
from sfumato._core.queries.cubes import NearestInProjection
from sfumato._lattice.box import ABSENT, REACH
from sfumato._lattice.kernels.cubes import cells_of_nearest
from sfumato._lattice.kernels.dispatch import blocks

NONE = -1
"""The bin of a row whose value is missing: it is counted nowhere in that column."""


@dataclass(frozen=True)
class Levels:
    """A category of `width` levels: coordinates start…start+width−1, `high` at the row's level.

    The bin of a row is the index of the largest of them, the first of equals. Rows of which any of
    them is ABSENT are in no bin. The others are −high where the level is not the row's, so that a
    share p of rows at a level has the mean coordinate −high + 2·high·p; counting does not use it.
    """

    start: int
    width: int
    high: int

    def __post_init__(self) -> None:
        _check_whole("start", self.start, 0, None)
        _check_whole("width", self.width, 1, None)
        _check_whole("high", self.high, 1, REACH)

    def __str__(self) -> str:
        return f"{self.width} levels"

    @property
    def bins(self) -> int:
        """Number of bins."""
        return self.width

    @property
    def end(self) -> int:
        """The columns that a row must have at least."""
        return self.start + self.width

    def places(self, rows: Lattice) -> Ints:
        """The bin of every row, or NONE."""
        part = rows[:, self.start : self.end]
        largest: Ints = part.argmax(axis=1)
        return np.where((part == ABSENT).any(axis=1), NONE, largest)


@dataclass(frozen=True)
class Slices:
    """A number cut at ascending lattice points: the bin is the number of edges that are ≤ x.

    Rows with an ABSENT number are in no bin.
    """

    column: int
    edges: Sequence[int]

    def __post_init__(self) -> None:
        _check_whole("column", self.column, 0, None)
        edges = tuple(int(e) if isinstance(e, np.integer) else e for e in self.edges)
        for edge in edges:
            _check_whole("an edge", edge, -REACH, REACH)
        if any(low >= high for low, high in pairwise(edges)):
            raise ValueError("edges must ascend, each above the one before")
        object.__setattr__(self, "edges", edges)

    def __str__(self) -> str:
        return f"{self.bins} slices"

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.edges) + 1

    @property
    def end(self) -> int:
        """The columns that a row must have at least."""
        return self.column + 1

    def places(self, rows: Lattice) -> Ints:
        """The bin of every row, or NONE."""
        values = rows[:, self.column]
        passed = np.searchsorted(np.array(self.edges, dtype=np.int16), values, side="right")
        return np.where(values == ABSENT, NONE, passed)


@dataclass(frozen=True, eq=False)
class Directions(ByContent):
    """A point of two coordinates, start and start+1, by the public vector nearest in direction.

    The bin is the index of the vector, of shape (m, 2), with the largest product with the point,
    the first of equals. Rows of which either coordinate is ABSENT are in no bin.
    """

    start: int
    vectors: Ints

    def __post_init__(self) -> None:
        _check_whole("start", self.start, 0, None)
        given = np.asarray(self.vectors)
        if given.dtype.kind not in "iu" or given.ndim != 2 or not len(given) or given.shape[1] != 2:
            raise ValueError(
                "vectors must be whole numbers of shape (m, 2), "
                f"got {given.dtype} of shape {given.shape}"
            )
        if max(int(given.max()), -int(given.min())) > REACH:
            raise ValueError(f"vectors must lie within ±{REACH}")
        own = given.astype(np.int64)
        own.flags.writeable = False
        object.__setattr__(self, "vectors", own)

    def __str__(self) -> str:
        return f"{self.bins} directions"

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.vectors)

    @property
    def end(self) -> int:
        """The columns that a row must have at least."""
        return self.start + 2

    def places(self, rows: Lattice) -> Ints:
        """The bin of every row, or NONE."""
        part = rows[:, self.start : self.end].astype(np.int64)
        largest: Ints = np.dot(part, self.vectors.T).argmax(axis=1)
        return np.where((part == ABSENT).any(axis=1), NONE, largest)


BinsOfValues = Levels | Slices | Directions


@dataclass(frozen=True)
class OrMissing:
    """The bins of a column, and one more, the last, for rows whose value is missing."""

    column: BinsOfValues

    def __post_init__(self) -> None:
        # Exact types: a subclass could keep the rows that it is shown.
        if type(self.column) not in (Levels, Slices, Directions):
            raise TypeError(
                "a bin of missing values goes beside Levels, Slices or Directions, not beside "
                f"{type(self.column).__name__}"
            )

    def __str__(self) -> str:
        return f"{self.column} or missing"

    @property
    def bins(self) -> int:
        """Number of bins."""
        return self.column.bins + 1

    @property
    def end(self) -> int:
        """The columns that a row must have at least."""
        return self.column.end

    def places(self, rows: Lattice) -> Ints:
        """The bin of every row: each has one."""
        places = self.column.places(rows)
        return np.where(places == NONE, self.column.bins, places)


Bins = BinsOfValues | OrMissing
BINS = (Levels, Slices, Directions, OrMissing)


@dataclass(frozen=True)
class Breakdown:
    """How many rows of each cell lie in each bin of each column: (cells, all bins in a line).

    The cell of a row is that of the centre nearest to it, or to its projection, over the
    coordinates that it has there; a row without any is in no cell, and is counted nowhere.

    Sensitivity: a row lies in one cell or in none and, in each column, in one bin of it or in none,
    whatever its values. It moves at most one count of each of the c columns by 1: L1 = c, L2² = c,
    reached by every row without a missing value.
    """

    cells: Nearest | NearestInProjection
    columns: tuple[Bins, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise ValueError("there is nothing to count by: give the bins of at least one column")

    def __str__(self) -> str:
        many = "1 column" if len(self.columns) == 1 else f"{len(self.columns)} columns"
        return f"counts of {self.cells} by {many}"

    @property
    def parts(self) -> Parts:
        """Its cells, and the bins of each column."""
        return (
            (self.cells, (Nearest, NearestInProjection)),
            *((column, BINS) for column in self.columns),
        )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.cells.n_features

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return self.cells.n_cells * self.n_bins

    @property
    def n_bins(self) -> int:
        """Bins of all columns together."""
        return sum(column.bins for column in self.columns)

    def lines(self) -> list[slice]:
        """Where the bins of each column are among all bins."""
        ends = np.cumsum([0, *(column.bins for column in self.columns)]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def sensitivity(self) -> Sensitivity:
        """What one row can change."""
        return Sensitivity(len(self.columns), len(self.columns))

    def empty(self) -> Ints:
        """Zero for every bin of every cell."""
        return np.zeros((self.cells.n_cells, self.n_bins), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        counts = state.reshape(-1)
        for block in blocks(rows, self.cells.n_cells):
            block, cells = self._in_cells(block)
            first = cells * self.n_bins
            for column, line in zip(self.columns, self.lines(), strict=True):
                places = column.places(block)
                there = places != NONE
                np.add.at(counts, first[there] + places[there] + line.start, 1)

    def _in_cells(self, rows: Lattice) -> tuple[Lattice, Ints]:
        """Rows that have a column of those by which cells are found, and the cell of each."""
        if isinstance(self.cells, NearestInProjection):
            near, seen = self.cells.cells, self.cells.projection.see(rows)
        else:
            near, seen = self.cells, rows
        there = (seen != ABSENT).any(axis=1)
        return rows[there], cells_of_nearest(seen[there], near.centers)


def _check_whole(name: str, value: object, least: int, most: int | None) -> None:
    if type(value) is not int or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {limits}, got {value!r}")
