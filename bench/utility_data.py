"""The datasets on which utility is measured, with their public bounds.

Files are read from the folder that SFUMATO_DATA names; the others come with scikit-learn or are
generated from fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from bench.data import path_of
from bench.papers.su2015_data import Dataset, synthetic
from sfumato._base.types import Floats
from sfumato._lattice.box import Box
from sfumato.nonprivate import centroid_index

STARTS = 10
SEED = 0
_BLOCK = 4096


@dataclass(frozen=True)
class Sample(Dataset):
    """A dataset; `middles` are the means of the clusters it was made of, where it was made."""

    middles: Floats | None = None

    @cached_property
    def cube(self) -> Floats:
        """Rows in the cube [−1, 1]^d, where NICV is measured."""
        return Box.of(self.bounds, self.d).to_cube(self.rows)

    @cached_property
    def narrow(self) -> NDArray[np.float32]:
        """The same in single precision: half of the reading, where there are many columns."""
        return self.cube.astype(np.float32)

    @cached_property
    def _lengths(self) -> Floats:
        return np.einsum("ij,ij->i", self.cube, self.cube)

    def nicv(self, centers: Floats, *, narrow: bool = False) -> float:
        """As for any dataset, but rows and their lengths are kept: one dataset, many centres."""
        rows = self.narrow if narrow else self.cube
        points = Box.of(self.bounds, self.d).to_cube(centers)
        across = (2 * points.T).astype(rows.dtype)
        total = 0.0
        for start in range(0, len(self.rows), _BLOCK):
            part = slice(start, start + _BLOCK)
            gaps = np.square(points).sum(axis=1) - rows[part] @ across
            total += float(np.maximum(gaps.min(axis=1) + self._lengths[part], 0).sum())
        return total / len(self.rows)

    def from_cube(self, points: Floats) -> Floats:
        """Points of the cube in the units of the rows."""
        return (points + 1) / 2 * (self.upper - self.lower) + self.lower

    def found(self, centers: Floats) -> bool:
        """Whether every cluster has a centre of its own."""
        return self.middles is not None and centroid_index(centers, self.middles) == 0


@dataclass(frozen=True)
class Source:
    """What is public about a dataset before it is read; `make` takes the name."""

    title: str
    n: int
    d: int
    k: int
    bounds: str
    make: Callable[[str], Sample]
    is_file: bool = False


def from_file(name: str) -> Sample:
    """Rows and bounds as the file has them; C are the means of its labelled clusters."""
    with np.load(path_of(name), allow_pickle=False) as file:
        middles = file["C"].astype(float) if "C" in file else None
        lower, upper = (np.asarray(file[side], dtype=float) for side in ("lo", "hi"))
        return Sample(name, file["X"], lower, upper, SOURCES[name].k, middles)


def digits(name: str) -> Sample:
    """Handwritten digits of 8 × 8 pixels, from scikit-learn."""
    rows = load_digits().data
    return Sample(name, rows, np.zeros(64), np.full(64, 16.0), 10)


def blobs(name: str) -> Sample:
    """64 round Gaussians of sd 1 in 100 columns, their middles anywhere in the box 0 to 100."""
    n, d, k = SOURCES[name].n, SOURCES[name].d, SOURCES[name].k
    rng = np.random.default_rng([64, d])
    middles = rng.uniform(0, 100, (k, d))
    rows = rng.standard_normal((n, d))
    rows += middles[np.arange(n) % k]
    return Sample(name, rows, np.full(d, -5.0), np.full(d, 105.0), k, middles)


def gaussians(name: str) -> Sample:
    """Equal round Gaussians of sd 0.04 in [−1, 1]^d whose middles are at least 8 sd apart."""
    made = synthetic(SOURCES[name].d, SOURCES[name].k)
    middles = np.array([made.rows[i :: made.k].mean(axis=0) for i in range(made.k)])
    return Sample(name, made.rows, made.lower, made.upper, made.k, middles)


def _file(title: str, n: int, d: int, k: int, bounds: str) -> Source:
    return Source(title, n, d, k, bounds, from_file, is_file=True)


SOURCES = {
    "s1": _file("S1", 5_000, 2, 15, "0 to 10⁶"),
    "a2": _file("A2", 5_250, 2, 35, "0 to 65,535"),
    "birch1": _file("Birch1", 100_000, 2, 100, "0 to 10⁶"),
    "gowalla_nyc": _file("Gowalla (New York)", 138_957, 2, 5, "the city's"),
    "house_rgb8": _file("House", 33_925, 3, 3, "0 to 255"),
    "adult_num": _file("Adult", 48_842, 6, 5, "the coding manual's"),
    "yeast": _file("Yeast", 1_484, 8, 10, "0 to 1"),
    "lifesci": _file("Lifesci", 26_733, 10, 3, "observed range, rounded outward"),
    "gauss10": Source("10 Gaussians", 10_000, 10, 10, "−1 to 1", gaussians),
    "digits": Source("Digits", 1_797, 64, 10, "0 to 16", digits),
    "blobs": Source("64 blobs", 100_000, 100, 64, "−5 to 105", blobs),
    "mnist": _file("MNIST", 70_000, 784, 10, "0 to 255"),
    "three_2": Source("3 Gaussians, d = 2", 10_000, 2, 3, "−1 to 1", gaussians),
    "three_4": Source("3 Gaussians, d = 4", 10_000, 4, 3, "−1 to 1", gaussians),
    "three_6": Source("3 Gaussians, d = 6", 10_000, 6, 3, "−1 to 1", gaussians),
    "three_10": Source("3 Gaussians, d = 10", 10_000, 10, 3, "−1 to 1", gaussians),
}
THREES = tuple(name for name in SOURCES if name.startswith("three_"))
MEASURED = tuple(name for name in SOURCES if name not in THREES)
MADE = ("s1", "a2", "birch1", "gauss10", "blobs")
BIG = ("mnist", "blobs")
SMALL = ("s1", "a2", "house_rgb8", "adult_num", "yeast", "lifesci", "gauss10", "digits")


def is_there(name: str) -> bool:
    """Whether a dataset needs no file, or its file is in the data folder."""
    return not file_of(name) or path_of(name).is_file()


def file_of(name: str) -> str:
    """The dataset of the data folder that is needed, "" where none is."""
    return name if name in SOURCES and SOURCES[name].is_file else ""


@lru_cache(maxsize=2)
def load(name: str) -> Sample:
    """Read or make a dataset; neighbours in a list of points mostly share theirs."""
    return SOURCES[name].make(name)


def reference(data: Sample) -> float:
    """NICV of scikit-learn's k-means without privacy, the best of ten starts."""
    return _score(data, KMeans(data.k, n_init=STARTS, random_state=SEED))


def from_middles(data: Sample) -> float:
    """NICV of k-means without privacy that starts where the clusters were made."""
    middles = Box.of(data.bounds, data.d).to_cube(data.middles)
    return _score(data, KMeans(data.k, init=middles, n_init=1))


def _score(data: Sample, model: Any) -> float:
    return data.nicv(data.from_cube(model.fit(data.cube).cluster_centers_))
