"""Which points each figure of Su et al. 2015 is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from bench.papers.su2015_data import EIGHT, HIGH, SIX
from bench.papers.su2015_runs import Point

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
THETAS = (5.0, 10.0, 20.0, 50.0)
SIDES = tuple(range(2, 11))
BLOCK_SIZES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
ITERATIONS = (1, 2, 3, 4, 8, 16, 32, 128)
# Only a few iterations lie between what Lloyd needs and what it does not.
LLOYD_ITERATIONS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 128)
FIG1 = ("dplloyd_equal", "dplloyd", "eugkm", "eugkm_lloyd", "pgkm", "gkm", "gkm3k")
FIG5 = ("dplloyd_equal", "dplloyd", "eugkm", "eugkm_lloyd")
BLOCK_EPSILON = 1.0
HEAT_EPSILON = 1.0
TIME_EPSILON = 0.1

LABELS = {
    "baseline": "best without privacy",
    "dplloyd_equal": "DPLloyd",
    "dplloyd": "DPLloyd, cube noise (ours)",
    "eugkm_lloyd": "EUGkM",
    "eugkm": "EUGkM, with swaps (ours)",
    "pgkm": "PGkM",
    "gkm": "GkM",
    "gkm3k": "GkM-3K",
    "hybrid_equal": "Hybrid",
    "hybrid": "Hybrid, cube noise (ours)",
    "hybrid_forced": "Hybrid, its step forced",
    "sag": "SAG: aggregation alone",
    "noise": "Noise alone",
    "gene": "Gene: PGkM without noise",
    "lloyd": "Lloyd",
}

CHEAP = {"dplloyd", "dplloyd_equal", "noise"}

# To the end of Lloyd's steps from 30 starts a fit takes seconds to minutes on many cells.
SLOW, MOST_EPSILON = "eugkm_lloyd", {"s1": 2.0, "adult": 0.0, "lifesci": 0.0}
LONG = 64


@dataclass(frozen=True)
class Size:
    """How much is run: all of it, or enough to see that it works."""

    runs: int = 20
    cheap_runs: int = 40
    few_runs: int = 5
    study_cheap_runs: int = 20
    heat_runs: int = 20
    theta_runs: int = 20
    study_runs: int = 20
    epsilons: tuple[float, ...] = EPSILONS
    sides: tuple[int, ...] = SIDES
    thetas: tuple[float, ...] = THETAS
    block_sizes: tuple[float, ...] = BLOCK_SIZES
    iterations: tuple[int, ...] = ITERATIONS
    lloyd_iterations: tuple[int, ...] = LLOYD_ITERATIONS
    eight: tuple[str, ...] = EIGHT
    six: tuple[str, ...] = SIX
    seven: tuple[str, ...] = (*SIX, "zip")

    def runs_of(self, method: str, usual: int = 0) -> int:
        """Runs of a point: four times as many, or more, where a run takes no time."""
        if method in CHEAP:
            return 2 * usual or self.cheap_runs
        if method == SLOW:
            return self.few_runs
        return 2 * self.few_runs if method == "hybrid_equal" else usual or self.runs


FULL = Size()
QUICK = Size(
    runs=2,
    cheap_runs=4,
    few_runs=2,
    study_cheap_runs=2,
    heat_runs=2,
    theta_runs=2,
    study_runs=2,
    epsilons=(0.1, 1.0),
    sides=(2, 6, 10),
    thetas=(10.0, 50.0),
    block_sizes=(0.2, 0.6),
    iterations=(1, 4, 8),
    lloyd_iterations=(1, 4, 8),
    eight=("s1", "roads", "image", "lifesci"),
    six=("s1", "roads", "image", "lifesci"),
    seven=("s1", "zip", "image", "lifesci"),
)


def baselines(datasets: tuple[str, ...]) -> list[Point]:
    """The best of 30 runs without privacy."""
    return [Point(name, "baseline", 0.0, runs=30) for name in datasets]


def fig1(size: Size) -> list[Point]:
    """NICV against ε."""
    grid = product(FIG1, size.eight, size.epsilons)
    points = [Point(name, m, e, runs=size.runs_of(m)) for m, name, e in grid if can(m, name, e)]
    return baselines(size.eight) + points


def can(method: str, name: str, epsilon: float) -> bool:
    """Whether a run takes no more than seconds."""
    return method != SLOW or epsilon <= MOST_EPSILON.get(name, 0.2)


BY_EPSILON = ("fig1", "fig5")


def added(figure: str, methods: Iterable[str], size: Size) -> list[Point]:
    """Points of methods that the paper does not have, in a figure of NICV against ε."""
    if figure not in BY_EPSILON:
        return []
    grid = product(methods, size.eight, size.epsilons)
    return [Point(name, m, e, runs=size.runs_of(m)) for m, name, e in grid]


def heat(size: Size, methods: list[tuple[str, float]], kind: str = "syn") -> list[Point]:
    """Points on 81 synthetic datasets, or on 25 of the other generator."""
    sides = size.sides if kind == "syn" else size.sides[::2]
    names = tuple(f"{kind}_{d}_{k}" for d, k in product(sides, sides))
    points = []
    for (m, setting), name in product(methods, names):
        usual = size.heat_runs if setting in (0.0, 10.0) else size.theta_runs
        usual = size.few_runs if m == "gkm" or kind == "ball" else usual
        points.append(Point(name, m, HEAT_EPSILON, setting, size.runs_of(m, usual)))
    return baselines(names) + points


def fig2(size: Size) -> list[Point]:
    """Heat maps over d and k, one for each method and each θ."""
    thetas = [("eugkm", theta) for theta in size.thetas]
    others = ("dplloyd_equal", "dplloyd", "gkm", "gkm3k", "pgkm")
    return heat(size, [*((method, 0.0) for method in others), *thetas])


def fig2b(size: Size) -> list[Point]:
    """The same with middles in a ball, whose distances do not grow with d."""
    return heat(size, [("dplloyd_equal", 0.0), ("eugkm", 10.0)], "ball")


def fig3(size: Size) -> list[Point]:
    """GkM, its aggregation alone and its noise alone, by block size."""
    grid = product(("noise", "gkm", "sag"), size.seven, size.block_sizes)
    points = [
        Point(name, m, BLOCK_EPSILON, b, size.runs_of(m, size.study_runs)) for m, name, b in grid
    ]
    return baselines(size.seven) + points


def fig4(size: Size) -> list[Point]:
    """Lloyd and PGkM without noise, by iterations."""
    gene, lloyd = (
        [Point(n, m, 1.0, t, runs(t)) for n, t in product(size.seven, iterations)]
        for m, iterations, runs in (
            ("gene", size.iterations, lambda t: size.study_runs if t < LONG else 3),
            ("lloyd", size.lloyd_iterations, lambda _: 30),
        )
    )
    return baselines(size.seven) + lloyd + gene


def fig5(size: Size) -> list[Point]:
    """Hybrid next to the two methods it is made of."""
    points = [p for p in fig1(size) if p.method in (*FIG5, "baseline")]
    grid = product(("hybrid_equal", "hybrid"), size.eight, size.epsilons)
    return points + [Point(n, m, e, runs=size.runs_of(m)) for m, n, e in grid]


def fig6(size: Size) -> list[Point]:
    """Heat maps of EUGkM and Hybrid."""
    return heat(size, [("eugkm", 10.0), ("hybrid", 0.0)])


def fig7(size: Size) -> list[Point]:
    """Run times: their mean is in the column of seconds."""
    grid = product(("dplloyd_equal", "eugkm_lloyd", "eugkm"), size.six)
    return [
        Point(n, m, TIME_EPSILON, runs=size.runs_of(m) if can(m, n, TIME_EPSILON) else 1)
        for m, n in grid
    ]


def printed(size: Size) -> list[Point]:
    """What the paper prints as a number, beside its figures."""
    fits = [Point("adult", m, 0.05, runs=size.runs) for m in ("hybrid_equal", "hybrid_forced")]
    for name in ("places", "gowalla"):
        fits += [Point(name, m, 0.7, runs=size.runs) for m in ("hybrid_equal", "eugkm")]
    return [*fits, *(Point("adult", m, 0.0, runs=1) for m in ("largest", "smallest"))]


STUDY_EPSILONS = (0.1, 1.0)
STEPS = (2, 3, 5, 10, 20)
ROWS_PER_CENTER = (1, 2, 3, 5, 10)
SLICES = (2, 3, 4)


def studies(size: Size) -> list[Point]:
    """What the paper says in passing: starts, iterations, schedules, counts and blocks."""
    found = []
    for name, epsilon in product(size.eight, STUDY_EPSILONS):
        for method in ("random_start", "halving", "increasing", "uniform"):
            found.append(Point(name, method, epsilon, runs=size.study_cheap_runs))
        found += [Point(name, "steps", epsilon, t, size.study_cheap_runs) for t in STEPS]
    low = [name for name in size.eight if name not in HIGH]
    for name, method in product(low, ("rounded", "signed")):
        found.append(Point(name, method, STUDY_EPSILONS[0], runs=2 * size.few_runs))
    found += [
        Point("lifesci", "slices", epsilon, s, size.few_runs)
        for epsilon, s in product((0.2, 0.5, 1.0), SLICES)
    ]
    grid = product(size.six, ROWS_PER_CENTER)
    return found + [Point(n, "rows", BLOCK_EPSILON, r, size.few_runs) for n, r in grid]


FIGURES: dict[str, Callable[[Size], list[Point]]] = {
    f.__name__: f for f in (fig1, fig2, fig2b, fig3, fig4, fig5, fig6, fig7, printed, studies)
}
LENDERS = {"fig5": ["fig1"], "fig6": ["fig2"], "fig7": ["fig1"], "printed": ["fig1", "fig5"]}
