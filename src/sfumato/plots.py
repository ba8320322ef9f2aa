"""Plots, drawn with matplotlib: pip install 'sfumato[plots]'."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from sfumato.areas import perturbation_area

__all__ = ["plot_perturbation_area"]


def plot_perturbation_area(
    center: Any,  # noqa: ANN401
    reports: Any,  # noqa: ANN401
    *,
    columns: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Draw a public point, its reports and their perturbation area, seen along two columns."""
    area = perturbation_area(center, reports)
    size = len(area.center)
    if len(columns) != 2 or not all(0 <= column < size for column in columns):
        raise ValueError(
            f"two columns out of 0 ... {size - 1} are needed for a plot, got {columns!r}"
        )
    axes = Figure().add_subplot() if ax is None else ax
    first, second = columns
    x, y = area.center[first], area.center[second]
    axes.scatter(area.reports[:, first], area.reports[:, second], s=8, alpha=0.4, label="reports")
    axes.scatter([x], [y], marker="x", color="black", label="point")
    circle = Circle((x, y), area.radius, fill=False, label=f"mean distance {area.radius:.4g}")
    axes.add_patch(circle)
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend()
    return axes
