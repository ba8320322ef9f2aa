"""Nguyen, Chaturvedi and Xu 2021 again: figure 1, whose numbers the paper does not print.

`python -m bench nguyen2021 fig1` does the runs that the table lacks and draws it; `all` also judges
the claims and writes the page; `claims` and `docs` measure nothing.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

from bench.inertia_data import TRAINING, blobs, is_there, shape
from bench.inertia_methods import LLOYD, balcan
from bench.inertia_runs import Point, complete, read
from bench.papers import nguyen2021_claims as claims
from bench.papers import su2015_verdicts as verdicts
from bench.papers.nguyen2021_page import PAGE, rewrite

ROOT = Path(__file__).parents[2]
DATASETS = (blobs(64, 100, 50_000), TRAINING)
KS = (2, 8, 32)
# Their Balcan et al.: the Matlab code, averages with Gaussian noise, one round of private k-means.
BALCAN = balcan("matlab", rounds=1)
METHODS = ("maxcover", BALCAN, LLOYD, "auto", "dplloyd")
EPSILON = 1.0
RUNS = 5
PARTS = ("fig1",)


def delta_of(dataset: str) -> float:
    """δ = n^−1.5, as in the paper."""
    return float(f"{shape(dataset)[0] ** -1.5:.6g}")


def points(quick: bool) -> list[Point]:
    """All marks of the figure, with as many runs as the paper's."""
    found = []
    for dataset, k, method in product(DATASETS, (2, 32) if quick else KS, METHODS):
        private = method != LLOYD
        epsilon, delta = (EPSILON, delta_of(dataset)) if private else (0.0, 0.0)
        runs = 1 if quick else RUNS
        found.append(Point(dataset, k, method, epsilon, delta, runs))
    return found


def folders(quick: bool) -> tuple[Path, Path]:
    """Where tables and pictures go; those of a quick run are not kept in the repository."""
    if quick:
        return ROOT / "build" / "bench", ROOT / "build" / "bench"
    return ROOT / "bench" / "tables", ROOT / "bench" / "figures"


def table_of(folder: Path, name: str) -> Path:
    """A table by its name."""
    return folder / f"nguyen2021_{name}.csv"


def run(quick: bool, processes: int) -> None:
    """Measure what is missing, and draw."""
    from bench.papers.nguyen2021_figures import draw

    tables, pictures = folders(quick)
    path = table_of(tables, "fig1")
    complete(path, points(quick), processes)
    draw(read(path), pictures / "nguyen2021_fig1.png")


def judge(quick: bool) -> None:
    """Write the verdict on every claim that the table can decide."""
    tables, _ = folders(quick)
    found = claims.judge(read(table_of(tables, "fig1")))
    verdicts.write(table_of(tables, "claims"), found)
    for verdict in found:
        print(f"{verdict.verdict:15} {verdict.claim} [{verdict.numbers}]")


def main(argv: list[str]) -> None:
    """Do what is named."""
    parser = argparse.ArgumentParser(prog="bench nguyen2021", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "all", "claims", "docs"])
    parser.add_argument("--quick", action="store_true", help="one run, two k, into build/bench")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    options = parser.parse_args(argv)
    if not is_there(TRAINING):
        print("MNIST is left out: not in the folder that SFUMATO_DATA names")
    everything = "all" in options.parts
    if everything or "fig1" in options.parts:
        run(options.quick, options.processes)
    if everything or "claims" in options.parts:
        judge(options.quick)
    if (everything and not options.quick) or "docs" in options.parts:
        tables, _ = folders(False)
        rewrite(PAGE, read(table_of(tables, "fig1")), table_of(tables, "claims"))
