"""What private bounds cost: NICV with estimated bounds over NICV with declared bounds.

    SFUMATO_DATA=… python -m bench bounds

Measures what the table lacks (`--fresh`: everything) and writes it into docs/the-promise.md. NICV
is measured in the cube of the declared bounds for both. Other bounds weigh the columns against each
other differently, so that even k-means without privacy finds other centres: the last column has
that ratio for k-means in the cube of the exact quantiles at 0.5 % and 99.5 %.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from bench.data import with_data
from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from bench.utility_data import SOURCES, Sample, file_of, load
from sfumato import PrivateKMeans
from sfumato._lattice.box import REACH, Box

DATASETS = ("adult_num", "gowalla_nyc", "lifesci", "house_rgb8", "s1", "yeast")
METHODS = ("eugkm", "dplloyd", "auto")
RUNS = 40
QUANTILE = 0.005
ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "bounds.csv"
COLUMNS = (
    "dataset,method,runs,declared,private,ratio,ratio_of_medians,quantiles_without_privacy"
).split(",")
PAGE = ROOT / "docs" / "the-promise.md"
BEGIN = "<!-- bounds: written by `python -m bench bounds` -->"
END = "<!-- end of bounds -->"


def scores(data: Sample, method: str, bounds: object, runs: int) -> np.ndarray:
    """NICV of some fits at ε = 1."""
    models = (
        PrivateKMeans(data.k, epsilon=1.0, bounds=bounds, method=method, random_state=i)
        for i in range(runs)
    )
    return np.array([data.nicv(model.fit(data.rows).cluster_centers_) for model in models])


def of_quantiles(data: Sample) -> float:
    """NICV of k-means without privacy in the cube of two exact quantiles."""
    lower, upper = np.quantile(data.rows, [QUANTILE, 1 - QUANTILE], axis=0)
    box = Box.of((lower, upper), data.d)
    model = KMeans(data.k, n_init=5, random_state=0).fit(box.to_cube(data.rows))
    return data.nicv(box.from_lattice(model.cluster_centers_ * REACH))


def plain(data: Sample) -> float:
    """NICV of k-means without privacy in the cube of the declared bounds."""
    model = KMeans(data.k, n_init=5, random_state=0).fit(data.cube)
    return data.nicv(data.from_cube(model.cluster_centers_))


def measure(name: str, method: str, runs: int) -> list[str]:
    """One line of the table."""
    data = load(name)
    declared, private = (scores(data, method, bounds, runs) for bounds in (data.bounds, "private"))
    return [
        name,
        method,
        str(runs),
        f"{declared.mean():.5f}",
        f"{private.mean():.5f}",
        f"{private.mean() / declared.mean():.3f}",
        f"{np.median(private) / np.median(declared):.3f}",
        f"{of_quantiles(data) / plain(data):.3f}",
    ]


def page(rows: list[dict[str, str]]) -> str:
    """The table as the page shows it: means, and medians where they differ."""
    ours = {(row["dataset"], row["method"]): row for row in rows}
    lines = [
        f"| data | {' | '.join(f'`{method}`' for method in METHODS)} | exact quantiles |",
        "|---|---|---|---|---|",
    ]
    for name in DATASETS:
        there = [ours[name, method] for method in METHODS if (name, method) in ours]
        if len(there) == len(METHODS):
            source, last = SOURCES[name], f"{float(there[-1]['quantiles_without_privacy']):.2f}"
            cells = [f"{source.title} ({source.n:,} × {source.d})", *map(_cell, there), last]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: dict[str, str]) -> str:
    mean, median = (f"{float(row[column]):.2f}" for column in ("ratio", "ratio_of_medians"))
    return mean if mean == median else f"{mean} (median {median})"


def main(words: list[str]) -> None:
    """Measure every dataset that is there, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench bounds", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    options = parser.parse_args(words)
    there = with_data({name: file_of(name) for name in DATASETS})
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {(row["dataset"], row["method"]) for row in read_rows(TABLE)}
    for name in there:
        for method in METHODS:
            if (name, method) not in done:
                line = measure(name, method, options.runs)
                append_row(TABLE, COLUMNS, line)
                print(*line, flush=True)
    put(PAGE, page(read_rows(TABLE)), BEGIN, END)
