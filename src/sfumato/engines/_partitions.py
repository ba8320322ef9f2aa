"""Rows over any engine: every pass counts each partition exactly once, or fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._lattice.box import Box
from sfumato.engines._labels import keys_of
from sfumato.engines._progress import Pass
from sfumato.engines._rows import BlockSizes, Fold, Kernel, Partial, Pick, Picked, RowEncoder
from sfumato.engines.formats._storage import Stamp
from sfumato.engines.formats._table import Layout, Table

# Blocks that are held at a time, in bytes of their lattice rows.
_HELD_BYTES = 2**26


class PartitionsMissing(RuntimeError):  # noqa: N818
    """An engine has not counted every partition; nothing is released, and the charge stands."""


class PartitionSum:
    """Adds up what partitions send back, each once: a second copy is dropped, none may miss."""

    def __init__(self, n_parts: int, on_done: Callable[[], None] | None = None) -> None:
        self._n_parts = n_parts
        self._seen: set[int] = set()
        self._on_done = on_done
        self._state: Ints | None = None

    def take(self, partial: Partial) -> None:
        """Count the partitions of a partial sum, unless they have been counted."""
        if not self.news(partial.parts):
            return
        if self._state is None:
            self._state = partial.state.copy()
        elif self._state.shape != partial.state.shape:
            raise RuntimeError("an engine sent back sums of unlike queries")
        else:
            self._state += partial.state

    def news(self, parts: tuple[int, ...]) -> bool:
        """Note partitions as counted; False if they had been. Partly known ones are refused."""
        fresh = set(parts)
        if len(fresh) != len(parts) or not all(0 <= part < self._n_parts for part in fresh):
            raise RuntimeError("an engine sent back partitions that are not there, or one twice")
        known = fresh & self._seen
        if known == fresh:
            return False
        if known:
            raise RuntimeError("an engine sent back partitions together with others counted before")
        self._seen |= fresh
        if self._on_done is not None:
            for _ in fresh:
                self._on_done()
        return True

    def total(self, empty: Ints) -> Ints:
        """The sum over all partitions; `empty` is the sum over no rows."""
        self.check()
        if self._state is None:
            return empty
        if self._state.shape != empty.shape:
            raise RuntimeError("an engine sent back sums of another query")
        return self._state

    def check(self) -> None:
        """Refuse to go on if a partition is missing."""
        missing = self._n_parts - len(self._seen)
        if missing:
            raise PartitionsMissing(
                f"{missing} of {self._n_parts} partitions were not counted; nothing is released, "
                "and what was charged stays charged"
            )


class Engine(Protocol):
    """Runs a task on every partition."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def n_parts(self) -> int:
        """Number of partitions."""

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""

    def run(self, task: Fold | Pick) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every partition, in any order, also more than once."""


class PartedRows:
    """The rows of an engine, folded over partition by partition and added up in this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._engine.n_features

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""
        return self._engine.max_rows_per_group

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over all rows, each counted exactly once."""
        self._check(box)
        tally = self._tally()
        for partial in self._engine.run(Fold(box, kernel, self.max_rows_per_group)):
            if not isinstance(partial, Partial):
                raise TypeError("the engine did not run the task that it was given")
            tally.take(partial)
        return tally.total(kernel.empty())

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row's own values picks its block.

        As many blocks are collected in one pass as fit into memory. The order of the rows of a
        block is nobody's business: it depends on the partitions, and what is found does not.
        """
        self._check(box)
        if parts < 1:
            raise ValueError(f"parts must be a whole number from 1 on, got {parts!r}")
        sizes = self.fold(box, BlockSizes(parts, key))
        return self._blocks(box, key, sizes)

    def _blocks(self, box: Box, key: int, sizes: Ints) -> Iterator[Lattice]:
        for first, last in _ranges(sizes, max(1, _HELD_BYTES // (2 * box.n_features))):
            rows, ends = self._collect(Pick(box, len(sizes), first, last, key, self._most), sizes)
            for start, end in zip(ends - sizes[first:last], ends, strict=True):
                yield rows[start:end]

    def _collect(self, task: Pick, sizes: Ints) -> tuple[Lattice, Ints]:
        """Collect the rows of some blocks, block after block, and where each one ends."""
        ends = sizes[task.first : task.last].cumsum()
        held = np.empty((int(ends[-1]), self.n_features), dtype=np.int16)
        free = ends - sizes[task.first : task.last]
        tally = self._tally()
        for picked in self._engine.run(task):
            if not isinstance(picked, Picked):
                raise TypeError("the engine did not run the task that it was given")
            if tally.news((picked.part,)):
                _place(picked, task.first, held, free, ends)
        tally.check()
        if (free != ends).any():
            raise RuntimeError("the rows have changed between two passes")
        return held, ends

    @property
    def _most(self) -> int | None:
        return self._engine.max_rows_per_group

    def _tally(self) -> PartitionSum:
        return PartitionSum(self._engine.n_parts, Pass(self._engine.n_parts).step)

    def _check(self, box: RowEncoder) -> None:
        if box.n_features != self.n_features:
            raise ValueError(
                f"the bounds have {box.n_features} columns, the data has {self.n_features}"
            )


def _ranges(sizes: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Cut blocks into runs of at most `most` rows together, or of one block."""
    first = held = 0
    for number, size in enumerate(sizes.tolist()):
        if number > first and held + size > most:
            yield first, number
            first, held = number, 0
        held += size
    yield first, len(sizes)


def _place(picked: Picked, first: int, held: Lattice, free: Ints, ends: Ints) -> None:
    """Write the rows of one partition behind those of the same block that are there already."""
    numbers = picked.numbers - first
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers, minlength=len(free))
    if (free + counts > ends).any():
        raise RuntimeError("the rows have changed between two passes")
    before = counts.cumsum() - counts
    places = np.arange(len(order)) + np.repeat(free - before, counts)
    held[places] = picked.rows[order]
    free += counts


# Cells of the features in a piece: enough to hide its opening, few enough to share evenly.
_PIECE_CELLS = 2**22


class FileChanged(RuntimeError):  # noqa: N818
    """A file is not what it was when it was opened."""


@dataclass(frozen=True)
class Piece:
    """Some rows of some files: where they lie, which columns count, and the files' state.

    It travels to workers: it holds no row, and no open file.
    """

    table: Table
    positions: tuple[int, ...]
    owner: int | None
    stamps: tuple[Stamp, ...]

    @classmethod
    def whole(cls, layout: Layout) -> Piece:
        """All rows of a table, in the state of its files now."""
        stamps = tuple(file.stamp() for file in layout.table.files)
        return cls(layout.table, layout.positions, layout.owner, stamps)

    def blocks(self) -> Iterator[Floats]:
        """Read the features."""
        self._check()
        for block in self.table.blocks(self.positions):
            yield block.values
        self._check()

    def labels(self) -> Iterator[list[str]]:
        """Read whose rows are whose: the key of every row's label."""
        if self.owner is None:
            raise ValueError("no column names the groups")
        self._check()
        for cells in self.table.cells(self.owner):
            yield keys_of(cells)
        self._check()

    def _check(self) -> None:
        for file, stamp in zip(self.table.files, self.stamps, strict=True):
            if file.stamp() != stamp:
                raise FileChanged(f"{file} has changed since it was opened")


def pieces_of(layout: Layout, cells: int | None = None) -> list[Piece]:
    """Cut the files of a layout into pieces of about so many cells; each row is in one of them."""
    whole = Piece.whole(layout)
    stamps = dict(zip(layout.table.files, whole.stamps, strict=True))
    rows = max(1, (cells or _PIECE_CELLS) // len(layout.positions))
    return [
        Piece(table, layout.positions, layout.owner, tuple(stamps[file] for file in table.files))
        for table in layout.table.pieces(rows)
    ]
