"""How often n_clusters="auto" finds the number of clusters that a dataset was made of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path

from bench.growing_tables import in_processes, read_rows, write_rows
from bench.utility_data import SOURCES, THREES, is_there, load
from sfumato import PrivateKMeans

EPSILON = 1.0
RUNS = 10
# How far from the true k counts as found.
NEAR = {"s1": 1, **dict.fromkeys(THREES, 0)}


@dataclass(frozen=True)
class Choice:
    """The numbers of clusters that the runs of a method took on a dataset."""

    dataset: str
    method: str
    epsilon: float
    runs: int
    near: int
    chosen: str


def measure(dataset: str, method: str, runs: int) -> Choice:
    """Fit with the choice left to the method."""
    warnings.simplefilter("ignore")
    data = load(dataset)
    taken = []
    for number in range(runs):
        model = PrivateKMeans(
            "auto", epsilon=EPSILON, bounds=data.bounds, method=method, random_state=number
        )
        taken.append(len(model.fit(data.rows).cluster_centers_))
    near = sum(abs(k - data.k) <= NEAR[dataset] for k in taken)
    return Choice(dataset, method, EPSILON, runs, near, " ".join(map(str, sorted(taken))))


def complete(path: Path, method: str, runs: int, processes: int, *, fresh: bool) -> None:
    """Measure the datasets that the table lacks, or has with fewer runs; all if `fresh`."""
    if fresh:
        write(path, [c for c in read(path) if c.method != method])
    done = {c.dataset for c in read(path) if c.method == method and c.runs >= runs}
    left = [name for name in NEAR if name not in done and is_there(name)]
    for choice in in_processes(partial(measure, method=method, runs=runs), left, processes):
        write(path, [c for c in read(path) if _key(c) != _key(choice)] + [choice])
        print(line(choice), flush=True)


def _key(choice: Choice) -> tuple[str, str]:
    return choice.dataset, choice.method


def line(choice: Choice) -> str:
    """One choice in words."""
    source, tolerance = SOURCES[choice.dataset], NEAR[choice.dataset]
    wanted = f"{source.k - tolerance} to {source.k + tolerance}" if tolerance else f"{source.k}"
    return (
        f"{source.title}: {wanted} clusters in {choice.near} of {choice.runs} runs of "
        f"{choice.method} at ε = {choice.epsilon:g} ({choice.chosen})"
    )


def read(path: Path) -> list[Choice]:
    """Every choice in a table, in the order of the datasets."""
    choices = list(_parsed(read_rows(path)))
    return sorted(choices, key=lambda c: (c.method, list(NEAR).index(c.dataset)))


def _parsed(lines: list[dict[str, str]]) -> Iterator[Choice]:
    for row in lines:
        numbers = float(row["epsilon"]), int(row["runs"]), int(row["near"])
        yield Choice(row["dataset"], row["method"], *numbers, row["chosen"])


def write(path: Path, choices: list[Choice]) -> None:
    """Write the table."""
    write_rows(path, [field.name for field in fields(Choice)], map(astuple, choices))
