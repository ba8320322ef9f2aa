"""Sukpisit et al. 2019, Figure 2 and Eq. 2, with the noise that they print: not private.

The count of every iteration gets noise of scale 1/ε, whatever the number of iterations, the columns
are not brought to bounds, and the start is K rows. It serves one purpose: to judge what the paper
says by what it ran. Iteration i adds Laplace noise of scale (d + 1)/(ε/2^i) to the sums. Where the
text says nothing several variants are run: how many iterations, and how much noise the start gets.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from bench.growing_tables import append_row, read_rows, write_rows
from bench.papers.sukpisit2019_data import SOURCES, is_there, load
from bench.papers.sukpisit2019_runs import scores
from sfumato._base.types import Floats
from sfumato.nonprivate import labels

COLUMNS = ["dataset", "start", "iterations", "epsilon", "runs", "populated", "ncm", "one", "sil"]
STARTS = ("rows", "noisy rows")
ITERATIONS = (1, 2, 3, 5, 10)
LEAST = 0.1
RUNS = 100
STILL = 1e-4

Key = tuple[str, str, int, float]


@dataclass(frozen=True)
class Result:
    """The share of runs with all K clusters, mean NCM, the share with one, and the silhouette."""

    key: Key
    runs: int
    populated: float
    ncm: float
    one: float
    silhouette: float


def centers(
    rows: Floats, k: int, epsilon: float, start: str, iterations: int, rng: np.random.Generator
) -> Floats:
    """Centres of one run, in the units of the rows; not private."""
    d = rows.shape[1]
    points = rows[rng.choice(len(rows), k, replace=False)]
    if start == "noisy rows":
        points = points + rng.laplace(0, 2 * (d + 1) / epsilon, points.shape)
    for i in range(1, iterations + 1):
        nearest = labels(rows, points)
        counts = np.bincount(nearest, minlength=k) + rng.laplace(0, 1 / epsilon, k)
        sums = np.stack([np.bincount(nearest, column, k) for column in rows.T], axis=1)
        sums = sums + rng.laplace(0, (d + 1) / (epsilon / 2**i), sums.shape)
        moved = sums / counts[:, None]
        still = np.abs(moved - points).max() <= STILL
        points = moved
        if still:
            break
    return points


def keys() -> list[Key]:
    """Every variant at a tenth, and at the paper's ε."""
    return [
        (name, start, iterations, epsilon)
        for name, source in SOURCES.items()
        for start, iterations, epsilon in product(STARTS, ITERATIONS, (LEAST, *source.private))
    ]


def measure(key: Key, runs: int = RUNS) -> Result:
    """Do all runs of a variant."""
    name, start, iterations, epsilon = key
    data = load(name)
    rng = np.random.default_rng(zlib.crc32(repr(key).encode()))
    found = np.array(
        [
            scores(data.rows, centers(data.rows, data.k, epsilon, start, iterations, rng), data.k)
            for _ in range(runs)
        ],
        dtype=np.float64,
    )
    ncm, silhouettes = found.T
    whole = silhouettes[np.isfinite(silhouettes)]
    mean = float(whole.mean()) if len(whole) else math.nan
    return Result(
        key,
        runs,
        float((ncm == data.k).mean()),
        float(ncm.mean()),
        float((ncm == 1).mean()),
        mean,
    )


def read(path: Path) -> dict[Key, Result]:
    """Every variant that a table holds; the last row of one counts."""
    found = {}
    for line in read_rows(path):
        key = (line["dataset"], line["start"], int(line["iterations"]), float(line["epsilon"]))
        numbers = (float(line[name]) for name in COLUMNS[5:])
        found[key] = Result(key, int(line["runs"]), *numbers)
    return found


def complete(path: Path, runs: int = RUNS) -> None:
    """Measure the variants that a table lacks."""
    done = read(path)
    left = [k for k in keys() if is_there(k[0]) and (k not in done or done[k].runs < runs)]
    print(f"{path.name}: {len(left)} of {len(keys())} points to measure", flush=True)
    for key in left:
        append_row(path, COLUMNS, _cells(measure(key, runs)))
    found = read(path)
    write_rows(path, COLUMNS, (_cells(found[key]) for key in keys() if key in found))


def _cells(result: Result) -> list[object]:
    numbers = (result.populated, result.ncm, result.one, result.silhouette)
    return [*result.key, result.runs, *(f"{number:.5g}" for number in numbers)]


def variants(found: dict[Key, Result], name: str, epsilon: float) -> list[Result]:
    """The variants on a dataset at one ε. Raises KeyError where there are none."""
    mine = [r for key, r in found.items() if key[0] == name and key[3] == epsilon]
    if not mine:
        raise KeyError(f"nothing was run on {name}")
    return mine


def as_markdown(found: dict[Key, Result]) -> str:
    """Runs with one cluster, and with all K and their silhouette, by start and iterations."""
    lines = [
        "| dataset | ε | the paper's silhouette | start | "
        + " | ".join(f"{i} iteration{'s' * (i > 1)}" for i in ITERATIONS)
        + " |",
        "|---|---|---|---|" + "---|" * len(ITERATIONS),
    ]
    for name, source in SOURCES.items():
        for epsilon, start in product((LEAST, *sorted(source.private)), STARTS):
            cells = _along(found.get((name, start, i, epsilon)) for i in ITERATIONS)
            theirs = source.private.get(epsilon)
            said = f"{theirs:.4f}" if theirs else "one cluster"
            lines.append(f"| {source.title} | {epsilon:g} | {said} | {start} | {cells} |")
    return "\n".join(lines)


def _along(results: Iterable[Result | None]) -> str:
    return " | ".join(map(_cell, results))


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    silhouette = "" if math.isnan(result.silhouette) else f", {result.silhouette:.3f}"
    return f"one {result.one:.0%}, all {result.populated:.0%}{silhouette}"
