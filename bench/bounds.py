"""What private bounds cost: NICV with bounds bought over NICV with bounds declared.

    SFUMATO_DATA=… python -m bench bounds

NICV is measured in the cube of the declared bounds for both. Other bounds weigh the columns against
each other differently, so that even k-means without privacy finds other centres: the last column
has that ratio for k-means in the cube of the exact quantiles at 0.5 % and 99.5 %.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from bench.utility_data import Sample, is_there, load
from sfumato import PrivateKMeans
from sfumato.box import REACH, Box

DATASETS = ("adult_num", "gowalla_nyc")
METHODS = ("eugkm", "dplloyd", "auto")
QUANTILE = 0.005
TABLE = Path(__file__).parent / "tables" / "bounds.csv"


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


def measure(name: str, runs: int) -> list[dict[str, str]]:
    """One line of the table for each method."""
    data = load(name)
    quantiles = of_quantiles(data) / plain(data)
    lines = []
    for method in METHODS:
        declared, private = (
            scores(data, method, bounds, runs) for bounds in (data.bounds, "private")
        )
        lines.append(
            {
                "dataset": name,
                "method": method,
                "runs": str(runs),
                "declared": f"{declared.mean():.5f}",
                "private": f"{private.mean():.5f}",
                "ratio": f"{private.mean() / declared.mean():.3f}",
                "ratio_of_medians": f"{np.median(private) / np.median(declared):.3f}",
                "quantiles_without_privacy": f"{quantiles:.3f}",
            }
        )
        print(lines[-1], flush=True)
    return lines


def main(words: list[str]) -> None:
    """Measure every dataset that is there, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench bounds", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args(words)
    absent = [name for name in DATASETS if not is_there(name)]
    if absent:
        print(f"left out, not in the folder that SFUMATO_DATA names: {', '.join(absent)}")
    lines = [
        line for name in DATASETS if name not in absent for line in measure(name, options.runs)
    ]
    if lines:
        with TABLE.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
