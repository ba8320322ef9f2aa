"""The data of the benches in high dimension: MNIST, and round blobs as scikit-learn makes them.

MNIST is read from the folder that SFUMATO_DATA names. Bounds are the same in every column, so that
the sum of squared distances in the units of the rows is that of the cube times one number.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from sklearn.datasets import make_blobs

from bench import utility_data
from bench.utility_data import Sample

MNIST_RANGE = (0.0, 255.0)
BLOB_RANGE = (-5.0, 105.0)
BLOB_ROWS = 100_000
TRAINING_ROWS = 60_000

# MNIST whole and its training part; blobs are called blobs_<clusters>_<columns>[_<rows>].
MNIST, TRAINING = "mnist", "mnist_training"


def blobs(clusters: int, d: int, n: int = BLOB_ROWS) -> str:
    """The name of a dataset of blobs."""
    return f"blobs_{clusters}_{d}" + ("" if n == BLOB_ROWS else f"_{n}")


def shape(name: str) -> tuple[int, int]:
    """Rows and columns of a dataset, without making it."""
    if name in (MNIST, TRAINING):
        return (70_000 if name == MNIST else TRAINING_ROWS), 784
    _, d, n = _numbers(name)
    return n, d


def title(name: str) -> str:
    """A dataset in words."""
    n, d = shape(name)
    if name in (MNIST, TRAINING):
        return f"MNIST, {n:,} × {d}"
    return f"{_numbers(name)[0]} blobs, {n:,} × {d}"


def is_there(name: str) -> bool:
    """Whether a dataset can be had: blobs, or its file is in the data folder."""
    return name not in (MNIST, TRAINING) or utility_data.is_there(MNIST)


@lru_cache(maxsize=1)
def load(name: str) -> Sample:
    """Read or make a dataset; points of the same one follow each other."""
    if name in (MNIST, TRAINING):
        rows = utility_data.SOURCES[MNIST].make(MNIST).rows[: shape(name)[0]]
        return _sample(name, rows, MNIST_RANGE, 10)
    clusters, d, n = _numbers(name)
    rows, _, middles = make_blobs(
        n, d, centers=clusters, center_box=(0, 100), random_state=clusters, return_centers=True
    )
    return _sample(name, rows, BLOB_RANGE, clusters, middles)


def inertia(data: Sample, centers: np.ndarray) -> float:
    """The sum of squared distances to the nearest centre, in the units of the rows, to 1e-5."""
    half = (data.upper[0] - data.lower[0]) / 2
    return float(data.nicv(centers, narrow=True) * len(data.rows) * half**2)


def _sample(
    name: str,
    rows: np.ndarray,
    bounds: tuple[float, float],
    k: int,
    middles: np.ndarray | None = None,
) -> Sample:
    lower, upper = (np.full(rows.shape[1], side) for side in bounds)
    return Sample(name, rows, lower, upper, k, middles)


def _numbers(name: str) -> tuple[int, int, int]:
    clusters, d, *n = map(int, name.split("_")[1:])
    return clusters, d, n[0] if n else BLOB_ROWS
