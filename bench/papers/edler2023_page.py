"""What the page on Edler 2023 shows: claims, what correct arithmetic costs, all numbers."""

from __future__ import annotations

import math
from pathlib import Path

from bench.papers import su2015_verdicts as verdicts
from bench.papers.edler2023_claims import Tables
from bench.papers.edler2023_tables import Row, Rows, number, typical

PAGE = Path(__file__).parents[2] / "docs" / "papers" / "edler2023.md"
NAMES = {
    "python": "Python",
    "matlab": "Matlab",
    "with": "with rounds",
    "without": "without rounds",
    "diffprivlib": "diffprivlib (here dplloyd)",
    "kmeans": "k-means++",
    "coreset": "coreset (ours alone)",
    "auto": "auto (ours alone)",
    "published": "as published, simulated (beside Python)",
    "dplloyd at half": "dplloyd, ε = 0.5 (ours alone)",
    "share": "share of the good one",
    "corrected": "share, corrected",
    "mnist": "MNIST",
    "blobs": "64 blobs",
}
X = {
    "fig4.1": "T",
    "fig4.2": "ε",
    "fig4.3": "k",
    "fig4.4": "k",
    "fig4.5": "columns",
    "fig4.6": "blobs",
    "fig5.1": "ε",
    "fig5.2": "blobs",
    "fig5.3": "partitions",
    "fig5.4": "ε",
    "fig5.5": "k",
    "fig5.6": "k",
    "fig5.7": "columns",
    "fig5.8": "blobs",
    "table5.1": "division of ε",
    "table5.2": "division of ε",
    "table5.3": "candidates' part",
    "table5.4": "rounds' part",
    "table5.5": "swaps",
    "table5.6": "ε of the swaps",
    "table5.7": "ε of the swaps",
    "table5.8": "rounds",
    "table5.9": "runs",
    "steps": "change",
    "subset": "candidates a swap weighs",
    "table9": "swaps' part",
    "table10": "recovery's part",
    "table11": "rounds' part",
}
# Where inertia is compared, and the series that the thesis's own algorithm has there.
COSTS = {
    **dict.fromkeys(("fig4.2", "fig4.3", "fig4.4", "fig4.5", "fig4.6"), "python"),
    **dict.fromkeys(("fig5.1", "fig5.2"), "without"),
    **dict.fromkeys(("table5.1", "table5.2", "table5.3", "table5.4", "fig5.3"), "inertia"),
    **dict.fromkeys(("table5.5", "table5.8", "table5.9", "steps"), "inertia"),
    **dict.fromkeys(("fig5.4", "fig5.5", "fig5.6", "fig5.7", "fig5.8"), "python"),
    "table8": "inertia",
}


def costs(tables: Tables) -> str:
    """Ours over theirs for every figure and table, and what of it the simulation explains."""
    lines = [
        "| | ours / theirs | least – most | simulated / theirs | ours / simulated |",
        "|---|---|---|---|---|",
    ]
    for part, series in COSTS.items():
        rows = [r for r in tables.get(part, {}).values() if r.series == series]
        ratios = [row.ratio for row in rows if not math.isnan(row.ratio)]
        if ratios:
            spread = f"{min(ratios):.3g} – {max(ratios):.3g}"
            lines.append(
                f"| {titled(part)} | **{typical(ratios):.3g}** | {spread} | "
                f"{' | '.join(_simulated(tables[part], series))} |"
            )
    return "\n".join(lines)


def _simulated(rows: Rows, series: str) -> tuple[str, str]:
    pairs = [
        (row, rows[series, row.x])
        for row in rows.values()
        if row.series == "published" and (series, row.x) in rows
    ]
    if not pairs:
        return "", ""
    explained = typical([one.ratio for one, _ in pairs])
    left = typical([two.ours / one.ours for one, two in pairs])
    return f"{explained:.3g}", f"{left:.3g}"


def titled(part: str) -> str:
    """A part in words."""
    words = {"steps": "§5.2, §5.4: one change at a time", "subset": "§6.1: part of the candidates"}
    if part in words:
        return words[part]
    return part.replace("fig", "Figure ").replace("table", "Table ")


def table_of(part: str, rows: Rows) -> str:
    """One part: a row for each x, ours and theirs for each series."""
    series = list(dict.fromkeys(row.series for row in rows.values()))
    heads = " | ".join(NAMES.get(name, name) for name in series)
    lines = [f"| {X.get(part, 'x')} | {heads} |", "|---" * (len(series) + 1) + "|"]
    for x in dict.fromkeys(row.x for row in rows.values()):
        cells = " | ".join(_cell(rows.get((name, x))) for name in series)
        lines.append(f"| {x} | {cells} |")
    runs = sorted({row.runs for row in rows.values()})
    many = f"{runs[0]} runs" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
    return f"**{titled(part)}** ({many}; ours / theirs = ratio)\n\n" + "\n".join(lines)


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if math.isnan(row.theirs):
        return number(row.ours)
    return f"{number(row.ours)} / {number(row.theirs)} = {row.ratio:.3g}"


def numbers(tables: Tables) -> str:
    """All parts but the longest, which the table file has."""
    return "\n\n".join(table_of(part, tables[part]) for part in X if tables.get(part))


SHOWN = {"costs": costs, "numbers": numbers}


def markers(name: str) -> tuple[str, str]:
    """Where a generated part of the page begins and ends."""
    return (
        f"<!-- {name}: written by `python -m bench edler2023 docs` -->",
        f"<!-- end of {name} -->",
    )


def rewrite(page: Path, tables: Tables, claims: Path) -> None:
    """Make the generated parts of the page again."""
    verdicts.rewrite(page, claims, markers("claims")[0])
    for name, make in SHOWN.items():
        verdicts.put(page, make(tables), *markers(name))
