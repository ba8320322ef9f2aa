"""Points of the figures: what one run of a point does, and a table that grows as points end."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

from bench.growing_tables import append_row, in_processes, read_rows
from bench.papers.su2015_data import Dataset, best_centers, is_there, lloyd, load, synthetic
from sfumato import PrivateKMeans
from sfumato._base.types import Floats
from sfumato._lattice.box import REACH, Box
from sfumato.methods import METHODS, DPLloyd, EUGkM, GkM, GkM3K, Hybrid, Method, PGkM

COLUMNS = ["dataset", "method", "epsilon", "setting", "runs", "mean", "sd", "seconds"]

Key = tuple[str, str, float, float]


@dataclass(frozen=True)
class Point:
    """One mark in a figure. `setting` is θ, a block exponent or a number of iterations."""

    dataset: str
    method: str
    epsilon: float
    setting: float = 0.0
    runs: int = 20

    @property
    def key(self) -> Key:
        """What tells points apart."""
        return self.dataset, self.method, self.epsilon, self.setting


@dataclass(frozen=True)
class Result:
    """NICV over the runs of a point, and the CPU seconds of one run."""

    point: Point
    mean: float
    sd: float
    seconds: float

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.sd / max(1, self.point.runs) ** 0.5


Table = dict[Key, Result]


def measure(point: Point) -> Result:
    """Do all runs of a point."""
    warnings.simplefilter("ignore")
    data = load(point.dataset)
    if point.method == "baseline":
        return Result(point, data.nicv(best_centers(point.dataset)), 0.0, 0.0)
    if point.method in ("largest", "smallest"):
        sizes = np.bincount(data.labels(best_centers(point.dataset)), minlength=data.k)
        return Result(point, float(sizes.max() if point.method == "largest" else sizes.min()), 0, 0)
    if point.method == "lloyd":
        values = lloyd(data, int(point.setting), point.runs)
        return Result(point, float(np.mean(values)), float(np.std(values, ddof=1)), 0.0)
    values, seconds = [], []
    seed = zlib.crc32(repr(point.key).encode())
    _warm_up(point.method)
    for number in range(point.runs):
        start = time.process_time()
        centers = one_run(point, data, seed + number)
        seconds.append(time.process_time() - start)
        values.append(data.nicv(centers))
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Result(point, float(np.mean(values)), sd, float(np.mean(seconds)))


@cache
def _warm_up(method: str) -> None:
    """Run once on little data: the first run of a process loads what later ones find loaded."""
    one_run(Point("syn_2_2", method, 1.0, 1.0), synthetic(2, 2), 0)


def one_run(point: Point, data: Dataset, seed: int) -> Floats:
    """Centres of one run. The seed is that of public randomness; noise cannot be seeded."""
    if point.method == "noise":
        return noisy_best(point, data, seed)
    if point.method in STUDIES:
        return STUDIES[point.method](point, data, seed)
    method = method_of(point)
    model = model_of(method, point, data, seed)
    exact = point.method in ("sag", "gene")
    return model.fit(without_noise(data) if exact else data.rows).cluster_centers_


def model_of(method: Method, point: Point, data: Dataset, seed: int) -> PrivateKMeans:
    """The estimator of a point; like the paper it takes the number of rows as public."""
    return PrivateKMeans(
        data.k,
        epsilon=point.epsilon,
        bounds=data.bounds,
        method=method,
        n_rows=len(data.rows),
        random_state=seed % 2**31,
    )


def method_of(point: Point) -> Method:
    """The configured method behind a name in a figure."""
    if point.method in CONFIGURED:
        return CONFIGURED[point.method]
    if point.method == "steps":
        return DPLloyd(iterations=int(point.setting), noise="equal")
    if point.method == "rows":
        return GkM3K(rows_per_center=int(point.setting))
    if point.method == "gene":
        return PGkM(least_rounds=int(point.setting), pace=0)
    if point.method in ("sag", "gkm") and point.setting:
        return GkM(exponent=max(1e-3, 1 - point.setting))
    if point.method == "eugkm" and point.setting:
        return METHODS["eugkm"](theta=point.setting)  # type: ignore[call-arg]
    return METHODS[point.method]()


CONFIGURED: dict[str, Method] = {
    "dplloyd_equal": DPLloyd(noise="equal"),
    "uniform": DPLloyd(noise="equal"),
    "halving": DPLloyd(noise="equal", schedule="halving"),
    "increasing": DPLloyd(noise="equal", schedule="increasing"),
    "eugkm_lloyd": EUGkM(solver="lloyd"),
    "hybrid_equal": Hybrid(noise="equal"),
    "hybrid_forced": Hybrid(noise="equal", refine="always"),
}


def random_start(point: Point, data: Dataset, seed: int) -> Floats:
    """DPLloyd from k uniform points of the domain, as in PINQ, in place of a packing."""

    def uniform(k: int, n_features: int, rng: np.random.Generator) -> Floats:
        return rng.uniform(-REACH, REACH, (k, n_features))

    with mock.patch("sfumato.methods._dplloyd.sphere_packing", uniform):
        model = model_of(CONFIGURED["dplloyd_equal"], point, data, seed)
        return model.fit(data.rows).cluster_centers_


def of_counts(point: Point, data: Dataset, seed: int) -> Floats:
    """EUGkM's centres with the counts as released, or rounded to numbers that are not negative."""
    synopsis = model_of(CONFIGURED["eugkm_lloyd"], point, data, seed).fit(data.rows).synopsis_
    if point.method == "rounded":
        synopsis = replace(synopsis, weights=np.maximum(np.rint(synopsis.weights), 0))
    return synopsis.kmeans(data.k, swaps=False, random_state=seed).centers


def sliced(point: Point, data: Dataset, seed: int) -> Floats:
    """EUGkM on a grid with so many slices on each axis: θ is what Eq. 4 needs for that."""
    theta = len(data.rows) * point.epsilon / point.setting ** (1 + data.d / 2)
    return model_of(EUGkM(theta=theta), point, data, seed).fit(data.rows).cluster_centers_


STUDIES = {
    "slices": sliced,
    "random_start": random_start,
    "rounded": of_counts,
    "signed": of_counts,
}


def without_noise(data: Dataset):
    """A curator that adds none, with more budget than any run asks for."""
    from sfumato._core.curator import Curator
    from tests.no_noise import NoNoise

    return Curator(data.rows, bounds=data.bounds, epsilon=1000.0, noise=NoNoise())


def noisy_best(point: Point, data: Dataset, seed: int) -> Floats:
    """Eq. 3's noise on the best centres, for the range that blocks of this size have."""
    widths, blocks = block_noise(point, data)
    rng = np.random.default_rng(seed)
    best = Box.of(data.bounds, data.d).to_cube(best_centers(point.dataset))
    noisy = np.clip(best + rng.laplace(0, widths / blocks, best.shape), -1, 1)
    return (noisy + 1) / 2 * (data.upper - data.lower) + data.lower


_BLOCK_NOISE: dict[Key, tuple[Floats, int]] = {}


def block_noise(point: Point, data: Dataset) -> tuple[Floats, int]:
    """Scale of the noise on the sum of the block centres, in the cube, and the number of blocks."""
    if point.key not in _BLOCK_NOISE:
        method = GkM(exponent=max(1e-3, 1 - point.setting))
        model = model_of(method, point, data, 0).fit(without_noise(data))
        lines = [line for line in model.receipt_.lines if line.query.startswith("means over")]
        blocks = int(lines[0].query.split()[2])
        scales = [float(eval_fraction(line.scale)) / REACH for line in lines]
        _BLOCK_NOISE[point.key] = np.array(scales), blocks
    return _BLOCK_NOISE[point.key]


def eval_fraction(text: str) -> float:
    """The value of a fraction as receipts write it."""
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


def read(path: Path) -> Table:
    """Every point that a table holds."""
    results = {}
    for line in read_rows(path):
        epsilon, setting = float(line["epsilon"]), float(line["setting"])
        point = Point(line["dataset"], line["method"], epsilon, setting, int(line["runs"]))
        values = (float(line[name]) for name in ("mean", "sd", "seconds"))
        results[point.key] = Result(point, *values)
    return results


def append(path: Path, result: Result) -> None:
    """Write one point at the end of a table."""
    numbers = (f"{value:.6g}" for value in (result.mean, result.sd, result.seconds))
    append_row(path, COLUMNS, [*result.point.key, result.point.runs, *numbers])


def missing(points: Iterable[Point], done: Table) -> list[Point]:
    """Points that are not in the table, or with fewer runs than wanted, and whose data is here."""
    return [
        p
        for p in points
        if (p.key not in done or done[p.key].point.runs < p.runs) and is_there(p.dataset)
    ]


def complete(
    path: Path, points: list[Point], lend: Iterable[Path] = (), processes: int = 2
) -> None:
    """Measure what a table lacks, a point in each process; other tables may lend theirs."""
    for other in lend:
        lent = read(other)
        for point in missing(points, read(path)):
            if point.key in lent and lent[point.key].point.runs >= point.runs:
                append(path, lent[point.key])
    left = missing(points, read(path))
    print(f"{path.name}: {len(left)} of {len(points)} points to measure", flush=True)
    for number, result in enumerate(_measured(left, processes), 1):
        append(path, result)
        print(f"  {number}/{len(left)} {result.point.key}: {result.mean:.5g}", flush=True)
    tidy(path, points)


def tidy(path: Path, points: list[Point]) -> None:
    """Put the rows of a table into the order of the points, each point once."""
    results, copy = read(path), path.with_suffix(".tmp")
    copy.unlink(missing_ok=True)
    for key in dict.fromkeys([*(p.key for p in points), *results]):
        if key in results:
            append(copy, results[key])
    if results:
        copy.replace(path)


def _measured(points: list[Point], processes: int) -> Iterator[Result]:
    return in_processes(measure, points, processes)
