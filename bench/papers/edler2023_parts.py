"""What is run for Edler 2023: methods by name, how much of it, and the list of all parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from bench.inertia_data import MNIST, blobs
from bench.inertia_methods import KMEANS, Budget, balcan, published
from bench.inertia_runs import Point

EPSILONS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
KS = (2, 4, 8, 16, 32, 64)
INTRINSIC = (8, 16, 32, 64)
DIMENSIONS = (5, 50, 500)
TUNED: Budget = (0.7, 0.01, 0.04, 0.2, 0.05)
# §5.1: the part of the rounds goes to the others in proportion.
SPREAD: Budget = (136 / 198, 17 / 198, 34 / 198, 0.0, 11 / 198)

CHAPTER4, EDLER = balcan("matlab"), balcan("edler")
WITHOUT = balcan("matlab", rounds=0, budget=SPREAD)
CORESET = balcan("edler", search="coreset")
AUTO, DPLLOYD = "auto", "dplloyd"
# The arithmetic as it was published, without the noise that the stated ε needs.
PUBLISHED4, PUBLISHED5 = published("matlab"), published("edler")

# What a figure calls a series, and what is run for it here.
CH4 = {"python": CHAPTER4, "matlab": CHAPTER4}
CH5 = {"python": EDLER, "matlab": CHAPTER4, "diffprivlib": DPLLOYD, "kmeans": KMEANS}
OURS = {"coreset": CORESET, "auto": AUTO}


# x, dataset, k and ε of each place.
Grid = Sequence[tuple[object, str, int, float]]


@dataclass(frozen=True)
class Mark:
    """One number of a figure: the points whose mean it is, at x of a series."""

    series: str
    x: str
    points: tuple[Point, ...]
    what: str = "inertia"


@dataclass(frozen=True)
class Size:
    """How much is run: all of it, or enough to see that it works."""

    runs: int = 20
    tune_runs: int = 5
    epsilons: tuple[float, ...] = EPSILONS
    ks: tuple[int, ...] = KS
    intrinsic: tuple[int, ...] = INTRINSIC
    dimensions: tuple[int, ...] = DIMENSIONS
    times: tuple[int, ...] = (1, 3, 5, 10, 20, 30)
    partitions: tuple[int, ...] = tuple(range(1, 14))
    swaps: tuple[int, ...] = (0, 2, 4, 10, 20)
    few_swaps: tuple[int, ...] = (0, 2, 10)
    rounds: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 20)
    repeats: tuple[int, ...] = (1, 2, 3, 4, 5)
    subsets: tuple[int, ...] = (1, 4, 16, 64)
    most_budgets: int = 10**6


FULL = Size()
QUICK = Size(
    runs=1,
    tune_runs=1,
    epsilons=(0.5, 1.0),
    ks=(4, 32),
    intrinsic=(8, 64),
    dimensions=(5, 50),
    times=(1, 10),
    partitions=(1, 3, 8),
    swaps=(0, 10),
    few_swaps=(0, 10),
    rounds=(1, 3, 10),
    repeats=(1, 3),
    subsets=(4, 64),
    most_budgets=8,
)


def marks_of(size: Size, named: dict[str, str], grid: Grid) -> list[Mark]:
    """One mark for each series and place (x, dataset, k, ε) of a grid."""
    found = []
    for (series, method), (x, dataset, k, epsilon) in product(named.items(), grid):
        epsilon = 0.0 if method == KMEANS else epsilon
        point = Point(dataset, k, method, epsilon, runs=size.runs)
        found.append(Mark(series, f"{x:g}" if isinstance(x, float) else str(x), (point,)))
    return found


def by_epsilon(size: Size) -> Grid:
    """MNIST at every ε."""
    return [(epsilon, MNIST, 10, epsilon) for epsilon in size.epsilons]


def by_k(size: Size, dataset: str) -> Grid:
    """One dataset at every k."""
    return [(k, dataset, k, 1.0) for k in size.ks]


def by_dimension(size: Size, epsilon: float = 0.5) -> Grid:
    """32 blobs in every number of columns."""
    return [(d, blobs(32, d), 32, epsilon) for d in size.dimensions]


def by_clusters(size: Size) -> Grid:
    """Every number of blobs, with k as many."""
    return [(k, blobs(k, 100), k, 1.0) for k in size.intrinsic]


def on_mnist(runs: int, method: str) -> Point:
    """The point at which most of chapter 5 is measured: k = 10 and ε = 1."""
    return Point(MNIST, 10, method, 1.0, runs=runs)


Part = Callable[[Size], list[Mark]]
PARTS: dict[str, Part] = {}


def part(name: str) -> Callable[[Part], Part]:
    """Put a figure or table on the list, made of the marks of the function below."""

    def add(make: Part) -> Part:
        PARTS[name] = make
        return make

    return add


def points_of(name: str, size: Size) -> list[Point]:
    """The points of a part."""
    return [point for mark in PARTS[name](size) for point in mark.points]
