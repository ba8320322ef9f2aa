"""Van der Ende 2023 again, and what it left open: more dimensions, real data, reconstruction.

`python -m bench vanderende2023 fig5.3 fig5.5` measures what the tables of these figures lack and
draws them; `all` does every figure, then the parameters, the claims and the page; `claims` and
`docs` measure nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from threadpoolctl import threadpool_limits

# What goes beyond the thesis puts itself on the list of claims.
from bench.papers import su2015_verdicts as verdicts
from bench.papers import vanderende2023_beyond  # noqa: F401
from bench.papers import vanderende2023_claims as claims
from bench.papers.su2015_runs import read
from bench.papers.vanderende2023_data import EIGHT, SOURCES, is_there
from bench.papers.vanderende2023_points import (
    FIGURES,
    FULL,
    QUICK,
    TABLES,
    parameters_as_markdown,
    read_parameters,
    write_parameters,
)
from bench.papers.vanderende2023_runs import complete

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "vanderende2023.md"
BEGIN = "<!-- claims: written by `python -m bench vanderende2023 docs` -->"
BEGIN_PARAMETERS = "<!-- parameters: written by `python -m bench vanderende2023 docs` -->"
END_PARAMETERS = "<!-- end of parameters -->"


def folders(quick: bool) -> tuple[Path, Path]:
    """Where tables and pictures go; those of a quick run are not kept in the repository."""
    if quick:
        return ROOT / "build" / "bench", ROOT / "build" / "bench"
    return ROOT / "bench" / "tables", ROOT / "bench" / "figures"


def table_of(folder: Path, name: str) -> Path:
    """A table by its name."""
    return folder / f"vanderende2023_{name}.csv"


def run(figure: str, quick: bool, processes: int) -> None:
    """Measure what is missing of a figure, and draw it."""
    from bench.papers.vanderende2023_figures import draw

    tables, pictures = folders(quick)
    name = FIGURES[figure]
    path = table_of(tables, name)
    complete(path, TABLES[name](QUICK if quick else FULL), processes)
    draw(figure, read(path), pictures / f"vanderende2023_{figure}.png")


def judge(quick: bool) -> None:
    """Write the verdict on every claim that the tables can decide."""
    tables, _ = folders(quick)
    found = claims.judge({name: read(table_of(tables, name)) for name in TABLES})
    verdicts.write(table_of(tables, "claims"), found)
    for verdict in found:
        print(f"{verdict.verdict:15} {verdict.claim} [{verdict.numbers}]")


def rewrite(page: Path, tables: Path) -> None:
    """Put the tables of claims and of parameters between the markers of a page."""
    verdicts.rewrite(page, table_of(tables, "claims"), BEGIN)
    shown = parameters_as_markdown(read_parameters(table_of(tables, "parameters")))
    verdicts.put(page, shown, BEGIN_PARAMETERS, END_PARAMETERS)


def main(argv: list[str]) -> None:
    """Run the figures that are named."""
    parser = argparse.ArgumentParser(prog="bench vanderende2023", description=__doc__)
    parser.add_argument(
        "parts", nargs="+", choices=[*FIGURES, "all", "parameters", "claims", "docs"]
    )
    parser.add_argument("--quick", action="store_true", help="a few runs, into build/bench")
    parser.add_argument("--processes", type=int, default=2, help="jobs at a time")
    options = parser.parse_args(argv)
    absent = [SOURCES[name].file for name in EIGHT if not is_there(name)]
    if absent:
        print(f"left out, not in the folder that SFUMATO_DATA names: {', '.join(absent)}")
    everything = "all" in options.parts
    # Tables are small: threads would wait for one another longer than they work.
    with threadpool_limits(1):
        do(options, everything)


def do(options: argparse.Namespace, everything: bool) -> None:
    """Do the parts that were asked for."""
    for figure in FIGURES:
        if everything or figure in options.parts:
            run(figure, options.quick, options.processes)
    tables, _ = folders(options.quick)
    if everything or "parameters" in options.parts:
        write_parameters(
            table_of(tables, "parameters"), (QUICK if options.quick else FULL).datasets
        )
    if everything or "claims" in options.parts:
        judge(options.quick)
    if (everything and not options.quick) or "docs" in options.parts:
        rewrite(PAGE, folders(False)[0])
