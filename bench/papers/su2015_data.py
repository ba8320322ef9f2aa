"""The data of Su et al. 2015, or what stands in for it, and the best centres without privacy.

Real tables are read from the folder that SFUMATO_DATA names; synthetic ones need no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.cluster import KMeans

from bench.data import path_of
from sfumato._base.types import Floats, Ints
from sfumato._lattice.box import REACH, Box
from sfumato._synopsis.signed_kmeans import sphere_packings
from sfumato.nonprivate import labels, nicv

GENERATED = ("syn_", "ball_")
STARTS = 30
SPREAD = 0.04
SPACING = 8 * SPREAD
SYNTHETIC_ROWS = 10_000
_INSIDE = 0.8
_TRIES = 2000


@dataclass(frozen=True)
class Dataset:
    """A table with its bounds and the k that the paper gives it."""

    name: str
    rows: Floats
    lower: Floats
    upper: Floats
    k: int

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The bounds as the estimator takes them."""
        return self.lower, self.upper

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    def labels(self, centers: Floats) -> Ints:
        """The nearest centre of each row, in the cube."""
        box = Box.of(self.bounds, self.d)
        return labels(box.to_cube(self.rows), box.to_cube(centers))

    def nicv(self, centers: Floats) -> float:
        """Mean squared distance to the nearest centre, in the cube [−1, 1]^d."""
        return nicv(self.rows, centers, bounds=self.bounds)


@dataclass(frozen=True)
class Source:
    """Where a dataset of the paper comes from here."""

    title: str
    file: str
    k: int
    distinct: bool = False
    states: tuple[str, ...] = ()
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None


SOURCES = {
    "s1": Source("S1", "s1", 15),
    "gowalla": Source("Gowalla (New York)", "gowalla_nyc", 5, distinct=True),
    "roads": Source("TIGER (five towns)", "us_road_junctions", 2),
    "image": Source("Image", "house_rgb8", 3),
    "adult": Source("Adult-num", "adult_num", 5),
    "lifesci": Source("Lifesci", "lifesci", 3),
    "places": Source("Gowalla (GeoNames)", "geonames_cities", 5, distinct=True),
    # The two states lie between these parallels and meridians.
    "zip": Source(
        "TIGER (ZIP codes)", "us_zip", 2, states=("WA", "NM"), bounds=((31, -125), (50, -102))
    ),
}
SIX = ("s1", "gowalla", "roads", "image", "adult", "lifesci")
EIGHT = tuple(SOURCES)
LOW = ("s1", "gowalla", "roads", "image", "places", "zip")
HIGH = ("adult", "lifesci")
# What claims rest on: of the two stand-ins for TIGER the one of the paper's two states.
TOWNS = "roads"
JUDGED = tuple(name for name in EIGHT if name != TOWNS)
LOW_JUDGED = tuple(name for name in LOW if name != TOWNS)


def is_there(name: str) -> bool:
    """Whether a dataset can be had: synthetic, or its file is in the data folder."""
    return name.startswith(GENERATED) or path_of(SOURCES[name].file).is_file()


@lru_cache(maxsize=4)
def load(name: str) -> Dataset:
    """Read a dataset, or make the synthetic one called syn_d_k or ball_d_k."""
    if name.startswith(GENERATED):
        d, k = map(int, name.split("_")[1:])
        return synthetic(d, k, ball=name.startswith("ball_"))
    source = SOURCES[name]
    with np.load(path_of(source.file), allow_pickle=False) as file:
        rows = file["X"]
        if source.states:
            numbers = [list(file["y_names"]).index(state) for state in source.states]
            rows = rows[np.isin(file["y"], numbers)]
        lower, upper = (file["lo"], file["hi"]) if source.bounds is None else source.bounds
    rows = np.unique(rows, axis=0) if source.distinct else rows
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    return Dataset(name, rows.astype(np.float64), lower, upper, source.k)


def synthetic(d: int, k: int, n: int = SYNTHETIC_ROWS, *, ball: bool = False) -> Dataset:
    """Make k equal round Gaussian clusters in [−1, 1]^d whose middles are far apart."""
    rng = np.random.default_rng([2016 if ball else 2015, d, k])
    middles, _ = separated(d, k, rng, ball=ball)
    rows = middles[np.arange(n) % k] + SPREAD * rng.standard_normal((n, d))
    kind = "ball" if ball else "syn"
    return Dataset(f"{kind}_{d}_{k}", rows.clip(-1, 1), -np.ones(d), np.ones(d), k)


def separated(
    d: int, k: int, rng: np.random.Generator, *, ball: bool = False
) -> tuple[Floats, float]:
    """Throw k points into [−0.8, 0.8]^d, a spacing apart; returns them and the spacing.

    With `ball` into the ball of radius 0.8, whose points are no further apart in more dimensions.

    It is eight standard deviations of a cluster; where that does not fit it is made smaller.
    """
    spacing = SPACING
    while True:
        points = np.empty((0, d))
        for point in _thrown(d, rng, ball=ball):
            if (np.square(points - point).sum(axis=1) >= spacing**2).all():
                points = np.vstack([points, point])
            if len(points) == k:
                return points, spacing
        spacing *= 0.9


def _thrown(d: int, rng: np.random.Generator, *, ball: bool) -> Floats:
    if not ball:
        return rng.uniform(-_INSIDE, _INSIDE, (_TRIES, d))
    directions = rng.standard_normal((_TRIES, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return _INSIDE * directions * rng.random((_TRIES, 1)) ** (1 / d)


@lru_cache(maxsize=100)
def best_centers(name: str) -> Floats:
    """The best of 30 runs of scikit-learn's k-means from sphere packings, without privacy."""
    data = load(name)
    cube = Box.of(data.bounds, data.d).to_cube(data.rows)
    runs = [
        KMeans(data.k, init=start, n_init=1).fit(cube) for start in starts(data.k, data.d, STARTS)
    ]
    best = min(runs, key=lambda run: run.inertia_).cluster_centers_
    return (best + 1) / 2 * (data.upper - data.lower) + data.lower


def starts(k: int, d: int, number: int) -> Floats:
    """The sets of first centres that all non-private runs share, in the cube."""
    return sphere_packings(number, k, d, np.random.default_rng([30, k, d])) / REACH


def lloyd(data: Dataset, iterations: int, runs: int) -> list[float]:
    """NICV after so many steps of Lloyd's algorithm, from each of the shared starts."""
    cube = Box.of(data.bounds, data.d).to_cube(data.rows)
    values = []
    for centers in starts(data.k, data.d, STARTS)[:runs]:
        for _ in range(iterations):
            nearest, before = labels(cube, centers), centers
            sizes = np.bincount(nearest, minlength=data.k)
            sums = [np.bincount(nearest, column, data.k) for column in cube.T]
            means = np.stack(sums, axis=1) / np.maximum(sizes, 1)[:, None]
            centers = np.where(sizes[:, None] > 0, means, centers)
            if np.array_equal(before, centers):
                break
        squared = np.square(cube - centers[labels(cube, centers)])
        values.append(float(squared.sum(axis=1).mean()))
    return values
