"""What the page on Su et al. 2015 shows: claims, printed numbers, and the small tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.papers import su2015_verdicts as verdicts
from bench.papers.su2015_compare import Tables
from bench.papers.su2015_data import EIGHT, SIX, SOURCES
from bench.papers.su2015_points import (
    BLOCK_EPSILON,
    ROWS_PER_CENTER,
    SLICES,
    STEPS,
    STUDY_EPSILONS,
)
from bench.papers.su2015_runs import Result, Table

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "su2015.md"

# What the paper prints, and where it is here: dataset, method and ε of one run or more.
PRINTED: tuple[tuple[str, str, tuple[tuple[str, str, float], ...]], ...] = (
    ("Adult-num, ε = 0.05: Hybrid, which falls back", "0.370", (("adult", "hybrid_equal", 0.05),)),
    ("Adult-num, ε = 0.05: Hybrid, its step forced", "0.244", (("adult", "hybrid_forced", 0.05),)),
    (
        "Gowalla, ε = 0.7: Hybrid",
        "0.02172",
        (("places", "hybrid_equal", 0.7), ("gowalla", "hybrid_equal", 0.7)),
    ),
    (
        "Gowalla, ε = 0.7: EUGkM (here with our solver)",
        "0.02174",
        (("places", "eugkm", 0.7), ("gowalla", "eugkm", 0.7)),
    ),
    ("Adult-num, rows of the largest cluster", "13,894", (("adult", "largest", 0.0),)),
    ("Adult-num, rows of the smallest cluster", "3,160", (("adult", "smallest", 0.0),)),
)
SMALL: tuple[tuple[str, str, float], ...] = (
    ("random start", "random_start", 0.0),
    ("packing, 5 iterations", "uniform", 0.0),
    ("increasing ε", "increasing", 0.0),
    ("halving ε", "halving", 0.0),
    *((f"{t} iterations", "steps", float(t)) for t in STEPS if t != 5),
)


def printed_numbers(tables: Tables) -> str:
    """The numbers of the paper beside ours."""
    table = tables["printed"]
    lines = ["| | the paper | here |", "|---|---|---|"]
    for what, theirs, places in PRINTED:
        found = [table.get((name, method, e, 0.0)) for name, method, e in places]
        told = [_number(result) for result in found if result]
        if len(told) > 1:
            told = [
                f"{SOURCES[place[0]].title} {text}"
                for place, text in zip(places, told, strict=True)
            ]
        lines.append(f"| {what} | {theirs} | {', '.join(told)} |")
    return "\n".join(lines)


def _number(result: Result) -> str:
    if result.mean > 100:
        return f"{result.mean:,.0f}"
    return f"{result.mean:.4g} ± {result.error:.2g}"


def _cell(table: Table, name: str, method: str, epsilon: float, setting: float) -> str:
    result = table.get((name, method, epsilon, setting))
    return f"{result.mean:.3g}" if result else ""


def passing(tables: Tables) -> str:
    """What is said in passing, as small tables of NICV."""
    table = tables["studies"]
    return "\n\n".join(make(table) for make in (_dplloyd, _counts, _blocks, _slices))


def _dplloyd(table: Table) -> str:
    heads = " | ".join(head for head, _, _ in SMALL)
    lines = [f"| DPLloyd | ε | {heads} |", "|---" * (len(SMALL) + 2) + "|"]
    for name in EIGHT:
        for epsilon in STUDY_EPSILONS:
            cells = " | ".join(_cell(table, name, m, epsilon, s) for _, m, s in SMALL)
            lines.append(f"| {SOURCES[name].title} | {epsilon:g} | {cells} |")
    return "\n".join(lines)


def _counts(table: Table) -> str:
    epsilon = STUDY_EPSILONS[0]
    lines = [f"| EUGkM, ε = {epsilon:g} | signed counts | rounded, at least 0 |", "|---|---|---|"]
    for name in EIGHT:
        cells = [_cell(table, name, method, epsilon, 0.0) for method in ("signed", "rounded")]
        if any(cells):
            lines.append(f"| {SOURCES[name].title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _blocks(table: Table) -> str:
    heads = " | ".join("k rows" if r == 1 else f"{r}k rows" for r in ROWS_PER_CENTER)
    lines = [f"| GkM, ε = 1 | {heads} |", "|---" * (len(ROWS_PER_CENTER) + 1) + "|"]
    for name in SIX:
        cells = [_cell(table, name, "rows", BLOCK_EPSILON, float(r)) for r in ROWS_PER_CENTER]
        lines.append(f"| {SOURCES[name].title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _slices(table: Table) -> str:
    heads = " | ".join(f"{s} slices an axis" for s in SLICES)
    lines = [f"| EUGkM on Lifesci, ε | {heads} |", "|---" * (len(SLICES) + 1) + "|"]
    for epsilon in sorted({key[2] for key in table if key[1] == "slices"}):
        cells = [_cell(table, "lifesci", "slices", epsilon, float(s)) for s in SLICES]
        lines.append(f"| {epsilon:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


SHOWN: dict[str, Callable[[Tables], str]] = {"printed numbers": printed_numbers, "passing": passing}


def markers(name: str) -> tuple[str, str]:
    """Where a generated part of the page begins and ends."""
    return (
        f"<!-- {name}: written by `python -m bench su2015 docs` -->",
        f"<!-- end of {name} -->",
    )


def rewrite(page: Path, tables: Tables, claims: Path) -> None:
    """Make the generated parts of the page again."""
    verdicts.rewrite(page, claims)
    for name, make in SHOWN.items():
        verdicts.put(page, make(tables), *markers(name))
