"""Rows that come in batches: `partial_fit` against one fit on all rows, and against mean centres.

    python -m bench stream      # measures what the table lacks, and writes it into docs/streams.md

Batches have 5,000 rows of fifteen round clusters in two columns, which stay where they are or
drift. A result is the cost on fresh rows of the last batch over that of k-means without privacy on
these rows. "averaged" are the centres of independent fits of all batches, each matched with those
of the first batch.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from sfumato import PrivateKMeans, nonprivate
from sfumato._base.distances import squared_distances
from sfumato._base.types import Floats

RUNS = 5
EPSILONS = (0.2, 1.0)
BATCHES = (1, 4, 16, 64)
ROWS, K = 5_000, 15
DATA = {"steady": "clusters that stay", "drifting": "clusters that drift"}
WAYS = {
    "stream": "`partial_fit`",
    "fading": "`partial_fit`, `half_life=4`",
    "whole": "one fit on all rows",
    "averaged": "averaged fits",
}
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "stream.csv"
PAGE = ROOT / "docs" / "streams.md"
MARKS = ("<!-- costs: written by `python -m bench stream` -->", "<!-- end of costs -->")
COLUMNS = ["data", "epsilon", "run", "batches", *WAYS]
CUBE = (-1.0, 1.0)

# How far a cluster drifts in 64 batches, in half widths: about three times its own radius.
_WAY = 0.35


class Source:
    """Batches of one run: fifteen clusters on a jittered grid, each with a direction of its own."""

    def __init__(self, name: str, run: int) -> None:
        self.rng = np.random.default_rng([run, len(name)])
        places = np.stack(np.meshgrid(np.linspace(-0.7, 0.7, 4), np.linspace(-0.7, 0.7, 4)), -1)
        self.centers = places.reshape(-1, 2)[:K] + self.rng.uniform(-0.06, 0.06, (K, 2))
        angles = self.rng.uniform(0, 2 * np.pi, K)
        self.ways = np.stack([np.cos(angles), np.sin(angles)], 1) * _WAY * (name == "drifting")

    def rows(self, batch: int, n: int = ROWS) -> Floats:
        """Rows (n, 2) of a batch, the first is 0."""
        middles = self.centers + self.ways * batch / max(BATCHES)
        drawn = middles[self.rng.integers(K, size=n)] + self.rng.normal(0, 0.06, (n, 2))
        clipped: Floats = np.clip(drawn, *CUBE)
        return clipped


def measure(name: str, epsilon: float, run: int, most: int = max(BATCHES)) -> list[list[str]]:
    """The lines of one run."""
    source, lines = Source(name, run), []
    settings = {"epsilon": epsilon, "bounds": CUBE, "random_state": run}
    stream = PrivateKMeans(K, **settings)
    fading = PrivateKMeans(K, half_life=4, **settings)
    batches, fits = list[Floats](), list[Floats]()
    for number in range(most):
        batches.append(source.rows(number))
        stream.partial_fit(batches[-1])
        fading.partial_fit(batches[-1])
        fits.append(PrivateKMeans(K, **settings).fit(batches[-1]).cluster_centers_)
        if number + 1 in BATCHES:
            whole = PrivateKMeans(K, **settings).fit(np.vstack(batches))
            found = {
                "stream": stream.cluster_centers_,
                "fading": fading.cluster_centers_,
                "whole": whole.cluster_centers_,
                "averaged": averaged(fits),
            }
            ratios = over_kmeans(source.rows(number, 4 * ROWS), list(found.values()))
            cells = [name, f"{epsilon:g}", str(run), str(number + 1)]
            lines.append([*cells, *(f"{ratio:.4f}" for ratio in ratios)])
    return lines


def averaged(fits: list[Floats]) -> Floats:
    """The means of centres (k, d) of several fits, each matched with those of the first."""
    matched = []
    for centers in fits:
        order = linear_sum_assignment(squared_distances(fits[0], centers))[1]
        matched.append(centers[order])
    mean: Floats = np.mean(matched, axis=0)
    return mean


def over_kmeans(rows: Floats, found: list[Floats]) -> list[float]:
    """Costs of centres over that of k-means without privacy, on the same rows (n, d)."""
    plain = KMeans(K, n_init=5, random_state=0).fit(rows).inertia_
    return [nonprivate.inertia(rows, centers) / plain for centers in found]


def page(rows: list[dict[str, str]]) -> str:
    """The table as the page shows it: means of all runs."""
    heads = ("data", "ε", "batches", *WAYS.values())
    lines = [f"| {' | '.join(heads)} |", "|---" * 3 + "|---:" * len(WAYS) + "|"]
    for name, title in DATA.items():
        for epsilon in EPSILONS:
            for batches in BATCHES:
                key = (name, f"{epsilon:g}", str(batches))
                mine = [r for r in rows if (r["data"], r["epsilon"], r["batches"]) == key]
                means = (np.mean([float(row[way]) for row in mine]) for way in WAYS)
                cells = [title, key[1], key[2], *(f"{mean:.4f}" for mean in means)]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    """Measure what the table lacks, and write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m bench stream", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    options = parser.parse_args(words)
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {(row["data"], row["epsilon"], row["run"], row["batches"]) for row in read_rows(TABLE)}
    for run in range(options.runs):
        for name in DATA:
            for epsilon in EPSILONS:
                last = (name, f"{epsilon:g}", str(run), str(max(BATCHES)))
                if last in done:
                    continue
                for line in measure(name, epsilon, run):
                    if tuple(line[:4]) not in done:
                        append_row(TABLE, COLUMNS, line)
                        print(*line, flush=True)
    put(PAGE, page(read_rows(TABLE)), *MARKS)
