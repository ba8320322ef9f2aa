"""Time and memory of a fit next to scikit-learn's k-means, on one thread.

Every measurement runs in a process of its own. The fits alternate and the best of several counts;
memory is the peak beyond the data, as a multiple of the data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np

from bench import speed, utility_data
from bench.growing_tables import read_rows, write_rows
from bench.memory import peak
from bench.utility_points import DELTA
from sfumato._base.types import Floats

EPSILON = 1.0
MOST_MEMORY = 1.0


@dataclass(frozen=True)
class Case:
    """A table, and how many times the time of scikit-learn's k-means a fit may take on it.

    Of a small table only the time is measured: all memory of a fit is more than the table.
    """

    title: str
    make: Callable[[], Floats]
    k: int
    lower: float
    upper: float
    starts: int
    at_most: float
    repeats: int = 3
    is_large: bool = True
    file: str = ""


def _rows_of(name: str) -> Floats:
    return utility_data.SOURCES[name].make(name).rows.astype(np.float64)


_SMALL, _MILLION = (5_000, 2, 15), (1_000_000, 10, 32)
CASES = {
    "s1_size": Case(
        "5,000 × 2", partial(speed.blobs, _SMALL), 15, 0, 1, 10, 3.0, repeats=10, is_large=False
    ),
    "million": Case("10⁶ × 10", partial(speed.blobs, _MILLION), 32, 0, 1, 1, 2.0),
    "blobs": Case("64 blobs, 100,000 × 100", partial(_rows_of, "blobs"), 64, -5, 105, 1, 1.0),
    "mnist": Case(
        "MNIST, 70,000 × 784", partial(_rows_of, "mnist"), 10, 0, 255, 1, 1.0, file="mnist"
    ),
}


@dataclass(frozen=True)
class Timing:
    """Best seconds of a fit in both forms and of scikit-learn, and the peak of memory."""

    case: str
    method: str
    pure_seconds: float
    delta_seconds: float
    sklearn_seconds: float
    memory: float = 0.0

    @property
    def ratios(self) -> tuple[float, float]:
        """Times scikit-learn's time: the pure form and the one with δ."""
        return self.pure_seconds / self.sklearn_seconds, self.delta_seconds / self.sklearn_seconds


def fit(case: Case, method: str, delta: float, rows: Floats) -> object:
    from sfumato import PrivateKMeans

    bounds = (case.lower, case.upper)
    model = PrivateKMeans(case.k, epsilon=EPSILON, delta=delta, bounds=bounds, method=method)
    return model.fit(rows)


def worker(job: str, name: str, method: str, path: str) -> dict[str, float]:
    """What the process of a measurement does."""
    from sklearn.cluster import KMeans

    warnings.simplefilter("ignore")
    case, rows = CASES[name], np.load(path)
    fits: dict[str, Callable[[Floats], object]] = {
        "pure_seconds": partial(fit, case, method, 0.0),
        "delta_seconds": partial(fit, case, method, DELTA),
        "sklearn_seconds": KMeans(case.k, n_init=case.starts, random_state=0).fit,
    }
    # Libraries are loaded before anything is measured; they take as much for any table.
    speed.load_compiled()
    for work in fits.values():
        work(rows[:2000])
    if job == "memory":
        before = peak()
        fits["pure_seconds"](rows)
        fits["delta_seconds"](rows)
        return {"memory": (peak() - before) / rows.nbytes}
    best = dict.fromkeys(fits, float("inf"))
    for _ in range(case.repeats):
        for label, work in fits.items():
            best[label] = min(best[label], speed.seconds(partial(work, rows)))
    return best


def measure(name: str, method: str) -> Timing:
    """Write the rows to a file, so that reading them is all that the processes need memory for."""
    found: dict[str, float] = {}
    environment = os.environ | dict.fromkeys(speed.THREAD_VARIABLES, "1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, CASES[name].make())
        for job in ("time", "memory") if CASES[name].is_large else ("time",):
            command = [sys.executable, "-m", "bench", "utility", "time", "--worker"]
            command += [job, name, method, str(path)]
            shown = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            found |= json.loads(shown.stdout.splitlines()[-1])
    return Timing(case=name, method=method, **found)


def complete(path: Path, method: str, *, fresh: bool) -> None:
    """Measure the cases that the table lacks, one after the other; all of them if `fresh`."""
    if fresh:
        write(path, [t for t in read(path) if t.method != method])
    for name, case in CASES.items():
        timings = read(path)
        if (name, method) in {(t.case, t.method) for t in timings}:
            continue
        if case.file and not utility_data.is_there(case.file):
            continue
        write(path, [*timings, measure(name, method)])
        print(*lines(read(path)[-1:]), sep="\n", flush=True)


def lines(timings: list[Timing]) -> list[str]:
    """What was measured, each with its target and whether it was reached."""
    said = []
    for timing in timings:
        case = CASES[timing.case]
        for form, ratio in zip(("pure", f"δ = {DELTA:g}"), timing.ratios, strict=True):
            yardstick = f"KMeans(n_init={case.starts})"
            said.append(_judged(f"{case.title}, {form}: {yardstick} ×", ratio, case.at_most))
        if case.is_large:
            said.append(_judged(f"{case.title}: memory / data", timing.memory, MOST_MEMORY))
    return said


def _judged(label: str, value: float, at_most: float) -> str:
    verdict = "reached" if value <= at_most else "missed"
    return f"{verdict:8} {label} {value:.2f}, at most {at_most:g}"


def read(path: Path) -> list[Timing]:
    """Every timing in a table."""
    numbers = [field.name for field in fields(Timing)][2:]
    return [
        Timing(r["case"], r["method"], *(float(r[n]) for n in numbers)) for r in read_rows(path)
    ]


def write(path: Path, timings: list[Timing]) -> None:
    """Write the table."""
    write_rows(path, [field.name for field in fields(Timing)], map(_cells, timings))


def _cells(timing: Timing) -> list[object]:
    case, method, *numbers = astuple(timing)
    return [case, method, *(f"{number:.4g}" for number in numbers)]
