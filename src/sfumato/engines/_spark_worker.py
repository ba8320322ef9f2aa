"""What Spark's workers run. It is sent to them with queries; it knows neither noise nor budget.

Only what a task returns counts: no accumulator, no file. All data are sent as Arrow batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from sfumato._base.labels import keys_of
from sfumato._base.types import Floats, Ints, Lattice
from sfumato._schema.schema import Schema
from sfumato.engines._groups import has_key
from sfumato.engines._partitions import Piece
from sfumato.engines._rows import Fold, Partial, Picked, RowEncoder, Task, counted
from sfumato.engines.formats._parquet import cells_in, floats_of, values_of
from sfumato.engines.formats._table import wanted_as_numbers

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


def mark(batches: Batches) -> Batches:
    """Report that a partition exists."""
    for _ in batches:
        pass
    yield _batch(MARK, [TaskContext.get().partitionId()])  # type: ignore[union-attr]


def read_keyed(batches: Batches, pieces: Sequence[Piece]) -> Batches:
    """Read pieces of files as columns, with the keys of the labels of groups in the last one."""
    for piece in _numbered(batches, pieces):
        labels = piece.labels()
        for block in piece.blocks():
            yield _with_keys([*map(pa.array, block.T)], [next(labels) for _ in block])


def with_keys(batches: Batches, width: int) -> Batches:
    """Replace the labels, in the column after the `width` features, by their keys."""
    for batch in batches:
        keys = keys_of(values_of(batch.column(width)))
        yield _with_keys(batch.columns[:width], keys)


def points(batches: Batches, schema: Schema) -> Batches:
    """Encode the features of a schema, the first columns; labels after them stay as they are."""
    width, numbers = len(schema.inputs), wanted_as_numbers(schema)
    for batch in batches:
        found = schema.encode(cells_in(batch.select(range(width)), numbers))
        columns = [*map(pa.array, found.T), *batch.columns[width:]]
        yield pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])


def only_part(batches: Batches, width: int, key: str) -> Batches:
    """The rows whose label, in the column after the `width` features, has a key."""
    for batch in batches:
        inside = has_key(keys_of(values_of(batch.column(width))), key)
        yield batch.select(range(width)).filter(pa.array(inside))


def _with_keys(features: list[Any], keys: list[Any]) -> Any:  # noqa: ANN401
    names = [f"c{i}" for i in range(len(features) + 1)]
    return pa.RecordBatch.from_arrays([*features, pa.array(map(str, keys), pa.string())], names)


def encode(
    batches: Batches,
    encoder: RowEncoder,
    most: int | None,
    n_parts: int,
    pieces: Sequence[Piece] | None = None,
) -> Batches:
    """Encode a partition: the rows that count, many of them in one binary cell.

    Batches hold the features and the keys of groups, if there are any; or the numbers of `pieces`.
    All rows of a partition go to the same place, whatever their order: a partition that is
    recomputed after a failure, with its rows in another order, is counted once all the same.
    """
    part = TaskContext.get().partitionId() % n_parts  # type: ignore[union-attr]
    labels: list[Any] = []
    if pieces is None:
        blocks = _columns(batches, encoder.n_features, labels)
    else:
        blocks = (block for piece in _numbered(batches, pieces) for block in piece.blocks())
    for rows in counted(encoder, most, blocks, labels, None):
        step = max(1, _SPAN_CELLS // rows.shape[1])
        for start in range(0, len(rows), step):
            yield _batch(LATTICE, [part], [rows[start : start + step].tobytes()])


def _columns(batches: Batches, width: int, labels: list[Any]) -> Iterator[Floats]:
    """Yield the features, of shape (n, width), and append what follows them to `labels`."""
    for batch in batches:
        for keys in batch.columns[width:]:
            labels.extend(keys.to_pylist())
        yield floats_of(batch.columns[:width])


def _numbered(batches: Batches, pieces: Sequence[Piece]) -> Iterator[Piece]:
    return (pieces[i] for batch in batches for i in batch.column(0).to_pylist())


def run_task(batches: Batches, task: Task) -> Batches:
    """Run a task on a partition of encoded rows."""
    part = TaskContext.get().partitionId()  # type: ignore[union-attr]
    return _sent(task.on(part, _lattices(batches, task.encoder.n_features)))


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
