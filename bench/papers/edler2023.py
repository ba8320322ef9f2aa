"""Edler 2023 again: figures and tables of chapters 4 and 5 beside the thesis's own numbers.

`python -m bench edler2023 fig4.2 table5.5` does the runs that the table of points lacks and
writes the tables of these parts; `all` does every part, then pictures, claims and the page;
`claims` and `docs` measure nothing.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

# Parts and claims put themselves on their lists.
from bench.inertia_data import MNIST, is_there, load
from bench.inertia_runs import complete
from bench.inertia_runs import read as read_points
from bench.papers import edler2023_claims as claims
from bench.papers import edler2023_claims_compared, edler2023_points, edler2023_tuning  # noqa: F401
from bench.papers import edler2023_law as law
from bench.papers import su2015_verdicts as verdicts
from bench.papers.edler2023_page import PAGE, rewrite
from bench.papers.edler2023_parts import FULL, PARTS, QUICK, points_of
from bench.papers.edler2023_tables import Row, Rows, read, rows_of, theirs_at, write

ROOT = Path(__file__).parents[2]


def folders(quick: bool) -> tuple[Path, Path]:
    """Where tables and pictures go; those of a quick run are not kept in the repository."""
    if quick:
        return ROOT / "build" / "bench", ROOT / "build" / "bench"
    return ROOT / "bench" / "tables", ROOT / "bench" / "figures"


def table_of(folder: Path, name: str) -> Path:
    """A table by its name."""
    return folder / f"edler2023_{name}.csv"


def tables_in(folder: Path) -> dict[str, Rows]:
    """Every part that was measured."""
    found = {name: read(table_of(folder, name)) for name in (*PARTS, *law.PARTS)}
    return {name: rows for name, rows in found.items() if rows}


def run(parts: list[str], quick: bool, processes: int) -> None:
    """Do the runs that are missing, and write the tables of the parts."""
    tables, _ = folders(quick)
    size = QUICK if quick else FULL
    path = table_of(tables, "points")
    complete(path, [p for name in parts for p in points_of(name, size)], processes)
    found = read_points(path)
    for name in parts:
        rows = rows_of(name, found, size)
        if rows:
            write(table_of(tables, name), rows)


def write_laws(parts: list[str], quick: bool) -> None:
    """Tables 5.6 and 5.7: formulas, and one number of MNIST."""
    if not is_there(MNIST):
        return
    gap = law.gap_of(load(MNIST))
    for name in parts:
        numbers = law.printed(name) | law.corrected(gap)
        rows = [
            Row(series, x, "formula", 1, value, math.nan, theirs_at(name, series, x), math.nan)
            for (series, x), value in numbers.items()
        ]
        write(table_of(folders(quick)[0], name), rows)


def judge(quick: bool) -> None:
    """Write the verdict on every claim that the tables can decide."""
    tables, _ = folders(quick)
    found = claims.judge(tables_in(tables))
    verdicts.write(table_of(tables, "claims"), found)
    for verdict in found:
        print(f"{verdict.verdict:15} {verdict.claim} [{verdict.numbers}]")


def main(argv: list[str]) -> None:
    """Do the parts that are named."""
    parser = argparse.ArgumentParser(prog="bench edler2023", description=__doc__)
    names = [*PARTS, *law.PARTS]
    parser.add_argument("parts", nargs="+", choices=[*names, "all", "figures", "claims", "docs"])
    parser.add_argument("--quick", action="store_true", help="a run or two, into build/bench")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    options = parser.parse_args(argv)
    if not is_there(MNIST):
        print("MNIST is left out: not in the folder that SFUMATO_DATA names")
    everything = "all" in options.parts
    parts = names if everything else [name for name in names if name in options.parts]
    laws = [name for name in parts if name in law.PARTS]
    if parts:
        run([name for name in parts if name in PARTS], options.quick, options.processes)
        write_laws(laws, options.quick)
    finish(options, everything)


def finish(options: argparse.Namespace, everything: bool) -> None:
    """Draw, judge and write the page, as asked for."""
    tables, pictures = folders(options.quick)
    if everything or "figures" in options.parts:
        from bench.papers.edler2023_figures import draw

        draw(tables_in(tables), pictures)
    if everything or "claims" in options.parts:
        judge(options.quick)
    if (everything and not options.quick) or "docs" in options.parts:
        rewrite(PAGE, tables_in(folders(False)[0]), table_of(folders(False)[0], "claims"))
