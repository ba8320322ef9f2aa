"""How we attack ourselves: audits of every method, and of estimators that are broken on purpose.

    python -m bench audit                # at most an hour on two cores; what was stopped goes on
    python -m bench audit --minutes 600  # up to the full numbers of runs
    python -m bench audit docs           # only writes the page and the figure

- replay: the exact loss of every answer, on 200 neighbour pairs.
- likelihood: a lower bound of ε by the strongest test of a transcript, 10^5 runs of every method.
- black box: a lower bound of ε by all that a fit shows, 2·10^4 fits of every method.
- broken: estimators with a known bug, which must be caught, and their correct twins.
- canaries: one run with thousands of made-up people.

Each method runs without δ, unless it needs one, and with δ = 10^-6; ε is 0.5, 1 and 4. Every result
is written when it is there. PGkM runs with fewer candidates and rounds than usual.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bench import audit_page, broken
from bench.audit_pairs import GROUP, five, many
from bench.growing_tables import append_row, in_processes, read_rows
from sfumato import PrivateKMeans, audit
from sfumato.methods import METHODS, NEEDS_DELTA, PGkM

ROOT = Path(__file__).parents[1]
TABLE, BUILD = ROOT / "bench" / "tables" / "audit.csv", ROOT / "build" / "bench" / "audit.csv"
COLUMNS = audit_page.COLUMNS

EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-6
PAIRS = 200
RUNS = 100_000
FITS = 20_000
WORST = 2
BOUNDS = (-1.0, 1.0)
CANARIES = 10_000
ALPHA = 1e-9
"""Chance of a false alarm of one row of the table: of all together it is below 10^-6."""

SMALLER = {"pgkm": PGkM(candidates=20, parents=3, least_rounds=3)}
"""Methods whose default is slow on a table of 50 rows."""

BROKEN_MINUTES, CORRECT_MINUTES = 5.0, 1.0
"""How long to look at most; a bug that is found ends it."""


@dataclass(frozen=True)
class Job:
    """One row of the table; `place` is a pair, its rank, or nothing."""

    kind: str
    what: str
    epsilon: float
    delta: float
    place: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What it is found by."""
        return self.kind, self.what, f"{self.epsilon:g}", f"{self.delta:g}", self.place


def cells() -> list[tuple[str, float, float]]:
    """Every method with every claim that it can make."""
    return [
        (method, epsilon, delta)
        for epsilon in EPSILONS
        for delta in (0.0, DELTA)
        for method in METHODS
        if delta or method not in NEEDS_DELTA
    ]


def jobs() -> Iterator[Job]:
    """All jobs, the most important first; of samples a part for every method in turn."""
    for cell in cells():
        yield Job("replay", *cell)
    for what, (_, delta) in {**broken.BROKEN, **broken.CORRECT}.items():
        yield Job("broken", what, 1.0, delta)
    for what, delta in product(CANARY_RELEASES, (0.0, DELTA)):
        yield Job("canaries", what, 1.0, delta)
    first, second, *others = [pair.name for pair in five()]
    order = [first, "worst 1", second, "worst 2", *others]
    for place, cell in product(order, cells()):
        yield Job("black box" if place.startswith("worst") else "likelihood", *cell, place=place)


def share_of(method: str, runs: int, places: int) -> int:
    """Runs of one job, of all runs of a method."""
    return runs // (places * sum(cell[0] == method for cell in cells()))


def method_of(name: str) -> Any:
    """The instance that is audited."""
    return SMALLER.get(name) or METHODS[name]()


def do(work: tuple[Job, float, float, Path]) -> list[object] | None:
    """Do one job, unless the time is over; returns its row. `part` of the numbers for smoke."""
    job, until, part, table = work
    if time.time() > until:
        return None
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    try:
        runs, bound, wrong, note = DOERS[job.kind](job, part, table)
    # The others go on; this one is written down as wrong.
    except Exception as error:
        runs, bound, wrong, note = 0, 0.0, True, f"raised {type(error).__name__}: {error}"
    seconds = f"{time.perf_counter() - began:.1f}"
    return [*job.key, runs, f"{bound:.4g}", int(wrong), seconds, note]


Done = tuple[int, float, bool, str]


def replayed(job: Job, part: float, _table: Path) -> Done:
    """The largest loss on all pairs, or infinity."""
    pairs, worst, where = many(max(8, int(PAIRS * part))), 0.0, ""
    for pair in pairs:
        found = audit.replay(
            *(method_of(job.what), pair),
            epsilon=job.epsilon,
            delta=job.delta,
            bounds=BOUNDS,
            max_rows_per_group=GROUP,
        )
        if found.broken:
            return len(pairs), found.lost, True, found.reason
        if found.lost > worst:
            worst, where = found.lost, pair.name
    return len(pairs), worst, False, where


def by_likelihood(job: Job, part: float, _table: Path) -> Done:
    """The bound of one pair."""
    (pair,) = (pair for pair in five() if pair.name == job.place)
    verdict = audit.likelihood_ratio(
        *(method_of(job.what), pair),
        epsilon=job.epsilon,
        delta=job.delta,
        trials=max(40, int(share_of(job.what, RUNS, 5) * part)),
        alpha=ALPHA,
        bounds=BOUNDS,
        random_state=int.from_bytes(os.urandom(4), "big"),
    )
    return verdict.trials, verdict.epsilon_lower, verdict.broken, verdict.event


def in_a_black_box(job: Job, part: float, table: Path) -> Done:
    """The bound of one of the worst pairs."""
    pair = worst_pairs(job.what, read_rows(table))[int(job.place[-1]) - 1]
    estimator = PrivateKMeans(
        2, epsilon=job.epsilon, delta=job.delta, method=method_of(job.what), bounds=BOUNDS
    )
    fits = max(80, int(share_of(job.what, FITS, WORST) * part))
    verdict = audit.run(
        *(estimator, job.epsilon, job.delta, [pair], 60.0), trials=fits, alpha=ALPHA
    )
    return verdict.trials, verdict.epsilon_lower, verdict.broken, f"{pair.name}: {verdict.event}"


def worst_pairs(method: str, rows: list[dict[str, str]]) -> list[audit.Pair]:
    """The five pairs, those first on which likelihoods showed most of a claim."""
    shown = {pair.name: 0.0 for pair in five()}
    for row in rows:
        if row["kind"] == "likelihood" and row["what"] == method:
            part = float(row["bound"]) / float(row["epsilon"])
            shown[row["place"]] = max(shown[row["place"]], part)
    return sorted(five(), key=lambda pair: -shown[pair.name])


def of_broken(job: Job, part: float, _table: Path) -> Done:
    """Whether the bug is found; of a correct twin, that none is."""
    factory, delta = {**broken.BROKEN, **broken.CORRECT}[job.what]
    most = BROKEN_MINUTES if job.what in broken.BROKEN else CORRECT_MINUTES
    minutes = most * min(1.0, max(part, 0.1))
    verdict = audit.run(factory, job.epsilon, delta, broken.pairs(), minutes, alpha=1e-6)
    right = verdict.broken == (job.what in broken.BROKEN)
    event = f"{verdict.pair}: {verdict.event}" if verdict.event else ""
    return verdict.trials, verdict.epsilon_lower, not right, event


def by_canaries(job: Job, part: float, _table: Path) -> Done:
    """The bound of one run with many canaries."""
    release = CANARY_RELEASES[job.what](max(100, int(CANARIES * part)), job.epsilon, job.delta)
    verdict = audit.canaries(release, epsilon=job.epsilon, delta=job.delta, alpha=ALPHA)
    return len(release.rows), verdict.epsilon_lower, verdict.broken, verdict.event


def _synopsis(m: int, epsilon: float, delta: float) -> Any:
    rows = int(10 * m / epsilon)
    estimator = PrivateKMeans(
        2, epsilon=epsilon, delta=delta, method="eugkm", bounds=BOUNDS, n_rows=rows
    )
    return audit.SynopsisCounts(estimator, m, BOUNDS)


CANARY_RELEASES: dict[str, Any] = {
    "counts of a grid": lambda m, *claim: audit.GridCounts(m, *claim),
    "sums at the corners of a cube": lambda m, *claim: audit.GridSums(m.bit_length() - 1, *claim),
    "the synopsis of eugkm": _synopsis,
}

DOERS: dict[str, Any] = {
    "replay": replayed,
    "likelihood": by_likelihood,
    "black box": in_a_black_box,
    "broken": of_broken,
    "canaries": by_canaries,
}


def run(table: Path, minutes: float, processes: int, part: float, only: list[str]) -> None:
    """Do what the table lacks, until the time is over."""
    done = {tuple(row[name] for name in COLUMNS[:5]) for row in read_rows(table)}
    until = time.time() + 60 * minutes
    todo = [job for job in jobs() if job.key not in done and (not only or job.kind in only)]
    works = [(job, until, part, table) for job in todo]
    for cells in in_processes(do, works, processes):
        if cells is not None:
            append_row(table, COLUMNS, cells)
            if table == TABLE:
                # Whenever it is stopped, the page has all that is in the table.
                audit_page.write_tables(read_rows(table))
            print(*cells[:-1], flush=True)


def main(argv: list[str]) -> None:
    """Attack, and write the page."""
    parser = argparse.ArgumentParser(prog="bench audit", description=__doc__)
    parser.add_argument("part", nargs="?", default="run", choices=["run", "docs"])
    parser.add_argument("--minutes", type=float, default=58.0, help="when to start no new job")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", action="append", default=[], choices=list(DOERS))
    parser.add_argument("--fresh", action="store_true", help="run everything again")
    parser.add_argument("--quick", type=float, help="this part of all numbers, into build/bench")
    options = parser.parse_args(argv)
    table = BUILD if options.quick else TABLE
    if options.fresh:
        table.unlink(missing_ok=True)
    try:
        if options.part == "run":
            part = options.quick or 1.0
            run(table, options.minutes, options.processes, part, options.only)
    finally:
        wrong = report(table, page=not options.quick)
    if wrong:
        sys.exit(f"{wrong} audits went wrong: see the lines above")


def report(table: Path, *, page: bool) -> int:
    """Show the tables, write the page; returns how many audits went wrong."""
    rows = read_rows(table)
    print(audit_page.text(rows))
    if page:
        audit_page.write(rows)
    wrong = [row for row in rows if int(row["wrong"])]
    for row in wrong:
        print(*row.values(), file=sys.stderr)
    return len(wrong)
