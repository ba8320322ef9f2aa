"""Files on PyCOMPSs: one task for each piece, sums merged in a tree. Experimental.

COMPSs itself starts the program and its workers (`runcompss`); this adapter only calls tasks and
waits for what they return. What was run and what was not: docs/scaling.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import count
from typing import Any

from pycompss.api.api import compss_delete_object, compss_wait_on
from pycompss.api.task import task

from sfumato._base.types import Mask
from sfumato.engines._files import FileEngine, FileOpener
from sfumato.engines._partitions import PartedRows, Piece
from sfumato.engines._rows import Fold, Partial, Picked, Rows, Task, merge
from sfumato.engines.formats._table import Layout

# Partial sums that one task adds up, and that this process waits for.
_ARITY = 8


@task(returns=1)  # type: ignore[misc, untyped-decorator, unused-ignore]
def run_over(query: Task, part: int, piece: Piece, chosen: Mask | None) -> Any:  # noqa: ANN401
    """Read a piece of a file and run a task on it. Runs on a worker."""
    return query.over(part, piece.blocks(), chosen=chosen)


@task(returns=1)  # type: ignore[misc, untyped-decorator, unused-ignore]
def add_up(*partials: Partial) -> Any:  # noqa: ANN401
    """Add the sums over disjoint sets of pieces. Runs on a worker."""
    return reduce(merge, partials)


class CompssEngine(FileEngine):
    """Pieces of files, read again in every pass by the workers of COMPSs.

    With groups, this process reads the rows once for every box, to decide which of them count.
    """

    def run(self, task: Task) -> Iterator[Partial | Picked]:
        """Yield what the task returns: rows piece by piece, sums when they are merged."""
        masks = self._masks(task.encoder)
        futures = [run_over(task, *each) for each in zip(count(), self._pieces, masks)]
        called = list(futures)
        while isinstance(task, Fold) and len(futures) > _ARITY:
            steps = range(0, len(futures), _ARITY)
            futures = [add_up(*futures[i : i + _ARITY]) for i in steps]
            called += futures
        for future in futures:
            yield compss_wait_on(future)
        for future in called:
            compss_delete_object(future)


@FileOpener
def open_compss_files(
    layout: Layout, most: int, workers: int | None, scheduler: str | None
) -> Iterator[Rows]:
    """Open files for the workers of COMPSs, which must find them under the same paths.

    Paths and columns are as for `open_file`. How many workers there are, and where, is set when
    the program is started: `runcompss … program.py`.
    """
    if workers is not None or scheduler is not None:
        raise ValueError(
            "COMPSs learns its workers when it starts the program (runcompss): name no workers "
            "and no scheduler here"
        )
    yield PartedRows(CompssEngine(layout, most))
