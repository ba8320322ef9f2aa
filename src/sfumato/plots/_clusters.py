"""Clusters drawn with Plotly: where they lie, how large they are, how they join."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._base.types import Floats
from sfumato._synopsis.picture import raster, ticks_of
from sfumato.plots._figure import COLOURS, DENSITY, figure_of, graph_objects, label_axis, plain
from sfumato.plots._release import model_of
from sfumato.plots._view import (
    LEVEL,
    MOST_NUMBERS,
    Plane,
    View,
    error_radii,
    numbers_in_words,
    plane_of,
    regions,
    view_of,
)

_PIXELS = 96


def clusters(model: Any) -> Any:  # noqa: ANN401
    """Draw the clusters of a fitted model, from what was released.

    Up to two columns: the synopsis as a density, if there is one, and the centres with their error
    ellipses, where these are known. More columns: the centres along the two directions in which
    they differ most, and a heat map of the centres by column, in the user's units.
    """
    found = model_of(model)
    view = view_of(found)
    plane = plane_of(view)
    figure = figure_of(
        [*_density(found, plane), *_regions(found), *_ellipses(found, view, plane)],
        title=f"{len(view)} clusters, released with ε = {found.receipt_.epsilon:g}",
        x=plain(plane.titles[0]),
        y=plain(plane.titles[1], 40),
    )
    if len(view):
        figure.add_trace(_centers(view, plane))
    _label_axes(figure, found, plane)
    return figure if view.cube.shape[1] <= 2 else _above_heat_map(figure, found, view)


def sizes(model: Any) -> Any:  # noqa: ANN401
    """Draw the noisy sizes of the clusters, with error bars where the noise is known."""
    view = view_of(model_of(model))
    errors: dict[str, Any] | None = None
    if view.size_errors is not None:
        below, above = view.sizes - view.size_errors[:, 0], view.size_errors[:, 1] - view.sizes
        errors = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    names = [str(i) for i in range(len(view))]
    bar = graph_objects().Bar(x=names, y=view.sizes, error_y=errors, marker_color=COLOURS[0])
    level = f", with intervals of {LEVEL:.0%}" if errors else ""
    figure = figure_of([bar], title=f"Sizes of the clusters{level}", x="cluster", y=view.unit)
    figure.update_xaxes(type="category")
    return figure


def dendrogram(model: Any) -> Any:  # noqa: ANN401
    """Draw the tree of a fitted `PrivateWard`, and where it is cut."""
    found = model_of(model)
    if not hasattr(found, "linkage_"):
        raise TypeError(f"a tree is drawn of a PrivateWard, got {type(found).__name__}")
    from scipy.cluster.hierarchy import dendrogram as layout

    if found.n_leaves_ < 2:
        raise ValueError("a tree of one leaf has no joins to draw")
    drawn = layout(found.linkage_, no_plot=True)
    x = np.array(drawn["icoord"])
    y = np.array(drawn["dcoord"])
    gaps = np.full((len(x), 1), np.nan)
    line = graph_objects().Scatter(
        x=np.hstack([x, gaps]).ravel(),
        y=np.hstack([y, gaps]).ravel(),
        mode="lines",
        line={"color": COLOURS[0], "width": 1},
        hoverinfo="y",
        showlegend=False,
    )
    title = f"Tree of {found.n_leaves_} small clusters, cut into {found.n_clusters_}"
    figure = figure_of([line], title=title, x="small clusters", y="height of the join")
    figure.update_xaxes(showticklabels=False)
    figure.add_hline(y=_cut_height(found), line_dash="dash", line_color=COLOURS[1])
    return figure


def _cut_height(model: Any) -> float:  # noqa: ANN401
    """Between the last join that is kept and the first that is cut."""
    heights = np.concatenate([[0.0], model.linkage_[:, 2]])
    kept = len(heights) - model.n_clusters_
    above = heights[kept + 1] if kept + 1 < len(heights) else heights[-1] * 1.05
    return float((heights[kept] + above) / 2)


def _density(model: Any, plane: Plane) -> list[Any]:  # noqa: ANN401
    """The synopsis as a picture, where both axes are columns."""
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is None or not plane.of_columns:
        return []
    picture = raster(synopsis, _PIXELS)
    places = np.linspace(-1, 1, 2 * _PIXELS + 1)[1::2]
    return [
        graph_objects().Heatmap(
            z=np.sqrt(picture),
            x=places,
            y=places if len(picture) > 1 else [0.0],
            dy=2.0,
            colorscale=DENSITY,
            showscale=False,
            hoverinfo="skip",
            name="noisy counts",
        )
    ]


def _regions(model: Any) -> list[Any]:  # noqa: ANN401
    """The outline of every density cluster."""
    labels = regions(model, _PIXELS)
    if labels is None:
        return []
    places = np.linspace(-1, 1, 2 * _PIXELS + 1)[1::2]
    return [
        graph_objects().Contour(
            z=(labels == i).astype(float),
            x=places,
            y=places,
            contours={"type": "constraint", "operation": ">", "value": 0.5},
            line={"color": COLOURS[i % len(COLOURS)], "width": 2},
            fillcolor="rgba(0,0,0,0)",
            name=f"cluster {i}",
            showlegend=True,
        )
        for i in range(len(model.cluster_sizes_))
    ]


def _ellipses(model: Any, view: View, plane: Plane) -> list[Any]:  # noqa: ANN401
    """Error ellipses of the centres, and of mixtures how far the components spread."""
    found = []
    radii = error_radii(view)
    if radii is not None:
        ovals = [oval(plane.points[i], np.diag(radii[i])) for i in range(len(view))]
        found.append(_outline(ovals, f"error of the centre, {LEVEL:.0%}", "solid"))
    spread = spreads(model, plane)
    if spread is not None:
        ovals = [oval(plane.points[i], each) for i, each in enumerate(spread)]
        found.append(_outline(ovals, "two deviations of the component", "dot"))
    return found


def spreads(model: Any, plane: Plane) -> Floats | None:  # noqa: ANN401
    """Twice the square roots of the covariances of a mixture in a plane, (k, 2, 2)."""
    if not hasattr(model, "covariances_"):
        return None
    units = model._units  # noqa: SLF001
    spread = model._mixture.covariances / np.outer(units, units)  # noqa: SLF001
    flat = plane.directions @ spread @ plane.directions.T
    values, axes = np.linalg.eigh(flat)
    roots: Floats = 2 * axes * np.sqrt(np.maximum(values, 0))[:, None, :]
    return roots


def oval(middle: Floats, axes: Floats) -> Floats:
    """Points (m, 2) on an ellipse whose half axes are the columns of a matrix (2, 2)."""
    angles = np.linspace(0, 2 * np.pi, 49)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    points: Floats = middle + (axes @ circle).T
    return points


def _outline(ovals: list[Floats], name: str, dash: str) -> Any:  # noqa: ANN401
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([part for each in ovals for part in (each, gap)])
    return graph_objects().Scatter(
        x=points[:, 0],
        y=points[:, 1],
        mode="lines",
        line={"color": COLOURS[1], "width": 1.2, "dash": dash},
        hoverinfo="skip",
        name=name,
    )


def _centers(view: View, plane: Plane) -> Any:  # noqa: ANN401
    largest = max(float(view.sizes.max()), 1e-300)
    marks = 8 + 26 * np.sqrt(np.clip(view.sizes / largest, 0, 1))
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(view))]
    said = [f"cluster {i}<br>{view.unit} {size:,.4g}" for i, size in enumerate(view.sizes)]
    return graph_objects().Scatter(
        x=plane.points[:, 0],
        y=plane.points[:, 1],
        mode="markers+text",
        marker={
            "size": marks,
            "color": colours,
            "opacity": 0.75,
            "line": {"color": "white", "width": 1},
        },
        text=[str(i) for i in range(len(view))] if len(view) <= MOST_NUMBERS else None,
        textposition="top center",
        textfont={"weight": 700, "shadow": ", ".join(["0 0 3px white"] * 4)},
        hovertext=said,
        hoverinfo="text",
        name="centres, area by size",
    )


def _label_axes(figure: Any, model: Any, plane: Plane) -> None:  # noqa: ANN401
    """Ticks in the user's units, where an axis is a column."""
    updates = (figure.update_xaxes, figure.update_yaxes)
    if not plane.of_columns:
        (low, high), span = plane.frame
        for update, start in zip(updates, (low, high), strict=True):
            update(range=[start, start + span])
        return
    d = plane.directions.shape[1]
    for i, update in enumerate(updates):
        label_axis(update, ticks_of(model.box_, model.schema_, i) if i < d else [])
    if d == 1:
        figure.update_layout(height=300)
        figure.update_yaxes(showgrid=False, zeroline=False)


def _above_heat_map(figure: Any, model: Any, view: View) -> Any:  # noqa: ANN401
    """Centres in a plane on top, and below by column: from the lower bound to the upper one."""
    names = [plain(name, 24) for name in view.names]
    heat = graph_objects().Heatmap(
        z=(view.centers - view.lower) / (view.upper - view.lower),
        y=[str(i) for i in range(len(view))],
        text=numbers_in_words(model, view),
        customdata=[names] * len(view),
        texttemplate="%{text}" if len(view) <= 20 and len(names) <= 12 else None,
        hovertemplate="cluster %{y}, %{customdata}: %{text}<extra></extra>",
        colorscale="Blues",
        zmin=0,
        zmax=1,
        colorbar={"title": {"text": "between<br>the bounds"}, "len": 0.45, "y": 0.2},
        xaxis="x2",
        yaxis="y2",
    )
    figure.add_trace(heat)
    across: dict[str, Any] = {"anchor": "y2", "showticklabels": len(names) <= 60}
    across |= {"tickvals": list(range(len(names))), "ticktext": names}
    up = {"anchor": "x2", "domain": [0, 0.4], "type": "category", "autorange": "reversed"}
    figure.update_layout(height=760, yaxis_domain=[0.55, 1], xaxis2=across, yaxis2=up)
    figure.update_layout(yaxis2_title="cluster")
    return figure
