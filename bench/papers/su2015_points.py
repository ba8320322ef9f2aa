"""Which points each figure of Su et al. 2015 is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product

from bench.papers.su2015_data import EIGHT, SIX
from bench.papers.su2015_runs import Point

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
THETAS = (5.0, 10.0, 20.0, 50.0)
SIDES = tuple(range(2, 11))
BLOCK_SIZES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
ITERATIONS = (1, 2, 3, 4, 8, 16, 32)
FIG1 = ("dplloyd", "dplloyd_laplace", "eugkm", "pgkm", "gkm", "gkm3k")
FIG5 = ("dplloyd", "eugkm", "hybrid")
BLOCK_EPSILON = 1.0
HEAT_EPSILON = 1.0
TIME_EPSILON = 0.1

LABELS = {
    "baseline": "best without privacy",
    "dplloyd": "DPLloyd",
    "dplloyd_laplace": "DPLloyd, Laplace noise",
    "eugkm": "EUGkM",
    "pgkm": "PGkM",
    "gkm": "GkM",
    "gkm3k": "GkM-3K",
    "hybrid": "Hybrid",
    "sag": "SAG: aggregation alone",
    "noise": "Noise alone",
    "gene": "Gene: PGkM without noise",
    "lloyd": "Lloyd",
}

CHEAP = {"dplloyd", "dplloyd_laplace", "noise"}


@dataclass(frozen=True)
class Size:
    """How much is run: all of it, or enough to see that it works."""

    runs: int = 20
    cheap_runs: int = 100
    heat_runs: int = 20
    theta_runs: int = 20
    study_runs: int = 20
    epsilons: tuple[float, ...] = EPSILONS
    sides: tuple[int, ...] = SIDES
    thetas: tuple[float, ...] = THETAS
    block_sizes: tuple[float, ...] = BLOCK_SIZES
    iterations: tuple[int, ...] = ITERATIONS
    eight: tuple[str, ...] = EIGHT
    six: tuple[str, ...] = SIX

    def runs_of(self, method: str, usual: int = 0) -> int:
        """Runs of a point: four times as many, or more, where a run takes no time."""
        if method in CHEAP:
            return 6 * usual or self.cheap_runs
        return usual or self.runs


FULL = Size()
QUICK = Size(
    runs=2,
    cheap_runs=4,
    heat_runs=2,
    theta_runs=2,
    study_runs=2,
    epsilons=(0.1, 1.0),
    sides=(2, 6, 10),
    thetas=(10.0, 50.0),
    block_sizes=(0.2, 0.6),
    iterations=(1, 4, 8),
    eight=("s1", "roads", "image", "lifesci"),
    six=("s1", "roads", "image", "lifesci"),
)


def baselines(datasets: tuple[str, ...]) -> list[Point]:
    """The best of 30 runs without privacy."""
    return [Point(name, "baseline", 0.0, runs=30) for name in datasets]


def fig1(size: Size) -> list[Point]:
    """NICV against ε."""
    grid = product(FIG1, size.eight, size.epsilons)
    points = [Point(name, m, e, runs=size.runs_of(m)) for m, name, e in grid]
    return baselines(size.eight) + points


BY_EPSILON = ("fig1", "fig5")


def added(figure: str, methods: Iterable[str], size: Size) -> list[Point]:
    """Points of methods that the paper does not have, in a figure of NICV against ε."""
    if figure not in BY_EPSILON:
        return []
    grid = product(methods, size.eight, size.epsilons)
    return [Point(name, m, e, runs=size.runs_of(m)) for m, name, e in grid]


def heat(size: Size, methods: list[tuple[str, float]]) -> list[Point]:
    """Points on the 81 synthetic datasets."""
    names = tuple(f"syn_{d}_{k}" for d, k in product(size.sides, size.sides))
    points = []
    for (m, setting), name in product(methods, names):
        usual = size.heat_runs if setting in (0.0, 10.0) else size.theta_runs
        points.append(Point(name, m, HEAT_EPSILON, setting, size.runs_of(m, usual)))
    return baselines(names) + points


def fig2(size: Size) -> list[Point]:
    """Heat maps over d and k, one for each method and each θ."""
    thetas = [("eugkm", theta) for theta in size.thetas]
    return heat(size, [("dplloyd", 0.0), ("gkm3k", 0.0), ("pgkm", 0.0), *thetas])


def fig3(size: Size) -> list[Point]:
    """GkM, its aggregation alone and its noise alone, by block size."""
    grid = product(("noise", "gkm", "sag"), size.six, size.block_sizes)
    points = [
        Point(name, m, BLOCK_EPSILON, b, size.runs_of(m, size.study_runs)) for m, name, b in grid
    ]
    return baselines(size.six) + points


def fig4(size: Size) -> list[Point]:
    """Lloyd and PGkM without noise, by iterations."""
    grid = product(size.six, size.iterations)
    gene = [Point(n, "gene", 1.0, t, size.study_runs) for n, t in grid]
    lloyd = [replace(point, method="lloyd", runs=30) for point in gene]
    return baselines(size.six) + lloyd + gene


def fig5(size: Size) -> list[Point]:
    """Hybrid next to the two methods it is made of."""
    points = [p for p in fig1(size) if p.method in (*FIG5, "baseline")]
    grid = product(size.eight, size.epsilons)
    return points + [Point(n, "hybrid", e, runs=size.runs) for n, e in grid]


def fig6(size: Size) -> list[Point]:
    """Heat maps of EUGkM and Hybrid."""
    return heat(size, [("eugkm", 10.0), ("hybrid", 0.0)])


def fig7(size: Size) -> list[Point]:
    """Run times: their mean is in the column of seconds."""
    grid = product(("dplloyd", "eugkm"), size.six)
    return [Point(n, m, TIME_EPSILON, runs=size.runs_of(m)) for m, n in grid]


FIGURES: dict[str, Callable[[Size], list[Point]]] = {
    f.__name__: f for f in (fig1, fig2, fig3, fig4, fig5, fig6, fig7)
}
LENDERS = {"fig5": ["fig1"], "fig6": ["fig2"], "fig7": ["fig1"]}
