"""Inertia of clusterings in high dimension: points, their runs, and the table that grows."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from bench.data import nothing_to_measure
from bench.growing_tables import append_row, in_processes, read_rows, write_rows
from bench.inertia_data import MNIST, inertia, is_there, load
from bench.inertia_methods import LLOYD, NONPRIVATE, PUBLISHED, method_of
from bench.utility_data import Sample
from sfumato import PrivateKMeans
from sfumato._base.types import Floats

COLUMNS = ["dataset", "k", "method", "epsilon", "delta", "runs", "inertia", "sd", "seconds", "note"]
# So many runs are one task: two processes end at about the same time.
BATCH = 5

Key = tuple[str, int, str, float, float]


@dataclass(frozen=True)
class Point:
    """One number to measure. `method` names a method and how it is set."""

    dataset: str
    k: int
    method: str
    epsilon: float = 0.0
    delta: float = 0.0
    runs: int = 20
    declared: bool = True

    @property
    def key(self) -> Key:
        """What tells points apart."""
        return self.dataset, self.k, self.method, self.epsilon, self.delta


@dataclass(frozen=True)
class Result:
    """Mean and standard deviation over the runs of a point, and the CPU seconds of one run.

    A method that refuses a point has no runs, and the note says why.
    """

    key: Key
    runs: int
    mean: float = 0.0
    sd: float = 0.0
    seconds: float = 0.0
    note: str = ""

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.sd / max(1, self.runs) ** 0.5


@dataclass(frozen=True)
class Batch:
    """Some runs of a point."""

    point: Point
    first: int
    runs: int


Table = dict[Key, Result]


def measure(batch: Batch) -> Result:
    """Do the runs of a batch."""
    warnings.simplefilter("ignore")
    point, data = batch.point, _prepared(batch.point.dataset)
    _warm_up(point.method, point.delta)
    values, seconds = [], []
    for number in range(batch.first, batch.first + batch.runs):
        start = time.process_time()
        try:
            centers = one_run(point, data, seed_of(point) + number)
        except ValueError as error:
            # A refusal comes before anything is spent, whatever the rows.
            return Result(point.key, 0, note=" ".join(str(error).split()))
        seconds.append(time.process_time() - start)
        values.append(inertia(data, centers))
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    mean, spent = float(np.mean(values)), float(np.mean(seconds))
    return Result(point.key, len(values), mean, sd, spent)


def one_run(point: Point, data: Sample, seed: int) -> Floats:
    """Centres of one run. The seed is that of public randomness; noise cannot be seeded."""
    if point.method in NONPRIVATE:
        # Lloyd's algorithm of Nguyen et al. takes ten steps from rows drawn at random.
        plain = {"init": "random", "max_iter": 10} if point.method == LLOYD else {}
        starts = NONPRIVATE[point.method]
        model = KMeans(point.k, n_init=starts, random_state=seed, algorithm="elkan", **plain)
        # Half of the digits take half of the time and are more than k-means tells apart.
        model.fit(data.narrow)
        return data.from_cube(model.cluster_centers_.astype(np.float64))
    if is_simulated(point.method):
        from bench.papers.edler2023_published import centers

        return centers(data, point.k, point.epsilon, point.method.split()[1], seed)
    return model_of(point, data, seed).fit(data.rows).cluster_centers_


def is_simulated(method: str) -> bool:
    """Whether a method is the arithmetic as it was published, which is not private."""
    return method.startswith(PUBLISHED)


def model_of(point: Point, data: Sample, seed: int) -> PrivateKMeans:
    """The estimator of a point; papers take the number of rows as public."""
    return PrivateKMeans(
        point.k,
        epsilon=point.epsilon,
        delta=point.delta,
        bounds=data.bounds,
        method=method_of(point.method),
        n_rows=len(data.rows) if point.declared else None,
        random_state=seed,
    )


def seed_of(point: Point) -> int:
    """Where the public randomness of a point begins."""
    return zlib.crc32(repr(point.key).encode()) % 2**30


@lru_cache(maxsize=1)
def _prepared(dataset: str) -> Sample:
    """Rows that have been scored once, because the first score prepares them: not timed."""
    data = load(dataset)
    inertia(data, data.lower[None])
    return data


@cache
def _warm_up(method: str, delta: float) -> None:
    """Run once on little data: the first run of a process loads what later ones find loaded."""
    if method not in NONPRIVATE and not is_simulated(method):
        rows = np.random.default_rng(0).uniform(size=(2000, 20))
        model = PrivateKMeans(2, epsilon=1.0, delta=delta, bounds=(0, 1), method=method_of(method))
        try:
            model.fit(rows)
        except ValueError:
            return


def read(path: Path) -> Table:
    """Every point of a table; the rows of a point are merged."""
    results: Table = {}
    for line in read_rows(path):
        key = line["dataset"], int(line["k"]), line["method"]
        noise = float(line["epsilon"]), float(line["delta"])
        numbers = (float(line[name]) for name in ("inertia", "sd", "seconds"))
        result = Result((*key, *noise), int(line["runs"]), *numbers, line["note"])
        known = results.get(result.key)
        results[result.key] = result if known is None else merged(known, result)
    return results


def merged(one: Result, two: Result) -> Result:
    """What both batches of runs say together."""
    runs = one.runs + two.runs
    if not (one.runs and two.runs):
        return one if one.runs else two
    part = two.runs / runs
    mean = one.mean + part * (two.mean - one.mean)
    squares = (one.runs - 1) * one.sd**2 + (two.runs - 1) * two.sd**2
    squares += one.runs * part * (two.mean - one.mean) ** 2
    seconds = one.seconds + part * (two.seconds - one.seconds)
    return Result(one.key, runs, mean, (squares / (runs - 1)) ** 0.5, seconds)


def append(path: Path, result: Result) -> None:
    """Write some runs of a point at the end of a table."""
    append_row(path, COLUMNS, cells(result))


def cells(result: Result) -> list[object]:
    """A row of the table."""
    numbers = (f"{value:.7g}" for value in (result.mean, result.sd, result.seconds))
    return [*result.key, result.runs, *numbers, result.note]


def missing(points: Iterable[Point], done: Table) -> list[Batch]:
    """The runs that a table lacks, in batches; a refusal is not asked for again."""
    batches = []
    for point in points:
        known = done.get(point.key)
        if not is_there(point.dataset) or (known is not None and not known.runs):
            continue
        first = known.runs if known else 0
        for start in range(first, point.runs, BATCH):
            batches.append(Batch(point, start, min(BATCH, point.runs - start)))
    return batches


def complete(path: Path, points: Sequence[Point], processes: int = 2) -> None:
    """Do the runs that a table lacks, several at a time; what is there stays."""
    if points and not any(is_there(point.dataset) for point in points):
        nothing_to_measure([MNIST])
    points = most_runs(points)
    left = missing(points, read(path))
    print(f"{path.name}: {len(left)} batches of runs for {len(points)} points", flush=True)
    for number, result in enumerate(_measured(left, processes), 1):
        append(path, result)
        said = f"{result.mean:.5g}, {result.seconds:.2f} s" if result.runs else result.note
        print(f"  {number}/{len(left)} {result.key}: {said}", flush=True)
    tidy(path, points)


def most_runs(points: Iterable[Point]) -> list[Point]:
    """Each point once, with as many runs as anybody wants."""
    found: dict[Key, Point] = {}
    for point in points:
        known = found.setdefault(point.key, point)
        found[point.key] = replace(point, runs=max(point.runs, known.runs))
    # Points of one dataset follow each other: a process keeps one dataset.
    return sorted(found.values(), key=lambda point: point.dataset)


def tidy(path: Path, points: Iterable[Point]) -> None:
    """One row for each point, in the order of the points."""
    results = read(path)
    keys = dict.fromkeys([*(point.key for point in points), *results])
    if results:
        write_rows(path, COLUMNS, [cells(results[key]) for key in keys if key in results])


def _measured(batches: list[Batch], processes: int) -> Iterator[Result]:
    return in_processes(measure, batches, processes)
