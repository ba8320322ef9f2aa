"""What Dask's workers run, and Dask's arrays and data frames as partitions."""

from __future__ import annotations

import signal
from asyncio import gather, to_thread
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from time import sleep
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato._base.labels import keys_of
from sfumato._base.types import Floats, Lattice
from sfumato._schema.schema import Schema
from sfumato.engines._cells import frame_by, places_of, points_in
from sfumato.engines._groups import codes_of, has_key, sizes_of
from sfumato.engines._memory import frame_of
from sfumato.engines._partitions import Piece
from sfumato.engines._rows import Fold, Partial, Picked, RowEncoder, Task, counted

Results = list[Partial | Picked]

OWNER = "owner"
"""The name of the column of the labels of groups, where the data has none."""

# Cells that a kernel sees at a time. More than elsewhere: with the allocator settings of Dask's
# workers, buffers that are allocated for each span cost page faults.
_SPAN_CELLS = 2**20


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the process that started the workers, which ends them in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def encoded_partition(
    encoder: RowEncoder,
    most: int | None,
    source: Any,  # noqa: ANN401
    owner: str | None,
) -> Lattice:
    """Encode a partition: the rows that count, of shape (n, d), lattice steps."""
    width, labels = encoder.n_features, None
    if owner is not None:
        labels, source = source[owner], source.drop(columns=owner)
    blocks = source.blocks() if isinstance(source, Piece) else [floats_of(source, width)]
    lattices = counted(encoder, most, blocks, labels, None)
    nothing = np.empty((0, width), dtype=np.int16)
    return np.concatenate([nothing, *(rows.copy() for rows in lattices)])


def sizes_in(part: int, source: Any, owner: str, most: int) -> Results:  # noqa: ANN401
    """Count the groups of each size, up to `most`, in a partition that holds whole groups."""
    return [Partial((part,), sizes_of([codes_of(source[owner])], most))]


def run_on(task: Task, parts: Sequence[int], lattices: Sequence[Lattice]) -> Results:
    """Run a task on encoded partitions, each of shape (n, d)."""
    if not isinstance(task, Fold):
        return [task.on(n, _spans(rows)) for n, rows in zip(parts, lattices, strict=True)]
    whole = task.on(parts[0], chain.from_iterable(map(_spans, lattices)))
    return [Partial(tuple(parts), whole.state)]


async def run_here(
    task: Task,
    batches: Mapping[str, Sequence[tuple[Sequence[int], Sequence[Any]]]],
    dask_worker: Any,  # noqa: ANN401
) -> list[Results]:
    """Run a task on the batches of this worker: numbers of partitions, and their keys."""
    own = [
        (parts, [dask_worker.data[key] for key in keys])
        for parts, keys in batches.get(dask_worker.address, ())
    ]
    return await gather(*(to_thread(run_on, task, parts, rows) for parts, rows in own))


def floats_of(block: Any, width: int) -> NDArray[Any]:  # noqa: ANN401
    """A partition as real numbers of shape (n, width); NaN for cells that are no numbers."""
    try:
        values = frame_of(block).read(0, len(block))
    except (TypeError, ValueError):
        import pandas

        columns = [c for _, c in pandas.DataFrame(block).items()]
        numbers = [pandas.to_numeric(c, errors="coerce") for c in columns]
        cells = [c.to_numpy(dtype=np.float64, na_value=np.nan) for c in numbers]
        values = np.column_stack([np.empty((len(block), 0)), *cells])
    if values.shape[1] != width:
        raise ValueError(f"a partition has not the {width} columns that were declared")
    return values


def pandas_of(piece: Piece) -> Any:  # noqa: ANN401
    """Read a piece of a file as a data frame, with the labels of groups in its last column."""
    values = np.concatenate([np.empty((0, piece.n_features)), *piece.blocks()])
    return _labelled(values, list(piece.labels()))


def _labelled(values: Floats, labels: list[Any]) -> Any:  # noqa: ANN401
    import pandas

    frame = _points(values)
    frame[OWNER] = pandas.Series(labels, dtype=object)
    return frame


def _spans(rows: Lattice) -> Iterator[Lattice]:
    step = max(1, _SPAN_CELLS // rows.shape[1])
    return (rows[start : start + step] for start in range(0, len(rows), step))


# Seconds between two looks at the scheduler, and how many there are.
_PAUSE = 0.1
_TRIES = 300

_ADVICE = "pass a dask.array of two dimensions or a dask.dataframe"


@dataclass(frozen=True)
class DaskTable:
    """A Dask collection of numeric columns; `owner` names the column of the labels of groups."""

    data: Any
    n_features: int
    owner: Any = None

    def parts(self) -> list[Any]:
        """One delayed value for each partition."""
        return list(np.ravel(self.data.to_delayed()))

    def gathered(self) -> DaskTable:
        """The same rows, shuffled so that all rows of a group lie in one partition."""
        frame, owner = self.data, self.owner
        if owner is None or frame.npartitions == 1:
            return self
        # Longer than the name of any column, and so none of them.
        home = "home".join(map(str, [*frame.columns, ""]))
        # Keys, not labels: partitions with labels of unlike types would be cast to one type.
        keyed = frame.map_partitions(with_home, owner, home, frame.npartitions)
        # Pure tasks: what a lost worker held is recomputed from what the others hold.
        moved = keyed.shuffle(on=home, shuffle_method="tasks")
        return DaskTable(moved.drop(columns=home), self.n_features, owner)

    def part(self, key: str) -> DaskTable:
        """The rows whose label, in the column `owner`, has a key; found within each partition."""
        from dask.dataframe.utils import make_meta

        meta = make_meta(self.data).drop(columns=self.owner)
        inside = self.data.map_partitions(rows_in_part, self.owner, key, meta=meta)
        return DaskTable(inside, self.n_features)


def table_of(data: Any, groups: Any, schema: Schema | None = None) -> DaskTable:  # noqa: ANN401
    """Check a collection by its declared types and shape, as tables in memory are.

    With a schema, the workers encode its columns; no other column is read.
    """
    kind = type(data).__name__
    if not hasattr(data, "to_delayed") or kind not in ("Array", "DataFrame", "Series"):
        raise TypeError(f"a Dask {kind} was passed; {_ADVICE}")
    if kind == "Array":
        return _array(data, groups, schema)
    if data.ndim != 2:
        raise ValueError(f"Expected 2D array, got 1D array instead: {_ADVICE}")
    import pandas

    names = list(data.columns)
    if groups is not None and not (isinstance(groups, str | int) and groups in names):
        raise ValueError(
            f"labels of a Dask data frame must name one of its columns, which are {names}"
        )
    if names.count(groups) > 1:
        raise ValueError(f"{names.count(groups)} columns are named {groups!r}")
    if schema is not None:
        return _encoded(data, groups, schema)
    kinds = [kind for name, kind in zip(names, data.dtypes, strict=True) if name != groups]
    empty = {i: pandas.Series([], dtype=kind) for i, kind in enumerate(kinds)}
    return DaskTable(data, frame_of(pandas.DataFrame(empty)).n_features, groups)


def _encoded(data: Any, owner: Any, schema: Schema) -> DaskTable:  # noqa: ANN401
    """The points of a data frame, encoded where its partitions are.

    Before anything is shuffled: partitions of unlike types would be cast to one type.
    """
    import pandas

    places_of(list(data.columns), schema)
    kinds = dict(zip(data.columns, data.dtypes, strict=True))
    empty = pandas.DataFrame({name: _empty(kind) for name, kind in kinds.items()})
    frame_by(schema, empty, "pandas")
    chosen = data[[*schema.inputs, *([] if owner is None else [owner])]]
    meta = _points(np.empty((0, schema.width)))
    if owner is not None:
        meta[OWNER] = _empty(kinds[owner])
    points = chosen.map_partitions(encoded_frame, schema, owner, meta=meta)
    return DaskTable(points, schema.width, None if owner is None else OWNER)


def _empty(kind: Any) -> Any:  # noqa: ANN401
    import pandas

    return pandas.Series([], dtype=kind)


def _points(values: Floats, index: Any = None) -> Any:  # noqa: ANN401
    import pandas

    columns = list(map(str, range(values.shape[1])))
    return pandas.DataFrame(values, columns=columns, index=index)


def encoded_frame(frame: Any, schema: Schema, owner: Any) -> Any:  # noqa: ANN401
    """Encode a partition, a frame of pandas: the features, and the labels in the last column."""
    points = _points(points_in(schema, frame.loc[:, list(schema.inputs)]), frame.index)
    if owner is not None:
        points[OWNER] = frame[owner].array
    return points


def encoded_block(block: Any, schema: Schema) -> Floats:  # noqa: ANN401
    """Encode a partition of an array, whose columns are the features in their order."""
    return points_in(schema, block)


def _array(array: Any, groups: Any, schema: Schema | None) -> DaskTable:  # noqa: ANN401
    if array.ndim == 2 and array.shape[1] != array.shape[1]:
        raise ValueError("the number of columns of a Dask array must be known")
    width = array.shape[1] if array.ndim == 2 else 0
    shape = (0, width) if array.ndim == 2 else (0,) * array.ndim
    frame_of(np.empty(shape, dtype=array.dtype), schema)
    array = array.rechunk({1: -1})
    if schema is not None:
        width = schema.width
        chunks = (array.chunks[0], (width,))
        array = array.map_blocks(encoded_block, schema, dtype=np.float64, chunks=chunks)
    if groups is None:
        return DaskTable(array, width)
    return _with_owner(array, groups, width)


def _with_owner(array: Any, groups: Any, width: int) -> DaskTable:  # noqa: ANN401
    import dask.array
    import dask.dataframe

    lengths = array.chunks[0]
    if any(length != length for length in lengths):
        raise ValueError("labels need an array of known length; use .compute_chunk_sizes()")
    if isinstance(groups, str | bytes) or getattr(groups, "shape", None) != (sum(lengths),):
        raise ValueError("labels of a Dask array must be an array with one label per row")
    labels = dask.array.asarray(groups, chunks=(lengths,)).rechunk((lengths,))
    columns = list(map(str, range(width)))
    frame = dask.dataframe.from_dask_array(array, columns=columns)
    owners = dask.dataframe.from_dask_array(labels, columns=OWNER)
    return DaskTable(frame.assign(**{OWNER: owners}), width, OWNER)


def table_of_pieces(pieces: list[Piece], width: int) -> DaskTable:
    """The features of files, and the keys of the labels of groups."""
    import dask.dataframe

    empty = _labelled(np.empty((0, width)), [])
    return DaskTable(dask.dataframe.from_map(pandas_of, pieces, meta=empty), width, OWNER)


def keys_in(labels: Any) -> Any:  # noqa: ANN401
    """The keys of labels, both a pandas Series."""
    import pandas

    return pandas.Series(keys_of(labels.tolist()), index=labels.index, dtype=object)


def rows_in_part(frame: Any, owner: Any, key: str) -> Any:  # noqa: ANN401
    """The rows of a partition whose label has a key, without the column of the labels."""
    return frame.loc[has_key(keys_of(frame[owner].tolist()), key)].drop(columns=owner)


def with_home(frame: Any, owner: Any, home: str, parts: int) -> Any:  # noqa: ANN401
    """Replace labels by keys, and add the partition in which each key is gathered."""
    import pandas

    keys = keys_in(frame[owner])
    homes = pandas.Series([home_of(key, parts) for key in keys], index=keys.index, dtype="int64")
    frame = frame.copy(deep=False)
    frame[owner], frame[home] = keys, homes
    return frame


def home_of(key: Any, parts: int) -> int:  # noqa: ANN401
    """The partition in which the rows of a key are gathered, the same in every process.

    Keys that are no text share one partition: their hashes may differ between processes.
    """
    return crc32(key.encode()) % parts if isinstance(key, str) else 0


def can_be_recomputed(client: Any, data: Any) -> bool:  # noqa: ANN401
    """Whether a collection can be computed from its beginning, without scattered data."""
    graph = dict(data.__dask_graph__())
    futures = {node.key for node in graph.values() if hasattr(node, "add_done_callback")}
    named = {key for node in graph.values() for key in getattr(node, "dependencies", ())}
    # What the graph uses and does not compute.
    keys = futures | (named - set(graph))
    for _ in range(_TRIES):
        known = not keys or client.run_on_scheduler(graph_known, keys=keys)
        if known is not None:
            return bool(known)
        # What was submitted a moment ago may not have arrived yet.
        sleep(_PAUSE)
    return False


def graph_known(keys: set[Any], dask_scheduler: Any = None) -> bool | None:  # noqa: ANN401
    """Whether the scheduler can compute these keys and all that they depend on. Runs there.

    None if it does not know one of them.
    """
    stack = [dask_scheduler.tasks.get(key) for key in keys]
    if None in stack:
        return None
    seen = set(stack)
    while stack:
        task = stack.pop()
        if task.run_spec is None or task.has_lost_dependencies:
            return False
        stack += [other for other in task.dependencies if other not in seen]
        seen.update(task.dependencies)
    return True
