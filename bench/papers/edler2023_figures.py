"""The figures of Edler 2023, drawn from the tables: ours solid, the thesis's dashed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator

from bench.papers.edler2023_claims import Tables
from bench.papers.edler2023_tables import Row, Rows

mpl.use("Agg")

STYLES = {
    "python": ("balcan, as the thesis sets it", "#0072b2", "o"),
    "matlab": ("balcan, preset matlab", "#d55e00", "^"),
    "with": ("with rounds of k-means", "#0072b2", "o"),
    "without": ("without rounds", "#d55e00", "^"),
    "diffprivlib": ("dplloyd", "#009e73", "s"),
    "kmeans": ("k-means++ without privacy", "#555555", "x"),
    "coreset": ("balcan, coreset", "#7b4f9d", "D"),
    "auto": ("auto", "#cc79a7", "v"),
    "published": ("as published, simulated", "#56b4e9", "*"),
    "dplloyd at half": ("dplloyd, ε = 0.5", "#9fcfbf", "s"),
    "inertia": ("ours", "#0072b2", "o"),
    "seconds": ("ours", "#0072b2", "o"),
    "a fifth of ε for swaps": ("a fifth of ε for swaps", "#e69f00", "s"),
    "δ = 1e-6": ("δ = 1e-6", "#009e73", "D"),
    "a fifth, δ = 1e-6": ("a fifth of ε for swaps, δ = 1e-6", "#cc79a7", "v"),
    "mnist": ("MNIST", "#0072b2", "o"),
    "blobs": ("64 blobs", "#d55e00", "^"),
}
# Part, title, x axis, series to leave out.
CHAPTER4 = [
    ("fig4.1", "4.1: run time, MNIST", "T"),
    ("fig4.2", "4.2: ε, MNIST, k = 10", "ε"),
    ("fig4.3", "4.3: k, MNIST, ε = 1", "k"),
    ("fig4.4", "4.4: k, 64 blobs, ε = 1", "k"),
    ("fig4.5", "4.5: columns, 32 blobs, ε = 0.5", "columns"),
    ("fig4.6", "4.6: blobs in the data, ε = 1", "blobs, k"),
]
TUNING = [
    ("fig5.1", "5.1: rounds of k-means, MNIST", "ε"),
    ("fig5.2", "5.2: rounds of k-means, blobs", "blobs, k"),
    ("fig5.3", "5.3: partitions, MNIST", "partitions"),
    ("table5.3", "Table 5.3: candidates' part of ε", "part of ε"),
    ("table5.5", "Table 5.5: swaps, MNIST", "swaps"),
    ("table5.8", "Table 5.8: rounds, MNIST", "rounds"),
    ("table5.9", "Table 5.9: runs to choose from", "runs"),
    ("subset", "§6.1: candidates a swap weighs", "candidates"),
]
COMPARISON = [
    ("fig5.4", "5.4: ε, MNIST, k = 10", "ε"),
    ("fig5.5", "5.5: k, MNIST, ε = 1", "k"),
    ("fig5.6", "5.6: k, 64 blobs, ε = 1", "k"),
    ("fig5.7", "5.7: columns, 32 blobs, ε = 0.5", "columns"),
    ("fig5.8", "5.8: blobs in the data, ε = 1", "blobs, k"),
]
SHEETS = {"chapter4": CHAPTER4, "tuning": TUNING, "comparison": COMPARISON}
_LOG_X = ("fig4.3", "fig4.4", "fig4.5", "fig4.6", "fig5.2", "fig5.5", "fig5.6", "fig5.7", "fig5.8")
_LOG_Y = ("fig4.1", "fig4.5", "fig5.6", "fig5.7", "fig5.8")
# What the thesis ran under the name of a series.
THEIR_NAMES = {
    "python": "Python",
    "matlab": "Matlab",
    "diffprivlib": "diffprivlib",
    "kmeans": "k-means++",
    "inertia": "Python",
    "seconds": "Python",
}
LABELS = {"fig4.1": "seconds", "subset": "inertia / inertia with all"}
_COLUMNS = 3


def draw(tables: Tables, folder: Path) -> None:
    """Draw every sheet of which a part was measured."""
    for name, panels in SHEETS.items():
        there = [panel for panel in panels if panel[0] in tables]
        if there:
            sheet(tables, there, folder / f"edler2023_{name}.png")


def sheet(tables: Tables, panels: list[tuple[str, str, str]], path: Path) -> None:
    """One picture of several panels."""
    height = -(-len(panels) // _COLUMNS)
    figure, axes = plt.subplots(
        height,
        _COLUMNS,
        figsize=(4.0 * _COLUMNS, 3.0 * height + 0.8),
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (part, title, label) in zip(axes.flat, panels, strict=False):
        panel(axis, part, tables[part])
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(label, fontsize=9)
        axis.set_ylabel(LABELS.get(part, "inertia"), fontsize=9)
    found = {
        label: handle
        for axis in axes.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        found.values(), found.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    figure.suptitle(
        "Edler 2023: ours solid, ± two standard errors; the thesis's numbers dashed", fontsize=12
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)


def panel(axis: Axes, part: str, rows: Rows) -> None:
    """All series of a part."""
    if part == "subset":
        rows = over_the_last(rows)
    for series in dict.fromkeys(row.series for row in rows.values()):
        if series not in STYLES or (series == "matlab" and part.startswith("fig4")):
            continue
        mine = [row for row in rows.values() if row.series == series]
        curve(axis, mine, series)
    if part.startswith("fig4") and part != "fig4.1":
        dashed(axis, [row for row in rows.values() if row.series == "matlab"], "matlab")
    if part in _LOG_X:
        places = sorted({float(row.x) for row in rows.values()})
        axis.set_xscale("log")
        axis.set_xticks(places, [f"{place:g}" for place in places])
        axis.xaxis.set_minor_locator(NullLocator())
    if part in _LOG_Y:
        axis.set_yscale("log")
        axis.yaxis.set_minor_formatter(NullFormatter())


def over_the_last(rows: Rows) -> Rows:
    """Every series over its last row, so that datasets of any size share an axis."""
    last = {row.series: row.ours for row in rows.values()}
    return {
        place: replace(row, ours=row.ours / last[row.series], sd=row.sd / last[row.series])
        for place, row in rows.items()
    }


def curve(axis: Axes, rows: list[Row], series: str) -> None:
    """One series: ours, and the thesis's where it has one."""
    label, color, marker = STYLES[series]
    errors = [0.0 if math.isnan(row.error) else 2 * row.error for row in rows]
    axis.errorbar(
        positions(rows),
        [row.ours for row in rows],
        errors,
        color=color,
        marker=marker,
        markersize=4,
        linewidth=1.3,
        capsize=2,
        label=label,
    )
    if series != "published":
        dashed(axis, rows, series)


def dashed(axis: Axes, rows: list[Row], series: str) -> None:
    """The thesis's numbers."""
    known = [row for row in rows if not math.isnan(row.theirs)]
    name, color, marker = STYLES[series]
    if known:
        axis.plot(
            positions(known),
            [row.theirs for row in known],
            color=color,
            marker=marker,
            markersize=4,
            markerfacecolor="white",
            linewidth=1.0,
            linestyle="--",
            alpha=0.7,
            label=f"thesis: {THEIR_NAMES.get(series, name)}",
        )


def positions(rows: list[Row]) -> list[float] | list[str]:
    """Where rows stand on the x axis: at their numbers, or side by side if one is a word."""
    try:
        return [float(row.x) for row in rows]
    except ValueError:
        return [row.x for row in rows]
