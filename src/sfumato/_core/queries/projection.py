"""Public linear maps of rows: what a view looks through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import ByContent
from sfumato._lattice.box import MAX_NUMBERS, REACH, Box, NanPolicy
from sfumato._lattice.kernels.dispatch import MAX_FEATURES
from sfumato._lattice.kernels.projection import Weights, project
from sfumato.engines._rows import Kernel, RowEncoder, Rows

# Rows that are mapped before the kernel sees them.
_BLOCK_ROWS = 2**14


MAX_ENTRY = 2**24
"""The largest entry of a projection's matrix."""

MAX_SHIFT = 52

_EXACT = 2**53


@dataclass(frozen=True, eq=False)
class Projection(ByContent):
    """A row x is seen as y = trunc(matrix @ (x − offset) / 2^shift), clipped to ±REACH.

    With `ball` y is shortened to length REACH instead: y_i becomes sign(y_i)·⌊|y_i|·REACH/⌈√Σy²⌉⌋
    if Σy² > REACH². (Coordinates so large that their squares would not be exact are clipped first;
    see `kernels_view.widest`.) Public data, whole numbers: every product and sum is exact. A column
    that is absent adds nothing, as if it were at the offset; y_i is absent if all columns are with
    an entry in line i of the matrix, and there are any.

    Sensitivity: y is a function of x alone, an integer vector with |y_i| ≤ REACH, and ‖y‖₂ ≤ REACH
    with `ball`, of what is not absent. Neighbouring tables are seen as neighbouring tables, so what
    any query declares for one row of the lattice, or m rows, holds for the rows it is shown.
    """

    matrix: Ints
    offset: Ints
    shift: int = 0
    ball: bool = False

    def __post_init__(self) -> None:
        matrix = _whole(self.matrix, "matrix", 2, MAX_ENTRY)
        offset = _whole(self.offset, "offset", 1, REACH)
        m, d = matrix.shape
        if len(offset) != d or not 1 <= d <= MAX_FEATURES or not 1 <= m <= MAX_FEATURES:
            raise ValueError(
                "a projection needs a matrix (m, d) and an offset (d,), "
                f"got {matrix.shape} and {offset.shape}"
            )
        if matrix.size > MAX_NUMBERS:
            raise ValueError(f"a matrix of {matrix.size:,} numbers; at most {MAX_NUMBERS:,} fit")
        if type(self.shift) is not int or not 0 <= self.shift <= MAX_SHIFT:
            raise ValueError(
                f"shift must be a whole number from 0 to {MAX_SHIFT}, got {self.shift}"
            )
        if type(self.ball) is not bool:
            raise TypeError(f"ball must be True or False, got {self.ball!r}")
        if _largest_sum(matrix, offset) > _EXACT:
            raise ValueError(
                "the sums of this projection can pass 2^53 and would not be exact: "
                "take a matrix with smaller entries and a smaller shift"
            )
        object.__setattr__(self, "matrix", matrix)
        object.__setattr__(self, "offset", offset)

    def __str__(self) -> str:
        kind = "a ball" if self.ball else "a box"
        return f"{self.n_features} columns seen as {self.n_out} in {kind}"

    @property
    def n_features(self) -> int:
        """Number of columns that go in."""
        return int(self.matrix.shape[1])

    @property
    def n_out(self) -> int:
        """Number of columns that come out."""
        return int(self.matrix.shape[0])

    def box(self, nan: NanPolicy = "ignore") -> Box:
        """Describe the viewed lattice: one unit per step."""
        side = (float(REACH),) * self.n_out
        return Box(tuple(-x for x in side), side, nan)

    def see(self, rows: Lattice) -> Lattice:
        """Map every lattice row of a block, exactly."""
        return project(rows, self._weights)

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(self.matrix, self.offset, self.shift, ball=self.ball)


def _whole(values: Any, name: str, ndim: int, most: int) -> Ints:  # noqa: ANN401
    given = np.asarray(values)
    if given.dtype.kind not in "iu" or given.ndim != ndim:
        raise ValueError(
            f"{name} must hold whole numbers in {ndim} dimensions, "
            f"got {given.dtype} in {given.ndim}"
        )
    if given.size and max(int(given.max()), -int(given.min())) > most:
        raise ValueError(f"the entries of {name} must lie within ±{most}")
    own = given.astype(np.int64)
    own.flags.writeable = False
    return own


def _largest_sum(matrix: Ints, offset: Ints) -> int:
    """What the absolute values of the terms of matrix @ (x − offset) can add up to."""
    # At most 2^20 terms of at most 2^24·2^16: int64 holds every sum.
    return int((np.abs(matrix) @ (REACH + np.abs(offset))).max())


@dataclass(frozen=True)
class MappedKernel:
    """A kernel that is shown mapped rows: it travels to the rows in place of the kernel."""

    by: Projection
    kernel: Kernel

    def empty(self) -> Ints:
        """Return the kernel's own sum over no rows."""
        return self.kernel.empty()

    def add(self, rows: Lattice, state: Ints) -> None:
        """Map one block of rows and let the kernel add it."""
        for start in range(0, len(rows), _BLOCK_ROWS):
            self.kernel.add(self.by.see(rows[start : start + _BLOCK_ROWS]), state)


@dataclass(frozen=True)
class ViewedRows:
    """The rows of a table in its own box, mapped within every pass.

    Which rows are kept, of what is not a number and of each group, is settled before the map.
    """

    rows: Rows
    box: Box
    by: Projection

    @property
    def n_features(self) -> int:
        """Number of columns after the map."""
        return self.by.n_out

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""
        return self.rows.max_rows_per_group

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over all mapped rows, each counted exactly once."""
        self._check(box)
        return self.rows.fold(self.box, MappedKernel(self.by, kernel))

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row before the map picks its block."""
        self._check(box)
        return (self.by.see(block) for block in self.rows.split(self.box, parts, key))

    def group_sizes(self, most: int) -> Ints:
        """How many groups have 1, 2, …, `most` rows or more, of shape (most,)."""
        return self.rows.group_sizes(most)

    def keeping(self, max_rows: int) -> ViewedRows:
        """The same rows, of which so many count of each group."""
        return ViewedRows(self.rows.keeping(max_rows), self.box, self.by)

    def _check(self, box: RowEncoder) -> None:
        if box.n_features != self.n_features:
            raise ValueError(
                f"the bounds have {box.n_features} columns, the view has {self.n_features}"
            )
