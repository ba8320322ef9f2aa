"""What bounds, scales and weights of a schema cost, on a made table.

    python -m bench schema      # measures what the table lacks, and writes it into docs/schema.md

Four groups of 2,500 people differ in age, income and blood pressure, two of them in income alone. A
coin says nothing about the groups. A result is the adjusted Rand index of the clusters and the
groups: 1 if all people are with their own, 0 if they are put anywhere.
"""

from __future__ import annotations

import argparse
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from sfumato import Category, Number, PrivateKMeans, Schema, nonprivate
from sfumato._base.types import Ints

RUNS = 20
K = 4
EPSILONS = (1.0, 0.1)
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "schema.csv"
COLUMNS = ["about", "declared", "runs", "without_privacy", *(f"at_{e:g}" for e in EPSILONS)]
PAGE = ROOT / "docs" / "schema.md"
MARKS = {
    about: (f"<!-- {about}: written by `python -m bench schema` -->", f"<!-- end of {about} -->")
    for about in ("bounds", "weights")
}

OTHERS = {"age": Number(0, 105), "pressure": Number(60, 220)}
KNOWN = Number(1_000, 500_000, scale="log")
INCOMES = {
    "1,000 to 500,000, log": KNOWN,
    "1,000 to 50,000,000, log": Number(1_000, 50_000_000, scale="log"),
    "0 to 500,000, log": Number(0, 500_000, scale="log"),
    "15,000 to 60,000, log": Number(15_000, 60_000, scale="log"),
    "0 to 200,000": Number(0, 200_000),
    "0 to 500,000": Number(0, 500_000),
    "0 to 5,000,000": Number(0, 5_000_000),
    "0 to 20,000": Number(0, 20_000),
}
CASES = {
    "bounds": {name: {**OTHERS, "income": column} for name, column in INCOMES.items()},
    "weights": {
        f"{weight:g}": {
            **OTHERS,
            "income": KNOWN,
            "coin": Category("heads", "tails", weight=weight),
        }
        for weight in (0, 0.1, 0.25, 0.5, 1)
    },
}


@lru_cache(maxsize=1)
def people() -> tuple[pd.DataFrame, Ints]:
    """The table, and the group of every row."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(K), 2_500)
    incomes = np.log(np.array([40_000, 19_000, 90_000, 9_000]))
    table = {
        "age": rng.normal(np.array([30, 74, 50, 30])[group], 7),
        "pressure": rng.normal(np.array([120, 145, 130, 120])[group], 10),
        "income": rng.lognormal(incomes[group], 0.35),
        "coin": rng.choice(["heads", "tails"], size=len(group)),
    }
    return pd.DataFrame(table), group


def plain(schema: Schema) -> float:
    """The result of k-means without privacy in the cube of the schema."""
    table, group = people()
    found = KMeans(K, n_init=10, random_state=0).fit(nonprivate.encoded(table, schema)).labels_
    return float(nonprivate.adjusted_rand(group, found))


def private(schema: Schema, epsilon: float, runs: int) -> float:
    """The mean result of private fits."""
    table, group = people()
    models = (PrivateKMeans(K, epsilon=epsilon, schema=schema).fit(table) for _ in range(runs))
    return float(np.mean([nonprivate.adjusted_rand(group, m.predict(table)) for m in models]))


def measure(about: str, declared: str, runs: int) -> list[str]:
    """One line of the table."""
    schema = Schema(CASES[about][declared])
    found = [plain(schema), *(private(schema, epsilon, runs) for epsilon in EPSILONS)]
    return [about, declared, str(runs), *(f"{value:.3f}" for value in found)]


def page(about: str, rows: list[dict[str, str]]) -> str:
    """The lines of one subject as the page shows them."""
    first = {"bounds": "income is declared", "weights": "weight of the coin"}[about]
    heads = [first, "k-means without privacy", *(f"`auto`, ε = {e:g}" for e in EPSILONS)]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        if row["about"] == about:
            values = [f"{float(row[column]):.2f}" for column in COLUMNS[3:]]
            lines.append(f"| {' | '.join([row['declared'], *values])} |")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    """Measure what the table lacks, and write both parts into the page."""
    parser = argparse.ArgumentParser(prog="python -m bench schema", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    options = parser.parse_args(words)
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {(row["about"], row["declared"]) for row in read_rows(TABLE)}
    for about, cases in CASES.items():
        for declared in cases:
            if (about, declared) not in done:
                line = measure(about, declared, options.runs)
                append_row(TABLE, COLUMNS, line)
                print(*line, flush=True)
    for about, (begin, end) in MARKS.items():
        put(PAGE, page(about, read_rows(TABLE)), begin, end)
