"""Su et al. 2015 again: every figure as a table and a picture, every claim with its numbers.

`python -m bench su2015 fig1 fig5` measures what the tables of these figures lack and draws them;
`all` does every figure, then the claims and the page; `claims` and `docs` measure nothing.
`fig1 --method NAME` draws one more line, of any registered method, into build/bench; the numbers of
the paper's methods are taken from the tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

# The claims put themselves on the list of verdicts.
from bench.data import nothing_to_measure
from bench.papers import (
    su2015_claims,  # noqa: F401
    su2015_claims_hybrid,  # noqa: F401
    su2015_claims_passing,  # noqa: F401
    su2015_verdicts,
)
from bench.papers.su2015_data import SOURCES, is_there
from bench.papers.su2015_page import PAGE, rewrite
from bench.papers.su2015_points import BY_EPSILON, FIGURES, FULL, LENDERS, QUICK, added
from bench.papers.su2015_runs import Table, complete, read
from sfumato.methods import METHODS, NEEDS_DELTA

ROOT = Path(__file__).parents[2]
# Shown as tables on the page.
TABLES_ALONE = ("printed", "studies")
# The figures have no δ.
PURE = [name for name in METHODS if name not in NEEDS_DELTA]


def folders(quick: bool) -> tuple[Path, Path]:
    """Where tables and pictures go; those of a quick run are not kept in the repository."""
    if quick:
        return ROOT / "build" / "bench", ROOT / "build" / "bench"
    return ROOT / "bench" / "tables", ROOT / "bench" / "figures"


def table_of(folder: Path, figure: str) -> Path:
    """The table of a figure."""
    return folder / f"su2015_{figure}.csv"


def run(figure: str, quick: bool, more: Sequence[str] = (), processes: int = 2) -> None:
    """Measure what is missing of a figure, and draw it. `more` are methods beyond the paper's."""
    tables, pictures = folders(quick or bool(more))
    path = table_of(tables, figure)
    lenders = [table_of(tables, name) for name in LENDERS.get(figure, [])]
    size = QUICK if quick else FULL
    points = FIGURES[figure](size) + added(figure, more, size)
    if more:
        lenders.append(table_of(folders(False)[0], figure))
    if not any(is_there(point.dataset) for point in points):
        nothing_to_measure(sorted({SOURCES[point.dataset].file for point in points}))
    complete(path, points, lenders, processes)
    results = read(path)
    if results and figure not in TABLES_ALONE:
        from bench.papers.su2015_figures import DRAW

        DRAW[figure](results, pictures / f"su2015_{figure}.png")


def read_tables(folder: Path) -> dict[str, Table]:
    """Everything that was measured so far."""
    return {figure: read(table_of(folder, figure)) for figure in FIGURES}


def judge(quick: bool) -> None:
    """Write the verdict on every claim that the tables can decide."""
    tables, _ = folders(quick)
    verdicts = su2015_verdicts.judge(read_tables(tables))
    su2015_verdicts.write(table_of(tables, "claims"), verdicts)
    for verdict in verdicts:
        print(f"{verdict.verdict:15} {verdict.claim} [{verdict.numbers}]")


def main(argv: list[str]) -> None:
    """Run the figures that are named."""
    parser = argparse.ArgumentParser(prog="bench su2015", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=[*FIGURES, "all", "claims", "docs"])
    parser.add_argument("--method", action="append", default=[], choices=PURE, metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="a few runs, into build/bench")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    options = parser.parse_args(argv)
    absent = [source.file for name, source in SOURCES.items() if not is_there(name)]
    if absent:
        print(f"left out, not in the folder that SFUMATO_DATA names: {', '.join(absent)}")
    everything = "all" in options.parts
    if options.method and not set(options.parts) & {*BY_EPSILON, "all"}:
        parser.error(f"--method adds a line to {' and '.join(BY_EPSILON)}")
    for figure in FIGURES:
        if everything or figure in options.parts:
            more = options.method if figure in BY_EPSILON else ()
            run(figure, options.quick, more, options.processes)
    if everything or "claims" in options.parts:
        judge(options.quick)
    if (everything and not options.quick) or "docs" in options.parts:
        tables, _ = folders(False)
        rewrite(PAGE, read_tables(tables), table_of(tables, "claims"))
