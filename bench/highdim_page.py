"""The table of methods for many columns, as the page of benchmarks shows it."""

from __future__ import annotations

from pathlib import Path

from bench.inertia_data import title
from bench.inertia_methods import BEST_KMEANS
from bench.inertia_runs import Table
from bench.papers.su2015_verdicts import put

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN = "<!-- many columns: written by `python -m bench highdim docs` -->"
END = "<!-- end of many columns -->"

Memory = dict[tuple[str, str, float], float]


def measured(table: Table, memory: Memory) -> str:
    """Ratio to k-means, seconds and megabytes of every method on every dataset."""
    lines = [
        "| dataset | method | δ | inertia / k-means | runs | CPU seconds | MB beyond the data |",
        "|---|---|---|---|---|---|---|",
    ]
    base = {key[0]: result.mean for key, result in table.items() if key[2] == BEST_KMEANS}
    for key, result in table.items():
        dataset, k, method, _, delta = key
        if method == BEST_KMEANS or dataset not in base:
            continue
        row = [f"{title(dataset)}, k = {k}", f"`{method}`", f"{delta:g}"]
        if result.runs:
            ratio, error = result.mean / base[dataset], result.error / base[dataset]
            row += [
                f"{_short(ratio)} ± {error:.1g}" if error < 10 else f"{ratio:.0f} ± {error:.0f}"
            ]
            row += [f"{result.runs}", f"{result.seconds:.2g}"]
            used = memory.get((dataset, method, delta))
            row.append("" if used is None else f"{used:.0f}")
        else:
            row += [f"refused: {result.note}", "", "", ""]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _short(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:.0f}"


def rewrite(page: Path, table: Table, memory: Memory) -> None:
    """Put the table between the markers of the page."""
    put(page, measured(table, memory), BEGIN, END)
