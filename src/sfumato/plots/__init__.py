"""Plots of releases: figures of Plotly, the extra "report".

They take models, receipts, plans, synopses and tables of scores; rows are refused. Areas of
perturbation and audits are drawn with matplotlib, the extra "plots".
"""

from sfumato.plots._choices import budget, choose_k, compare, synopsis, tradeoff
from sfumato.plots._clusters import clusters, dendrogram, sizes
from sfumato.plots._figure import save
from sfumato.plots._matplotlib import (
    PerturbationArea,
    perturbation_area,
    plot_audit,
    plot_perturbation_area,
)

__all__ = [
    "PerturbationArea",
    "budget",
    "choose_k",
    "clusters",
    "compare",
    "dendrogram",
    "perturbation_area",
    "plot_audit",
    "plot_perturbation_area",
    "save",
    "sizes",
    "synopsis",
    "tradeoff",
]
