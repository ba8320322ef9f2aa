"""How the claims of Su et al. 2015 compare the points of a figure."""

from __future__ import annotations

import math

import numpy as np

from bench.papers.su2015_data import EIGHT, GENERATED, SOURCES, TOWNS
from bench.papers.su2015_points import LABELS
from bench.papers.su2015_runs import Result, Table

Tables = dict[str, Table]
Found = tuple[bool | None, str]
Pair = tuple[str, float, Result, Result]


def pairs(
    table: Table,
    one: str,
    two: str,
    names: tuple[str, ...] = EIGHT,
    least: float = 0.0,
    most: float = math.inf,
) -> list[Pair]:
    """Points at which both methods were run: dataset, ε and the two results.

    Raises ValueError where there is none: then nothing can be said.
    """
    found = [
        (name, epsilon, result, table[name, two, epsilon, setting])
        for (name, method, epsilon, setting), result in table.items()
        if method == one and name in names and least <= epsilon <= most
        if (name, two, epsilon, setting) in table
    ]
    if not found:
        raise ValueError(f"no point has both {one} and {two}")
    return found


def clearly(lower: Result, higher: Result) -> bool:
    """Whether one mean is below another by more than two standard errors."""
    return lower.mean + 2 * math.hypot(lower.error, higher.error) < higher.mean


def compare(table: Table, one: str, two: str, names: tuple[str, ...], epsilons: list[float]) -> str:
    """The means of two methods, dataset by dataset."""
    lines = []
    for name in names:
        for epsilon in epsilons:
            a, b = table.get((name, one, epsilon, 0.0)), table.get((name, two, epsilon, 0.0))
            if a and b:
                lines.append(f"{SOURCES[name].title} ε = {epsilon:g}: {a.mean:.3g} / {b.mean:.3g}")
    return f"{LABELS[one]} / {LABELS[two]}: " + "; ".join(lines)


def beside(told: dict[str, str]) -> str:
    """What is told of every dataset, the towns that nothing rests on last."""
    text = "; ".join(line for name, line in told.items() if name != TOWNS)
    return f"{text}; beside: {told[TOWNS]}" if TOWNS in told else text


def at(points: list[tuple[str, float]]) -> str:
    """Name points of a figure."""
    return ", ".join(f"{SOURCES[n].title} ε = {e:g}" for n, e in points) or "none"


def excess(table: Table, method: str, setting: float = 0.0) -> dict[tuple[int, int], float]:
    """NICV above the baseline on every synthetic dataset, by (d, k)."""
    found = {}
    for (name, used, _, set_to), result in table.items():
        if used == method and set_to == setting and name.startswith(GENERATED):
            d, k = map(int, name.split("_")[1:])
            found[d, k] = result.mean - table[name, "baseline", 0.0, 0.0].mean
    if not found:
        raise ValueError(f"no synthetic dataset was clustered by {method}")
    if len(found) < sum(key[1] == "baseline" for key in table):
        raise ValueError(f"not every synthetic dataset was clustered by {method}")
    return found


def rises(table: Table, method: str, setting: float = 0.0) -> tuple[float, float]:
    """By how much the loss of a method grows from small d to large d, and from small k to large."""
    found = excess(table, method, setting)
    grown = []
    for axis in (0, 1):
        large = [loss for place, loss in found.items() if place[axis] >= 8]
        small = [loss for place, loss in found.items() if place[axis] <= 4]
        grown.append(float(np.mean(large) - np.mean(small)))
    return grown[0], grown[1]
