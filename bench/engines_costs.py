"""What each engine costs: start-up, seconds of a pass, CPU time beside one local thread.

`python -m bench engines costs` measures what the table lacks and writes it into docs/scaling.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import engines_timing
from bench.engines_serving import DASK, LOCAL, PASSES, SPARK, Setup
from bench.engines_timing import Best
from bench.papers.su2015_verdicts import put

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "engines_costs.csv"
QUICK_TABLE = ROOT / "build" / "bench" / "engines_costs.csv"
PAGE = ROOT / "docs" / "scaling.md"
BEGIN = "<!-- costs: written by `python -m bench engines costs` -->"
END = "<!-- end of costs -->"

ROWS, QUICK_ROWS, PARTS = 5_000_000, 500_000, 10
ROUNDS, QUICK_ROUNDS = 8, 2
LABELS = {
    (LOCAL, 1): "local, one thread",
    (LOCAL, 2): "local, two threads",
    (DASK, 2): "Dask, two worker processes",
    (SPARK, 2): "Spark, `local[2]`",
}
NOTHING = "Not measured yet."
HOW = (
    "{rows:,} × 8 numbers in memory in ten partitions, K = 10, `sukpisit` with five passes on one "
    "machine of two cores; start-up is that of Python, the library and the engine. The best of "
    "{fits} fits each, in turns. CPU time is that of all processes."
)
BUSY = " **The machine was busy meanwhile.**"


def setups(rows: int = ROWS) -> list[Setup]:
    """Every engine with the same table in ten partitions."""
    return [Setup(engine, processes, PARTS, rows) for engine, processes in LABELS]


def as_markdown(found: dict[Setup, Best], rows: int = ROWS) -> str:
    """The table as the page shows it."""
    there = [found[setup] for setup in setups(rows) if setup in found]
    base = found.get(setups(rows)[0])
    if base is None:
        return NOTHING
    lines = [
        "| engine | start-up, s | a pass, s | CPU of a pass, s | CPU, local = 1 |",
        "|---|---|---|---|---|",
    ]
    for each in there:
        label = LABELS[each.setup.engine, each.setup.processes]
        numbers = (each.startup, each.seconds / PASSES, each.cpu / PASSES)
        cells = " | ".join(f"{number:.2g}" for number in numbers)
        lines.append(f"| {label} | {cells} | {each.cpu / base.cpu:.2f} |")
    busy = "" if max(b.machine for b in there) >= engines_timing.QUIET else BUSY
    how = HOW.format(rows=rows, fits=min(b.fits for b in there))
    lines += ["", how + busy]
    return "\n".join(lines)


def shown(path: Path = TABLE, rows: int = ROWS) -> str:
    """What the page should show."""
    return as_markdown(engines_timing.best(engines_timing.read(path)), rows)


def main(argv: list[str]) -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(prog="bench engines costs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows, into build/bench")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    options = parser.parse_args(argv)
    path, rows = (QUICK_TABLE, QUICK_ROWS) if options.quick else (TABLE, ROWS)
    if options.fresh:
        engines_timing.forget(path, setups(rows))
    engines_timing.complete(path, setups(rows), QUICK_ROUNDS if options.quick else ROUNDS)
    print(shown(path, rows))
    if not options.quick:
        put(PAGE, shown(), BEGIN, END)
