"""What Edler 2023 tries one setting at a time: run times, divisions of ε, numbers of iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from bench.inertia_data import MNIST, blobs
from bench.inertia_methods import Budget, balcan
from bench.inertia_runs import Point
from bench.papers.edler2023_numbers import THEIRS, budget_of
from bench.papers.edler2023_parts import CORESET, EDLER, TUNED, Mark, Size, on_mnist, part

# What the preset has where the thesis varies one number on MNIST, and a division rich in swaps.
DEFAULTS = {"partitions": 3, "swaps": 10, "rounds": 3, "runs": 1}
FOR_SWAPS: Budget = (0.5, 0.2, 0.05, 0.2, 0.05)


@part("fig4.1")
def fig4_1(size: Size) -> list[Mark]:
    """Run time against T, of the partitions and of the swaps at once."""
    points = {t: on_mnist(size.runs, balcan("matlab", partitions=t, swaps=t)) for t in size.times}
    return [Mark("seconds", str(t), (point,), "seconds") for t, point in points.items()]


def _budgets(size: Size, part: str) -> list[Mark]:
    found = []
    for x in list(THEIRS[part])[: size.most_budgets]:
        # Of most of Table 8 only means over many divisions are shown; Table 5.4 shows its own.
        alone = part != "table8" or budget_of(x[1])[0] == TUNED[0]
        runs = size.runs if alone else size.tune_runs
        # The division as the thesis means it: what a part leaves is left.
        method = balcan("matlab", budget=budget_of(x[1]), carry=False)
        found.append(Mark(x[0], x[1], (Point(MNIST, 10, method, 1.0, runs=runs),)))
    return found


@part("table5.1")
def table5_1(size: Size) -> list[Mark]:
    """Most of ε for one part after the other."""
    return _budgets(size, "table5.1")


@part("table5.2")
def table5_2(size: Size) -> list[Mark]:
    """Little of ε for the candidates."""
    return _budgets(size, "table5.2")


@part("table8")
def table8(size: Size) -> list[Mark]:
    """Every division of ε that the thesis tried."""
    return _budgets(size, "table8")


def _averaged(size: Size, part: str, place: int, candidates: float | None = None) -> list[Mark]:
    """Means over the divisions of table 8 in which one part of ε is x."""
    runs = {mark.x: mark.points[0] for mark in table8(size)}
    found = []
    for _, x in THEIRS[part]:
        chosen = [
            point
            for text, point in runs.items()
            if abs(budget_of(text)[place] - float(x)) < 1e-3
            and (candidates is None or abs(budget_of(text)[0] - candidates) < 1e-9)
        ]
        if chosen:
            found.append(Mark("inertia", x, tuple(chosen)))
    return found


@part("table5.3")
def table5_3(size: Size) -> list[Mark]:
    """Means by the part of the candidates."""
    return _averaged(size, "table5.3", 0)


@part("table5.4")
def table5_4(size: Size) -> list[Mark]:
    """Means by the part of the rounds, where the candidates have 0.7."""
    return _averaged(size, "table5.4", 3, 0.7)


@part("table9")
def table9(size: Size) -> list[Mark]:
    """Means by the part of the swaps."""
    return _averaged(size, "table9", 1)


@part("table10")
def table10(size: Size) -> list[Mark]:
    """Means by the part of the recovery."""
    return _averaged(size, "table10", 2)


@part("table11")
def table11(size: Size) -> list[Mark]:
    """Means by the part of the rounds."""
    return _averaged(size, "table11", 3)


@dataclass(frozen=True)
class Sweep:
    """A series in which one number is varied: how often, with which division and which δ."""

    runs: int
    series: str = "inertia"
    budget: Budget = TUNED
    delta: float = 0.0

    def over(self, name: str, values: Sequence[int]) -> list[Mark]:
        """One mark for each value; where it is the preset's, the preset itself."""
        found = []
        for value in values:
            chosen = {} if value == DEFAULTS[name] else {name: value}
            method = balcan("matlab", budget=self.budget, **chosen)
            point = Point(MNIST, 10, method, 1.0, self.delta, self.runs)
            found.append(Mark(self.series, str(value), (point,)))
        return found


@part("fig5.3")
def fig5_3(size: Size) -> list[Mark]:
    """Inertia and run time by the number of partitions."""
    marks = Sweep(size.runs).over("partitions", size.partitions)
    return marks + [Mark("minutes", m.x, m.points, "minutes") for m in marks]


@part("table5.5")
def table5_5(size: Size) -> list[Mark]:
    """The number of swaps; none at all is a random choice.

    Also with more of ε for them, and with Gaussian noise on the averages, which hides less.
    """
    rich = Sweep(size.runs, "a fifth of ε for swaps", FOR_SWAPS)
    clear = Sweep(size.runs, "δ = 1e-6", delta=1e-6)
    both = Sweep(size.runs, "a fifth, δ = 1e-6", FOR_SWAPS, 1e-6)
    further = [
        mark for sweep in (rich, clear, both) for mark in sweep.over("swaps", size.few_swaps)
    ]
    return Sweep(size.runs).over("swaps", size.swaps) + further


@part("table5.8")
def table5_8(size: Size) -> list[Mark]:
    """The number of rounds of private k-means."""
    return Sweep(size.runs).over("rounds", size.rounds)


@part("table5.9")
def table5_9(size: Size) -> list[Mark]:
    """The number of runs to choose from."""
    return Sweep(size.runs).over("runs", size.repeats)


@part("steps")
def steps(size: Size) -> list[Mark]:
    """What each change of §5.2 and §5.4 brings, one after the other, and what ours bring."""
    ladder = {
        "matlab": balcan("matlab", carry=False),
        "budget": balcan("matlab", budget=TUNED, carry=False),
        "gamma": balcan("matlab", budget=TUNED, gamma=1.0, carry=False),
        "deepest": balcan("edler", carry=False),
        "carry": EDLER,
        "coreset": CORESET,
    }
    return [Mark("inertia", x, (on_mnist(size.runs, method),)) for x, method in ladder.items()]


@part("subset")
def subset(size: Size) -> list[Mark]:
    """The open question of §6.1: every swap weighs only some of the candidates."""
    places = {"mnist": (MNIST, 10), "blobs": (blobs(64, 100), 64)}
    found = []
    for (series, (dataset, k)), number in product(places.items(), (*size.subsets, None)):
        chosen = {} if number is None else {"subset": number}
        method = balcan("matlab", budget=TUNED, **chosen)
        point = Point(dataset, k, method, 1.0, runs=size.runs)
        x = "all" if number is None else str(number)
        found += [Mark(series, x, (point,)), Mark(f"{series} seconds", x, (point,), "seconds")]
    return found
