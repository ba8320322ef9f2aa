"""k-median under differential privacy, beside k-means, on data with and without outliers.

    python -m bench median      # measures what the table lacks, and writes it into docs/kmedian.md

A result is the sum of distances to the nearest centre, in the cube that the bounds span, over that
of k-median without privacy (`nonprivate.kmedian`, the best of eight starts). Files are read from
the folder that SFUMATO_DATA names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from bench import utility_data
from bench.data import with_data
from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from sfumato import PrivateKMeans, PrivateKMedian, nonprivate
from sfumato._base.types import Floats

RUNS = 20
EPSILONS = (0.5, 1.0, 2.0)
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "median.csv"
PAGE = ROOT / "docs" / "kmedian.md"
MARKS = ("<!-- costs: written by `python -m bench median` -->", "<!-- end of costs -->")
MODELS = {"kmeans": PrivateKMeans, "kmedian": PrivateKMedian}
COLUMNS = [
    *("data", "epsilon", "runs", "plain_kmeans"),
    *(f"{name}_{part}" for name in MODELS for part in ("mean", "sd", "worst")),
]
CUBE = (-1.0, 1.0)


def outliers(n: int, d: int, k: int, part: float, low: float) -> Floats:
    """K round clumps, and a part of the rows anywhere from `low` to 1 in every column."""
    rng = np.random.default_rng([n, d, k])
    rows = rng.uniform(-0.6, 0.6, (k, d))[rng.integers(k, size=n)] + rng.normal(0, 0.05, (n, d))
    away = rng.random(n) < part
    rows[away] = rng.uniform(low, 1, (away.sum(), d))
    clipped: Floats = np.clip(rows, *CUBE)
    return clipped


def tails(n: int, d: int, k: int) -> Floats:
    """K clumps whose rows lie as Student's t with 1.5 degrees of freedom says."""
    rng = np.random.default_rng([n, d, k])
    middles = rng.uniform(-0.6, 0.6, (k, d))
    rows: Floats = middles[rng.integers(k, size=n)] + 0.03 * rng.standard_t(1.5, (n, d))
    return np.clip(rows, *CUBE)


@dataclass(frozen=True)
class Data:
    """Rows in the cube [−1, 1]^d, made or read, and the number of clusters."""

    title: str
    k: int
    make: Callable[[], Floats]

    @cached_property
    def rows(self) -> Floats:
        """The rows, (n, d)."""
        return self.make()

    @cached_property
    def reference(self) -> float:
        """The cost without privacy."""
        return self.cost(nonprivate.kmedian(self.rows, self.k, random_state=0))

    def cost(self, centers: Floats) -> float:
        """The sum of distances to the nearest of centres (k, d)."""
        return nonprivate.kmedian_cost(self.rows, centers)

    def ratio(self, centers: Floats) -> float:
        """The cost over that without privacy."""
        return self.cost(centers) / self.reference

    def plain_kmeans(self) -> float:
        """The ratio of k-means without privacy."""
        model = KMeans(self.k, n_init=10, random_state=0).fit(self.rows)
        return self.ratio(model.cluster_centers_)

    def private(self, name: str, epsilon: float, runs: int) -> list[float]:
        """The ratios of private fits."""
        models = (
            MODELS[name](self.k, epsilon=epsilon, bounds=CUBE, random_state=i).fit(self.rows)
            for i in range(runs)
        )
        return [self.ratio(model.cluster_centers_) for model in models]


def _file(name: str) -> Data:
    source = utility_data.SOURCES[name]
    title = f"{source.title}, {source.n:,} × {source.d}"
    return Data(title, source.k, lambda: utility_data.load(name).cube)


DATA = {
    **{name: _file(name) for name in ("s1", "gowalla_nyc", "adult_num")},
    "anywhere": Data(
        "8 clumps, 10 % of rows anywhere, 20,000 × 2", 8, lambda: outliers(20_000, 2, 8, 0.1, -1)
    ),
    "tails": Data("6 clumps with long tails, 20,000 × 3", 6, lambda: tails(20_000, 3, 6)),
    "corner": Data(
        "5 clumps, 5 % of rows in a corner, 50,000 × 10",
        5,
        lambda: outliers(50_000, 10, 5, 0.05, 0.6),
    ),
}


def measure(name: str, epsilon: float, runs: int) -> list[str]:
    """One line of the table."""
    data, cells = DATA[name], [name, f"{epsilon:g}", str(runs)]
    cells.append(f"{data.plain_kmeans():.4f}")
    for model in MODELS:
        found = data.private(model, epsilon, runs)
        cells += [f"{value:.4f}" for value in (np.mean(found), np.std(found, ddof=1), max(found))]
    return cells


def page(rows: list[dict[str, str]]) -> str:
    """The table as the page shows it."""
    heads = ("data", "k", "ε", "k-means without privacy", "`PrivateKMeans`", "`PrivateKMedian`")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        data = DATA[row["data"]]
        cells = [data.title, str(data.k), row["epsilon"], row["plain_kmeans"]]
        cells += [f"{row[f'{name}_mean']} ± {row[f'{name}_sd']}" for name in MODELS]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    """Measure what the table lacks, and write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m bench median", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    options = parser.parse_args(words)
    there = with_data({name: utility_data.file_of(name) for name in DATA})
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {(row["data"], row["epsilon"]) for row in read_rows(TABLE)}
    for name in there:
        for epsilon in EPSILONS:
            if (name, f"{epsilon:g}") not in done:
                line = measure(name, epsilon, options.runs)
                append_row(TABLE, COLUMNS, line)
                print(*line, flush=True)
    put(PAGE, page(read_rows(TABLE)), *MARKS)
