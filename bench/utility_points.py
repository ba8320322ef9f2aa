"""Which points are measured, how often, and what is aimed at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from bench.utility_data import MADE, MEASURED, SMALL, SOURCES
from sfumato.methods import METHODS, NEEDS_DELTA, Task

DELTA = 1e-6
EPSILONS = (1.0, 0.1)
MORE_EPSILONS = (0.05, 0.2, 0.5, 2.0)
PEER = "diffprivlib"
REFERENCE, MIDDLES = "kmeans", "kmeans_middles"
REFERENCES = (REFERENCE, MIDDLES)
MAIN = "auto"

# Runs of a point: of a dataset, then of a method on it, where that differs from the usual 20.
RUNS = 20
RUNS_OF = {"mnist": 5, "blobs": 5}
RUNS_OF_METHOD = {("blobs", MAIN): 20, ("mnist", MAIN): 10}
# Seconds after which no further run of a point begins; at twice that the last one is given up.
CAP = 4.0
CAPS_OF = {"mnist": 20.0, "blobs": 20.0}
CAPS_OF_METHOD = {MAIN: 400.0}

Key = tuple[str, str, float, float]


@dataclass(frozen=True)
class Point:
    """One number to measure: δ = 0 is the pure form. `runs` and `cap` are what is wanted."""

    dataset: str
    method: str
    delta: float
    epsilon: float
    runs: int = RUNS
    cap: float = CAP

    @property
    def key(self) -> Key:
        """What tells points apart."""
        return self.dataset, self.method, self.delta, self.epsilon


@dataclass(frozen=True)
class Size:
    """How much is run: all of it, or enough to see that it works."""

    datasets: tuple[str, ...] = MEASURED
    more: tuple[str, ...] = SMALL
    most_runs: int = 10**6
    most_seconds: float = float("inf")

    def point(self, dataset: str, method: str, delta: float, epsilon: float) -> Point:
        """A point with as many runs and as much time as its dataset and its method have."""
        runs = RUNS_OF_METHOD.get((dataset, method), RUNS_OF.get(dataset, RUNS))
        cap = CAPS_OF_METHOD.get(method, CAPS_OF.get(dataset, CAP))
        runs, cap = min(runs, self.most_runs), min(cap, self.most_seconds)
        return Point(dataset, method, delta, epsilon, runs, cap)


FULL = Size()
QUICK = Size(("s1", "house_rgb8", "yeast", "gauss10", "digits"), (), 3, 5.0)


def methods() -> list[str]:
    """Every method there is, and the peer."""
    return [*METHODS, PEER]


def forms(method: str, dataset: str, epsilon: float) -> tuple[float, ...]:
    """The values of δ for which a method does different things: it says so in its caps."""
    if method not in METHODS:
        return (0.0,)
    if method in NEEDS_DELTA:
        return (DELTA,)
    source = SOURCES[dataset]
    task = Task(source.k, source.d, Fraction(str(epsilon)), Fraction(1, 10**6))
    try:
        spends_delta = METHODS[method]().caps(task).delta > 0
    except ValueError:
        return (0.0,)
    return (0.0, DELTA) if spends_delta else (0.0,)


def references(datasets: Iterable[str]) -> list[Point]:
    """What is measured without privacy."""
    once = [Point(name, REFERENCE, 0.0, 0.0, 1) for name in datasets]
    return once + [Point(p.dataset, MIDDLES, 0.0, 0.0, 1) for p in once if p.dataset in MADE]


def points(size: Size, datasets: Iterable[str], chosen: Iterable[str]) -> list[Point]:
    """Points of these datasets and methods, dataset by dataset, the usual ε first."""
    return [
        size.point(name, method, delta, epsilon)
        for name in datasets
        for epsilon in (*EPSILONS, *(MORE_EPSILONS if name in size.more else ()))
        for method in chosen
        for delta in forms(method, name, epsilon)
    ]


@dataclass(frozen=True)
class Target:
    """The ratio that the main method should stay below, and the runs that find every cluster."""

    dataset: str
    epsilon: float
    delta: float
    at_most: float
    by: str = "mean"
    found: float = 0.0


def _both(dataset: str, epsilon: float, at_most: float) -> list[Target]:
    return [Target(dataset, epsilon, delta, at_most) for delta in (0.0, DELTA)]


TARGETS = [
    *_both("s1", 1.0, 1.005),
    *_both("s1", 0.1, 1.12),
    *_both("a2", 1.0, 1.04),
    *_both("birch1", 1.0, 1.005),
    *_both("birch1", 0.1, 1.03),
    *_both("gowalla_nyc", 1.0, 1.001),
    *_both("gowalla_nyc", 0.1, 1.005),
    *_both("house_rgb8", 1.0, 1.001),
    *_both("house_rgb8", 0.1, 1.004),
    Target("adult_num", 1.0, 0.0, 1.015),
    Target("adult_num", 1.0, DELTA, 1.012),
    *_both("adult_num", 0.1, 1.04),
    *_both("lifesci", 1.0, 1.004),
    Target("lifesci", 0.1, 0.0, 1.04),
    Target("lifesci", 0.1, DELTA, 1.02),
    Target("yeast", 1.0, 0.0, 1.40),
    Target("yeast", 1.0, DELTA, 1.37),
    *_both("gauss10", 1.0, 1.05),
    Target("digits", 1.0, 0.0, 1.68),
    Target("digits", 1.0, DELTA, 1.25),
    Target("blobs", 1.0, 0.0, 2.6, by="median"),
    Target("blobs", 1.0, DELTA, 1.02, by="median", found=0.9),
    Target("mnist", 1.0, 0.0, 1.13),
    Target("mnist", 1.0, DELTA, 1.010),
    Target("mnist", 0.1, 0.0, 1.36),
    Target("mnist", 0.1, DELTA, 1.10),
]
