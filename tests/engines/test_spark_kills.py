"""Spark executors and their Python workers that are killed in the middle of a fit."""

import os
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines._memory import ArrayRows
from sfumato.engines._progress import watch
from sfumato.engines._spark import open_spark, open_spark_files
from tests.engines.same import check_same, run_of
from tests.engines.spark_cluster import WORKERS, executors, python_workers
from tests.laws.harness import blobs

pytestmark = pytest.mark.xdist_group("spark")

KILLS = 24
ROWS = blobs(20_000)
LABELS = [f"p{i}" for i in np.arange(len(ROWS)) % 3000]
KINDS = ("parquet", "groups", "files")
VICTIMS = {"executor": executors, "python": python_workers}


@pytest.fixture(scope="module")
def expected():
    """What undisturbed fits give, on the rows in memory."""
    plain = run_of(ArrayRows(ROWS), "dplloyd")
    grouped = run_of(ArrayRows(ROWS, groups=LABELS, max_rows_per_group=2), "dplloyd")
    return {"parquet": plain, "files": plain, "groups": grouped}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    for i, part in enumerate(np.array_split(np.arange(len(ROWS)), 4)):
        labels = [LABELS[row] for row in part]
        table = pa.table({"a": ROWS[part, 0], "b": ROWS[part, 1], "who": labels})
        pq.write_table(table, path / f"{i}.parquet", row_group_size=1000)
    return str(path)


def fit_of(kind, spark, folder):
    """A fit of the rows; everything is read and made anew."""
    if kind == "files":
        with open_spark_files(folder, columns=["a", "b"]) as rows:
            return run_of(rows, "dplloyd")
    frame = spark.read.parquet(folder)
    if kind == "groups":
        return run_of(open_spark(frame, "who", 2), "dplloyd")
    return run_of(open_spark(frame.select("a", "b")), "dplloyd")


class Killer:
    """Kills processes a moment after a pass has begun."""

    def __init__(self, workers, at, delay, choose):
        self.workers, self.at, self.delay, self.choose = workers, at, delay, choose
        self.passes, self.killed, self.thread, self.over = 0, [], None, False

    def __call__(self, number, done, total):
        self.passes = number
        if number == self.at and done == 0:
            self.thread = threading.Thread(target=self.kill)
            self.thread.start()

    def kill(self):
        deadline = time.monotonic() + 60
        time.sleep(self.delay)
        while not self.killed and not self.over and time.monotonic() < deadline:
            for pid in self.choose(self.workers):
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)

    def check(self):
        """Somebody was killed before the fit was over, and is dead."""
        self.over = True
        self.thread.join()
        assert self.killed
        assert self.passes == 5
        assert not [pid for pid in self.killed if alive(pid)]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_for_executors(workers):
    deadline = time.monotonic() + 120
    while len(executors(workers)) < WORKERS:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def check_killed(spark, workers, folder, expected, *, kind, victim, rng):
    wait_for_executors(workers)

    def choose(workers):
        found = VICTIMS[victim](workers)
        return [found[int(rng.integers(len(found)))]] if found else []

    killer = Killer(workers, int(rng.integers(1, 5)), rng.uniform(0, 0.25), choose)
    with watch(killer):
        found = fit_of(kind, spark, folder)
    killer.check()
    check_same(expected[kind], found)


def test_an_executor_is_killed(spark, spark_master, folder, expected):
    rng = np.random.default_rng(1)
    check_killed(
        spark, spark_master[1], folder, expected, kind="parquet", victim="executor", rng=rng
    )


@pytest.mark.engines
@pytest.mark.parametrize("number", range(KILLS))
def test_processes_are_killed_again_and_again(number, spark, spark_master, folder, expected):
    rng = np.random.default_rng(100 + number)
    kind, victim = KINDS[number % 3], list(VICTIMS)[number % 2]
    check_killed(spark, spark_master[1], folder, expected, kind=kind, victim=victim, rng=rng)


@pytest.mark.engines
@pytest.mark.parametrize("kind", KINDS)
def test_all_executors_are_killed(kind, spark, spark_master, folder, expected):
    wait_for_executors(spark_master[1])
    killer = Killer(spark_master[1], 3, 0.1, executors)
    with watch(killer):
        found = fit_of(kind, spark, folder)
    killer.check()
    assert len(killer.killed) == WORKERS
    check_same(expected[kind], found)
