"""An engine in a process of its own, which fits when it is told to.

Engines take seconds to start, and two of them can only be compared in turns: a server starts an
engine, makes its table, and then does one fit for every line that it is sent.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from bench.growing_tables import THREADS

ROOT = Path(__file__).parents[1]
COLUMNS, CLUSTERS, PASSES = 8, 10, 5
WARM_UPS = 3
# Seconds that an engine has for what it missed while it was stopped; not always as many, so that
# what it does regularly from then on does not always meet the same part of a fit.
WAKING = (0.3, 1.3)
LOCAL, DASK, SPARK = "threads", "dask", "spark"

Fit = Callable[[], object]


@dataclass(frozen=True)
class Setup:
    """An engine with so many processes, a table of so many rows in so many parts, and K."""

    engine: str
    processes: int
    tasks: int
    rows: int
    clusters: int = CLUSTERS

    @property
    def sizes(self) -> list[int]:
        """Rows of each part, as equal as they can be."""
        return [len(part) for part in np.array_split(np.empty(self.rows), self.tasks)]


def part(number: int, rows: int) -> np.ndarray:
    """One part of the table: rows that are uniform in the unit cube."""
    return np.random.default_rng([2019, number]).random((rows, COLUMNS))


def model(clusters: int) -> Any:
    """The paper's method with a fixed number of passes, so that every fit costs the same."""
    from sfumato import PrivateKMeans
    from sfumato.methods import Sukpisit

    method = Sukpisit(max_iter=PASSES, tol=0.0)
    return PrivateKMeans(clusters, epsilon=1.0, bounds=(0, 1), method=method, random_state=0)


@contextmanager
def local(setup: Setup) -> Iterator[Callable[[], Fit]]:
    """The thread pool: SFUMATO_THREADS was set before this process was started."""

    def make() -> Fit:
        table = np.empty((setup.rows, COLUMNS))
        start = 0
        for number, rows in enumerate(setup.sizes):
            table[start : start + rows] = part(number, rows)
            start += rows
        return lambda: model(setup.clusters).fit(table)

    from bench.speed import load_compiled

    load_compiled()
    yield make


@contextmanager
def dask(setup: Setup) -> Iterator[Callable[[], Fit]]:
    """Worker processes of one thread each, which make their parts and hold them in memory."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    def make() -> Fit:
        from dask import delayed

        made = [
            da.from_delayed(delayed(part)(number, rows), (rows, COLUMNS), dtype=np.float64)
            for number, rows in enumerate(setup.sizes)
        ]
        table = da.concatenate(made).persist()
        wait(table)
        # Nothing else makes sure that every process has its share of the work.
        client.rebalance(table)
        return lambda: model(setup.clusters).fit(table)

    with (
        LocalCluster(
            n_workers=setup.processes, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield make


@contextmanager
def spark(setup: Setup) -> Iterator[Callable[[], Fit]]:
    """Spark in one Java process with a Python worker for each task at a time; the table cached."""
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-memory 4g pyspark-shell"
    from pyspark.sql.functions import rand

    from sfumato.engines._spark import session

    with session(workers=setup.processes) as started:

        def make() -> Fit:
            table = started.range(0, setup.rows, 1, setup.tasks).select(
                *(rand(2019 + number).alias(f"c{number}") for number in range(COLUMNS))
            )
            table = table.cache()
            table.count()
            return lambda: model(setup.clusters).fit(table)

        yield make


ENGINES = {LOCAL: local, DASK: dask, SPARK: spark}


def each_process(number: int, get: Callable[[Any], Any]) -> list[Any]:
    """What is asked of a process and of all that it has started, as far as they are there."""
    import psutil

    found = []
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(number)
        for process in [first, *first.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                found.append(get(process))
    return found


def cpu_seconds() -> float:
    """CPU time of this process and of all that it has started, those that have ended included."""
    return float(sum(each_process(os.getpid(), lambda process: sum(process.cpu_times()[:4]))))


def timed(fit: Fit) -> list[float]:
    """Seconds up to the first pass over the rows, then of each pass with what follows it."""
    from sfumato.engines._progress import watch

    marks = [time.perf_counter()]

    def hear(number: int, done: int, total: int) -> None:
        if done == 0:
            marks.append(time.perf_counter())

    with watch(hear):
        fit()
    return [end - begin for begin, end in pairwise([*marks, time.perf_counter()])]


def serve(setup: Setup, replies: IO[str]) -> None:
    """Start the engine and make the table, saying so; then fit once for every line that comes."""

    def reply(**values: float | list[float]) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    warnings.simplefilter("ignore")
    with ENGINES[setup.engine](setup) as make:
        reply(opened=1)
        fit = make()
        # Libraries are loaded where a task runs, and the first fit need not reach every worker.
        for _ in range(WARM_UPS):
            fit()
        reply(ready=1)
        for _ in sys.stdin:
            spent = cpu_seconds()
            seconds = timed(fit)
            reply(seconds=seconds, cpu=cpu_seconds() - spent)


class Server:
    """A process that serves one setup. `startup` is how long it took to open the engine.

    It is stopped between fits, with all that it has started: idle clusters take CPU time as well.
    """

    def __init__(self, setup: Setup) -> None:
        engine, *numbers = astuple(setup)
        command = [sys.executable, "-m", "bench.engines_serving", engine, *map(str, numbers)]
        threads = setup.processes if setup.engine == LOCAL else 1
        environment = os.environ | dict.fromkeys(THREADS, "1") | {"SFUMATO_THREADS": str(threads)}
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        self._answer()
        self.startup = time.perf_counter() - begin

    def __enter__(self) -> Server:
        self._answer()
        self._stop()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wake()
        # The engine closes what it has started when no more lines can come.
        self._process.communicate()

    def fit(self) -> dict[str, Any]:
        """One fit: seconds of each of its parts, and CPU seconds of all its processes."""
        self._wake()
        time.sleep(random.uniform(*WAKING))
        self._process.stdin.write("fit\n")
        self._process.stdin.flush()
        found = self._answer()
        self._stop()
        return found

    def _stop(self) -> None:
        each_process(self._process.pid, lambda process: process.suspend())

    def _wake(self) -> None:
        each_process(self._process.pid, lambda process: process.resume())

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            raise RuntimeError(f"the engine ended with status {self._process.returncode}")
        found: dict[str, Any] = json.loads(line)
        return found


def main() -> None:
    """Serve what the command line names."""
    # What engines print must not come between the replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    engine, *numbers = sys.argv[1:]
    serve(Setup(engine, *map(int, numbers)), replies)


if __name__ == "__main__":
    main()
