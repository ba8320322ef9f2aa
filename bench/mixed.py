"""Clustering of mixed rows: the cost of private centres over that of k-means without privacy.

`python -m bench mixed run` does what the table lacks and writes the page; `docs` only writes the
page. Rows are encoded by hand: numbers from −1 to 1, and one coordinate for every level of a
category. Costs are squared distances of these coordinates. Runs have the seeds 0, 1, 2, …; the
tables of seed 1 were used to choose constants, those of seeds 2 and 3 are reported.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from bench.growing_tables import append_row, read_rows
from bench.mixed_data import SHAPES, Table, encoded, make
from sfumato._base.types import Floats, Ints
from sfumato._core.curator import Curator
from sfumato._core.queries.breakdown import Levels
from sfumato._lattice.box import REACH
from sfumato.methods import METHODS, Task

ROOT = Path(__file__).parents[1]
TABLES, BUILD = ROOT / "bench" / "tables", ROOT / "build" / "bench"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- mixed: written by `python -m bench mixed` -->", "<!-- end of mixed -->"

K = 5
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
DELTAS = (0.0, 1e-6)
TUNED, REPORTED = 1, (2, 3)
RUNS = 10

KMEANS, PROTOTYPES = "kmeans", "k-prototypes"
NONPRIVATE = (KMEANS, PROTOTYPES)
ONE_HOT = "auto, one-hot by hand"
PRIVATE = ("auto", ONE_HOT, "kprototypes")
COLUMNS = ["dataset", "seed", "method", "epsilon", "delta", "runs", "ratio", "spread", "seconds"]


@dataclass(frozen=True)
class Point:
    """One cell of the table."""

    dataset: str
    seed: int
    method: str
    epsilon: float = 0.0
    delta: float = 0.0
    runs: int = RUNS

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What it is found by."""
        return (
            self.dataset,
            str(self.seed),
            self.method,
            f"{self.epsilon:g}",
            f"{self.delta:g}",
        )


def points(datasets: Iterable[str], seeds: Iterable[int], runs: int) -> list[Point]:
    """Everything that is measured."""
    found = []
    for seed in seeds:
        for dataset in datasets:
            found += [Point(dataset, seed, method, runs=1) for method in NONPRIVATE]
            found += [
                Point(dataset, seed, method, epsilon, delta, runs)
                for delta in DELTAS
                for epsilon in EPSILONS
                for method in PRIVATE
            ]
    return found


def cost(rows: Floats, centers: Floats) -> float:
    """Mean squared distance of rows to the nearest centre."""
    scores = np.square(centers).sum(axis=1) - 2 * rows @ centers.T
    own = scores.argmin(axis=1)
    return float(np.square(rows - centers[own]).sum(axis=1).mean())


@lru_cache(maxsize=2)
def best_cost(dataset: str, seed: int) -> float:
    """The cost of k-means without privacy, the best of ten starts."""
    rows, _ = encoded(make(dataset, seed))
    return cost(rows, KMeans(K, n_init=10, random_state=0).fit(rows).cluster_centers_)


def fitted(rows: Floats, levels: tuple[Levels, ...], point: Point, run: int) -> Floats:
    """Private centres of one run."""
    d = rows.shape[1]
    epsilon, delta = Fraction(str(point.epsilon)), Fraction(str(point.delta))
    bounds = (np.full(d, -REACH), np.full(d, REACH))
    curator = Curator(rows, bounds=bounds, epsilon=float(epsilon), delta=float(delta))
    known = () if point.method == ONE_HOT else levels
    task = Task(K, d, epsilon, delta, levels=known)
    method = METHODS["auto" if point.method == ONE_HOT else point.method]()
    account = curator.reserve("bench", method.caps(task))
    rng = np.random.default_rng(run)
    return method(curator, task, account=account, rng=rng).points


def prototypes(table: Table, rows: Floats, starts: int = 5) -> Floats:
    """k-prototypes without privacy, Huang 1998: means of numbers and most frequent levels.

    A category that differs costs what its two levels are apart. Each cluster is returned as the
    means of its rows' coordinates, so that costs compare.
    """
    best, found = np.inf, rows[:K]
    for start in range(starts):
        rng = np.random.default_rng(start)
        chosen = rng.choice(len(rows), K, replace=False)
        numbers, codes = table.numbers[chosen], table.codes[chosen]
        for _ in range(30):
            own, total = _assigned(table, numbers, codes)
            numbers, codes = _moved(table, own, numbers, codes)
        if total < best:
            best = total
            full = np.unique(own)
            found = np.array([rows[own == j].mean(axis=0) for j in full])
    return found


def _assigned(table: Table, numbers: Floats, codes: Ints) -> tuple[Ints, float]:
    """The cluster of every row, and what all cost; a level that differs is 4 away."""
    apart = [4 * np.square(table.numbers - center).sum(axis=1) for center in numbers]
    other = [4.0 * (table.codes != code).sum(axis=1) for code in codes]
    scores = np.array(apart) + np.array(other)
    return scores.argmin(axis=0), float(scores.min(axis=0).sum())


def _moved(table: Table, own: Ints, numbers: Floats, codes: Ints) -> tuple[Floats, Ints]:
    numbers, codes = numbers.copy(), codes.copy()
    for j in np.unique(own):
        numbers[j] = table.numbers[own == j].mean(axis=0)
        for column, levels in enumerate(table.levels):
            codes[j, column] = np.bincount(table.codes[own == j, column], minlength=levels).argmax()
    return numbers, codes


def measure(point: Point) -> list[object]:
    """One row of the table."""
    table = make(point.dataset, point.seed)
    rows, levels = encoded(table)
    best = best_cost(point.dataset, point.seed)
    began = time.perf_counter()
    if point.method == KMEANS:
        ratios = [1.0]
    elif point.method == PROTOTYPES:
        ratios = [cost(rows, prototypes(table, rows)) / best]
    else:
        runs = range(point.runs)
        ratios = [cost(rows, fitted(rows, levels, point, run)) / best for run in runs]
    seconds = (time.perf_counter() - began) / len(ratios)
    spread = float(np.std(ratios, ddof=1)) if len(ratios) > 1 else 0.0
    numbers = [f"{np.mean(ratios):.5g}", f"{spread:.2g}", f"{seconds:.2g}"]
    return [*point.key, len(ratios), *numbers]


Found = dict[tuple[str, ...], dict[str, str]]


def read(path: Path) -> Found:
    """The table by what its rows are found by."""
    return {tuple(line[name] for name in COLUMNS[:5]): line for line in read_rows(path)}


def shown(table: Found) -> str:
    """The reported seeds as one table of the page: mean ± spread, of each batch of runs."""
    head = ["data", "δ", "ε", *PRIVATE]
    lines = [f"| {' | '.join(head)} |", "|---|---|---|" + "---|" * len(PRIVATE)]
    for dataset, shape in SHAPES.items():
        for delta in DELTAS:
            for epsilon in EPSILONS:
                cells = [_cell(table, dataset, method, epsilon, delta) for method in PRIVATE]
                name = f"{dataset}, {shape.title()}"
                lines.append(f"| {name} | {delta:g} | {epsilon:g} | {' | '.join(cells)} |")
    others = [f"{dataset} {_cell(table, dataset, PROTOTYPES, 0.0, 0.0)}" for dataset in SHAPES]
    return "\n".join([*lines, "", f"k-prototypes without privacy: {'; '.join(others)}."])


def _cell(table: Found, dataset: str, method: str, epsilon: float, delta: float) -> str:
    parts = []
    for seed in REPORTED:
        line = table.get(Point(dataset, seed, method, epsilon, delta).key)
        if line is not None:
            spread = f" ± {line['spread']}" if int(line["runs"]) > 1 else ""
            parts.append(f"{float(line['ratio']):.3f}{spread}")
    return " · ".join(parts) or "–"


def rewrite(page: Path, table: Found) -> None:
    """Write the table of the page between its markers."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{shown(table)}\n{END}{after}", encoding="utf-8")


def main(argv: list[str]) -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="bench mixed", description=__doc__)
    parser.add_argument("part", nargs="?", default="run", choices=["run", "docs"])
    parser.add_argument("--quick", action="store_true", help="one run, credit, into build/bench")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    path = (BUILD if options.quick else TABLES) / "mixed.csv"
    wanted = points(["credit"], [TUNED], 1) if options.quick else points(SHAPES, REPORTED, RUNS)
    if options.part == "run":
        for point in wanted:
            if point.key not in read(path):
                cells = measure(point)
                append_row(path, COLUMNS, cells)
                print(*cells, flush=True)
    print(shown(read(path)))
    if not options.quick:
        rewrite(PAGE, read(path))
