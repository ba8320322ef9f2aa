"""Rows seen through a map of each row alone; no mapped copy of the table is ever made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from sfumato.box import Box, Ints, Lattice
from sfumato.engines.base import Kernel, Rows, Scale

# Rows that are mapped before the kernel sees them.
_BLOCK_ROWS = 2**14


class RowMap(Protocol):
    """What turns a lattice row into another, looking at that row alone."""

    @property
    def n_features(self) -> int:
        """Number of columns that go in."""

    @property
    def n_out(self) -> int:
        """Number of columns that come out."""

    def see(self, rows: Lattice) -> Lattice:
        """Map every row of a block."""


@dataclass(frozen=True)
class Seen:
    """A kernel that is shown mapped rows: it travels to the rows in place of the kernel."""

    by: RowMap
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
    by: RowMap

    @property
    def n_features(self) -> int:
        """Number of columns after the map."""
        return self.by.n_out

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""
        return self.rows.max_rows_per_group

    def fold(self, box: Scale, kernel: Kernel) -> Ints:
        """Sum `kernel` over all mapped rows, each counted exactly once."""
        self._check(box)
        return self.rows.fold(self.box, Seen(self.by, kernel))

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row before the map picks its block."""
        self._check(box)
        return (self.by.see(block) for block in self.rows.split(self.box, parts, key))

    def _check(self, box: Scale) -> None:
        if box.n_features != self.n_features:
            raise ValueError(
                f"the bounds have {box.n_features} columns, the view has {self.n_features}"
            )
