"""The figures of van der Ende 2023, drawn from the tables."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.papers.su2015_runs import Table
from bench.papers.vanderende2023_data import ATTACKED_ROWS, EIGHT, MOST_ROWS, SOURCES
from bench.papers.vanderende2023_kinds import CLEAN
from bench.papers.vanderende2023_points import LABELS

mpl.use("Agg")

STYLES = {
    "kmeans": ("#0072b2", "o"),
    "ap": ("#d55e00", "^"),
    "dbscan": ("#009e73", "s"),
    "forest": ("#0072b2", "o"),
    "lira": ("#d55e00", "^"),
    "posterior": ("#7b4f9d", "D"),
    "distance": ("#0072b2", "o"),
}


Panels = dict[str, list[Axes]]
COLUMNS = 4


def grid(table: Table, labels: list[str], most: int = MOST_ROWS) -> tuple[plt.Figure, Panels]:
    """Panels for each dataset that was run, one above the other for each measure."""
    names = [name for name in EIGHT if any(key[0] == name for key in table)]
    columns, rows = min(COLUMNS, len(names)), len(labels)
    bands = -(-len(names) // columns)
    size = (3.0 * columns + 0.6, 2.1 * rows * bands + 0.4 * bands + 0.9)
    figure, axes = plt.subplots(
        rows * bands, columns, figsize=size, squeeze=False, sharex=True, layout="constrained"
    )
    panels = {}
    for number, name in enumerate(names):
        band, column = divmod(number, columns)
        mine = list(axes[band * rows : (band + 1) * rows, column])
        mine[0].set_title(f"{SOURCES[name].title} ({SOURCES[name].size(most)})", fontsize=10)
        if column == 0:
            for axis, label in zip(mine, labels, strict=True):
                axis.set_ylabel(label, fontsize=9)
        panels[name] = mine
    for axis in axes[-1]:
        axis.set_xlabel("ε per radius")
    for axis in axes.flat:
        axis.set_visible(axis in {each for mine in panels.values() for each in mine})
    return figure, panels


def curve(axis: Axes, table: Table, name: str, kind: str, metric: str, label: str) -> None:
    """One measure against ε, with one standard deviation as in the thesis; dashed: no noise."""
    colour, mark = STYLES[kind]
    mine = {k[2]: r for k, r in table.items() if k[:2] == (name, f"{kind}.{metric}")}
    clean = mine.pop(CLEAN, None)
    if clean is not None and np.isfinite(clean.mean):
        axis.axhline(clean.mean, color=colour, linestyle="--", linewidth=0.9, alpha=0.7)
    if mine:
        x = sorted(mine)
        y, sd = np.array([(mine[e].mean, mine[e].sd) for e in x]).T
        axis.errorbar(x, y, sd, color=colour, marker=mark, ms=3.5, lw=1.2, capsize=2, label=label)
    axis.set_xscale("log")
    axis.set_xticks([0.1, 1, 9], ["0.1", "1", "9"])
    axis.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25)


def clusterings(table: Table, path: Path, metrics: dict[str, str], title: str) -> None:
    """The three clusterers: panels for each index."""
    figure, panels = grid(table, list(metrics.values()))
    for name, axes in panels.items():
        for axis, metric in zip(axes, metrics, strict=True):
            for kind in ("kmeans", "ap", "dbscan"):
                curve(axis, table, name, kind, metric, LABELS[kind])
            if metric.startswith("ch"):
                axis.set_yscale("log")
            if metric in ("ari", "ami"):
                axis.set_ylim(-0.12, 1.05)
    finish(figure, first_of(panels)[:1], title, path)


def attacks(table: Table, path: Path, title: str) -> None:
    """Advantage of membership inference, and how much of a row its report gives away."""
    labels = ["advantage TPR − FPR", "error with report\nover error without"]
    figure, panels = grid(table, labels, ATTACKED_ROWS)
    for name, (above, below) in panels.items():
        for kind in ("forest", "lira"):
            curve(above, table, name, kind, "advantage", LABELS[kind])
        above.axhline(0, color="#444444", linewidth=0.8)
        curve(below, table, name, "posterior", "ratio", "posterior mean of a row")
        below.set_ylim(0, 1.2)
        below.axhline(1, color="#444444", linewidth=0.8)
    finish(figure, first_of(panels), title, path)


def distances(table: Table, path: Path, title: str) -> None:
    """Mean distance between report and row, with and without clamping, and d/ε."""
    figure, panels = grid(table, ["distance in radii"])
    for name, (axis,) in panels.items():
        curve(axis, table, name, "distance", "clamped", "clamped to the bounds")
        free = sorted((k[2], r.mean) for k, r in table.items() if k[:2] == (name, "distance.free"))
        if free:
            x, y = np.array(free).T
            known = SOURCES[name].columns / x
            axis.plot(x, y, "x", color="#d55e00", ms=5, label="as drawn")
            axis.plot(x, known, color="#444444", lw=0.9, linestyle=":", label="d / ε")
        axis.set_yscale("log")
    finish(figure, first_of(panels), title, path)


def first_of(panels: Panels) -> list[Axes]:
    """The panels of the first dataset, which stand for all in the legend."""
    return next(iter(panels.values()))


def finish(figure: plt.Figure, axes: list[Axes], title: str, path: Path) -> None:
    """Legend, title, file."""
    pairs = [axis.get_legend_handles_labels() for axis in axes]
    handles, names = (
        [each for part in parts for each in part] for parts in zip(*pairs, strict=True)
    )
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title, fontsize=12)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)


def draw(figure: str, table: Table, path: Path) -> None:
    """Draw one figure."""
    error = "bars: one standard deviation; dashed: without noise"
    if figure == "fig5.3":
        names = {"ari": "ARI", "ami": "AMI"}
        clusterings(table, path, names, f"Figure 5.3: agreement with clean rows ({error})")
    elif figure == "fig5.4":
        names = {
            "silhouette": "silhouette\nof reports",
            "ch": "Calinski–Harabasz\nof reports",
            "silhouette_rows": "silhouette\nof clean rows",
            "ch_rows": "Calinski–Harabasz\nof clean rows",
        }
        clusterings(table, path, names, f"Figure 5.4: shape of the clusters ({error})")
    elif figure == "fig5.5":
        attacks(table, path, f"Figure 5.5: what attackers learn ({error})")
    else:
        distances(table, path, "Figure 5.6: how far reports lie from rows")
