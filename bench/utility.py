"""What privacy costs: NICV of every method over that of scikit-learn's k-means without it.

`python -m bench utility` measures what the table lacks, draws the figure and writes the page;
`report` says which targets are reached, `choose-k` and `time` measure the choice of the number of
clusters and the time of a fit, `docs` only writes figure and page.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path

from bench import utility_k, utility_page, utility_time
from bench.data import with_data
from bench.growing_tables import in_processes
from bench.utility_data import MEASURED, file_of
from bench.utility_points import FULL, MAIN, PEER, QUICK, REFERENCE, Point, methods, references
from bench.utility_points import points as points_of
from bench.utility_runs import (
    PEER_PYTHON,
    Result,
    append,
    measure,
    missing,
    read,
    rewrite,
)
from sfumato.methods import METHODS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
TABLES, FIGURES = ROOT / "bench" / "tables", ROOT / "bench" / "figures"
BUILD = ROOT / "build" / "bench"
PARTS = ("run", "report", "choose-k", "time", "docs")


def table_in(folder: Path, kind: str = "") -> Path:
    """One of the three tables."""
    return folder / f"utility{kind}.csv"


def tables_in(folder: Path) -> utility_page.Tables:
    """Everything that was measured so far."""
    return utility_page.Tables(
        read(table_in(folder)),
        utility_k.read(table_in(folder, "_k")),
        utility_time.read(table_in(folder, "_time")),
    )


def _measure(task: tuple[Point, float]) -> Result:
    return measure(*task)


def fill(path: Path, points: list[Point], processes: int) -> None:
    """Measure the points that the table lacks, the references of their datasets first."""
    base = references(dict.fromkeys(point.dataset for point in points))
    for wave in (
        [p for p in base if p.method == REFERENCE],
        [p for p in base if p.method != REFERENCE] + points,
    ):
        done = read(path)
        left = missing(wave, done)
        known = {key[0]: result.nicv for key, result in done.items() if key[1] == REFERENCE}
        print(f"{path.name}: {len(left)} of {len(wave)} points to measure", flush=True)
        tasks = [(point, known.get(point.dataset, 0.0)) for point in left]
        for number, result in enumerate(in_processes(_measure, tasks, processes), 1):
            append(path, result)
            print(f"  {number}/{len(left)} {_said(result)}", flush=True)
    sort(path)


def _said(result: Result) -> str:
    dataset, method, delta, epsilon = result.key
    label = f"{dataset} {method} δ = {delta:g} ε = {epsilon:g}:"
    if not result.has_runs:
        return f"{label} {result.state} ({result.note})"
    return (
        f"{label} {result.ratio:.4f} ± {result.error:.4f}, {result.runs} × {result.seconds:.3g} s"
    )


def sort(path: Path) -> None:
    """Put a table into the order of all points, each point once; what is not a point follows."""
    results = read(path)
    order = [p.key for p in references(MEASURED) + points_of(FULL, MEASURED, methods())]
    keys = [key for key in order if key in results]
    rewrite(path, {key: results[key] for key in dict.fromkeys([*keys, *results])})


def forget(path: Path, datasets: list[str], chosen: list[str]) -> None:
    """Drop the points of these methods on these datasets; references stay."""
    kept = {k: r for k, r in read(path).items() if k[0] not in datasets or k[1] not in chosen}
    rewrite(path, kept)


def publish(folder: Path, pictures: Path, page: Path | None) -> None:
    """Draw the figure, and write the page if there is one."""
    tables = tables_in(folder)
    if any(result.has_runs and key[3] for key, result in tables.points.items()):
        from bench.utility_figure import draw

        draw(tables.points, pictures / "utility.png")
    if page is not None:
        utility_page.rewrite(page, tables)


def report(folder: Path) -> None:
    """Print every target with what was measured."""
    tables = tables_in(folder)
    for verdict in utility_page.judge(tables.points):
        target = verdict.target
        label = f"{target.dataset} ε = {target.epsilon:g} δ = {target.delta:g}"
        print(f"{verdict.word:12} {label}: {verdict.numbers}; at most {target.at_most:g}")
    for line in map(utility_k.line, tables.choices):
        print(f"{'':12} {line}")
    print(*utility_time.lines(tables.timings), sep="\n")


def run(options: argparse.Namespace, folder: Path) -> None:
    """Measure points."""
    size = QUICK if options.quick else FULL
    asked, chosen = options.only or size.datasets, options.methods or methods()
    datasets = with_data({name: file_of(name) for name in asked})
    if PEER in chosen and PEER_PYTHON not in os.environ:
        print(f"{PEER} left out: {PEER_PYTHON} names no interpreter")
        chosen = [method for method in chosen if method != PEER]
    path = table_in(folder)
    if options.fresh:
        forget(path, datasets, chosen)
    fill(path, points_of(size, datasets, chosen), options.processes)


def the_method(options: argparse.Namespace) -> str:
    """The method whose choice of k and whose time are measured."""
    method = (options.methods or [MAIN])[0]
    if method not in METHODS:
        sys.exit(f"{method!r} is not a method; name one with --methods: {', '.join(METHODS)}")
    return method


def names_from(allowed: list[str], text: str) -> list[str]:
    """Names between commas, all of them known."""
    names = text.split(",")
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(allowed)}")
    return names


def parsed(argv: list[str]) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(prog="bench utility", description=__doc__)
    parser.add_argument("part", nargs="?", default="run", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="three runs, small data, build/bench")
    parser.add_argument("--fresh", action="store_true", help="measure the chosen points again")
    parser.add_argument("--only", type=partial(names_from, list(MEASURED)), metavar="DATASET,…")
    parser.add_argument("--methods", type=partial(names_from, methods()), metavar="METHOD,…")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    """Do the part that is named."""
    options = parsed(argv)
    folder, pictures = (BUILD, BUILD) if options.quick else (TABLES, FIGURES)
    if options.worker:
        print(json.dumps(utility_time.worker(*options.worker)))
        return
    if options.part == "run":
        run(options, folder)
    elif options.part == "choose-k":
        path, method = table_in(folder, "_k"), the_method(options)
        runs = QUICK.most_runs if options.quick else utility_k.RUNS
        utility_k.complete(path, method, runs, options.processes, fresh=options.fresh)
    elif options.part == "time":
        utility_time.complete(table_in(folder, "_time"), the_method(options), fresh=options.fresh)
    if options.part != "report":
        publish(folder, pictures, None if options.quick else PAGE)
    report(folder)
