"""Sukpisit et al. 2019 again: speed-up by processes, and what budgets do to small datasets.

`python -m bench sukpisit2019 table1 table2` measures what the table of these lacks, and draws it;
`printed` simulates the paper's arithmetic, which is not private;
`fig3 fig4 fig5` measure fits of 5,000,000 rows on the thread pool, Dask and Spark, which needs both
cores of a quiet machine for some minutes; `all` does everything, then the claims and the page;
`claims` and `docs` measure nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench import engines_timing
from bench.papers import su2015_verdicts as verdicts
from bench.papers import sukpisit2019_claims as claims
from bench.papers import sukpisit2019_printed as printed
from bench.papers import sukpisit2019_runs as runs
from bench.papers import sukpisit2019_speed as speed
from bench.papers import sukpisit2019_tables as shown
from bench.papers.sukpisit2019_data import SOURCES, is_there

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "sukpisit2019.md"
FIGURES = ("fig3", "fig4", "fig5")
TABLES = ("table1", "table2")
PRINTED = "printed"
QUICK_ROWS, QUICK_ROUNDS, QUICK_RUNS = 500_000, 2, 3
QUICK_EPSILONS = {name: tuple(sorted(source.private)) for name, source in SOURCES.items()}

MARKER = "<!-- {}: written by `python -m bench sukpisit2019 docs` -->"
END = "<!-- end of {} -->"


def folders(quick: bool) -> tuple[Path, Path]:
    """Where tables and pictures go; those of a quick run are not kept in the repository."""
    if quick:
        return ROOT / "build" / "bench", ROOT / "build" / "bench"
    return ROOT / "bench" / "tables", ROOT / "bench" / "figures"


def table_of(folder: Path, name: str) -> Path:
    """A table by its name."""
    return folder / f"sukpisit2019_{name}.csv"


def read_tables(folder: Path) -> claims.Tables:
    """Everything that was measured so far."""
    timings = engines_timing.read(table_of(folder, "speed"))
    return claims.Tables(
        runs.read(table_of(folder, "budget")),
        engines_timing.best(timings),
        printed.read(table_of(folder, PRINTED)),
    )


def run_speed(engines: list[str], quick: bool, fresh: bool) -> None:
    """Measure the fits that the table of speed lacks, with some engines in turns."""
    path = table_of(folders(quick)[0], "speed")
    for setups, rounds in speed.plan(engines, QUICK_ROWS if quick else speed.ROWS):
        if fresh:
            engines_timing.forget(path, setups)
        engines_timing.complete(path, setups, QUICK_ROUNDS if quick else rounds)


def run_budget(quick: bool, processes: int) -> None:
    """Measure the points that the table of budgets lacks."""
    wanted = runs.points(QUICK_RUNS, QUICK_EPSILONS) if quick else runs.points()
    runs.complete(table_of(folders(quick)[0], "budget"), wanted, processes)


def draw(quick: bool) -> None:
    """Draw every figure that the tables can fill."""
    from bench.papers import sukpisit2019_figures as figures

    tables, pictures = folders(quick)
    found = read_tables(tables)
    rows = QUICK_ROWS if quick else speed.ROWS
    curves = speed.curves(found.speed, rows)
    for figure in FIGURES if curves else ():
        figures.speed(figure, curves, rows, pictures / f"sukpisit2019_{figure}.png")
    if found.budget:
        figures.budgets(found.budget, pictures / "sukpisit2019_table2.png")


def judge(quick: bool) -> None:
    """Write the verdict on every claim that the tables can decide."""
    tables, _ = folders(quick)
    found = claims.judge(read_tables(tables))
    verdicts.write(table_of(tables, "claims"), found)
    for verdict in found:
        print(f"{verdict.verdict:15} {verdict.claim} [{verdict.numbers}]")


def figure_links(measured: bool) -> str:
    """The figures of speed, once there are some."""
    links = (f"![{f}](../../bench/figures/sukpisit2019_{f}.png)" for f in FIGURES)
    return "\n\n".join(links) if measured else "No figures yet."


def parts(tables: Path) -> dict[str, str]:
    """What the page shows between its markers."""
    found = read_tables(tables)
    return {
        "claims": verdicts.as_markdown(verdicts.read(table_of(tables, "claims"))),
        "speed": speed.as_markdown(found.speed),
        "figures": figure_links(bool(speed.curves(found.speed))),
        "table I": shown.table_one(found.budget),
        "least ε": shown.table_least(found.budget),
        "table II": shown.table_two(found.budget),
        "as printed": printed.as_markdown(found.printed),
    }


def rewrite(page: Path, tables: Path) -> None:
    """Put the tables between the markers of a page."""
    for name, text in parts(tables).items():
        verdicts.put(page, text, MARKER.format(name), END.format(name))


def parsed(argv: list[str]) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(prog="bench sukpisit2019", description=__doc__)
    parser.add_argument(
        "parts", nargs="+", choices=[*FIGURES, *TABLES, PRINTED, "all", "claims", "docs"]
    )
    parser.add_argument("--quick", action="store_true", help="a few runs, into build/bench")
    parser.add_argument("--fresh", action="store_true", help="measure the named engines again")
    parser.add_argument("--processes", type=int, default=1, help="of one thread each, for tables")
    parser.add_argument(
        "--engines", nargs="+", choices=speed.ENGINES, default=list(speed.ENGINES), metavar="ENGINE"
    )
    return parser.parse_args(argv)


def measure(wanted: set[str], options: argparse.Namespace) -> None:
    """Do the runs of the parts that are wanted, and draw them."""
    if wanted & set(FIGURES):
        run_speed(options.engines, options.quick, options.fresh)
    if wanted & set(TABLES):
        run_budget(options.quick, options.processes)
    if PRINTED in wanted:
        few = QUICK_RUNS if options.quick else printed.RUNS
        printed.complete(table_of(folders(options.quick)[0], PRINTED), few)
    if wanted & {*FIGURES, *TABLES}:
        draw(options.quick)


def main(argv: list[str]) -> None:
    """Run the figures and tables that are named."""
    options = parsed(argv)
    absent = [name for name in SOURCES if not is_there(name)]
    if absent:
        print(f"left out, not in the folder that SFUMATO_DATA names: {', '.join(absent)}")
    wanted = set(options.parts)
    if "all" in wanted:
        wanted |= {*FIGURES, *TABLES, PRINTED, "claims", "docs"}
    measure(wanted, options)
    if "claims" in wanted:
        judge(options.quick)
    if "docs" in wanted and not options.quick:
        rewrite(PAGE, folders(False)[0])
