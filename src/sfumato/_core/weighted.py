"""Rows that count as several copies of themselves: weights with a public bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._lattice.box import Box
from sfumato._schema.schema import Schema
from sfumato.engines._rows import Kernel, RowEncoder, Rows

# Copies that the kernel sees at a time.
_BLOCK_ROWS = 2**14


@dataclass(frozen=True)
class RepeatedKernel:
    """A kernel that is shown every row as often as its last column says, without that column.

    Sensitivity: a row is shown at most `most` times, whatever its last column holds.
    """

    kernel: Kernel
    most: int

    def empty(self) -> Ints:
        """Return the kernel's own sum over no rows."""
        return self.kernel.empty()

    def add(self, rows: Lattice, state: Ints) -> None:
        """Let the kernel add the copies of one block of rows, (n, d + 1)."""
        step = max(1, _BLOCK_ROWS // self.most)
        for start in range(0, len(rows), step):
            self.kernel.add(repeated(rows[start : start + step], self.most), state)


def repeated(rows: Lattice, most: int) -> Lattice:
    """The copies (m, d) of rows (n, d + 1): as many of each as its last column says."""
    return np.repeat(rows[:, :-1], np.clip(rows[:, -1], 0, most), axis=0)


@dataclass(frozen=True)
class WeightedRows:
    """The rows of a table whose last coordinate is the number of copies of each, at most `most`.

    Sensitivity: a row of the table is at most `most` equal rows, so what a query declares for so
    many rows at once holds for one row of the table.
    """

    rows: Rows
    box: Box
    most: int

    @property
    def n_features(self) -> int:
        """Number of columns, without the copies."""
        return self.rows.n_features - 1

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows of the table that one group can have, or None where every row stands for itself."""
        return self.rows.max_rows_per_group

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory."""
        return bool(getattr(self.rows, "in_memory", False))

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over the copies of all rows."""
        self._check(box)
        return self.rows.fold(self.box, RepeatedKernel(kernel, self.most))

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; the copies of a row are in one of them."""
        self._check(box)
        return (repeated(block, self.most) for block in self.rows.split(self.box, parts, key))

    def group_sizes(self, most: int) -> Ints:
        """As `Rows.group_sizes`: rows of the table, not copies."""
        return self.rows.group_sizes(most)

    def keeping(self, max_rows: int) -> WeightedRows:
        """The same rows, of which so many count of each group."""
        return WeightedRows(self.rows.keeping(max_rows), self.box, self.most)

    def _check(self, box: RowEncoder) -> None:
        """Refuse any other encoding: copies are known in that of the schema alone."""
        if box != Box(self.box.lower[:-1], self.box.upper[:-1], self.box.nan):
            raise ValueError("rows with weights are read within the bounds of their schema")


def weighted(rows: Rows, schema: Schema) -> Rows:
    """Rows with as many copies as the weights of a schema say, or as they are without any."""
    weights = schema.weights
    if weights is None:
        return rows
    if isinstance(rows, WeightedRows):
        # Copies of copies would be more than the sensitivity is for.
        raise TypeError(
            "these rows have weights already: a schema is declared where rows are opened"
        )
    return WeightedRows(rows, schema.row_box, weights.most)
