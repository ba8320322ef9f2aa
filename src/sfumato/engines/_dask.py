"""Rows on Dask: one pure task for some partitions at a time, on the worker that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from itertools import chain
from typing import Any

import dask
import numpy as np
from dask import delayed
from numpy.typing import NDArray

from sfumato._base.validation import check_whole
from sfumato._schema.schema import Schema
from sfumato.engines import _dask_worker as worker
from sfumato.engines._dask_worker import DaskTable, can_be_recomputed, table_of, table_of_pieces
from sfumato.engines._files import FileOpener
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import FileChanged, PartedRows, PartitionsMissing, pieces_of
from sfumato.engines._rows import Blocks, Fold, Partial, Picked, RowEncoder, Rows, Task
from sfumato.engines._threads import allowed_threads
from sfumato.engines.formats._table import Layout

_CRITICAL = 50

_SETTINGS = {
    # A worker that dies twice in a short time is restarted all the same.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # No dashboard: every user of the machine could open it.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # A new encrypted connection for each query would take as long as the answer.
    "distributed.scheduler.reuse-broadcast-comm": True,
    # Profiling and monitoring take a tenth of a processor.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1 s",
    "distributed.admin.system-monitor.interval": "5 s",
    "distributed.worker.memory.monitor-interval": "500 ms",
}


def current_client() -> Any:  # noqa: ANN401
    """The client that Dask itself would use, or None."""
    with suppress(ImportError, ValueError):
        from distributed import Client

        return Client.current()
    return None


@contextmanager
def connected(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start workers on this machine; close both.

    A cluster of this machine has one process of one thread for each worker. Its connections are
    encrypted, so that other users of the machine cannot query the workers.
    """
    from distributed import Client, LocalCluster

    if scheduler is not None:
        with Client(scheduler, set_as_default=False) as client:
            yield client
        return
    with (
        dask.config.set(_SETTINGS),
        LocalCluster(
            n_workers=workers or allowed_threads(),
            threads_per_worker=1,
            processes=True,
            # Reports of errors may contain values of rows.
            silence_logs=_CRITICAL,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            security=True,
            preload=["sfumato.engines._dask_worker"],
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


# Passing a task to a worker costs milliseconds: small partitions are done together, but few
# enough that a lost worker costs little and progress is visible.
_BATCH_BYTES = 2**26

# Passes with less than this per thread do without tasks of the scheduler: docs/decisions/0013.
_SHORT_BYTES = 2**27

# A task that goes to more workers than this is sent once and copied from worker to worker: as the
# result of a call, which is recomputed when it is lost.
_COPIES = 16

# Errors whose messages contain no values of rows.
_HARMLESS = (OSError, ImportError, FileChanged)

# Storage may fail for a moment.
_RETRIES = 2


class DaskEngine:
    """Partitions that Dask's workers encode once, keep, and recompute when lost.

    Each source says how its partition is computed: a delayed value, or a piece of a file. `owner`
    is the column of the labels of groups; every group lies in one partition.
    """

    def __init__(
        self,
        client: Any,  # noqa: ANN401
        sources: Sequence[Any],
        n_features: int,
        *,
        owner: str | None = None,
        max_rows_per_group: int | None = None,
    ) -> None:
        self._client = client
        self._sources = list(sources)
        self.n_parts = len(self._sources)
        self.n_features = n_features
        self._owner = owner
        self.max_rows_per_group = max_rows_per_group
        self._encoder: RowEncoder | None = None
        self._lattices: list[Any] = []
        self._workers: dict[str, int] = {}
        self._batches: list[list[int]] = []
        self._homes: list[str] = []
        self._short = False
        self._earlier: list[Any] = []

    def run(self, task: Task) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every partition, as it comes."""
        if task.encoder != self._encoder:
            self._encode(task.encoder)
            yield from self._results(self._on(task, [[part] for part in range(self.n_parts)]))
            return
        left = self._batches if self._short else self._dealt()
        if self._short and isinstance(task, Fold):
            found, left = self._asked(task)
            yield from chain.from_iterable(found)
        if left:
            yield from self._results(self._on(task, left))

    def sizes(self, most: int) -> Iterator[Partial]:
        """Count the groups of each size in every partition, which holds whole groups."""
        count = delayed(worker.sizes_in, pure=False)
        futures = self._client.compute(
            [count(part, source, self._owner, most) for part, source in enumerate(self._sources)],
            retries=_RETRIES,
        )
        for partial in self._results(futures):
            if isinstance(partial, Partial):
                yield partial

    def keeping(self, max_rows: int) -> DaskEngine:
        """The same partitions, with so many rows of each group."""
        sources, width, owner = self._sources, self.n_features, self._owner
        return DaskEngine(self._client, sources, width, owner=owner, max_rows_per_group=max_rows)

    def _encode(self, encoder: RowEncoder) -> None:
        """Let the workers encode the rows, and keep the result in place of an earlier one."""
        self._encoder = None
        self._forget_homes()
        encode = delayed(worker.encoded_partition, pure=False)
        most, owner = self.max_rows_per_group, self._owner
        self._lattices = self._client.compute(
            [encode(encoder, most, source, owner) for source in self._sources], retries=_RETRIES
        )
        self._encoder = encoder

    def _on(self, task: Task, batches: list[list[int]]) -> list[Any]:
        given = task if len(batches) <= _COPIES else self._client.submit(copy, task, pure=False)
        lattices = [[self._lattices[part] for part in batch] for batch in batches]
        futures: list[Any] = self._client.map(
            worker.run_on, [given] * len(batches), batches, lattices, pure=False, retries=_RETRIES
        )
        # Release the futures of the last pass after submitting new ones, which do not wait then.
        self._earlier = futures if isinstance(task, Fold) else []
        return futures

    def _asked(self, task: Fold) -> tuple[list[worker.Results], list[list[int]]]:
        """Run a short pass directly on the workers that hold the rows: docs/decisions/0013.

        Returns their results, and the batches of workers that are gone or hold other rows now.
        """
        asked: dict[str, list[tuple[list[int], list[Any]]]] = {}
        for batch in self._batches:
            keys = [self._lattices[part].key for part in batch]
            asked.setdefault(self._homes[batch[0]], []).append((batch, keys))
        answers: dict[str, Any] = {}
        with suppress(Exception):
            # All workers: to wait for a named one that is gone would take half a minute.
            answers = self._client.run(worker.run_here, task, asked, on_error="return")
        silent = [home for home in asked if not isinstance(answers.get(home), list)]
        left = [batch for home in silent for batch, _ in asked.pop(home)]
        if left:
            self._forget_homes()
        return [results for home in asked for results in answers[home]], left

    def _forget_homes(self) -> None:
        self._workers, self._short = {}, False

    def _dealt(self) -> list[list[int]]:
        """Group the partitions that one worker holds; again when a worker came or went."""
        workers = self._client.nthreads()
        if workers != self._workers:
            holders = self._client.who_has(self._lattices)
            keys = [lattice.key for lattice in self._lattices]
            sizes: dict[str, int] = {}
            # One may have been lost just now, which tasks will recompute.
            with suppress(KeyError):
                sizes = self._client.nbytes(keys, summary=False)
            self._homes = [next(iter(holders.get(key, ())), "") for key in keys]
            threads = max(1, sum(workers.values()))
            held = [sizes.get(key, 0) for key in keys]
            self._batches = deal(self._homes, held, threads)
            self._short = all([*self._homes, sizes]) and sum(held) <= _SHORT_BYTES * threads
            self._workers = workers if sizes else {}
        return self._batches

    def _results(self, futures: list[Any]) -> Iterator[Partial | Picked]:
        from distributed import as_completed

        try:
            for ready in as_completed(futures, loop=self._client.loop).batches():
                yield from chain.from_iterable(self._client.gather(ready))
        except BaseException as error:
            # What still runs is cancelled, and what could not be computed is tried again.
            self._encoder = None
            self._client.cancel(futures)
            if not isinstance(error, Exception):
                raise
            said = f" ({error})" if isinstance(error, _HARMLESS) else ""
            raise PartitionsMissing(
                f"a Dask worker could not count its partitions: {type(error).__name__}{said}"
            ) from None


def deal(homes: Sequence[str], sizes: Sequence[int], threads: int) -> list[list[int]]:
    """Group partitions in batches of about equal size, of one worker each.

    homes, sizes: the worker that holds each partition, and its bytes.
    """
    step = max(1, min(_BATCH_BYTES, sum(sizes) // threads))
    batches: list[list[int]] = []
    for home in dict.fromkeys(homes):
        parts = [part for part, other in enumerate(homes) if other == home]
        held = sum(sizes[part] for part in parts)
        count = min(len(parts), max(1, round(held / step)))
        batches += [batch.tolist() for batch in np.array_split(parts, count)]
    return batches


# Enough pieces that workers end at about the same time.
_PIECES_PER_THREAD = 8


def open_dask(
    data: Any,  # noqa: ANN401
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
    client: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
) -> Rows:
    """Open a Dask array or data frame, where the current client's workers are.

    data: (n, d), user's units. groups: the name of a column of a frame, or one label for each row
    of an array. The workers encode each partition at the first query and keep it, a quarter of its
    size as float64; what a lost worker held is recomputed. Data that cannot be recomputed, because
    it was sent out by `Client.scatter`, is refused. Without a client the rows are read once, by
    Dask's scheduler in this process, and kept here. A `schema` is as in `rows_of`.
    """
    table = table_of(data, groups, schema)
    most = check_whole(max_rows_per_group, "max_rows_per_group")
    return _opened(data, [table], most, client)[0]


def dask_parts(
    data: Any,  # noqa: ANN401
    column: Any,  # noqa: ANN401
    keys: Iterable[str],
    schema: Schema | None = None,
) -> list[Rows]:
    """Open a collection once for each key: the rows whose label has it.

    column: the name of a column of a frame, or one label for each row of an array.
    """
    table = table_of(data, column, schema)
    return _opened(data, [table.part(key) for key in keys])


def _opened(
    data: Any,  # noqa: ANN401
    tables: Sequence[DaskTable],
    most: int = 1,
    client: Any = None,  # noqa: ANN401
) -> list[Rows]:
    """Open tables that were made of one collection."""
    client = client or current_client()
    if client is None:
        return [_here(table, most) for table in tables]
    if not can_be_recomputed(client, data):
        raise ValueError(
            "this Dask collection holds data that was scattered from a client, or lost: if a "
            "worker fails it cannot be recomputed; read it on the workers, from Parquet for "
            "example, or put it into the graph (dask.array.from_array)"
        )
    return [_on(client, table, most) for table in tables]


@FileOpener
def open_dask_files(
    layout: Layout, most: int, workers: int | None, scheduler: str | None
) -> Iterator[Rows]:
    """Open files for workers that read them themselves; what is started here ends with the block.

    Without the address of a `scheduler`, `workers` processes are started on this machine, one for
    each processor if no number is given. Paths and columns are as for `open_file`; the workers
    must find the files under the same paths. Each piece of a file is encoded once.
    """
    with connected(workers, scheduler) as client:
        yield files_on(client, layout, most)


def files_on(client: Any, layout: Layout, most: int = 1) -> Rows:  # noqa: ANN401
    """Open files on the workers of a client."""
    width = layout.n_features
    threads = max(1, sum(client.nthreads().values()))
    pieces = pieces_of(layout, at_least=_PIECES_PER_THREAD * threads)
    if layout.owner is None:
        return PartedRows(DaskEngine(client, pieces, width))
    return _on(client, table_of_pieces(pieces, width), most)


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
        owner = features[table.owner]
        labels = owner.map_partitions(worker.keys_in, meta=(owner.name, "object")).compute()
        features = features.drop(columns=table.owner)
    parts = DaskTable(features, table.n_features).parts()
    together = allowed_threads()

    def blocks() -> Iterator[NDArray[Any]]:
        for start in range(0, len(parts), together):
            for block in dask.compute(*parts[start : start + together]):
                yield worker.floats_of(block, table.n_features)

    source = Blocks(blocks, table.n_features, None if labels is None else len(labels))
    return ArrayRows(source, groups=labels, max_rows_per_group=most)
