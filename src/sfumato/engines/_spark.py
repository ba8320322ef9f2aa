"""Rows on Spark: data frames through Arrow, and files that the executors read themselves."""

from __future__ import annotations

import os
import re
import sys
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel, inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession, functions, types

from sfumato._base.validation import NoFeature, check_whole
from sfumato._lattice.box import Box
from sfumato._schema.schema import Schema
from sfumato._schema.types import Declared, Family, check_types, no_numbers
from sfumato.engines import _spark_worker as worker
from sfumato.engines._cells import places_of
from sfumato.engines._files import FileOpener
from sfumato.engines._memory import check_width
from sfumato.engines._partitions import PartedRows, PartitionsMissing, Piece, pieces_of
from sfumato.engines._progress import Pass, latest
from sfumato.engines._rows import Fold, Partial, Picked, RowEncoder, Rows, Task
from sfumato.engines._threads import allowed_threads
from sfumato.engines.formats._table import Layout

# Seconds between two queries of Spark's progress.
_PAUSE = 0.2


@contextmanager
def followed(session: SparkSession, stages: int) -> Iterator[None]:
    """Report the tasks of Spark's next stages, so many, as progress of the pass that has begun.

    Does nothing if the pass is not watched. Spark Connect does not report tasks.
    """
    watched = latest()
    if watched is None:
        yield
        return
    ready, over = Event(), Event()
    follow = inheritable_thread_target(session)(_follow)
    Thread(target=follow, args=(session, stages, watched, ready, over), daemon=True).start()
    ready.wait()
    try:
        yield
    finally:
        over.set()


def _follow(session: SparkSession, stages: int, watched: Pass, ready: Event, over: Event) -> None:
    # Progress must not raise: the session may end meanwhile.
    with suppress(Exception):
        try:
            tracker = session.sparkContext.statusTracker()
            earlier = set(tracker.getActiveStageIds())
        finally:
            ready.set()
        ours: set[int] = set()
        while not over.wait(_PAUSE):
            ours |= set(tracker.getActiveStageIds()) - earlier
            known = filter(None, map(tracker.getStageInfo, ours))
            watched.reach(sum(s.numCompletedTasks / max(1, s.numTasks) for s in known) / stages)


# Errors whose messages contain no values of rows.
_SYSTEM = ("FileNotFoundError", "PermissionError", "ImportError", "ModuleNotFoundError")

# The most bytes that the driver receives in one pass. Larger states are added up by executors.
_RECEIVED_BYTES = 2**24


class SparkEngine:
    """Partitions that Spark encodes once, keeps, and recomputes when lost.

    Spark may partition a frame differently each time it is read, for example when an executor has
    come or gone. So encoded rows are repartitioned to `n_parts` partitions, a number that is fixed
    here; unless the frame holds the numbers of `pieces` of files, one in each partition.
    """

    def __init__(
        self,
        frame: DataFrame,
        n_features: int,
        n_parts: int,
        *,
        pieces: Sequence[Piece] | None = None,
        max_rows_per_group: int | None = None,
        keep: bool = True,
    ) -> None:
        self._frame = frame
        self.n_features = n_features
        self.n_parts = n_parts
        self._pieces = pieces
        self.max_rows_per_group = max_rows_per_group
        self._keep = keep
        self._box: Box | None = None
        self._kept: list[DataFrame] = []
        weakref.finalize(self, _forget, self._kept).atexit = False

    def run(self, task: Task) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every partition, when all are done."""
        lattice, stages = self._lattice(task.encoder)
        sent = mapped(lattice, partial(worker.run_task, task=task), worker.SENT)
        if isinstance(task, Fold):
            size = task.kernel.empty().size
            if 8 * size * self.n_parts > _RECEIVED_BYTES:
                places = min(self.n_parts, -(-size // worker.NUMBERS))
                moved = sent.repartitionById(places, sent.place % places)
                sent = mapped(moved, worker.add, worker.SENT)
                stages += 1
        with followed(sent.sparkSession, stages):
            table = collected(sent)
        return worker.received(task, table.to_batches())

    def sizes(self, most: int) -> Iterator[Partial]:
        """Count the groups of each size by Spark's own aggregates, over all partitions at once."""
        rows = self._frame.groupBy(f"c{self.n_features}").count()
        size = functions.least(rows["count"], functions.lit(most)).alias("size")
        table = collected(rows.groupBy(size).agg(functions.count(functions.lit(1)).alias("groups")))
        found = np.zeros(most, dtype=np.int64)
        found[table["size"].to_numpy() - 1] = table["groups"].to_numpy()
        yield Partial(tuple(range(self.n_parts)), found)

    def keeping(self, max_rows: int) -> SparkEngine:
        """The same partitions, with so many rows of each group."""
        shape = (self._frame, self.n_features, self.n_parts)
        return SparkEngine(*shape, max_rows_per_group=max_rows, keep=self._keep)

    def close(self) -> None:
        """Unpersist the encoded rows that the executors keep."""
        self._box = None
        _unpersist(self._kept)

    def _lattice(self, encoder: RowEncoder) -> tuple[DataFrame, int]:
        """The encoded rows, and in how many stages Spark computes a task on them."""
        if self._box is not None and encoder == self._box:
            return self._kept[0], 1
        most, n_parts, pieces = self.max_rows_per_group, self.n_parts, self._pieces
        work = partial(worker.encode, encoder=encoder, most=most, n_parts=n_parts, pieces=pieces)
        lattice = mapped(self._frame, work, worker.LATTICE)
        if pieces is None:
            lattice = lattice.repartitionById(self.n_parts, "part")
        # Encodings of histograms are not cached.
        if self._keep and isinstance(encoder, Box):
            self.close()
            self._kept.append(lattice.persist(StorageLevel.MEMORY_AND_DISK))
            self._box = encoder
        return lattice, 2 if pieces is None else 1


def mapped(frame: DataFrame, work: worker.OnBatches, schema: str) -> DataFrame:
    """Let Spark call `work` on the batches of every partition."""
    with warnings.catch_warnings():
        # Arrow batches do not need pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return frame.mapInArrow(work, schema)


def collected(frame: DataFrame) -> pa.Table:
    """Collect a small table on the driver."""
    collect = inheritable_thread_target(frame.sparkSession)(frame.toArrow)
    try:
        # In a thread of its own: at an interrupt Spark cancels its jobs from the main thread, whose
        # connection to Spark must be free.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(collect).result()
    except Exception as error:
        raise PartitionsMissing(f"Spark could not count all partitions: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What went wrong. Messages of workers may contain values of rows: only some are shown."""
    said = re.findall(r"^(?:[\w.]+\.)?(\w+Error)(: .*)?$", str(error), re.MULTILINE)
    if not said:
        return type(error).__name__
    name, words = said[-1]
    return f"{name}{words}" if name in _SYSTEM else str(name)


def _forget(kept: list[DataFrame]) -> None:
    """Unpersist the rows of an engine that has been garbage collected."""
    # In a thread of its own: the connection of this one to Spark may be in use.
    if kept:
        Thread(target=_unpersist, args=(kept,), daemon=True).start()


def _unpersist(kept: list[DataFrame]) -> None:
    while kept:
        # The session may have ended.
        with suppress(Exception):
            kept.pop().unpersist()


# No logs: reports of errors may contain values of rows. No dashboard.
_QUIET = {
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def session(workers: int | None = None, scheduler: str | None = None) -> Iterator[SparkSession]:
    """Use the active session, or start one on a master or on this machine and end it.

    Executors run the Python that PYSPARK_PYTHON names; by default one at the path of this one.
    """
    if scheduler is not None and not scheduler.startswith(("spark://", "local")):
        raise ValueError(f"a Spark master has an address like spark://host:7077, got {scheduler!r}")
    active = SparkSession.getActiveSession()
    if active is not None:
        if workers is not None or scheduler is not None:
            raise ValueError("a Spark session is active: stop it, or name no workers or scheduler")
        yield active
        return
    spark = _started(scheduler or f"local[{workers or allowed_threads()}]")
    try:
        yield spark
    finally:
        spark.stop()


def _started(master: str) -> SparkSession:
    settings: dict[str, Any] = {**_QUIET, **(_HERE if master.startswith("local") else {})}
    builder = SparkSession.builder.master(master).appName("sfumato").config(map=settings)
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = before or sys.executable
    try:
        return builder.getOrCreate()
    finally:
        if before is None:
            del os.environ["PYSPARK_PYTHON"]


_PIECES_PER_CORE = 2

_NUMBERS = (types.NumericType, types.BooleanType)
_OTHER: Family = "other"
_FAMILIES: dict[Any, Family] = {
    types.BooleanType: "bool",
    types.NumericType: "number",
    types.StringType: "text",
    types.BinaryType: "text",
    types.DatetimeType: "time",
    types.NullType: "any",
}
_LABELS = (*_NUMBERS, types.StringType, types.BinaryType, types.DatetimeType)


def open_spark(
    frame: DataFrame,
    groups: str | None = None,
    max_rows_per_group: int = 1,
    *,
    keep: bool = True,
    schema: Schema | None = None,
) -> Rows:
    """Open a Spark data frame of numbers; `groups` names the column of the labels of groups.

    frame: (n, d), user's units. Executors encode each partition at the first query and, with
    `keep`, hold it in their storage, a quarter of its size as doubles; what a lost one held is
    recomputed. Without `keep` the frame is read again in every pass. The frame must give the same
    rows whenever it is read: one made with `rand()`, a sample, `uuid()` or a `limit` without an
    order need not, and a row that moves when lost partitions are recomputed could count twice.
    Write such a frame out. A `schema` is as in `rows_of`: executors encode its columns.
    """
    table = _columns(frame, groups, schema)
    width = len(table.columns) - (groups is not None)
    most = check_whole(max_rows_per_group, "max_rows_per_group")
    parts = _partitions(table)
    if groups is None:
        return PartedRows(SparkEngine(table, width, parts, keep=keep))
    with_keys = partial(worker.with_keys, width=width)
    return PartedRows(_gathered(table, with_keys, width, parts, most, keep=keep))


def spark_parts(
    frame: DataFrame, column: str, keys: Iterable[str], schema: Schema | None = None
) -> list[Rows]:
    """Open a data frame once for each key: the rows whose label, in a column, has it."""
    table = _columns(frame, column, schema)
    width, parts = len(table.columns) - 1, _partitions(table)
    doubles = ", ".join(f"c{i} double" for i in range(width))
    inside = [mapped(table, partial(worker.only_part, width=width, key=k), doubles) for k in keys]
    return [PartedRows(SparkEngine(rows, width, parts)) for rows in inside]


def _partitions(table: DataFrame) -> int:
    marks = collected(mapped(table.select(functions.lit(0)), worker.mark, worker.MARK))
    return max(1, int(marks.num_rows))


@FileOpener
def open_spark_files(
    layout: Layout, most: int, workers: int | None, scheduler: str | None
) -> Iterator[Rows]:
    """Open files for executors that read them themselves; what is started here ends with the block.

    `scheduler` is the address of a Spark master (spark://host:7077); without it `workers` tasks
    run at a time on this machine. A session that is active already is used, and stays. Paths and
    columns are as for `open_file`; the executors must find the files under the same paths.
    """
    with session(workers, scheduler) as spark:
        engine = _files(spark, layout, most)
        try:
            yield PartedRows(engine)
        finally:
            engine.close()


def _files(spark: SparkSession, layout: Layout, most: int) -> SparkEngine:
    width = layout.n_features
    cores = spark.sparkContext.defaultParallelism
    pieces = pieces_of(layout, at_least=_PIECES_PER_CORE * cores)
    n_parts = len(pieces)
    numbers = spark.range(0, n_parts, 1, n_parts)
    if layout.owner is None:
        return SparkEngine(numbers, width, n_parts, pieces=pieces)
    with_keys = partial(worker.read_keyed, pieces=pieces)
    return _gathered(numbers, with_keys, width, n_parts, most, keep=True)


def _gathered(
    frame: DataFrame, with_keys: worker.OnBatches, width: int, parts: int, most: int, *, keep: bool
) -> SparkEngine:
    """Gather all rows of a group, by the key of its label, in one partition."""
    schema = ", ".join([*(f"c{i} double" for i in range(width)), f"c{width} string"])
    gathered = mapped(frame, with_keys, schema).repartition(parts, f"c{width}")
    return SparkEngine(gathered, width, parts, max_rows_per_group=most, keep=keep)


def _columns(frame: DataFrame, groups: str | None, schema: Schema | None = None) -> DataFrame:
    """The features as doubles, then the labels of groups, checked by their types alone."""
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(f"a Spark {type(frame).__name__} was passed; pass a DataFrame")
    if frame.isStreaming:
        raise ValueError("a streaming data frame has no end: write it out and read that")
    names = [field.name for field in frame.schema]
    if groups is not None and (not isinstance(groups, str) or names.count(groups) != 1):
        raise ValueError(
            f"labels of a Spark data frame must name one of its columns, which are {names}"
        )
    plain = frame.toDF(*(f"c{i}" for i in range(len(names))))
    owner = None if groups is None else names.index(groups)
    places = [i for i in range(len(names)) if i != owner]
    if schema is not None:
        places = places_of(names, schema)
    _check([frame.schema[i] for i in places], schema)
    features = [plain[f"c{i}"] for i in places]
    if schema is None:
        features = [column.cast("double") for column in features]
    chosen = [column.alias(f"c{n}") for n, column in enumerate(features)]
    if owner is not None:
        label = frame.schema[owner]
        if not isinstance(label.dataType, _LABELS):
            kind = label.dataType.simpleString()
            raise TypeError(f"column {label.name} ({kind}) cannot hold labels of rows")
        chosen.append(plain[f"c{owner}"].alias(f"c{len(places)}"))
    return _encoded(plain.select(*chosen), schema)


def _encoded(table: DataFrame, schema: Schema | None) -> DataFrame:
    """The points of a schema's features, encoded by the executors, and the labels if there are."""
    if schema is None:
        return table
    others = list(table.schema)[len(schema.inputs) :]
    kinds = ["double"] * schema.width + [field.dataType.simpleString() for field in others]
    names = ", ".join(f"c{i} {kind}" for i, kind in enumerate(kinds))
    return mapped(table, partial(worker.points, schema=schema), names)


def _declared(field: types.StructField) -> Declared:
    kind = field.dataType
    family = next((family for of, family in _FAMILIES.items() if isinstance(kind, of)), _OTHER)
    return Declared(field.name, family, kind.simpleString())


def _check(fields: list[types.StructField], schema: Schema | None) -> None:
    if schema is not None:
        check_types(schema, list(map(_declared, fields)))
        return
    if not fields:
        raise ValueError("the data frame has no column to cluster; at least one is needed")
    check_width(len(fields))
    wrong = [field for field in fields if not isinstance(field.dataType, _NUMBERS)]
    if wrong:
        raise NoFeature(no_numbers(list(map(_declared, wrong))))
