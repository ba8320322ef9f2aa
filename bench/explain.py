"""Explanations of clusters against DPClustX (Gilad et al. 2025), at equal ε.

    SFUMATO_DATA=… python -m bench explain run     # measures what the table lacks
    python -m bench explain page                   # writes the table into docs/explain.md

Clusters are those of k-means without privacy, the same for both. Two batches of runs have seeds of
their own. The baseline is written from the paper's description: candidates of every cluster by
one-shot noisy top-3, one combination of them by the exponential mechanism, then noisy histograms of
the chosen column in the cluster and in all rows, a third of ε for each step. Both count the same
bins.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from bench.data import with_data
from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from bench.utility_data import load
from sfumato import Category, Curator, Flag, Number, Ordinal, Schema
from sfumato._base.types import Floats, Ints, Rng
from sfumato._core.queries.breakdown import Breakdown
from sfumato._core.queries.cells import Nearest
from sfumato._explaining import explain, plan_of
from sfumato._explaining.columns import Binned, binned
from sfumato._lattice.box import REACH

EPSILONS = (0.1, 0.2, 0.5, 1.0)
RUNS = 25
BATCHES = (0, 1)
TOP = 3
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "explain.csv"
COLUMNS = (
    "table,epsilon,batch,method,runs,tv,tv_sd,first_tv,first_tv_sd,top3,top3_sd,best,best_sd,"
    "histograms"
).split(",")
PAGE = ROOT / "docs" / "explain.md"
BEGIN = "<!-- explain: written by `python -m bench explain page` -->"
END = "<!-- end of explain -->"


@dataclass(frozen=True, eq=False)
class Clustered:
    """A table and its clusters."""

    schema: Schema
    cells: dict[str, object]
    k: int

    @cached_property
    def points(self) -> Floats:
        """Rows in the cube."""
        return self.schema.encode([self.cells[name] for name in self.schema.features])

    @cached_property
    def centers(self) -> Floats:
        """Centres of k-means without privacy, in the cube."""
        return KMeans(self.k, n_init=3, random_state=0).fit(self.points).cluster_centers_

    def frame(self) -> object:
        """The table as a data frame."""
        import pandas as pd

        return pd.DataFrame(self.cells)

    def bins(self, slices: int) -> list[Binned]:
        """The columns as they are counted, without a bin for missing cells: there are none."""
        pairs = self.schema.places.items()
        columns = self.schema.columns
        found = {
            n: binned(n, columns[n], place.start, gaps=False, slices=slices) for n, place in pairs
        }
        return [found[name] for name in self.schema.features]

    @cache  # noqa: B019  (three tables, kept for the whole run)
    def exact(self, slices: int) -> tuple[Floats, ...]:
        """Exact counts (k, bins) of every column."""
        query = Breakdown(Nearest(self.centers * REACH), tuple(b.bins for b in self.bins(slices)))
        state = query.empty()
        query.add(self.schema.box.to_lattice(self.points), state)
        return tuple(state[:, line].astype(np.float64) for line in query.lines())


def adult() -> Clustered:
    """The numbers of Adult, and eight categories that follow them, with as many levels as there."""
    data = load("adult_num")
    rng = np.random.default_rng(0)
    low, high = (np.broadcast_to(side, data.d) for side in data.bounds)
    columns: dict[str, object] = {
        f"n{j}": Number(float(low[j]), float(high[j])) for j in range(data.d)
    }
    cells: dict[str, object] = {f"n{j}": data.rows[:, j] for j in range(data.d)}
    for j, (m, pull) in enumerate(
        zip((9, 16, 7, 15, 6, 5, 2, 42), (3, 2, 1, 4, 0, 2, 5, 1), strict=True)
    ):
        levels = [f"l{i}" for i in range(m)]
        follows = data.cube[:, j % data.d, np.newaxis] * pull
        logits = rng.normal(0, 1, m) + follows * rng.normal(0, 1, m)
        drawn = (logits + rng.gumbel(size=(len(data.rows), m))).argmax(axis=1)
        columns[f"c{j}"], cells[f"c{j}"] = Category(*levels), np.array(levels)[drawn]
    return Clustered(Schema(columns), cells, 6)


def forty() -> Clustered:
    """20,000 rows of 40 numbers, of which five tell five clusters apart."""
    rng = np.random.default_rng(1)
    n, k = 20_000, 5
    who = rng.choice(k, n, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    middles = np.zeros((k, 40))
    middles[:, :5] = rng.uniform(-1, 1, (k, 5))
    rows = middles[who] + rng.normal(0, np.where(np.arange(40) < 5, 0.25, 0.15), (n, 40))
    columns = {f"x{j}": Number(-2.0, 2.0) for j in range(40)}
    return Clustered(Schema(columns), {f"x{j}": rows[:, j] for j in range(40)}, k)


def small() -> Clustered:
    """2,000 rows of six numbers, two categories, an ordinal and a flag; four clusters."""
    rng = np.random.default_rng(2)
    n, k = 2000, 4
    who = rng.choice(k, n)
    pulls = np.array([1, 0.8, 0.5, 0.3, 0.1, 0])
    rows = (rng.uniform(-1, 1, (k, 6)) * pulls)[who] + rng.normal(0, 0.35, (n, 6))
    columns: dict[str, object] = {f"x{j}": Number(-2.0, 2.0) for j in range(6)}
    cells: dict[str, object] = {f"x{j}": rows[:, j] for j in range(6)}
    for name, kind, pull in (("c0", Category, 2.0), ("c1", Category, 0.3), ("o", Ordinal, 1.0)):
        levels = ["a", "b", "c", "d"]
        drawn = (rng.normal(0, pull, (k, 4))[who] + rng.gumbel(size=(n, 4))).argmax(axis=1)
        columns[name], cells[name] = kind(*levels, weight=0.5), np.array(levels)[drawn]
    columns["f"], cells["f"] = Flag(weight=0.5), rng.random(n) < np.array([0.1, 0.5, 0.8, 0.4])[who]
    return Clustered(Schema(columns), cells, k)


TABLES: dict[str, Callable[[], Clustered]] = {"adult": adult, "forty": forty, "small": small}


def distances(tables: tuple[Floats, ...]) -> Floats:
    """How far each cluster is from the rest in each column, exactly: (k, columns)."""
    found = []
    for counts in tables:
        rest = counts.sum(axis=0) - counts
        found.append(0.5 * np.abs(_shares(counts) - _shares(rest)).sum(axis=1))
    return np.array(found).T


def _shares(counts: Floats) -> Floats:
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)


@dataclass(frozen=True)
class Run:
    """What one run released, judged: see the page."""

    tv: float
    first_tv: float
    top3: float
    best: float
    histograms: int


def judged(
    histograms: dict[tuple[int, int], Floats],
    ranked: list[list[int]],
    tables: tuple[Floats, ...],
) -> Run:
    """Judge histograms of (cluster, column), and for each cluster its columns in order."""
    apart = distances(tables)
    wrong = {
        (c, a): 0.5 * float(np.abs(shares - _shares(tables[a])[c]).sum())
        for (c, a), shares in histograms.items()
    }
    first = [wrong[c, order[0]] for c, order in enumerate(ranked)]
    exact = [set(np.argsort(-line)[:TOP].tolist()) for line in apart]
    both = [len(exact[c] & set(order[:TOP])) / TOP for c, order in enumerate(ranked)]
    best = [apart[c, order[0]] / apart[c].max() for c, order in enumerate(ranked)]
    means = (float(np.mean(x)) for x in (list(wrong.values()), first, both, best))
    return Run(*means, len(wrong))


def ours(data: Clustered, epsilon: float, sizes: Floats) -> Run:
    """One explanation by this library, with all its defaults."""
    curator = Curator(data.frame(), schema=data.schema, epsilon=epsilon)
    told = explain(curator, data.centers, sizes=sizes, schema=data.schema, epsilon=epsilon)
    place = {name: i for i, name in enumerate(data.schema.features)}
    histograms = {
        (c, place[column.name]): column.shares[c] for column in told.columns for c in range(data.k)
    }
    ranked = [[place[name] for name, _, _ in told.ranked(c)] for c in range(data.k)]
    return judged(histograms, ranked, data.exact(slices_of(data, epsilon, sizes)))


def slices_of(data: Clustered, epsilon: float, sizes: Floats) -> int:
    """The bins that this library takes at this ε; the baseline gets the same."""
    exact = Fraction(str(epsilon))
    columns = len(data.schema.features)
    return plan_of(columns, sizes, 1, exact, Fraction(0), every=False).slices


def dpclustx(data: Clustered, epsilon: float, sizes: Floats, rng: Rng) -> Run:
    """One explanation by the three steps of the paper."""
    tables = data.exact(slices_of(data, epsilon, sizes))
    third = epsilon / 3
    scores = own_scores(tables)
    noise = rng.gumbel(0, 2 * TOP * data.k / third, scores.shape)
    candidates = np.argsort(-(scores + noise), axis=1)[:, :TOP]
    chosen = combination(tables, scores, candidates, third, rng)
    many = len(set(chosen))
    whole = {
        a: tables[a].sum(axis=0) + rng.laplace(0, 2 * many / third, tables[a].shape[1])
        for a in set(chosen)
    }
    histograms = {}
    for c, a in enumerate(chosen):
        inside = np.maximum(tables[a][c] + rng.laplace(0, 2 / third, tables[a].shape[1]), 0)
        inside = np.minimum(inside, np.maximum(whole[a], 0)) if whole[a].max() > 0 else inside
        total = inside.sum()
        histograms[c, a] = inside / total if total else np.full(len(inside), 1 / len(inside))
    ranked = [
        [a, *(b for b in line.tolist() if b != a)]
        for a, line in zip(chosen, candidates, strict=True)
    ]
    return judged(histograms, ranked, tables)


def own_scores(tables: tuple[Floats, ...]) -> Floats:
    """How interesting and how sufficient each column is for each cluster, in rows: (k, columns).

    Interesting: size times the total variation distance to all rows. Sufficient: rows of the
    cluster, each with the part of its bin that is in the cluster. One row moves each by at most 1.
    """
    found = []
    for counts in tables:
        total, sizes = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
        interesting = 0.5 * np.abs(counts - sizes * total / total.sum()).sum(axis=1)
        sufficient = (counts**2 / np.maximum(total, 1)).sum(axis=1)
        found.append((interesting + sufficient) / 2)
    return np.array(found).T


def combination(
    tables: tuple[Floats, ...], scores: Floats, candidates: Ints, epsilon: float, rng: Rng
) -> list[int]:
    """One column for each cluster, by the exponential mechanism; diverse ones are worth more."""
    k = len(candidates)
    sizes = tables[0].sum(axis=1)
    combos = list(product(*candidates.tolist()))
    worth = np.empty(len(combos))
    apart = [0.5 * np.abs(_shares(t)[:, np.newaxis] - _shares(t)).sum(axis=2) for t in tables]
    least = np.minimum(sizes[:, np.newaxis], sizes)
    pairs = [(i, j) for i in range(k) for j in range(i)]
    for number, combo in enumerate(combos):
        own = np.mean([scores[c, a] for c, a in enumerate(combo)])
        diverse = np.mean(
            [
                least[i, j] * (apart[combo[i]][i, j] if combo[i] == combo[j] else 1.0)
                for i, j in pairs
            ]
        )
        worth[number] = (2 * own + diverse) / 3
    drawn = worth * epsilon / 2 + rng.gumbel(size=len(combos))
    return list(combos[int(drawn.argmax())])


def measure(name: str, epsilon: float, batch: int, method: str, runs: int) -> list[str]:
    """One line of the table."""
    data = _table(name)
    rng = np.random.default_rng([batch, int(1000 * epsilon)])
    exact = data.exact(16)[0].sum(axis=1)
    found = []
    for _ in range(runs):
        sizes = exact + rng.laplace(0, 50, data.k)  # as a fit at ε = 1 releases them
        if method == "sfumato":
            found.append(ours(data, epsilon, sizes))
        else:
            found.append(dpclustx(data, epsilon, sizes, rng))
    cells = []
    for field in ("tv", "first_tv", "top3", "best"):
        values = [getattr(run, field) for run in found]
        cells += [f"{np.mean(values):.4f}", f"{np.std(values, ddof=1):.4f}"]
    many = f"{np.mean([run.histograms for run in found]):.1f}"
    return [name, str(epsilon), str(batch), method, str(runs), *cells, many]


@cache
def _table(name: str) -> Clustered:
    return TABLES[name]()


def page(rows: list[dict[str, str]]) -> str:
    """The table as the page shows it: means of both batches."""
    by: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        by.setdefault((row["table"], row["epsilon"], row["method"]), []).append(row)
    lines = [
        "| table | ε | histograms | error (all) | error (first) | first column | top 3 |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in TABLES:
        for epsilon in map(str, EPSILONS):
            pair = [by.get((name, epsilon, method)) for method in METHODS]
            if all(pair):
                lines.append(f"| {name} | {epsilon} | {_cells(pair)} |")
    return "\n".join(lines)


METHODS = ("sfumato", "dpclustx")


def _cells(pair: list[list[dict[str, str]]]) -> str:
    cells = []
    for field, form in (
        ("histograms", "{:.0f}"),
        ("tv", "{:.3f}"),
        ("first_tv", "{:.3f}"),
        ("best", "{:.2f}"),
        ("top3", "{:.2f}"),
    ):
        means = [np.mean([float(row[field]) for row in rows]) for rows in pair]
        cells.append(" / ".join(form.format(mean) for mean in means))
    return " | ".join(cells)


def main(words: list[str]) -> None:
    """Measure what is missing, or write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench explain", description=__doc__)
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    options = parser.parse_args(words)
    if options.what == "run":
        done = {tuple(list(row.values())[:4]) for row in read_rows(TABLE)}
        there = with_data({name: "adult_num" * (name == "adult") for name in options.tables})
        for task in product(there, EPSILONS, BATCHES, METHODS):
            if tuple(map(str, task)) not in done:
                line = measure(*task, options.runs)
                append_row(TABLE, COLUMNS, line)
                print(*line, flush=True)
    put(PAGE, page(read_rows(TABLE)), BEGIN, END)
