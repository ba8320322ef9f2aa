"""Files on PyCOMPSs: one task for each piece, sums merged in a tree. Experimental.

COMPSs itself starts the program and its workers (`runcompss`); this adapter only calls tasks and
waits for what they return. What was run and what was not: docs/scaling.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from pycompss.api.api import compss_delete_object, compss_wait_on
from pycompss.api.task import task

from sfumato._base.types import Mask
from sfumato.engines._file_engine import FileEngine
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines._partitions import PartedRows, Piece
from sfumato.engines._rows import Fold, Partial, Pick, Picked, Rows, merge
from sfumato.engines.formats._csv import Header
from sfumato.engines.formats._storage import Paths
from sfumato.engines.formats._table import Column

# Partial sums that one task adds up, and that this process waits for.
_ARITY = 8


@task(returns=1)  # type: ignore[misc, untyped-decorator, unused-ignore]
def run_over(query: Fold | Pick, part: int, piece: Piece, chosen: Mask | None) -> Any:  # noqa: ANN401
    """Read a piece of a file and run a query on it. Runs on a worker."""
    return query.over(part, piece.blocks(), chosen=chosen)


@task(returns=1)  # type: ignore[misc, untyped-decorator, unused-ignore]
def add_up(*partials: Partial) -> Any:  # noqa: ANN401
    """Add the sums over disjoint sets of pieces. Runs on a worker."""
    return reduce(merge, partials)


class CompssEngine(FileEngine):
    """Pieces of files, read again in every pass by the workers of COMPSs.

    With groups, this process reads the rows once for every box, to settle which of them count.
    """

    def run(self, task: Fold | Pick) -> Iterator[Partial | Picked]:
        """Yield what the task returns: rows piece by piece, sums when they are merged."""
        chosen = self._choose(task.scale if isinstance(task, Fold) else task.box)
        masks = [None] * self.n_parts if chosen is None else chosen
        futures = [
            run_over(task, part, piece, mask)
            for part, (piece, mask) in enumerate(zip(self._pieces, masks, strict=True))
        ]
        called = list(futures)
        while isinstance(task, Fold) and len(futures) > _ARITY:
            steps = range(0, len(futures), _ARITY)
            futures = [add_up(*futures[i : i + _ARITY]) for i in steps]
            called += futures
        for future in futures:
            yield compss_wait_on(future)
        for future in called:
            compss_delete_object(future)


@contextmanager
def open_compss_files(
    paths: Paths | TableFile,
    *,
    columns: Iterable[Column] | int | None = None,
    groups: Column | None = None,
    max_rows_per_group: int = 1,
    workers: int | None = None,
    scheduler: str | None = None,
    header: Header = None,
    sep: str | None = None,
) -> Iterator[Rows]:
    """Open files for the workers of COMPSs, which must find them under the same paths.

    Paths and columns are as for `open_file`. How many workers there are, and where, is said when
    the program is started: `runcompss … program.py`.
    """
    if workers is not None or scheduler is not None:
        raise ValueError(
            "COMPSs is told its workers when it starts the program (runcompss): name no workers "
            "and no scheduler here"
        )
    layout = layout_of(paths, columns=columns, groups=groups, header=header, sep=sep)
    yield PartedRows(CompssEngine.of(layout, max_rows_per_group))
