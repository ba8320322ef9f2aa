"""The picture of utility: NICV over that of k-means against ε, one panel for each dataset."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.palette import BLACK, FOREST, GREY, OLIVE, SKY, WINE, YELLOW
from bench.papers.su2015_figures import STYLES
from bench.papers.su2015_points import LABELS
from bench.utility_data import SOURCES
from bench.utility_points import DELTA, MAIN, PEER, REFERENCES
from bench.utility_runs import Result, Table

mpl.use("Agg")

# Methods that no other figure has take the next of these.
_OTHERS = ((OLIVE, "<"), (WINE, ">"), (FOREST, "h"), (YELLOW, "p"))
_OWN = {MAIN: (BLACK, "o"), PEER: (GREY, "s"), "sukpisit": (SKY, "s")}


def draw(table: Table, path: Path) -> None:
    """One line for each method and form; without δ solid, with δ dashed."""
    names = [n for n in SOURCES if any(key[0] == n for key in table)]
    methods = list(dict.fromkeys(key[1] for key in table if key[1] not in REFERENCES))
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    size = (3.7 * columns, 3.0 * rows + 0.9)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    styles = _styles(methods)
    for axis, name in zip(axes.flat, names, strict=False):
        source = SOURCES[name]
        _panel(axis, [r for key, r in table.items() if key[0] == name], styles)
        axis.set_title(f"{source.title}, {source.n:,} × {source.d}, k = {source.k}", fontsize=9)
    for axis in axes[:, 0]:
        axis.set_ylabel("NICV / NICV of k-means")
    for axis in axes[-1]:
        axis.set_xlabel("privacy budget ε")
    for axis in list(axes.flat)[len(names) :]:
        axis.set_visible(False)
    handles = {
        text: handle
        for axis in axes.flat
        for handle, text in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=min(7, 2 * columns), fontsize=9
    )
    figure.suptitle("What privacy costs: NICV over that of k-means without it", fontsize=12)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _styles(methods: list[str]) -> dict[str, tuple[str, str]]:
    known = {m: s for m, s in STYLES.items() if m in methods} | _OWN
    unknown = [m for m in methods if m not in known]
    spare = {m: _OTHERS[i % len(_OTHERS)] for i, m in enumerate(unknown)}
    return {m: (known | spare)[m] for m in methods}


def _panel(axis: Axes, results: list[Result], styles: dict[str, tuple[str, str]]) -> None:
    for method, (colour, mark) in styles.items():
        for delta, dashes in ((0.0, "-"), (DELTA, "--")):
            xy = sorted(
                (r.key[3], r.ratio, r.error)
                for r in results
                if r.key[1:3] == (method, delta) and r.has_runs
            )
            if not xy:
                continue
            x, y, error = np.array(xy).T
            label = LABELS.get(method, method) + (f", δ = {delta:g}" if delta else "")
            style = {"color": colour, "marker": mark, "linestyle": dashes, "label": label}
            if method == MAIN:
                style |= {"linewidth": 2.2, "zorder": 5}
            axis.errorbar(x, y, np.minimum(error, 0.9 * y), ms=4, **style)
    axis.axhline(1, color="#444444", linestyle=":", linewidth=1)
    _scales(axis, sorted({r.key[3] for r in results if r.has_runs and r.key[3]}))


def _scales(axis: Axes, epsilons: list[float]) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    axis.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    low, high = axis.get_ylim()
    axis.set_ylim(max(low, 0.5), high)
    steps = mpl.ticker.LogLocator(subs=(1, 2, 5) if high < 300 else (1,))
    axis.yaxis.set_major_locator(steps if high > 4 * low else mpl.ticker.MaxNLocator(5))
    axis.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    axis.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axis.grid(alpha=0.25)
