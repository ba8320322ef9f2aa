"""Figures 3 to 5 of Sukpisit et al. 2019: fits by processes, measured up to two, then a model.

Two cores cannot decide what ten processes do: the model is shown, and nothing is judged by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from bench.engines_serving import DASK, LOCAL, SPARK, Setup
from bench.engines_timing import Best

ROWS, FEW_ROWS = 5_000_000, 50_000
MEASURED = (1, 2)
PROCESSES = tuple(range(1, 11))
ENGINES = (LOCAL, DASK, SPARK)
LABELS = {LOCAL: "thread pool", DASK: "Dask", SPARK: "Spark"}

# Engines that are compared take turns. A ratio of two minima needs many of each; Spark takes too
# long for that.
ROUNDS = {(LOCAL, DASK): 30, (SPARK,): 3}

# The paper does not print its K. With more clusters there is more work for each message.
MORE_CLUSTERS, MORE_ROUNDS = 50, 20


def setups(engine: str, rows: int = ROWS) -> list[Setup]:
    """As many parts as processes, as in the paper; few rows show what is not work on rows."""
    few = rows * FEW_ROWS // ROWS
    found = [Setup(engine, p, p, size) for size in (rows, few) for p in MEASURED]
    # Threads take what they find; elsewhere every part is sent, awaited and added up by itself.
    return found if engine == LOCAL else [*found, Setup(engine, 2, PROCESSES[-1], few)]


def more(engine: str, rows: int = ROWS) -> list[Setup]:
    """The same fits with more clusters; not on Spark, where messages are not what costs."""
    return [Setup(engine, p, p, rows, MORE_CLUSTERS) for p in MEASURED if engine != SPARK]


def plan(engines: Sequence[str], rows: int = ROWS) -> list[tuple[list[Setup], int]]:
    """What takes turns with what, and in how many rounds."""
    found = []
    for together, most in ROUNDS.items():
        mine = [engine for engine in together if engine in engines]
        for kind, rounds in ((setups, most), (more, MORE_ROUNDS)):
            found.append(([setup for engine in mine for setup in kind(engine, rows)], rounds))
    return [(turns, rounds) for turns, rounds in found if turns]


@dataclass(frozen=True)
class Model:
    """Seconds of a fit: a serial part, a part for each task, and work that processes share."""

    serial: float
    per_task: float
    work: float
    off: float

    def seconds(self, processes: int) -> float:
        """The paper's way: one task for each process."""
        return self.serial + self.per_task * processes + self.work / processes

    def efficiency(self, processes: int) -> float:
        """Speed-up over one process, per process."""
        return self.seconds(1) / self.seconds(processes) / processes


def fitted(found: dict[Setup, Best], engine: str, rows: int = ROWS) -> Model:
    """Fit the parts to the measured fits, none below 0, relative errors weighted alike.

    `off` is the largest relative error of the model at a measured fit.
    """
    mine = [found[setup] for setup in setups(engine, rows)]
    parts = np.array([[1.0, b.setup.tasks, b.setup.rows / rows / b.setup.processes] for b in mine])
    seconds = np.array([b.seconds for b in mine])
    solved, _ = nnls(parts / seconds[:, None], np.ones(len(mine)))
    off = float(np.abs(parts @ solved / seconds - 1).max())
    return Model(*map(float, solved), off)


def efficiency(fits: Iterable[Best]) -> float:
    """Speed-up of two processes over one, per process."""
    one, two = fits
    return one.seconds / two.seconds / 2


@dataclass(frozen=True)
class Curve:
    """What the figures show of an engine: measured seconds by processes, and the model."""

    engine: str
    measured: dict[int, Best]
    model: Model

    @property
    def efficiency(self) -> float:
        """Measured at two processes."""
        return efficiency(self.measured.values())

    @property
    def is_quiet(self) -> bool:
        """Whether the second core was there to be used."""
        return all(b.is_quiet for b in self.measured.values())

    @property
    def least_efficiency(self) -> float:
        """The least of the measured one and those of the model up to ten processes."""
        return min(self.efficiency, *(self.model.efficiency(p) for p in PROCESSES[2:]))


def curve(found: dict[Setup, Best], engine: str, rows: int = ROWS) -> Curve:
    """What was found of an engine. Raises KeyError where a fit is missing."""
    measured = {p: found[Setup(engine, p, p, rows)] for p in MEASURED}
    return Curve(engine, measured, fitted(found, engine, rows))


def curves(found: dict[Setup, Best], rows: int = ROWS) -> list[Curve]:
    """Every engine that was measured, if the thread pool was, which they are compared with."""
    there = [e for e in ENGINES if all(setup in found for setup in setups(e, rows))]
    if LOCAL not in there:
        return []
    return [curve(found, engine, rows) for engine in there]


def times_local(found: dict[Setup, Best], engine: str, rows: int = ROWS) -> dict[int, float]:
    """CPU seconds of an engine over those of the thread pool, by processes."""
    return {
        p: found[Setup(engine, p, p, rows)].cpu / found[Setup(LOCAL, p, p, rows)].cpu
        for p in MEASURED
    }


def as_markdown(found: dict[Setup, Best], rows: int = ROWS) -> str:
    """The measured fits and the model's parts as a page shows them."""
    lines = [
        "| engine | 1 process, s | 2 processes, s | speed-up | efficiency | with K = 50 | "
        "CPU / thread pool's, 1 and 2 | serial part, s | per task, s | shared work, s | "
        "model off by at most | efficiency at 10 (model) | machine |",
        "|" + "---|" * 13,
    ]
    for each in curves(found, rows):
        one, two = (each.measured[p] for p in MEASURED)
        times = times_local(found, each.engine, rows)
        model = each.model
        cells = [
            LABELS[each.engine],
            f"{one.seconds:.3g}",
            f"{two.seconds:.3g}",
            f"{2 * each.efficiency:.2f}",
            f"{each.efficiency:.0%}",
            _with_more(found, each.engine, rows),
            f"{times[1]:.2f}, {times[2]:.2f}",
            f"{model.serial:.2g}",
            f"{model.per_task:.2g}",
            f"{model.work:.3g}",
            f"{model.off:.0%}",
            f"{model.efficiency(10):.0%}",
            f"{min(one.machine, two.machine):.2f}" + ("" if each.is_quiet else " (busy)"),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else "Not measured yet."


def _with_more(found: dict[Setup, Best], engine: str, rows: int) -> str:
    fits = [found[setup] for setup in more(engine, rows) if setup in found]
    return f"{efficiency(fits):.0%}" if len(fits) == len(MEASURED) else "–"
