"""What Dask's workers run. It travels with questions, and knows neither noise nor budget."""

from __future__ import annotations

import signal
from asyncio import gather, to_thread
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.box import Box, Floats, Lattice
from sfumato.engines.kernels import write_lattice
from sfumato.engines.pieces import Piece
from sfumato.engines.sources import Frame, source_of
from sfumato.engines.tasks import Fold, Partial, Pick, Picked, counted

Task = Fold | Pick
Results = list[Partial | Picked]

OWNER = "owner"
"""The column that says whose rows are whose, where we name it."""

# Cells that a kernel sees at a time. Its buffers are made anew for each span, and as Dask sets the
# allocator of its workers that costs a page fault for each of their pages.
_SPAN_CELLS = 2**20


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the process that started the workers, which ends them in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def lattice_of(
    box: Box,
    most: int | None,
    source: Any,  # noqa: ANN401
    owner: str | None,
) -> Lattice:
    """Put a partition on the lattice: the rows that count, a quarter of their size as float64."""
    blocks, labels = _opened(source, box.n_features, owner)
    if most is None:
        found = [_snapped(box, block) for block in blocks]
    else:
        found = list(counted(box, most, blocks, labels, None))
    if len(found) == 1:
        return found[0]
    return np.concatenate([np.empty((0, box.n_features), dtype=np.int16), *found])


def _snapped(box: Box, block: NDArray[Any]) -> Lattice:
    lattice = np.empty(block.shape, dtype=np.int16)
    kept = write_lattice(box, block, lattice)
    return lattice if kept.all() else lattice[kept]


def run_on(task: Task, parts: Sequence[int], lattices: Sequence[Lattice]) -> Results:
    """Run a task on partitions that are on the lattice already."""
    if isinstance(task, Pick):
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


def run_over(
    task: Fold,
    part: int,
    source: Any,  # noqa: ANN401
    owner: str | None,
) -> Results:
    """Run a task on a partition as it is read."""
    blocks, labels = _opened(source, task.scale.n_features, owner)
    return [task.over(part, blocks, labels)]


def same(task: Task) -> Task:
    """Return a task as it is: what is made by a call can be made again when it is lost."""
    return task


def floats_of(block: Any, width: int) -> NDArray[Any]:  # noqa: ANN401
    """The numbers of a block; NaN for cells that are none, whatever type the block says it has."""
    try:
        values = _frame(block).read(0, len(block))
    except (TypeError, ValueError):
        values = _careful(block)
    if values.shape[1] != width:
        raise ValueError(f"a partition has not the {width} columns that were declared")
    return values


def _frame(block: Any) -> Frame:  # noqa: ANN401
    source = source_of(block)
    if isinstance(source, Frame):
        return source
    raise TypeError("a partition must be a table in memory")


def _careful(block: Any) -> Floats:  # noqa: ANN401
    import pandas

    frame = pandas.DataFrame(block)
    columns = [pandas.to_numeric(frame.iloc[:, i], errors="coerce") for i in range(frame.shape[1])]
    numbers = [c.to_numpy(dtype=np.float64, na_value=np.nan) for c in columns]
    return np.column_stack([np.empty((len(frame), 0)), *numbers])


def frame_of(piece: Piece) -> Any:  # noqa: ANN401
    """Read a piece of a file as a data frame, with whose rows are whose in its last column."""
    import pandas

    width = len(piece.positions)
    values = np.concatenate([np.empty((0, width)), *piece.blocks()])
    frame = pandas.DataFrame(values, columns=list(map(str, range(width))))
    labels = [label for block in piece.labels() for label in block]
    frame[OWNER] = pandas.Series(labels, dtype=object)
    return frame


def _opened(
    source: Any,  # noqa: ANN401
    width: int,
    owner: str | None,
) -> tuple[Iterable[NDArray[Any]], Any]:
    if isinstance(source, Piece):
        return source.blocks(), None
    if owner is None:
        return [floats_of(source, width)], None
    return [floats_of(source.drop(columns=owner), width)], source[owner]


def _spans(rows: Lattice) -> Iterator[Lattice]:
    step = max(1, _SPAN_CELLS // rows.shape[1])
    return (rows[start : start + step] for start in range(0, len(rows), step))
