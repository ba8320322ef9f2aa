"""The data of Sukpisit et al. 2019: Iris, Wine and Yeast, and what the paper reports on them.

Iris and Wine come with scikit-learn; Yeast is read from the folder that SFUMATO_DATA names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from sklearn.datasets import load_iris, load_wine

from bench.data import path_of
from bench.papers.su2015_data import Dataset
from sfumato._base.types import Floats

# Chosen by looking at the data: the observed range of each column, rounded outward to whole
# numbers. A strict analysis would not take them for public.
IRIS_LOWER, IRIS_UPPER = (4, 2, 1, 0), (8, 5, 7, 3)
WINE_LOWER = (11, 0, 1, 10, 70, 0, 0, 0, 0, 1, 0, 1, 278)
WINE_UPPER = (15, 6, 4, 30, 162, 4, 6, 1, 4, 13, 2, 4, 1680)


def _iris() -> Floats:
    return np.asarray(load_iris().data, dtype=np.float64)


def _wine() -> Floats:
    return np.asarray(load_wine().data, dtype=np.float64)


def _yeast() -> Floats:
    with np.load(path_of("yeast"), allow_pickle=False) as file:
        return np.asarray(file["X"], dtype=np.float64)


@dataclass(frozen=True)
class Source:
    """A dataset, and the paper's numbers: plain k-means (Table I) and by ε (Table II)."""

    title: str
    n: int
    d: int
    k: int
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    read: Callable[[], Floats]
    plain: float
    private: dict[float, float] = field(default_factory=dict)
    is_file: bool = False

    @property
    def least(self) -> float:
        """The least ε at which the paper has all K clusters populated."""
        return min(self.private)


SOURCES = {
    "iris": Source(
        "Iris",
        150,
        4,
        3,
        IRIS_LOWER,
        IRIS_UPPER,
        _iris,
        0.5510,
        {2.9: 0.5067, 3.5: 0.5284, 4.0: 0.5350},
    ),
    "wine": Source(
        "Wine",
        178,
        13,
        3,
        WINE_LOWER,
        WINE_UPPER,
        _wine,
        0.5711,
        {0.4: 0.5544, 1.0: 0.5611, 1.5: 0.5677},
    ),
    "yeast": Source(
        "Yeast",
        1484,
        8,
        10,
        (0.0,) * 8,
        (1.0,) * 8,
        _yeast,
        0.1695,
        {86.2: 0.1607, 94.7: 0.1630, 95.0: 0.1678},
        is_file=True,
    ),
}


def is_there(name: str) -> bool:
    """Whether a dataset needs no file, or its file is in the data folder."""
    return not SOURCES[name].is_file or path_of(name).is_file()


@lru_cache(maxsize=4)
def load(name: str) -> Dataset:
    """Rows and bounds of a dataset."""
    source = SOURCES[name]
    lower, upper = (np.array(side, dtype=np.float64) for side in (source.lower, source.upper))
    return Dataset(name, source.read(), lower, upper, source.k)
