"""How the cost of a pass grows: with the rows of files, and with centres times columns.

`python -m bench engines growth` fits a power of each to CPU seconds; 1 is linear. Rows are read
from Parquet files in every pass. Centres and columns are measured on rows in memory.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

import numpy as np

from bench.engines_files import fit_alone, folder, made
from bench.growing_tables import append_row, read_rows
from bench.speed import load_compiled

TABLE = Path(__file__).parent / "tables" / "engines_growth.csv"
HEAD = ["axis", "rows", "columns", "clusters", "threads", "cpu_seconds"]
FILE_ROWS = 1_000_000
FILES = (2, 4, 8, 16)
# Centres and columns grow by turns; the rows go down so that every pass takes about as long. With
# fewer centres a row mostly costs what reading and adding it costs, which does not grow with them.
SHAPES = [(64, 8), (128, 8), (128, 16), (256, 16), (256, 32), (512, 32), (512, 64)]
CELLS = 2**31
LINEAR = (0.95, 1.05)


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench engines growth", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many fits counts")
    options = parser.parse_args(argv)
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {tuple(row[name] for name in HEAD[:5]) for row in read_rows(TABLE)}
    grow_rows(done, options.repeats)
    grow_shapes(done, options.repeats)
    report()


def grow_rows(done: set[tuple[str, ...]], repeats: int) -> None:
    """Fits of the first files of a folder, in a process each."""
    points = [("rows", n * FILE_ROWS, 8, 10, 1) for n in FILES]
    points = [point for point in points if tuple(map(str, point)) not in done]
    paths = [folder() / f"growth-{i}.parquet" for i in range(max(FILES))]
    try:
        for point in points:
            n = point[1] // FILE_ROWS
            files = [made(path, FILE_ROWS, seed) for seed, path in enumerate(paths[:n])]
            os.environ["SFUMATO_LATTICE_MB"] = "0"
            found = fit_alone("dplloyd", files, 1, repeats)
            keep(point, found["cpu_seconds"])
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def grow_shapes(done: set[tuple[str, ...]], repeats: int) -> None:
    """Passes over rows in memory, one thread, as many rows as make up the same work."""
    load_compiled()
    os.environ["SFUMATO_THREADS"] = "1"
    for k, d in SHAPES:
        point = ("clusters x columns", CELLS // (k * d), d, k, 1)
        if tuple(map(str, point)) not in done:
            keep(point, best_pass(point[1], d, k, repeats))


def best_pass(n: int, d: int, k: int, repeats: int) -> float:
    from sfumato._core.queries.counts import Nearest, Totals
    from sfumato._lattice.box import REACH, Box
    from sfumato.engines._memory import ArrayRows

    rng = np.random.default_rng(0)
    rows = ArrayRows(rng.uniform(size=(n, d)))
    query, box = Totals(Nearest(rng.integers(-REACH, REACH + 1, (k, d)))), Box.of((0, 1), d)
    best = math.inf
    for _ in range(5 * repeats + 1):
        start = time.process_time()
        rows.fold(box, query)
        # The first pass also puts the rows on the lattice.
        best = min(best, time.process_time() - start)
    return best


def keep(point: tuple[object, ...], seconds: float) -> None:
    append_row(TABLE, HEAD, [*point, f"{seconds:.4g}"])
    print(*point, f"{seconds:.4g} s", flush=True)


def exponent(x: list[float], seconds: list[float]) -> float:
    """The power of x that the seconds grow with: the slope of a line through the logarithms."""
    return float(np.polyfit(np.log(x), np.log(seconds), 1)[0])


def report() -> None:
    rows = read_rows(TABLE)
    files = [row for row in rows if row["axis"] == "rows"]
    sizes, taken = ([float(row[name]) for row in files] for name in ("rows", "cpu_seconds"))
    judge("seconds grow with rows", exponent(sizes, taken))
    shapes = [row for row in rows if row["axis"] != "rows"]
    work = [float(row["clusters"]) * float(row["columns"]) for row in shapes]
    each = [float(row["cpu_seconds"]) / float(row["rows"]) for row in shapes]
    # Larger products make better use of a core: below 1 is no fault.
    judge("seconds of a row grow with clusters x columns", exponent(work, each), least=0)


def judge(what: str, power: float, least: float = LINEAR[0]) -> None:
    met = "met" if least <= power <= LINEAR[1] else "missed"
    print(f"{what} to the power {power:.3f}; {least} to {LINEAR[1]}: {met}")
