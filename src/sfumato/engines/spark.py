"""Rows on Spark: data frames through Arrow, and files that the executors read themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from pyspark.sql import functions, types

from sfumato.engines.base import Rows
from sfumato.engines.delimited import Header
from sfumato.engines.files import TableFile, layout_of
from sfumato.engines.kernels import MAX_FEATURES
from sfumato.engines.parts import PartedRows
from sfumato.engines.pieces import pieces_of
from sfumato.engines.spark_engine import SparkEngine, collected, mapped
from sfumato.engines.spark_session import session
from sfumato.engines.spark_tasks import MARK, Columns, Pieces, keying, marking, reading
from sfumato.engines.storage import Paths
from sfumato.engines.tables import Column, Layout

_PIECES_PER_CORE = 2
_LEAST_CELLS = 2**16
_MOST_CELLS = 2**22

_NUMBERS = (types.NumericType, types.BooleanType)
_LABELS = (
    types.NumericType,
    types.BooleanType,
    types.StringType,
    types.BinaryType,
    types.DatetimeType,
)


def open_spark(
    frame: Any,  # noqa: ANN401
    groups: str | None = None,
    max_rows_per_group: int = 1,
    *,
    keep: bool = True,
) -> Rows:
    """Open a Spark data frame of numbers; `groups` names the column that says whose rows are whose.

    Executors put each partition on the lattice at the first question and, with `keep`, hold it in
    their storage, a quarter of its size as doubles; what a lost one held is made again. Without
    `keep` the frame is read again in every pass. The frame must give the same rows whenever it is
    read: one made with `rand()`, a sample, `uuid()` or a `limit` without an order need not, and a
    row that moves when lost partitions are made again could count twice. Write such a frame out.
    """
    table = _columns(frame, groups)
    width = len(table.columns) - (groups is not None)
    parts = collected(mapped(table.select(functions.lit(0)), marking(), MARK)).num_rows
    if groups is not None:
        table = mapped(table, keying(width), _keyed(width))
    return PartedRows(_engine(table, width, max(1, parts), groups, max_rows_per_group, keep=keep))


@contextmanager
def open_spark_files(
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
    """Open files for executors that read them themselves; what is started here ends with the block.

    `scheduler` is the address of a Spark master (spark://host:7077); without it `workers` tasks
    run at a time on this machine. A session that is active already is used, and stays. Paths and
    columns are as for `open_file`; the executors must find the files under the same paths.
    """
    layout = layout_of(paths, columns=columns, groups=groups, header=header, sep=sep)
    with session(workers, scheduler) as spark:
        engine = _files(spark, layout, max_rows_per_group)
        try:
            yield PartedRows(engine)
        finally:
            engine.close()


def _files(spark: Any, layout: Layout, most: int) -> SparkEngine:  # noqa: ANN401
    width = len(layout.positions)
    cores = spark.sparkContext.defaultParallelism
    cells = layout.table.about_rows() * width // (_PIECES_PER_CORE * cores)
    pieces = Pieces(tuple(pieces_of(layout, min(max(cells, _LEAST_CELLS), _MOST_CELLS))))
    n_parts = len(pieces.pieces)
    numbers = spark.range(0, n_parts, 1, n_parts)
    if layout.owner is None:
        return SparkEngine(numbers, pieces, n_parts, fixed=True)
    table = mapped(numbers, reading(pieces), _keyed(width))
    return _engine(table, width, n_parts, "owner", most)


def _keyed(width: int) -> str:
    """The schema of features with the keys of their labels behind them."""
    return ", ".join([*(f"c{i} double" for i in range(width)), f"c{width} string"])


def _engine(
    table: Any,  # noqa: ANN401
    width: int,
    n_parts: int,
    groups: str | None,
    most: int,
    *,
    keep: bool = True,
) -> SparkEngine:
    if groups is None:
        return SparkEngine(table, Columns(width), n_parts, keep=keep)
    if not isinstance(most, Integral) or isinstance(most, bool) or most < 1:
        raise ValueError(f"max_rows_per_group must be a whole number from 1 on, got {most!r}")
    gathered = table.repartition(n_parts, table.columns[-1])
    source = Columns(width, owned=True)
    return SparkEngine(gathered, source, n_parts, max_rows_per_group=most, keep=keep)


def _columns(frame: Any, groups: str | None) -> Any:  # noqa: ANN401
    """The features as doubles and the owner behind them, checked by the schema alone."""
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(f"a Spark {type(frame).__name__} was passed; pass a DataFrame")
    if frame.isStreaming:
        raise ValueError("a streaming data frame has no end: write it out and read that")
    names = [field.name for field in frame.schema]
    if groups is not None and (not isinstance(groups, str) or names.count(groups) != 1):
        raise ValueError(
            f"groups of a Spark data frame must name one of its columns, which are {names}"
        )
    plain = frame.toDF(*(f"c{i}" for i in range(len(names))))
    owner = None if groups is None else names.index(groups)
    places = [i for i in range(len(names)) if i != owner]
    _check([frame.schema[i] for i in places])
    chosen = [plain[f"c{i}"].cast("double").alias(f"c{n}") for n, i in enumerate(places)]
    if owner is not None:
        _check_label(frame.schema[owner])
        chosen.append(plain[f"c{owner}"].alias(f"c{len(places)}"))
    return plain.select(*chosen)


def _check(fields: list[Any]) -> None:
    if not fields:
        raise ValueError("the data frame has no column to cluster; at least one is needed")
    if len(fields) > MAX_FEATURES:
        raise ValueError(
            f"the data has {len(fields)} columns; at most {MAX_FEATURES} keep sums exact"
        )
    wrong = [field for field in fields if not isinstance(field.dataType, _NUMBERS)]
    if wrong:
        listing = ", ".join(f"{f.name} ({f.dataType.simpleString()})" for f in wrong[:30])
        raise TypeError(f"columns must hold numbers; these do not: {listing}")


def _check_label(field: Any) -> None:  # noqa: ANN401
    if not isinstance(field.dataType, _LABELS):
        kind = field.dataType.simpleString()
        raise TypeError(f"column {field.name} ({kind}) cannot say whose rows are whose")
