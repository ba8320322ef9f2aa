"""What Spark's workers run. It is sent to them with queries; it knows neither noise nor budget.

Only what a task returns counts: no accumulator, no file. All data are sent as Arrow batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from sfumato._base.types import Floats, Ints, Lattice
from sfumato.engines._labels import keys_of
from sfumato.engines._partitions import Piece
from sfumato.engines._rows import Fold, Partial, Picked, RowEncoder, Task, counted
from sfumato.engines.formats._parquet import floats_of, values_of

Batches = Iterator[Any]
OnBatches = Callable[[Batches], Batches]
"""What `mapInArrow` takes: it is called once for every partition, also for one without rows."""

MARK = "part int"
LATTICE = "part int, rows binary"
SENT = "parts array<int>, place int, data binary"

NUMBERS = 2**17
"""How many numbers of a state are sent together."""

# Cells that a kernel sees at a time, so that its buffers stay small.
_SPAN_CELLS = 2**18


@dataclass(frozen=True)
class Columns:
    """Batches hold the features and, if `owned`, the labels of groups as the last column."""

    n_features: int
    owned: bool = False

    def opened(self, batches: Batches) -> tuple[Iterable[Floats], list[Any] | None]:
        labels: list[Any] = []

        def blocks() -> Iterator[Floats]:
            for batch in batches:
                if self.owned:
                    labels.extend(batch.column(self.n_features).to_pylist())
                yield floats_of(batch.columns[: self.n_features])

        return blocks(), labels if self.owned else None


@dataclass(frozen=True)
class Pieces:
    """Batches hold the numbers of pieces of files, which are read where the task runs."""

    pieces: tuple[Piece, ...]

    @property
    def n_features(self) -> int:
        return len(self.pieces[0].positions)

    def opened(self, batches: Batches) -> tuple[Iterable[Floats], list[Any] | None]:
        return (block for piece in self.of(batches) for block in piece.blocks()), None

    def of(self, batches: Batches) -> Iterator[Piece]:
        """The pieces whose numbers are in the batches."""
        return (self.pieces[i] for batch in batches for i in batch.column(0).to_pylist())


Source = Columns | Pieces
"""How the rows of a partition are read from its batches.

`opened` returns blocks of shape (n, d), and labels of groups, complete when all blocks are read.
"""


def mark(batches: Batches) -> Batches:
    """Report that a partition exists."""
    for _ in batches:
        pass
    yield _batch(MARK, [TaskContext.get().partitionId()])  # type: ignore[union-attr]


def reading(pieces: Pieces) -> OnBatches:
    """Read pieces of files as columns, with the keys of the labels of groups in the last one."""

    def read(batches: Batches) -> Batches:
        for piece in pieces.of(batches):
            labels = (label for block in piece.labels() for label in block)
            for block in piece.blocks():
                yield _with_keys([*map(pa.array, block.T)], [next(labels) for _ in block])

    return read


def keying(width: int) -> OnBatches:
    """Replace the labels in the last column by their keys."""

    def key(batches: Batches) -> Batches:
        for batch in batches:
            keys = keys_of(values_of(batch.column(width)))
            yield _with_keys(batch.columns[:width], keys)

    return key


def _with_keys(features: list[Any], keys: list[Any]) -> Any:  # noqa: ANN401
    names = [f"c{i}" for i in range(len(features) + 1)]
    return pa.RecordBatch.from_arrays([*features, pa.array(map(str, keys), pa.string())], names)


def snapping(source: Source, encoder: RowEncoder, most: int | None, n_parts: int) -> OnBatches:
    """Encode a partition: the rows that count, many of them in one binary cell.

    All rows of a partition go to the same place, whatever their order: a partition that is
    recomputed after a failure, with its rows in another order, is counted once all the same.
    """

    def snap(batches: Batches) -> Batches:
        part = TaskContext.get().partitionId() % n_parts  # type: ignore[union-attr]
        blocks, labels = source.opened(batches)
        for rows in counted(encoder, most, blocks, labels, None):
            step = max(1, _SPAN_CELLS // rows.shape[1])
            for start in range(0, len(rows), step):
                yield _batch(LATTICE, [part], [rows[start : start + step].tobytes()])

    return snap


def running(task: Task, n_features: int) -> OnBatches:
    """Run a task on a partition of encoded rows."""

    def run(batches: Batches) -> Batches:
        part = TaskContext.get().partitionId()  # type: ignore[union-attr]
        return _sent(task.on(part, _lattices(batches, n_features)))

    return run


def add(batches: Batches) -> Batches:
    """Add the same numbers of all partitions, and note which partitions they were."""
    sums: dict[int, tuple[list[int], Ints]] = {}
    for parts, place, data in cells_of(batches):
        numbers = np.frombuffer(data, dtype=np.int64)
        known, total = sums.setdefault(place, ([], np.zeros(len(numbers), dtype=np.int64)))
        if set(known) & set(parts):
            raise RuntimeError("a partition would be counted twice")
        known += parts
        total += numbers
    for place, (known, total) in sums.items():
        yield _batch(SENT, [sorted(known)], [place], [total.tobytes()])


def cells_of(batches: Iterable[Any]) -> Iterator[tuple[list[int], int, Any]]:
    """What was sent: the partitions, the place of the numbers in their sum, and the numbers."""
    for batch in batches:
        for parts, place, data in zip(*batch.columns, strict=True):
            yield parts.as_py(), place.as_py(), data.as_buffer()


def received(task: Task, batches: Iterable[Any]) -> Iterator[Partial | Picked]:
    """Join what partitions have sent; what is not complete is left out."""
    found: dict[tuple[int, ...], dict[int, Any]] = {}
    for where, place, cell in cells_of(batches):
        found.setdefault(tuple(where), {})[place] = cell
    for parts, cells in found.items():
        data = b"".join(cells[place] for place in sorted(cells))
        if not isinstance(task, Fold):
            yield _picked(parts[0], data, task.encoder.n_features)
            continue
        empty = task.kernel.empty()
        if len(data) == empty.nbytes:
            yield Partial(parts, np.frombuffer(data, dtype=np.int64).reshape(empty.shape))


def _sent(result: Partial | Picked) -> Batches:
    if isinstance(result, Picked):
        rows, numbers = result.rows.tobytes(), result.numbers.astype(np.int64).tobytes()
        parts, data = [result.part], rows + numbers
    else:
        parts, data = list(result.parts), np.asarray(result.state, dtype=np.int64).tobytes()
    step = 8 * NUMBERS
    for place, start in enumerate(range(0, max(1, len(data)), step)):
        yield _batch(SENT, [parts], [place], [data[start : start + step]])


def _picked(part: int, data: bytes, width: int) -> Picked:
    n = len(data) // (2 * width + 8)
    rows = np.frombuffer(data, dtype=np.int16, count=n * width).reshape(n, width)
    numbers = np.frombuffer(data[2 * n * width :], dtype=np.int64)
    return Picked(part, rows, numbers)


def _lattices(batches: Batches, width: int) -> Iterator[Lattice]:
    # A copy: compiled loops would be compiled once more for arrays that cannot be written.
    buffer = np.empty((0, width), dtype=np.int16)
    for batch in batches:
        for cell in batch.column(1):
            rows = np.frombuffer(cell.as_buffer(), dtype=np.int16).reshape(-1, width)
            if len(buffer) < len(rows):
                buffer = np.empty(rows.shape, dtype=np.int16)
            buffer[: len(rows)] = rows
            yield buffer[: len(rows)]


_TYPES = {"int": pa.int32(), "array<int>": pa.list_(pa.int32()), "binary": pa.binary()}


def _batch(schema: str, *columns: list[Any]) -> Any:  # noqa: ANN401
    fields = [field.split() for field in schema.split(", ")]
    arrays = [pa.array(c, _TYPES[kind]) for c, (_, kind) in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [name for name, _ in fields])
