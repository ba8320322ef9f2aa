"""One pure task for every partition, wherever Spark's executors hold it."""

from __future__ import annotations

import re
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import Any

from pyspark import StorageLevel, inheritable_thread_target

from sfumato.box import Box
from sfumato.engines.base import Scale
from sfumato.engines.parts import PartitionsMissing
from sfumato.engines.spark_progress import followed
from sfumato.engines.spark_tasks import (
    LATTICE,
    NUMBERS,
    SENT,
    OnBatches,
    Source,
    adding,
    received,
    running,
    snapping,
)
from sfumato.engines.tasks import Fold, Partial, Pick, Picked

_SYSTEM = ("FileNotFoundError", "PermissionError", "ImportError", "ModuleNotFoundError")

# What the driver receives in one pass. States that are larger together are added up on the way.
_RECEIVED_BYTES = 2**24


class SparkEngine:
    """Partitions that Spark puts on the lattice once, keeps, and makes again when lost.

    Spark may cut a frame differently each time it is read, for example when an executor has come
    or gone. So the lattice is dealt out to `n_parts` partitions, a number that is fixed here;
    unless `fixed` says that the frame has exactly those whenever it is read.
    """

    def __init__(
        self,
        frame: Any,  # noqa: ANN401
        source: Source,
        n_parts: int,
        *,
        fixed: bool = False,
        max_rows_per_group: int | None = None,
        keep: bool = True,
    ) -> None:
        self._frame = frame
        self._source = source
        self._n_parts = n_parts
        self._fixed = fixed
        self._most = max_rows_per_group
        self._keep = keep
        self._box: Box | None = None
        self._kept: list[Any] = []
        weakref.finalize(self, _forget, self._kept).atexit = False

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._source.n_features

    @property
    def n_parts(self) -> int:
        """Number of partitions."""
        return self._n_parts

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""
        return self._most

    def run(self, task: Fold | Pick) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every partition, when all are done."""
        lattice, stages = self._lattice(task.scale if isinstance(task, Fold) else task.box)
        sent = mapped(lattice, running(task, self.n_features), SENT)
        if isinstance(task, Fold):
            size = task.kernel.empty().size
            if 8 * size * self._n_parts > _RECEIVED_BYTES:
                places = min(self._n_parts, -(-size // NUMBERS))
                sent = mapped(sent.repartitionById(places, sent.place % places), adding(), SENT)
                stages += 1
        with followed(sent.sparkSession, stages):
            table = collected(sent)
        return received(task, table.to_batches())

    def close(self) -> None:
        """Let go of the lattice that the executors keep."""
        self._box = None
        _let_go(self._kept)

    def _lattice(self, scale: Scale) -> tuple[Any, int]:
        """The rows on a scale, and in how many stages Spark asks something of them."""
        if self._box is not None and scale == self._box:
            return self._kept[0], 1
        snap = snapping(self._source, scale, self._most, self._n_parts)
        lattice = mapped(self._frame, snap, LATTICE)
        if not self._fixed:
            lattice = lattice.repartitionById(self._n_parts, "part")
        # A ruler is laid on the rows once.
        if self._keep and isinstance(scale, Box):
            self.close()
            self._kept.append(lattice.persist(StorageLevel.MEMORY_AND_DISK))
            self._box = scale
        return lattice, 1 if self._fixed else 2


def mapped(frame: Any, work: OnBatches, schema: str) -> Any:  # noqa: ANN401
    """Let Spark call `work` on the batches of every partition."""
    with warnings.catch_warnings():
        # Spark speaks of pandas here, which Arrow batches do without.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return frame.mapInArrow(work, schema)


def collected(frame: Any) -> Any:  # noqa: ANN401
    """Bring a small table here."""
    collect = inheritable_thread_target(frame.sparkSession)(frame.toArrow)
    try:
        # In a thread of its own: at an interrupt Spark cancels its jobs from the main thread, which
        # must not be talking to Spark meanwhile.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(collect).result()
    except Exception as error:
        raise PartitionsMissing(
            f"Spark could not count all partitions: {_reason(error)}; nothing is released, and "
            "what was charged stays charged"
        ) from None


def _reason(error: Exception) -> str:
    """What went wrong. What a worker says may hold values of rows, unless the system said it."""
    said = re.findall(r"^(?:[\w.]+\.)?(\w+Error)(: .*)?$", str(error), re.MULTILINE)
    if not said:
        return type(error).__name__
    name, words = said[-1]
    return f"{name}{words}" if name in _SYSTEM else str(name)


def _forget(kept: list[Any]) -> None:
    """Let go of what nobody can ask about any more."""
    # In a thread of its own: the garbage collector may call while this one is talking to Spark.
    if kept:
        Thread(target=_let_go, args=(kept,), daemon=True).start()


def _let_go(kept: list[Any]) -> None:
    while kept:
        try:
            kept.pop().unpersist()
        # The session may have ended, and what it kept with it.
        except Exception:
            continue
