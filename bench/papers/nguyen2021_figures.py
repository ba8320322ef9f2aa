"""Figure 1 of Nguyen, Chaturvedi and Xu 2021, drawn from the table."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.inertia_data import title
from bench.inertia_runs import Table
from bench.papers.nguyen2021_page import LABELS

mpl.use("Agg")

STYLES = {
    "maxcover": ("#0072b2", "o"),
    "balcan": ("#d55e00", "^"),
    "lloyd": ("#555555", "x"),
    "auto": ("#cc79a7", "v"),
    "dplloyd": ("#009e73", "s"),
}


def draw(table: Table, path: Path) -> None:
    """Cost against k, a panel for each dataset."""
    datasets = list(dict.fromkeys(key[0] for key in table))
    figure, axes = plt.subplots(
        1, len(datasets), figsize=(5.0 * len(datasets), 4.2), squeeze=False, layout="constrained"
    )
    for axis, dataset in zip(axes.flat, datasets, strict=True):
        for method, (color, marker) in STYLES.items():
            mine = {
                key[1]: result
                for key, result in table.items()
                if key[0] == dataset and key[2].split()[0] == method and result.runs
            }
            places = sorted(mine)
            axis.errorbar(
                places,
                [mine[k].mean for k in places],
                [mine[k].sd for k in places],
                color=color,
                marker=marker,
                markersize=4,
                linewidth=1.3,
                capsize=2,
                label=LABELS[method],
            )
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.set_title(title(dataset), fontsize=10)
        axis.set_xlabel("k")
        axis.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("cost")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.suptitle("Cost against k, ε = 1, δ = n^−1.5; bars: one standard deviation", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)
