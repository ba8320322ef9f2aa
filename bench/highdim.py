"""Methods for many columns beside each other: inertia over that of k-means, time and memory.

`python -m bench highdim` does what the tables lack and writes the page; runs that the bench of
Edler 2023 has done already are taken from its table. `docs` only writes the page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from bench import highdim_page, speed
from bench.growing_tables import THREADS, append_row, read_rows
from bench.inertia_data import MNIST, blobs, is_there, load
from bench.inertia_methods import BEST_KMEANS, NONPRIVATE, balcan
from bench.inertia_runs import Point, Table, append, complete, model_of, one_run, read
from bench.memory import forget_peak, peak

ROOT = Path(__file__).parents[1]
TABLES, BUILD = ROOT / "bench" / "tables", ROOT / "build" / "bench"
DELTA = 1e-6
PLACES = {MNIST: 10, blobs(64, 100): 64}
PURE = (
    balcan("edler"),
    balcan("matlab"),
    balcan("paper"),
    balcan("edler", search="coreset"),
    "dplloyd",
    "auto",
)
WITH_DELTA = (balcan("edler"), balcan("edler", search="coreset"), "maxcover", "dplloyd", "auto")
RUNS = {"maxcover": 5, BEST_KMEANS: 1}
MEMORY_COLUMNS = ["dataset", "method", "delta", "megabytes"]


@dataclass(frozen=True)
class Size:
    """How much is run: all of it, or enough to see that it works."""

    runs: int = 10
    places: tuple[str, ...] = tuple(PLACES)


FULL, QUICK = Size(), Size(1, (blobs(64, 100),))


def points(size: Size) -> list[Point]:
    """Everything that is measured: k-means without privacy, pure methods, those with δ."""
    found = []
    for dataset in size.places:
        k = PLACES[dataset]
        found.append(Point(dataset, k, BEST_KMEANS, runs=1))
        for methods, delta in ((PURE, 0.0), (WITH_DELTA, DELTA)):
            for method in methods:
                runs = min(size.runs, RUNS.get(method, size.runs))
                found.append(Point(dataset, k, method, 1.0, delta, runs))
    return found


def borrow(path: Path, lender: Path, wanted: list[Point]) -> None:
    """Take runs from another table where it has them."""
    mine, theirs = read(path), read(lender)
    for point in wanted:
        if point.key not in mine and point.key in theirs:
            append(path, theirs[point.key])


def fill_memory(path: Path, table: Table) -> None:
    """Measure the peak of a fit for every point that runs, each in a process of its own."""
    done = read_memory(path)
    for key, result in table.items():
        dataset, k, method, _, delta = key
        place = dataset, method, delta
        if place in done or not result.runs or method in NONPRIVATE or not is_there(dataset):
            continue
        megabytes = memory_of(dataset, k, method, delta)
        append_row(path, MEMORY_COLUMNS, [*place, f"{megabytes:.4g}"])
        print(f"  {place}: {megabytes:.4g} MB", flush=True)


def memory_of(dataset: str, k: int, method: str, delta: float) -> float:
    """The peak of a fit beyond data and libraries, in megabytes, on one thread."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    job = [dataset, str(k), method, str(delta)]
    command = [sys.executable, "-m", "bench", "highdim", "--worker", *job]
    shown = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(shown.stdout.splitlines()[-1])["megabytes"])


def worker(dataset: str, k: str, method: str, delta: str) -> dict[str, float]:
    """What the process of a measurement does."""
    warnings.simplefilter("ignore")
    speed.load_compiled()
    data = load(dataset)
    point = Point(dataset, int(k), method, 1.0, float(delta))
    # A first fit on few rows loads the libraries, which take as much for any table.
    model_of(point, data, 0).fit(data.rows[:2000])
    forget_peak()
    before = peak()
    one_run(point, data, 1)
    return {"megabytes": (peak() - before) / 2**20}


def read_memory(path: Path) -> highdim_page.Memory:
    """Megabytes by dataset, method and δ."""
    return {
        (line["dataset"], line["method"], float(line["delta"])): float(line["megabytes"])
        for line in read_rows(path)
    }


def main(argv: list[str]) -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="bench highdim", description=__doc__)
    parser.add_argument("part", nargs="?", default="run", choices=["run", "docs"])
    parser.add_argument("--quick", action="store_true", help="one run, blobs, into build/bench")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker:
        print(json.dumps(worker(*options.worker)))
        return
    folder, size = (BUILD, QUICK) if options.quick else (TABLES, FULL)
    path, memory = folder / "highdim.csv", folder / "highdim_memory.csv"
    if options.part == "run":
        borrow(path, folder / "edler2023_points.csv", points(size))
        complete(path, points(size), options.processes)
        fill_memory(memory, read(path))
    table = read(path)
    print(highdim_page.measured(table, read_memory(memory)))
    if not options.quick:
        highdim_page.rewrite(highdim_page.PAGE, table, read_memory(memory))
