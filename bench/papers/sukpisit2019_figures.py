"""The figures of Sukpisit et al. 2019, drawn from the tables."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.engines_serving import DASK, LOCAL, SPARK
from bench.papers.sukpisit2019_data import SOURCES
from bench.papers.sukpisit2019_runs import METHODS, PLAIN, Table
from bench.papers.sukpisit2019_speed import LABELS, MEASURED, PROCESSES, Curve
from bench.papers.sukpisit2019_tables import OFTEN, along

mpl.use("Agg")

STYLES = {
    LOCAL: ("#0072b2", "o"),
    DASK: ("#d55e00", "^"),
    SPARK: ("#009e73", "s"),
    "sukpisit": ("#7b4f9d", "D"),
    "dplloyd": ("#009e73", "s"),
    "auto": ("#0072b2", "o"),
    "hybrid": ("#d55e00", "^"),
}
GREY = "#444444"


def _times(curve: Curve, p: int) -> float:
    return curve.measured[p].seconds if p in MEASURED else curve.model.seconds(p)


def _speedup(curve: Curve, p: int) -> float:
    return p * _efficiency(curve, p)


def _efficiency(curve: Curve, p: int) -> float:
    if p not in MEASURED:
        return curve.model.efficiency(p)
    return curve.measured[1].seconds / curve.measured[p].seconds / p


FIGURES = {
    "fig3": ("Figure 3: execution time", "seconds of a fit of five passes", _times),
    "fig4": ("Figure 4: speed-up", "speed-up over one process", _speedup),
    "fig5": ("Figure 5: efficiency", "speed-up per process", _efficiency),
}


def speed(figure: str, curves: list[Curve], rows: int, path: Path) -> None:
    """Marks are measured; hollow ones on a dashed line are the model's."""
    title, label, value = FIGURES[figure]
    drawing, axis = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for curve in curves:
        colour, mark = STYLES[curve.engine]
        name = LABELS[curve.engine] + ("" if curve.is_quiet else " (machine was busy)")
        known = [value(curve, p) for p in MEASURED]
        guessed = [value(curve, p) for p in PROCESSES[1:]]
        axis.plot(MEASURED, known, color=colour, marker=mark, ms=6, label=f"{name}, measured")
        axis.plot(
            PROCESSES[1:],
            guessed,
            color=colour,
            linestyle="--",
            linewidth=1,
            marker=mark,
            ms=5,
            markerfacecolor="white",
            markevery=slice(1, None),
            label=f"{LABELS[curve.engine]}, model",
        )
    _references(axis, figure)
    axis.set_xticks(PROCESSES)
    axis.set_xlabel("processes (threads of the pool)")
    axis.set_ylabel(label)
    axis.set_title(f"{title}; {rows:,} × 8, K = 10; filled: measured, hollow: model", fontsize=9)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8, frameon=False, ncols=2)
    _save(drawing, path)


def _references(axis: Axes, figure: str) -> None:
    p = np.array(PROCESSES)
    if figure == "fig3":
        axis.set_yscale("log")
        return
    linear = p if figure == "fig4" else np.ones(len(p))
    axis.plot(p, linear, color=GREY, linewidth=0.8, label="linear")
    axis.plot(p, 0.7 * linear, color=GREY, linewidth=0.8, linestyle=":", label="70 % (the paper)")
    if figure == "fig5":
        axis.set_ylim(0, 1.1)


def budgets(table: Table, path: Path) -> None:
    """Above, the share of runs with all K clusters; below, their silhouette; both against ε."""
    names = [name for name in SOURCES if any(key[0] == name and key[2] for key in table)]
    drawing, axes = plt.subplots(
        2, len(names), figsize=(4 * len(names), 6), squeeze=False, layout="constrained"
    )
    for (above, below), name in zip(axes.T, names, strict=True):
        source = SOURCES[name]
        for method in METHODS:
            _budget(above, below, table, name, method)
        theirs = sorted(source.private.items())
        below.plot(*zip(*theirs, strict=True), "k*", ms=9, label="the paper")
        below.axhline(source.plain, color="k", linewidth=0.8, linestyle=":")
        plain = table.get((name, PLAIN, 0.0))
        if plain:
            below.axhline(plain.silhouette, color=GREY, linewidth=0.8, linestyle="--")
        above.axhline(OFTEN, color=GREY, linewidth=0.8, linestyle=":")
        above.axvline(source.least, color="k", linewidth=0.8, linestyle=":")
        above.set_title(f"{source.title} ({source.n:,} × {source.d}, K = {source.k})", fontsize=10)
        above.set_ylim(-0.03, 1.06)
        below.set_xlabel("ε")
    axes[0, 0].set_ylabel("runs with all K clusters populated")
    axes[1, 0].set_ylabel("silhouette of these runs")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    drawing.suptitle(
        "Table II: dotted in black the paper's least ε and plain k-means, dashed our plain k-means",
        fontsize=11,
    )
    _save(drawing, path)


def _budget(above: Axes, below: Axes, table: Table, name: str, method: str) -> None:
    try:
        found = along(table, name, method)
    except KeyError:
        return
    colour, mark = STYLES[method]
    style = {"color": colour, "marker": mark, "ms": 4, "lw": 1.2}
    above.plot(list(found), [r.populated for r in found.values()], **style)
    below.errorbar(
        list(found),
        [r.silhouette for r in found.values()],
        [r.error for r in found.values()],
        capsize=2,
        label=method,
        **style,
    )
    for axis in (above, below):
        axis.set_xscale("log")
        axis.grid(alpha=0.25)


def _save(drawing: plt.Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(drawing)
