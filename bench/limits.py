"""How soon what is too large is refused, and what the largest fits take.

    python -m bench limits            # measures what the tables lack, and writes docs/limits.md
    python -m bench limits --fresh    # measures all anew

Every fit runs in a process of its own, and the time of the processors counts. Beside it stands
scikit-learn's KMeans with as many steps as dplloyd takes, 5, from random rows. Results are written
as they come.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.growing_tables import append_row, read_rows
from bench.memory import forget_peak, peak

HERE = Path(__file__).parent
FITS, REFUSALS = HERE / "tables" / "limits_fits.csv", HERE / "tables" / "limits_refusals.csv"
FIT_COLUMNS = ["method", "rows", "clusters", "seconds", "megabytes"]
REFUSAL_COLUMNS = ["asked", "milliseconds", "megabytes", "said"]
PAGE = HERE.parent / "docs" / "limits.md"

LONGEST = 400
TRIES = 5
THEIRS = "scikit-learn"
SHAPES = [
    *(("auto", 500, k) for k in (1000, 3000, 10_000)),
    *((method, 1_000_000, 10_000) for method in ("auto", "eugkm")),
    *((method, 100_000, 10_000) for method in ("auto", "eugkm", "hybrid", "balcan", "dplloyd")),
    *((THEIRS, rows, 10_000) for rows in (100_000, 1_000_000)),
    ("dplloyd", 1_000_000, 10_000),
]


def one_fit(method: str, rows: int, k: int) -> tuple[float, float]:
    """Seconds of processors, and megabytes, of one fit of rows in two columns."""
    from sklearn.cluster import KMeans

    from sfumato import PrivateKMeans

    data = np.random.default_rng(0).uniform(-1, 1, (rows, 2))
    if method == THEIRS:
        model: Any = KMeans(min(k, rows), n_init=1, max_iter=5, init="random", random_state=0)
    else:
        settings = {"epsilon": 1.0, "bounds": (-1, 1), "random_state": 0}
        model = PrivateKMeans(k, method=method, **settings)
        PrivateKMeans(2, method=method, **settings).fit(data[:10])  # loads what is loaded once
    forget_peak()
    before, start = peak(), time.process_time()
    model.fit(data)
    return time.process_time() - start, (peak() - before) / 1e6


def measure_fits() -> None:
    """Measure the fits that the table lacks."""
    done = {(row["method"], int(row["rows"]), int(row["clusters"])) for row in read_rows(FITS)}
    for shape in SHAPES:
        if shape in done:
            continue
        command = [sys.executable, "-m", "bench", "limits", "--one", *map(str, shape)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
            seconds, megabytes = ended.stdout.split()
        except subprocess.TimeoutExpired:
            seconds, megabytes = f"> {LONGEST}", "–"
        append_row(FITS, FIT_COLUMNS, [*shape, seconds, megabytes])


def asked() -> Iterator[tuple[str, Callable[[], object]]]:
    """What is too large, by name."""
    from sfumato import Curator, PrivateKMeans, plan
    from sfumato._accounting.budget import Caps
    from sfumato._core.queries.counts import Grid
    from sfumato._core.queries.moments import Products

    data = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    wide = np.zeros((50, 10_000))

    def fit(rows: np.ndarray = data, k: int = 3, **settings: object) -> Callable[[], object]:
        usual = {"epsilon": 1.0, "bounds": (-1, 1), "random_state": 0}
        return lambda: PrivateKMeans(k, **usual | settings).fit(rows)

    yield "k = 10^5", fit(k=10**5)
    yield "k = 10^30", fit(k=10**30)
    yield "k = 2,000, gkm", fit(k=2000, method="gkm")
    yield "10^4 columns, gkm", fit(wide, method="gkm")
    yield "10^4 columns, eugkm", fit(wide, method="eugkm")
    yield "n_rows = 10^16", fit(n_rows=10**16)
    yield "n_rows = 10^15, maxcover", fit(n_rows=10**15, method="maxcover", delta=1e-6)
    for method in ("auto", "dplloyd", "eugkm", "balcan"):
        yield f"ε = 10^−300, {method}", fit(epsilon=1e-300, method=method)
    for method in ("dplloyd", "eugkm", "balcan"):
        yield f"ε = 10^300, {method}", fit(epsilon=1e300, method=method)
    yield "a plan for 10^9 columns", lambda: plan(n=100, d=10**9, k=3, epsilon=1.0, bounds=(0, 1))
    curator = Curator(data, bounds=(-1, 1), epsilon=1.0)
    share = curator.reserve("bench", Caps(pure=curator.ledger.left[0])).rest("pure")
    yield "a grid of 16^16 cells", lambda: curator.counts(Grid(16, 16), share=share)
    yield "a grid of 2^(10^9) cells", lambda: curator.counts(Grid(2, 10**9), share=share)
    yield "moments of 10^9 columns", lambda: curator.moments(Products(10**9), share=share)


def measure_refusals() -> None:
    """Measure the refusals that the table lacks: the best of a few."""
    done = {row["asked"] for row in read_rows(REFUSALS)}
    for name, ask in asked():
        if name in done:
            continue
        times, grown, said = [], 0.0, ""
        for _ in range(TRIES):
            forget_peak()
            before, start = peak(), time.perf_counter()
            try:
                ask()
            except ValueError as error:
                said = str(error)
            times.append(1000 * (time.perf_counter() - start))
            grown = max(grown, (peak() - before) / 1e6)
        row = [name, f"{min(times):.2f}", f"{grown:.1f}", said or "not refused"]
        append_row(REFUSALS, REFUSAL_COLUMNS, row)


def tables() -> dict[str, str]:
    """Both tables as Markdown."""
    theirs = {
        (row["rows"], row["clusters"]): row["seconds"]
        for row in read_rows(FITS)
        if row["method"] == THEIRS
    }
    fits = [
        "| method | rows | clusters | CPU seconds | MB | × scikit-learn |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in read_rows(FITS):
        other, ratio = theirs.get((row["rows"], row["clusters"])), ""
        if other and row["method"] != THEIRS and not {">"} & {other[0], row["seconds"][0]}:
            ratio = f"{float(row['seconds']) / float(other):.2g}"
        numbers = [f"{int(row[name]):,}" for name in ("rows", "clusters")]
        fits.append(
            f"| {row['method']} | {' | '.join(numbers)} | {row['seconds']} | {row['megabytes']} "
            f"| {ratio} |"
        )
    refusals = ["| asked | ms | MB | what is said |", "|---|--:|--:|---|"]
    for row in read_rows(REFUSALS):
        refusals.append(f"| {' | '.join(row[name] for name in REFUSAL_COLUMNS)} |")
    return {"fits": "\n".join(fits), "refusals": "\n".join(refusals)}


def with_tables(text: str) -> str:
    """The page with both tables between their marks."""
    for name, table in tables().items():
        begin, end = (
            f"<!-- {name}: written by `python -m bench limits` -->",
            f"<!-- end of {name} -->",
        )
        head, rest = text.split(begin)
        text = f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    return text


def main(words: list[str]) -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="bench limits", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure all anew")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "ROWS", "K"), help="one fit")
    options = parser.parse_args(words)
    if options.one:
        method, rows, k = options.one
        seconds, megabytes = one_fit(method, int(rows), int(k))
        sys.stdout.write(f"{seconds:.2f} {megabytes:.0f}\n")
        return
    if options.fresh:
        for path in (FITS, REFUSALS):
            path.unlink(missing_ok=True)
    measure_refusals()
    measure_fits()
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
