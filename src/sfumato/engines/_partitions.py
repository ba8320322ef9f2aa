"""Rows in partitions, on any engine: every pass counts each partition exactly once, or fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol, Self

import numpy as np

from sfumato._base.labels import keys_of
from sfumato._base.types import Floats, Ints, Lattice
from sfumato._base.validation import check_whole
from sfumato._lattice.box import Box
from sfumato._schema.schema import Schema
from sfumato.engines._groups import has_key
from sfumato.engines._memory import check_box
from sfumato.engines._progress import Pass
from sfumato.engines._rows import BlockSizes, Fold, Kernel, Partial, Pick, Picked, RowEncoder, Task
from sfumato.engines.formats._storage import Stamp
from sfumato.engines.formats._table import Layout, Table, points_of

# Blocks that are held at a time, in bytes of their lattice rows.
_HELD_BYTES = 2**26


class PartitionsMissing(RuntimeError):  # noqa: N818
    """An engine has not counted every partition; nothing is released, and the charge stands."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; nothing is released, and what was charged stays charged")


class PartitionSum:
    """Adds what partitions send back, each once. A second copy is dropped; none may be missing.

    `empty` is the sum over no rows; it is added to.
    """

    def __init__(self, n_parts: int, empty: Ints) -> None:
        self._n_parts = n_parts
        self._seen: set[int] = set()
        self._state = empty
        self._step = Pass(n_parts).step

    def take(self, partial: Partial) -> bool:
        """Add a partial sum; False if it was counted before. One partly known is refused."""
        fresh = set(partial.parts)
        if len(fresh) != len(partial.parts) or not all(0 <= part < self._n_parts for part in fresh):
            raise RuntimeError("an engine sent back partitions that are not there, or one twice")
        known = fresh & self._seen
        if known == fresh:
            return False
        if known:
            raise RuntimeError("an engine sent back partitions together with others counted before")
        if self._state.shape != partial.state.shape:
            raise RuntimeError("an engine sent back sums of another query")
        self._state += partial.state
        self._seen |= fresh
        for _ in fresh:
            self._step()
        return True

    def total(self) -> Ints:
        """The sum over all partitions; refused if one is missing."""
        missing = self._n_parts - len(self._seen)
        if missing:
            raise PartitionsMissing(f"{missing} of {self._n_parts} partitions were not counted")
        return self._state


class Engine(Protocol):
    """Runs a task on every partition. The other attributes are as in `Rows`."""

    n_features: int
    n_parts: int
    max_rows_per_group: int | None

    def run(self, task: Task) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every partition, in any order, also more than once."""

    def sizes(self, most: int) -> Iterable[Partial]:
        """Count the groups of each size, as `Rows.group_sizes` does; called where there are groups.

        A partial count holds whole groups: where the rows of one lie in several partitions, it
        covers all of these.
        """

    def keeping(self, max_rows: int) -> Self:
        """The same partitions, with so many rows of each group."""


class PartedRows:
    """The rows of an engine, folded over partition by partition and summed in this process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.n_features = engine.n_features
        self.max_rows_per_group = engine.max_rows_per_group

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over all rows, each counted exactly once."""
        check_box(box, self.n_features)
        total = PartitionSum(self._engine.n_parts, kernel.empty())
        for partial in self._engine.run(Fold(box, kernel, self.max_rows_per_group)):
            if not isinstance(partial, Partial):
                raise TypeError("the engine did not run the task that it was given")
            total.take(partial)
        return total.total()

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row's own values picks its block.

        As many blocks are collected in one pass as fit into memory. Row order is unspecified.
        """
        sizes = self.fold(box, BlockSizes(check_whole(parts, "parts"), key))
        return self._blocks(box, key, sizes)

    def group_sizes(self, most: int) -> Ints:
        """How many groups have 1, 2, …, `most` rows or more, of shape (most,)."""
        total = PartitionSum(self._engine.n_parts, np.zeros(most, dtype=np.int64))
        for partial in self._engine.sizes(most):
            total.take(partial)
        return total.total()

    def keeping(self, max_rows: int) -> PartedRows:
        """The same rows, of which so many count of each group."""
        return PartedRows(self._engine.keeping(max_rows))

    def _blocks(self, box: Box, key: int, sizes: Ints) -> Iterator[Lattice]:
        for first, last in _ranges(sizes, max(1, _HELD_BYTES // (2 * box.n_features))):
            task = Pick(box, len(sizes), first, last, key, self.max_rows_per_group)
            rows, ends = self._collect(task, sizes[first:last]), sizes[first:last].cumsum()
            for start, end in zip(ends - sizes[first:last], ends, strict=True):
                yield rows[start:end]

    def _collect(self, task: Pick, sizes: Ints) -> Lattice:
        """Collect the rows of the blocks of a task, block after block: (n, d), lattice steps.

        sizes: the numbers of rows of these blocks, counted before.
        """
        counts = PartitionSum(self._engine.n_parts, np.zeros_like(sizes))
        rows = [np.empty((0, self.n_features), dtype=np.int16)]
        numbers = [np.empty(0, dtype=np.int64)]
        for picked in self._engine.run(task):
            if not isinstance(picked, Picked):
                raise TypeError("the engine did not run the task that it was given")
            places = picked.numbers - task.first
            own = np.bincount(places, minlength=len(sizes))
            if counts.take(Partial((picked.part,), own)):
                rows.append(picked.rows)
                numbers.append(places)
        if not np.array_equal(counts.total(), sizes):
            raise RuntimeError("the rows have changed between two passes")
        return np.concatenate(rows)[np.argsort(np.concatenate(numbers), kind="stable")]


def _ranges(sizes: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Group blocks of these sizes into runs of at most `most` rows, or of one block."""
    first = held = 0
    for number, size in enumerate(sizes.tolist()):
        if number > first and held + size > most:
            yield first, number
            first, held = number, 0
        held += size
    yield first, len(sizes)


# Cells of the features in a piece: enough to hide its opening, few enough to share evenly.
_PIECE_CELLS = 2**22
_LEAST_CELLS = 2**16


class FileChanged(RuntimeError):  # noqa: N818
    """A file is not what it was when it was opened."""


@dataclass(frozen=True)
class Piece:
    """Some rows of some files: where they are, which columns are read, and the files' state.

    With `part`, only rows whose label has that key are read, each by its own label alone. With a
    `schema`, cells are encoded by it. A piece is sent to workers: it holds no row, no open file.
    """

    table: Table
    positions: tuple[int, ...]
    owner: int | None
    stamps: tuple[Stamp, ...]
    part: str | None = None
    schema: Schema | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of a block."""
        return len(self.positions) if self.schema is None else self.schema.width

    @classmethod
    def whole(cls, layout: Layout) -> Piece:
        """All rows of a table, in the state of its files now."""
        stamps = tuple(file.stamp() for file in layout.table.files)
        owner, part = layout.owner, layout.part
        return cls(layout.table, layout.positions, owner, stamps, part, layout.schema)

    def blocks(self) -> Iterator[Floats]:
        """Read the features, in blocks of shape (n, d)."""
        self._check()
        labels = None if self.part is None else self.labels()
        for values in self._values():
            if labels is None or self.part is None:
                yield values
            else:
                inside = has_key(islice(labels, len(values)), self.part)
                if len(inside) != len(values):
                    raise FileChanged("a file has not the number of rows that it had before")
                yield values[inside]
        self._check()

    def _values(self) -> Iterator[Floats]:
        if self.schema is not None:
            return points_of(self.table, self.positions, self.schema)
        return (block.values for block in self.table.blocks(self.positions))

    def labels(self) -> Iterator[Any]:
        """Read the key of every row's label."""
        if self.owner is None:
            raise ValueError("no column has labels of rows")
        self._check()
        for cells in self.table.labels(self.owner):
            yield from keys_of(cells)
        self._check()

    def _check(self) -> None:
        for file, stamp in zip(self.table.files, self.stamps, strict=True):
            if file.stamp() != stamp:
                raise FileChanged(f"{file} has changed since it was opened")


def pieces_of(layout: Layout, at_least: int = 1) -> list[Piece]:
    """Cut the files of a layout into pieces; each row is in one of them.

    There are about `at_least` of them or more, unless they would be too small to be worth a task.
    """
    whole, width = Piece.whole(layout), layout.n_features
    stamps = dict(zip(layout.table.files, whole.stamps, strict=True))
    each = layout.table.about_rows() * width // at_least
    rows = max(1, min(max(each, _LEAST_CELLS), _PIECE_CELLS) // width)
    return [
        replace(whole, table=table, stamps=tuple(stamps[file] for file in table.files))
        for table in layout.table.pieces(rows)
    ]
