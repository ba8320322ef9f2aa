"""Measuring points of utility, and the table that grows as they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from bench.growing_tables import append_row, read_rows, write_rows
from bench.utility_data import Sample, from_middles, is_there, load, reference
from bench.utility_points import MIDDLES, PEER, REFERENCE, Key, Point
from sfumato import PrivateKMeans
from sfumato._base.types import Floats

COLUMNS = ["dataset", "method", "delta", "epsilon", "state", "runs"]
NUMBERS = ["nicv", "ratio", "median", "error", "found", "seconds"]
HEAD = [*COLUMNS, *NUMBERS, "note"]
PEER_PYTHON = "SFUMATO_DIFFPRIVLIB_PYTHON"

MEASURED, CAPPED = "measured", "stopped at the time cap"
UNFIT, SLOW, FAILED = "does not apply", "too slow", "failed"


@dataclass(frozen=True)
class Result:
    """NICV over the runs of a point, and three statistics of its ratio to the reference.

    `error` is the standard error of the mean, `found` the share of runs in which every cluster
    was found (−1 where that has no meaning), `seconds` the median CPU time of one fit.
    """

    key: Key
    state: str
    runs: int = 0
    nicv: float = 0.0
    ratio: float = 0.0
    median: float = 0.0
    error: float = 0.0
    found: float = -1.0
    seconds: float = 0.0
    note: str = ""

    @property
    def has_runs(self) -> bool:
        """Whether there are numbers to show."""
        return self.state in (MEASURED, CAPPED)


Table = dict[Key, Result]


def measure(point: Point, base: float) -> Result:
    """Do the runs of a point, as many as the time allows. `base` is the NICV of the reference."""
    warnings.simplefilter("ignore")
    data = load(point.dataset)
    if point.method in (REFERENCE, MIDDLES):
        value = reference(data) if point.method == REFERENCE else from_middles(data)
        ratio = value / (base or value)
        return Result(point.key, MEASURED, 1, value, ratio, ratio)
    # The first score prepares the rows, which no point should be timed for.
    data.nicv(data.lower[None])
    runs: list[tuple[float, bool, float]] = []
    try:
        with _alarm(2 * point.cap):
            for centers, seconds in (_peer_runs if point.method == PEER else _runs)(point, data):
                runs.append((data.nicv(centers), data.found(centers), seconds))
    except TimeoutError:
        pass
    except ValueError as error:
        # A refusal comes before the first run has ended, or not at all.
        return Result(point.key, FAILED if runs else UNFIT, note=_one_line(error))
    except Exception as error:
        return Result(point.key, FAILED, note=f"{type(error).__name__}: {_one_line(error)}")
    return _summary(point, data, runs, base)


def _summary(
    point: Point, data: Sample, runs: list[tuple[float, bool, float]], base: float
) -> Result:
    if not runs:
        return Result(point.key, SLOW, note=f"no run ended within {2 * point.cap:g} s")
    values, found, seconds = (np.array(column, dtype=float) for column in zip(*runs, strict=True))
    ratios = values / base
    return Result(
        point.key,
        MEASURED if len(runs) >= point.runs else CAPPED,
        len(runs),
        float(values.mean()),
        float(ratios.mean()),
        float(np.median(ratios)),
        float(ratios.std(ddof=1) / len(runs) ** 0.5) if len(runs) > 1 else 0.0,
        float(found.mean()) if data.middles is not None else -1.0,
        float(np.median(seconds)),
    )


def _runs(point: Point, data: Sample) -> Iterator[tuple[Floats, float]]:
    """Centres and CPU seconds of each run. The seed is that of public randomness alone."""
    _warm_up(point.method, point.delta)
    seed, begin = _seed(point), time.perf_counter()
    for number in range(point.runs):
        start = time.process_time()
        model = PrivateKMeans(
            data.k,
            epsilon=point.epsilon,
            delta=point.delta,
            bounds=data.bounds,
            method=point.method,
            random_state=seed + number,
        ).fit(data.rows)
        yield model.cluster_centers_, time.process_time() - start
        if time.perf_counter() - begin > point.cap:
            return


@cache
def _warm_up(method: str, delta: float) -> None:
    """Run once on little data: the first run of a process loads what later ones find loaded."""
    rows = np.random.default_rng(0).uniform(size=(500, 2))
    PrivateKMeans(2, epsilon=1.0, delta=delta, bounds=(0, 1), method=method).fit(rows)


def _peer_runs(point: Point, data: Sample) -> Iterator[tuple[Floats, float]]:
    """The same for diffprivlib, in the Python that has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, (data.cube + 1) / 2)
        numbers = (data.k, point.epsilon, point.runs, point.cap, _seed(point))
        script = Path(__file__).with_name("utility_peer.py")
        command = [os.environ[PEER_PYTHON], str(script), str(path), *map(str, numbers)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                for line in process.stdout or ():
                    found = json.loads(line)
                    yield data.from_cube(2 * np.array(found["centers"]) - 1), found["seconds"]
            except BaseException:
                process.kill()
                raise
        if process.returncode > 0:
            raise RuntimeError(f"{PEER} ended with status {process.returncode}")


def _seed(point: Point) -> int:
    return zlib.crc32(repr(point.key).encode()) % 2**30


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after so many seconds, wherever the work is then."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def read(path: Path) -> Table:
    """Every point that a table holds; the last row of a point counts."""
    results = {}
    for line in read_rows(path):
        key = line["dataset"], line["method"], float(line["delta"]), float(line["epsilon"])
        numbers = (float(line[name]) for name in NUMBERS)
        results[key] = Result(key, line["state"], int(line["runs"]), *numbers, line["note"])
    return results


def append(path: Path, result: Result) -> None:
    """Write one point at the end of a table."""
    append_row(path, HEAD, _cells(result))


def _cells(result: Result) -> list[object]:
    numbers = [f"{getattr(result, name):.6g}" for name in NUMBERS]
    return [*result.key, result.state, result.runs, *numbers, result.note]


def rewrite(path: Path, results: Table) -> None:
    """Write a whole table, in the order in which it is given."""
    if results:
        write_rows(path, HEAD, map(_cells, results.values()))
    else:
        path.unlink(missing_ok=True)


def missing(points: list[Point], done: Table) -> list[Point]:
    """Points that are not in the table, failed, or were to have fewer runs; their data is here."""
    return [point for point in points if is_there(point.dataset) and _is_open(point, done)]


def _is_open(point: Point, done: Table) -> bool:
    result = done.get(point.key)
    if result is None or result.state == FAILED:
        return True
    return result.state == MEASURED and result.runs < point.runs
