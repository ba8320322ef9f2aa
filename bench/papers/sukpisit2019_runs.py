"""Tables I and II of Sukpisit et al. 2019: what one run does, and a table that grows."""

from __future__ import annotations

import math
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from bench.growing_tables import append_row, in_processes, read_rows, write_rows
from bench.papers.su2015_data import Dataset
from bench.papers.sukpisit2019_data import SOURCES, is_there, load
from sfumato import PrivateKMeans
from sfumato._base.types import Floats
from sfumato._lattice.box import Box
from sfumato.nonprivate import labels, silhouette

PLAIN, PLAIN_CUBE, ONE_START = "kmeans", "kmeans_cube", "kmeans_one_start"
WITHOUT_PRIVACY = (PLAIN, ONE_START, PLAIN_CUBE)
METHODS = ("sukpisit", "dplloyd", "auto", "hybrid")

# The paper's ε, a tenth of its least one where that is asked for, and steps between and around.
EPSILONS = {
    "iris": (0.1, 0.2, 0.29, 0.5, 0.7, 1.0, 1.5, 2.0, 2.9, 3.5, 4.0, 6.0, 10.0, 20.0, 50.0),
    "wine": (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0),
    "yeast": (0.1, 0.2, 0.5, 0.7, 1.0, 2.0, 4.0, 8.6, 20.0, 50.0, 86.2, 94.7, 95.0, 200.0),
}

KEYS = ("dataset", "method", "epsilon")
NUMBERS = ("populated", "ncm", "silhouette", "sd", "cube_populated", "cube_silhouette", "seconds")
Key = tuple[str, str, float]


@dataclass(frozen=True)
class Point:
    """Some runs of a method on a dataset at one ε; ε = 0 stands for no privacy."""

    dataset: str
    method: str
    epsilon: float
    runs: int

    @property
    def key(self) -> Key:
        """What tells points apart."""
        return self.dataset, self.method, self.epsilon


@dataclass(frozen=True)
class Result:
    """The share of runs with K clusters populated, the mean NCM, and the silhouette of the former.

    Rows belong to the nearest centre in their own units, as in the paper; `cube_…` are the same
    in the cube that the bounds span, where the methods work. A silhouette is NaN if no run has
    all K clusters.
    """

    point: Point
    populated: float
    ncm: float
    silhouette: float
    sd: float
    cube_populated: float
    cube_silhouette: float
    seconds: float

    @property
    def error(self) -> float:
        """The standard error of the mean silhouette."""
        return self.sd / max(1.0, self.populated * self.point.runs) ** 0.5


Table = dict[Key, Result]


# Grids are so fine above that a fit takes many seconds.
MOST = {("yeast", "hybrid"): 86.2}
RUNS = 50


def points(runs: int = RUNS, epsilons: dict[str, tuple[float, ...]] = EPSILONS) -> list[Point]:
    """Every point of both tables: without privacy, and by ε."""
    found = [
        Point(name, method, 0.0, runs if method == ONE_START else 1)
        for name, method in product(epsilons, WITHOUT_PRIVACY)
    ]
    for name, several in epsilons.items():
        found += [
            Point(name, m, e, runs)
            for m, e in product(METHODS, several)
            if e <= MOST.get((name, m), e)
        ]
    return found


def scores(rows: Floats, centers: Floats, k: int) -> tuple[int, float]:
    """NCM, equal centres counted as one, and the silhouette if all k clusters have members."""
    found = labels(rows, np.unique(centers, axis=0))
    number = len(np.unique(found))
    return number, silhouette(rows, found) if number == k else math.nan


def centers_of(point: Point, data: Dataset, seed: int) -> Floats:
    """Centres of one run. The seed is that of public randomness; noise cannot be seeded."""
    box = Box.of(data.bounds, data.d)
    if point.method == PLAIN_CUBE:
        inside = KMeans(data.k, n_init=10, random_state=seed).fit(box.to_cube(data.rows))
        middles = (inside.cluster_centers_ + 1) / 2
        return np.asarray(middles * (data.upper - data.lower) + data.lower)
    if point.method in WITHOUT_PRIVACY:
        starts = 10 if point.method == PLAIN else 1
        init = "k-means++" if point.method == PLAIN else "random"
        model = KMeans(data.k, n_init=starts, init=init, random_state=seed).fit(data.rows)
        return np.asarray(model.cluster_centers_)
    return (
        PrivateKMeans(
            data.k,
            epsilon=point.epsilon,
            bounds=data.bounds,
            method=point.method,
            random_state=seed,
        )
        .fit(data.rows)
        .cluster_centers_
    )


def measure(point: Point) -> Result:
    """Do all runs of a point."""
    warnings.simplefilter("ignore")
    data = load(point.dataset)
    box = Box.of(data.bounds, data.d)
    seed = zlib.crc32(repr(point.key).encode()) % 2**30
    found, seconds = [], 0.0
    for number in range(point.runs):
        start = time.process_time()
        centers = centers_of(point, data, seed + number)
        seconds += time.process_time() - start
        inside = scores(box.to_cube(data.rows), box.to_cube(centers), data.k)
        found.append((*scores(data.rows, centers, data.k), *inside))
    ncm, own, cube_ncm, cube = np.array(found, dtype=np.float64).T
    return Result(
        point,
        float((ncm == data.k).mean()),
        float(ncm.mean()),
        _mean(own),
        _deviation(own),
        float((cube_ncm == data.k).mean()),
        _mean(cube),
        seconds / point.runs,
    )


def _mean(values: Floats) -> float:
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else math.nan


def _deviation(values: Floats) -> float:
    values = values[np.isfinite(values)]
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def read(path: Path) -> Table:
    """Every point that a table holds; the last row of a point counts."""
    results = {}
    for line in read_rows(path):
        point = Point(line["dataset"], line["method"], float(line["epsilon"]), int(line["runs"]))
        results[point.key] = Result(point, *(float(line[name]) for name in NUMBERS))
    return results


def _cells(result: Result) -> list[object]:
    numbers = (f"{getattr(result, name):.6g}" for name in NUMBERS)
    return [*result.point.key, result.point.runs, *numbers]


def complete(path: Path, wanted: list[Point], processes: int = 1) -> None:
    """Measure what a table lacks; what is there stays, in the order of the points."""
    columns, done = [*KEYS, "runs", *NUMBERS], read(path)
    left = [p for p in wanted if is_there(p.dataset) and _is_open(p, done)]
    print(f"{path.name}: {len(left)} of {len(wanted)} points to measure", flush=True)
    for number, result in enumerate(_measured(left, processes), 1):
        append_row(path, columns, _cells(result))
        print(f"  {number}/{len(left)} {_said(result)}", flush=True)
    results = read(path)
    order = dict.fromkeys([*(p.key for p in wanted if p.key in results), *results])
    write_rows(path, columns, (_cells(results[key]) for key in order))


def _is_open(point: Point, done: Table) -> bool:
    return point.key not in done or done[point.key].point.runs < point.runs


def _measured(left: list[Point], processes: int) -> Iterator[Result]:
    return in_processes(measure, left, processes)


def _said(result: Result) -> str:
    dataset, method, epsilon = result.point.key
    whole = SOURCES[dataset].k
    return (
        f"{dataset} {method} ε = {epsilon:g}: NCM {result.ncm:.1f} of {whole}, all in "
        f"{result.populated:.0%}, silhouette {result.silhouette:.3f}"
    )
