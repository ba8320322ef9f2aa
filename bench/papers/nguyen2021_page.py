"""What the page on Nguyen, Chaturvedi and Xu 2021 shows: claims and the numbers of the figure."""

from __future__ import annotations

from pathlib import Path

from bench.inertia_data import title
from bench.inertia_runs import Result, Table
from bench.papers import su2015_verdicts as verdicts

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "nguyen2021.md"
LABELS = {
    "maxcover": "max cover",
    "balcan": "Balcan et al.",
    "lloyd": "Lloyd, not private",
    "auto": "auto",
    "dplloyd": "dplloyd",
}


def markers(name: str) -> tuple[str, str]:
    """Where a generated part of the page begins and ends."""
    return (
        f"<!-- {name}: written by `python -m bench nguyen2021 docs` -->",
        f"<!-- end of {name} -->",
    )


def numbers(table: Table) -> str:
    """Cost at every k, a table for each dataset."""
    return "\n\n".join(
        _table_of(dataset, table) for dataset in dict.fromkeys(key[0] for key in table)
    )


def _table_of(dataset: str, table: Table) -> str:
    mine = {
        (key[1], key[2].split()[0]): result for key, result in table.items() if key[0] == dataset
    }
    methods = [name for name in LABELS if any(name == method for _, method in mine)]
    heads = " | ".join(LABELS[name] for name in methods)
    lines = [f"| k | {heads} |", "|---" * (len(methods) + 1) + "|"]
    for k in sorted({k for k, _ in mine}):
        cells = " | ".join(_cell(mine.get((k, name))) for name in methods)
        lines.append(f"| {k} | {cells} |")
    return f"**{title(dataset)}**\n\n" + "\n".join(lines)


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    if not result.runs:
        return "–"
    mean = f"{result.mean:.3e}".replace("e+0", "e").replace("e+", "e")
    return f"{mean} ± {result.error / result.mean:.1%}, {result.runs} × {result.seconds:.2g} s"


def rewrite(page: Path, table: Table, claims: Path) -> None:
    """Make the generated parts of the page again."""
    verdicts.rewrite(page, claims, markers("claims")[0])
    verdicts.put(page, numbers(table), *markers("numbers"))
