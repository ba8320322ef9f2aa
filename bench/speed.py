"""Time and memory of a fit on large tables, next to scikit-learn and diffprivlib.

Every measurement runs in a process of its own, with as many threads as it is allowed. Fits of
sfumato and scikit-learn alternate, and the best of several counts. diffprivlib needs an older
scikit-learn: it runs in the Python that SFUMATO_DIFFPRIVLIB_PYTHON names, if there is one.
Results are written as they come; what is in the table already is not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from bench.growing_tables import THREADS as THREAD_VARIABLES
from bench.growing_tables import append_row, read_rows
from bench.memory import peak

TABLE = Path(__file__).parent / "tables" / "speed.csv"
COLUMNS = ["rows", "columns", "clusters", "threads", "measure", "value"]
SHAPES = [(5_000_000, 8, 10), (1_000_000, 2, 15), (100_000, 100, 64), (70_000, 784, 10)]
ITERATIONS = 5

Shape = tuple[int, int, int]
Results = dict[tuple[Shape, int, str], float]
Fit = Callable[[np.ndarray], object]


def blobs(shape: Shape) -> np.ndarray:
    """Round clusters in the unit cube, generated in place: the peak of memory is the table."""
    n, d, k = shape
    rng = np.random.default_rng(0)
    centers = rng.uniform(0.1, 0.9, (k, d))
    table = np.empty((n, d))
    for start in range(0, n, 10_000):
        block = table[start : start + 10_000]
        rng.standard_normal(out=block)
        block *= 0.05
        block += centers[rng.integers(k, size=len(block))]
    return table


def load_compiled() -> None:
    """Load the compiled loops, if they are installed."""
    from sfumato._core.testing import use_loops

    try:
        with use_loops("numba"):
            pass
    except ImportError:
        print("numba is not installed: the NumPy loops are timed", file=sys.stderr)


def sfumato_fit(k: int) -> Fit:
    from sfumato import PrivateKMeans

    load_compiled()
    model = PrivateKMeans(n_clusters=k, epsilon=1.0, bounds=(0, 1), method="dplloyd")
    return model.fit


def sklearn_fit(k: int) -> Fit:
    from sklearn.cluster import KMeans

    fit: Fit = KMeans(k, n_init=1, init="random", max_iter=ITERATIONS, random_state=0).fit
    return fit


def diffprivlib_fit(k: int) -> Fit:
    from diffprivlib.models import KMeans  # type: ignore[import-not-found]

    return lambda table: KMeans(k, epsilon=1.0, bounds=(0, 1)).fit(table)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def machine_efficiency() -> float:
    """Two threads of work that shares nothing: below 1, the second core is not ours alone."""
    data = b"\0" * 60_000_000
    with ThreadPoolExecutor(2) as pool:
        one = seconds(lambda: hashlib.sha256(data))
        return one / seconds(lambda: list(pool.map(hashlib.sha256, [data] * 2)))


def measure_fits(shape: Shape, repeats: int) -> dict[str, float]:
    table = blobs(shape)
    fits = {"sfumato": sfumato_fit(shape[2]), "sklearn": sklearn_fit(shape[2])}
    best = dict.fromkeys(fits, float("inf"))
    for fit in fits.values():
        fit(table[:5000])
    for _ in range(repeats):
        for name, fit in fits.items():
            best[name] = min(best[name], seconds(partial(fit, table)))
    return {
        "sfumato_seconds": best["sfumato"],
        "sklearn_seconds": best["sklearn"],
        "times_sklearn": best["sfumato"] / best["sklearn"],
        **measure_passes(table, shape[2], repeats),
    }


def measure_passes(table: np.ndarray, k: int, repeats: int) -> dict[str, float]:
    """The first pass puts the rows on the lattice; every later one only adds."""
    from sfumato._core.queries.counts import Nearest, Totals
    from sfumato._lattice.box import Box
    from sfumato.engines._memory import ArrayRows

    box = Box.of((0, 1), table.shape[1])
    query = Totals(Nearest(box.to_lattice(table[:k]).astype(np.int64)))
    rows = [ArrayRows(table) for _ in range(2)]
    first = min(seconds(partial(r.fold, box, query)) for r in rows)
    later = min(seconds(lambda: rows[0].fold(box, query)) for _ in range(repeats))
    return {"lattice_seconds": first - later, "pass_seconds": later}


def measure_scaling(shape: Shape, repeats: int) -> dict[str, float]:
    """One thread and two in turn, and whether the machine had a second core to give meanwhile."""
    table = blobs(shape)
    fit = sfumato_fit(shape[2])
    fit(table[:5000])
    one, two, machine = float("inf"), float("inf"), 0.0
    # A ratio of two minima needs more of each than a minimum alone: at least half a minute.
    end = time.perf_counter() + 8 * repeats
    while time.perf_counter() < end:
        os.environ["SFUMATO_THREADS"] = "1"
        one = min(one, seconds(lambda: fit(table)))
        os.environ["SFUMATO_THREADS"] = "2"
        two = min(two, seconds(lambda: fit(table)))
        machine = max(machine, machine_efficiency())
    return {"efficiency": one / two / 2, "machine_efficiency": machine}


def measure_memory(shape: Shape, repeats: int) -> dict[str, float]:
    table = blobs(shape)
    fit = sfumato_fit(shape[2])
    fit(table[:5000])
    before = peak()
    fit(table)
    return {"memory_ratio": (peak() - before) / table.nbytes}


def measure_diffprivlib(shape: Shape, repeats: int) -> dict[str, float]:
    table = blobs(shape)
    fit = diffprivlib_fit(shape[2])
    fit(table[:5000])
    return {"diffprivlib_seconds": seconds(lambda: fit(table))}


# The measure that tells whether a job has been done, and the threads it runs with.
JOBS = {
    "fits": (measure_fits, "times_sklearn", (1, 2)),
    "scaling": (measure_scaling, "efficiency", (2,)),
    "memory": (measure_memory, "memory_ratio", (1,)),
    "diffprivlib": (measure_diffprivlib, "diffprivlib_seconds", (1,)),
}


def run_job(job: str, shape: Shape, threads: int, repeats: int) -> dict[str, float]:
    python = sys.executable
    if job == "diffprivlib":
        python = os.environ.get("SFUMATO_DIFFPRIVLIB_PYTHON", "")
        if not python:
            print("diffprivlib skipped: SFUMATO_DIFFPRIVLIB_PYTHON names no interpreter")
            return {}
    command = [python, __file__, "--worker", job, *map(str, shape), "--repeats", str(repeats)]
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    shown = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return found


def read_table() -> Results:
    results: Results = {}
    for line in read_rows(TABLE):
        shape = int(line["rows"]), int(line["columns"]), int(line["clusters"])
        results[shape, int(line["threads"]), line["measure"]] = float(line["value"])
    return results


def append(shape: Shape, threads: int, found: dict[str, float]) -> None:
    for measure, value in found.items():
        append_row(TABLE, COLUMNS, [*shape, threads, measure, f"{value:.4g}"])
        print("{:,} x {}, k = {}, {} threads: {} {:.4g}".format(*shape, threads, measure, value))


def report(results: Results) -> None:
    for shape in SHAPES:
        found = {(t, m): v for (s, t, m), v in results.items() if s == shape}
        print("{:,} x {}, k = {}".format(*shape))
        goal("time / scikit-learn's", found.get((1, "times_sklearn")), at_most=0.8)
        goal("memory / array", found.get((1, "memory_ratio")), at_most=0.6)
        if {(1, "sfumato_seconds"), (1, "diffprivlib_seconds")} <= set(found):
            ratio = found[1, "diffprivlib_seconds"] / found[1, "sfumato_seconds"]
            goal("times as fast as diffprivlib", ratio, at_least=5)
        if found.get((2, "machine_efficiency"), 0) >= 0.9:
            goal("two-thread efficiency", found.get((2, "efficiency")), at_least=0.85)
        else:
            print("  two-thread efficiency: cannot be judged, the second core was busy")


def goal(label: str, value: float | None, at_most: float = np.inf, at_least: float = 0) -> None:
    if value is not None:
        met = "met" if at_least <= value <= at_most else "missed"
        wanted = f"at most {at_most}" if at_most < np.inf else f"at least {at_least}"
        print(f"  {label}: {value:.2f}, {wanted}: {met}")


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench speed", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--repeats", type=int, default=5, help="the best of so many fits counts")
    parser.add_argument("--worker", nargs=4, metavar=("JOB", "ROWS", "COLUMNS", "CLUSTERS"))
    options = parser.parse_args(argv)
    if options.worker:
        warnings.simplefilter("ignore")
        job, n, d, k = options.worker
        print(json.dumps(JOBS[job][0]((int(n), int(d), int(k)), options.repeats)))
        return
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    TABLE.parent.mkdir(exist_ok=True)
    done = read_table()
    for shape in SHAPES:
        for job, (_, measure, allowed) in JOBS.items():
            for threads in allowed:
                if (shape, threads, measure) not in done:
                    append(shape, threads, run_job(job, shape, threads, options.repeats))
    report(read_table())


if __name__ == "__main__":
    main(sys.argv[1:])
