"""The data of van der Ende 2023: its three synthetic tables, and real ones for question 3.

Real tables are read from the folder that SFUMATO_DATA names; synthetic ones need no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.datasets import make_blobs

from bench.data import path_of
from sfumato._base.types import Floats
from sfumato._lattice.box import Box

CENTERS = 4
SPREAD = 0.6
ROWS = 50
MOST_ROWS = 500
ATTACKED_ROWS = 2000
# Centres are drawn from [−10, 10]^d and clusters reach 3.3 standard deviations further.
HALF_WIDTH = 12.0


@dataclass(frozen=True)
class Source:
    """A dataset: its name on figures, its size, its k, and the file it is in if it is in one."""

    title: str
    rows: int
    columns: int
    k: int
    file: str = ""

    def size(self, most: int) -> str:
        """How many rows and columns are used where at most so many rows are."""
        rows = rows_used(self, most)
        return f"{rows:,} × {self.columns}"


def rows_used(source: Source, most: int) -> int:
    """Synthetic tables grow to what an attack needs; real ones have what they have."""
    if not source.file:
        return source.rows if most == MOST_ROWS else most
    return min(source.rows, most)


SOURCES = {
    "dataset1": Source("dataset 1", ROWS, 2, CENTERS),
    "dataset2": Source("dataset 2", ROWS, 3, CENTERS),
    "dataset3": Source("dataset 3", ROWS, 5, CENTERS),
    "seeds": Source("Seeds", 210, 7, 3, "seeds"),
    "adult": Source("Adult", 48_842, 6, 5, "adult_num"),
    "aggregation": Source("Aggregation", 788, 2, 7, "aggregation"),
    "pathbased": Source("Pathbased", 300, 2, 3, "pathbased"),
    "lsun": Source("Lsun", 400, 2, 3, "lsun"),
}
SYNTHETIC = ("dataset1", "dataset2", "dataset3")
REAL = ("seeds", "adult", "aggregation", "pathbased", "lsun")
EIGHT = (*SYNTHETIC, *REAL)


def is_there(name: str) -> bool:
    """Whether a dataset can be had: synthetic, or its file is in the data folder."""
    source = SOURCES[name]
    return not source.file or path_of(source.file).is_file()


@lru_cache(maxsize=16)
def load(name: str, most: int = MOST_ROWS) -> Floats:
    """Rows in radii: the bounds of every column are −12 and 12, and the radius r is 1.

    A real table keeps at most so many rows, drawn evenly; the clusters of a synthetic one keep
    their places when it grows.
    """
    source = SOURCES[name]
    if not source.file:
        rows, _ = make_blobs(
            rows_used(source, most),
            source.columns,
            centers=CENTERS,
            cluster_std=SPREAD,
            random_state=0,
        )
        return rows.clip(-HALF_WIDTH, HALF_WIDTH)
    with np.load(path_of(source.file), allow_pickle=False) as file:
        rows = file["X"].astype(np.float64)
        box = Box.of((file["lo"], file["hi"]), rows.shape[1])
    if len(rows) > most:
        rows = rows[np.random.default_rng(2023).choice(len(rows), most, replace=False)]
    return box.to_cube(rows) * HALF_WIDTH
