"""The figures of Su et al. 2015, drawn from the tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from bench.palette import BLACK, GREY, MARKS, YELLOW
from bench.papers.su2015_compare import excess
from bench.papers.su2015_data import SIX, SOURCES
from bench.papers.su2015_points import BLOCK_EPSILON, HEAT_EPSILON, LABELS, SIDES
from bench.papers.su2015_runs import Result, Table

mpl.use("Agg")

# One colour and one mark for each method in all figures.
STYLES = {
    "baseline": ("#444444", ""),
    "dplloyd_equal": ("#0072b2", "o"),
    "dplloyd": ("#56b4e9", "s"),
    "eugkm_lloyd": ("#d55e00", "^"),
    "eugkm": ("#f0a58a", ">"),
    "pgkm": ("#009e73", "D"),
    "gkm": ("#cc79a7", "v"),
    "gkm3k": ("#7b4f9d", "P"),
    "hybrid_equal": ("#222222", "X"),
    "hybrid": ("#e69f00", "*"),
    "sag": ("#999933", "o"),
    "noise": ("#882255", "s"),
    "gene": ("#009e73", "D"),
    "lloyd": ("#0072b2", "o"),
}
SPARE = (BLACK, GREY, YELLOW)
_EXCESS = LogNorm(1e-4, 3)


def curves(table: Table, path: Path, x_axis: str, title: str) -> None:
    """One panel for each dataset: NICV of every method against ε or a setting, log–log."""
    names = [name for name in SOURCES if any(key[0] == name for key in table)]
    columns = 3 if len(names) in (3, 5, 6) else min(4, len(names))
    rows = -(-len(names) // columns)
    size = (3.7 * columns, 3.0 * rows + 0.9)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axis, name in zip(axes.flat, names, strict=False):
        _panel(axis, [r for key, r in table.items() if key[0] == name], x_axis)
        axis.set_title(f"{SOURCES[name].title}, k = {SOURCES[name].k}", fontsize=10)
    for axis in axes[:, 0]:
        axis.set_ylabel("NICV")
    for axis in axes[-1]:
        axis.set_xlabel(_AXES[x_axis])
    for axis in list(axes.flat)[len(names) :]:
        axis.set_visible(False)
    _finish(figure, axes.flat[0], title, path)


_AXES = {
    "epsilon": "privacy budget ε",
    "block": "block size, as an exponent of N",
    "iterations": "iterations",
}


def _panel(axis: Axes, results: list[Result], x_axis: str) -> None:
    for method, (colour, mark) in _styles({r.point.method for r in results}).items():
        label = LABELS.get(method, method)
        mine = [r for r in results if r.point.method == method]
        if method == "baseline":
            for result in mine:
                axis.axhline(result.mean, color=colour, linestyle="--", linewidth=1.2, label=label)
            continue
        xy = sorted((_x(r, x_axis), r.mean, r.error) for r in mine)
        if xy:
            x, y, error = np.array(xy).T
            axis.errorbar(x, y, error, color=colour, marker=mark, ms=4.5, lw=1.4, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    ticks = sorted({_x(r, x_axis) for r in results if r.point.method != "baseline"})
    ticks = [t for t in ticks if x_axis != "block" or t in (0.1, 0.2, 0.4, 0.6, 1.0)]
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axis.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    axis.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axis.grid(alpha=0.25)


def _styles(methods: set[str]) -> dict[str, tuple[str, str]]:
    """The paper's methods in their order, then any other with a colour that is still free."""
    others = sorted(methods - set(STYLES))
    return STYLES | {m: (SPARE[i % len(SPARE)], MARKS[-1 - i]) for i, m in enumerate(others)}


def _x(result: Result, x_axis: str) -> float:
    return result.point.epsilon if x_axis == "epsilon" else result.point.setting


def _finish(figure: Figure, axis: Axes, title: str, path: Path) -> None:
    handles, names = axis.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title, fontsize=12)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def heat_maps(table: Table, path: Path, title: str) -> None:
    """One map for each method and θ: what it loses against the baseline, by d and k."""
    kinds = list(dict.fromkeys((m, s) for _, m, _, s in table if m != "baseline"))
    kinds.sort(key=lambda kind: (list(STYLES).index(kind[0]), kind[1]))
    columns = min(4, len(kinds))
    rows = -(-len(kinds) // columns)
    size = (3.2 * columns + 1.0, 3.2 * rows + 0.5)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axis, (method, setting) in zip(axes.flat, kinds, strict=False):
        shown = _heat_map(axis, excess(table, method, setting))
        theta = f", θ = {setting:g}" if setting else ""
        axis.set_title(LABELS[method] + theta, fontsize=10)
    for axis in list(axes.flat)[len(kinds) :]:
        axis.set_visible(False)
    bar = figure.colorbar(shown, ax=axes, shrink=0.8, extend="both")
    bar.set_label("NICV − best without privacy")
    figure.suptitle(title, fontsize=12)
    _save(figure, path)


def _heat_map(axis: Axes, values: dict[tuple[int, int], float]):
    cells = np.full((len(SIDES), len(SIDES)), np.nan)
    for (d, k), value in values.items():
        cells[d - SIDES[0], k - SIDES[0]] = max(value, 1e-9)
    edges = (SIDES[0] - 0.5, SIDES[-1] + 0.5) * 2
    shown = axis.imshow(cells, origin="lower", extent=edges, norm=_EXCESS, cmap="viridis")
    axis.set_xticks(SIDES)
    axis.set_yticks(SIDES)
    axis.set_xlabel("clusters k")
    axis.set_ylabel("dimensions d")
    return shown


def run_times(table: Table, path: Path, title: str) -> None:
    """Bars of the CPU seconds of one fit."""
    names = [name for name in SIX if any(key[0] == name for key in table)]
    figure, axis = plt.subplots(figsize=(8.5, 4), layout="constrained")
    for side, method in enumerate(("dplloyd_equal", "eugkm_lloyd", "eugkm")):
        label, colour = LABELS[method], STYLES[method][0]
        mine = {key[0]: r.seconds for key, r in table.items() if key[1] == method}
        x = np.arange(len(names)) + 0.27 * (side - 1)
        bars = axis.bar(x, [mine.get(n, np.nan) for n in names], 0.25, color=colour, label=label)
        axis.bar_label(bars, fmt="%.2g", fontsize=8)
    axis.set_yscale("log")
    axis.margins(y=0.15)
    axis.set_xticks(range(len(names)), [SOURCES[n].title for n in names], fontsize=8)
    axis.set_ylabel("CPU seconds of one fit")
    axis.legend(frameon=False)
    axis.set_title(title, fontsize=12)
    _save(figure, path)


DRAW: dict[str, Callable[[Table, Path], None]] = {
    "fig1": lambda t, p: curves(t, p, "epsilon", "Figure 1: NICV against ε"),
    "fig2": lambda t, p: heat_maps(
        t, p, f"Figure 2: NICV above the best on synthetic data, ε = {HEAT_EPSILON:g}"
    ),
    "fig2b": lambda t, p: heat_maps(
        t, p, f"Figure 2 again: middles of clusters in a ball, ε = {HEAT_EPSILON:g}"
    ),
    "fig3": lambda t, p: curves(
        t, p, "block", f"Figure 3: where the error of GkM comes from, ε = {BLOCK_EPSILON:g}"
    ),
    "fig4": lambda t, p: curves(t, p, "iterations", "Figure 4: convergence without noise"),
    "fig5": lambda t, p: curves(t, p, "epsilon", "Figure 5: Hybrid, EUGkM and DPLloyd"),
    "fig6": lambda t, p: heat_maps(t, p, f"Figure 6: EUGkM and Hybrid, ε = {HEAT_EPSILON:g}"),
    "fig7": lambda t, p: run_times(t, p, "Figure 7: run time at ε = 0.1"),
}
