"""Tables I and II of Sukpisit et al. 2019 as the page shows them, ours beside the paper's."""

from __future__ import annotations

import math

from bench.papers.sukpisit2019_data import SOURCES, Source
from bench.papers.sukpisit2019_runs import (
    METHODS,
    ONE_START,
    PLAIN,
    PLAIN_CUBE,
    Result,
    Table,
)

OFTEN = 0.9
CLOSE = 0.1
NOTHING = "Not measured yet."


def along(table: Table, name: str, method: str) -> dict[float, Result]:
    """The results of a method by ε. Raises KeyError where there are fewer than two."""
    found = {k[2]: r for k, r in table.items() if k[:2] == (name, method) and k[2]}
    if len(found) < 2:
        raise KeyError(f"{method} was not run on {name}")
    return dict(sorted(found.items()))


def is_good(result: Result, source: Source) -> bool:
    """All K clusters in nine of ten runs, their silhouette near the paper's at its least ε."""
    enough = source.private[source.least] - CLOSE
    return result.populated >= OFTEN and result.silhouette >= enough


def cube_enough(table: Table, name: str) -> float:
    """The silhouette that is enough in the cube: k-means may lose there what it may elsewhere."""
    source = SOURCES[name]
    lost = source.plain - source.private[source.least] + CLOSE
    return table[name, PLAIN_CUBE, 0.0].cube_silhouette - lost


def least_epsilon(table: Table, name: str, method: str, *, cube: bool = False) -> float:
    """The least measured ε from which on every result is good; infinite if the last is not."""
    enough, least = cube_enough(table, name) if cube else 0.0, math.inf
    for epsilon, result in reversed(along(table, name, method).items()):
        if cube:
            good = result.cube_populated >= OFTEN and result.cube_silhouette >= enough
        else:
            good = is_good(result, SOURCES[name])
        if not good:
            break
        least = epsilon
    return least


def said(epsilon: float) -> str:
    """An ε that may not have been found."""
    return f"{epsilon:g}" if math.isfinite(epsilon) else "none measured"


def table_one(table: Table) -> str:
    """Silhouette and NCM of k-means without privacy."""
    lines = [
        "| dataset | samples | features | K | silhouette in the paper | k-means, best of ten "
        "starts | one random start | k-means in the cube | and its silhouette there | NCM |",
        "|" + "---|" * 10,
    ]
    for name, source in SOURCES.items():
        kinds = [table.get((name, kind, 0.0)) for kind in (PLAIN, ONE_START, PLAIN_CUBE)]
        if None in kinds:
            continue
        plain, once, cube = kinds
        cells = [source.title, f"{source.n:,}", f"{source.d}", f"{source.k}"]
        cells += [f"{source.plain:.4f}", f"{plain.silhouette:.4f}"]
        cells += [f"{once.silhouette:.4f} ± {once.sd:.4f}", f"{cube.silhouette:.4f}"]
        cells += [f"{cube.cube_silhouette:.4f}", f"{plain.ncm:g}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def table_two(table: Table) -> str:
    """Silhouette by ε, and the share of runs with all K clusters."""
    heads = " | ".join(f"`{method}`" for method in METHODS)
    lines = [f"| dataset | ε | the paper | {heads} |", "|" + "---|" * (len(METHODS) + 3)]
    for name, source in SOURCES.items():
        for epsilon in sorted({k[2] for k in table if k[0] == name and k[2]}):
            theirs = source.private.get(epsilon)
            cells = [source.title, f"{epsilon:g}", f"{theirs:.4f}" if theirs else ""]
            cells += [_cell(table.get((name, method, epsilon)), source) for method in METHODS]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def _cell(result: Result | None, source: Source) -> str:
    if result is None:
        return ""
    share = f"{result.populated:.0%}"
    if result.populated == 0:
        return f"{share} (NCM {result.ncm:.1f})"
    text = f"{share}, {result.silhouette:.3f} ± {result.error:.3f}"
    return f"**{text}**" if is_good(result, source) else text


def table_least(table: Table) -> str:
    """The least ε that keeps K clusters populated, by both distances."""
    heads = " | ".join(f"`{method}`" for method in METHODS)
    lines = [
        f"| dataset | distances | the paper, silhouette there | wanted here | {heads} |",
        "|" + "---|" * (len(METHODS) + 4),
    ]
    for name, source in SOURCES.items():
        theirs = source.private[source.least]
        try:
            own = [_least(table, name, method) for method in METHODS]
            cube = [_least(table, name, method, cube=True) for method in METHODS]
            inside = f"≥ {cube_enough(table, name):.4f}"
        except KeyError:
            continue
        paper = f"{source.least:g}, {theirs:.4f}"
        rows = [["as in the paper", paper, f"≥ {theirs - CLOSE:.4f}", *own]]
        rows += [["in the cube", "", inside, *cube]]
        lines += [f"| {source.title} | " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def _least(table: Table, name: str, method: str, *, cube: bool = False) -> str:
    epsilon = least_epsilon(table, name, method, cube=cube)
    if math.isinf(epsilon):
        return said(epsilon)
    result = table[name, method, epsilon]
    return f"{epsilon:g}, {result.cube_silhouette if cube else result.silhouette:.3f}"
