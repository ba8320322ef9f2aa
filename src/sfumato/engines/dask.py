"""Rows on Dask: arrays, data frames and files, on a cluster's workers or in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import dask
from numpy.typing import NDArray

from sfumato.engines.array import ArrayRows, check_whole
from sfumato.engines.base import Rows
from sfumato.engines.dask_cluster import connected, current_client
from sfumato.engines.dask_engine import DaskEngine
from sfumato.engines.dask_tables import (
    DaskTable,
    can_be_made_again,
    frame_of_pieces,
    table_of,
)
from sfumato.engines.dask_tasks import OWNER, floats_of
from sfumato.engines.delimited import Header
from sfumato.engines.files import TableFile, layout_of
from sfumato.engines.parts import PartedRows
from sfumato.engines.pieces import pieces_of
from sfumato.engines.sources import Blocks
from sfumato.engines.storage import Paths
from sfumato.engines.tables import Column, Layout
from sfumato.engines.working import allowed_threads

# Enough pieces that workers end at about the same time; none that is not worth passing on.
_PIECES_PER_THREAD = 8
_LEAST_CELLS = 2**16
_MOST_CELLS = 2**22


def open_dask(
    data: Any,  # noqa: ANN401
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
    client: Any = None,  # noqa: ANN401
) -> Rows:
    """Open a Dask array or data frame, where the current client's workers are.

    The workers put each partition on the lattice at the first question and keep it there, a
    quarter of its size as float64; what a lost worker held is made again. Data for which there is
    no recipe, because it was sent out by `Client.scatter`, is refused. Without a client the rows
    are read once, by Dask's scheduler in this process, and kept here.

    `groups` is the name of a column of a frame, or holds one label for each row of an array.
    """
    table, most = table_of(data, groups), check_whole(max_rows_per_group, "max_rows_per_group")
    client = client or current_client()
    if client is None:
        return _here(table, most)
    if not can_be_made_again(client, data):
        raise ValueError(
            "this Dask collection holds data that was scattered from a client, or lost: if a "
            "worker fails nobody can make it again; read it on the workers, from Parquet for "
            "example, or let the recipe hold it (dask.array.from_array)"
        )
    return _on(client, table, most)


@contextmanager
def open_dask_files(
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
    """Open files for workers that read them themselves; what is started here ends with the block.

    Without the address of a `scheduler`, `workers` processes are started on this machine, one for
    each processor if no number is given. Paths and columns are as for `open_file`; the workers
    must find the files under the same paths. Each piece of a file is put on the lattice once.
    """
    layout = layout_of(paths, columns=columns, groups=groups, header=header, sep=sep)
    most = check_whole(max_rows_per_group, "max_rows_per_group")
    with connected(workers, scheduler) as client:
        yield files_on(client, layout, most)


def files_on(client: Any, layout: Layout, most: int = 1) -> Rows:  # noqa: ANN401
    """Open files on the workers of a client."""
    width = len(layout.positions)
    threads = max(1, sum(client.nthreads().values()))
    cells = layout.table.about_rows() * width // (_PIECES_PER_THREAD * threads)
    pieces = pieces_of(layout, min(max(cells, _LEAST_CELLS), _MOST_CELLS))
    if layout.owner is None:
        return PartedRows(DaskEngine(client, pieces, width))
    return _on(client, DaskTable(frame_of_pieces(pieces, width), width, OWNER), most)


def _on(client: Any, table: DaskTable, most: int) -> Rows:  # noqa: ANN401
    parts = table.gathered().parts()
    grouped = None if table.owner is None else most
    engine = DaskEngine(
        client, parts, table.n_features, owner=table.owner, max_rows_per_group=grouped
    )
    return PartedRows(engine)


def _here(table: DaskTable, most: int) -> Rows:
    features, labels = table.data, None
    if table.owner is not None:
        labels = table.keys()
        features = features.drop(columns=table.owner)
    parts = DaskTable(features, table.n_features).parts()
    together = allowed_threads()

    def blocks() -> Iterator[NDArray[Any]]:
        for start in range(0, len(parts), together):
            for block in dask.compute(*parts[start : start + together]):
                yield floats_of(block, table.n_features)

    source = Blocks(blocks, table.n_features, None if labels is None else len(labels))
    return ArrayRows(source, groups=labels, max_rows_per_group=most)
