"""Areas of perturbation and audits, drawn with matplotlib, the extra "plots"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato._base.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PerturbationArea:
    """A ball round a point, whose radius is the mean distance of its reports."""

    center: Floats
    radius: float
    reports: Floats


def perturbation_area(center: Any, reports: Any) -> PerturbationArea:  # noqa: ANN401
    """Return the perturbation area of a point (van der Ende 2023, Eq. 3.4; Yan et al. 2022).

    For a point that is public, an example on a map: many reports of one person's point together
    promise that person the sum. `reports` are those of this one point:
    `mechanism.fit_transform(np.tile(center, (1000, 1)))`.
    """
    middle = np.asarray(center, dtype=np.float64)
    table = np.asarray(reports, dtype=np.float64)
    if middle.ndim != 1 or table.ndim != 2 or table.shape[1:] != middle.shape or len(table) == 0:
        raise ValueError(
            "a perturbation area needs one point and at least one report of as many columns, got "
            f"shapes {middle.shape} and {table.shape}"
        )
    return PerturbationArea(middle, float(np.linalg.norm(table - middle, axis=1).mean()), table)


def plot_perturbation_area(
    center: Any,  # noqa: ANN401
    reports: Any,  # noqa: ANN401
    *,
    columns: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Draw a public point, its reports and their perturbation area, seen along two columns."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

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


def plot_audit(verdict: Any, ax: Axes | None = None) -> Axes:  # noqa: ANN401
    """Draw how the bound of an audit grew with the fits, and the ε that was claimed.

    `verdict` is what `sfumato.audit.run` returned.
    """
    from matplotlib.figure import Figure

    axes = Figure().add_subplot() if ax is None else ax
    trials, bounds = zip(*((0, 0.0), *verdict.seen), strict=True)
    color = "tab:red" if verdict.broken else "tab:blue"
    label = f"what the audit shows: ε ≥ {verdict.epsilon_lower:.2f}"
    axes.plot(trials, bounds, marker="o", color=color, label=label, clip_on=False, zorder=3)
    claimed = f"what is claimed: ε = {verdict.epsilon:g}"
    axes.axhline(verdict.epsilon, color="black", linestyle="--", label=claimed)
    axes.set_ylim(0, 1.35 * max(verdict.epsilon, *bounds))
    axes.set_xlim(left=0)
    axes.set_xlabel("fits, in both worlds together")
    risk = f"{1 - verdict.confidence:.2g}"
    axes.set_ylabel(f"lower bound of ε (wrong with probability ≤ {risk})")
    found = "refuted" if verdict.broken else "not refuted"
    axes.set_title(f"Audit: {verdict.claim} is {found}")
    axes.legend(loc="upper left")
    return axes
