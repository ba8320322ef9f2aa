"""Pictures of a report: clusters, their sizes and their columns, as inline SVG."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._base.markup import Markup, classed, element, joined
from sfumato._base.svg import (
    SERIES,
    circle,
    line,
    path,
    picture,
    place,
    rect,
    shades,
    shortened,
    text,
)
from sfumato._base.types import Floats
from sfumato._synopsis.picture import SIDE, STRIP, flat, raster, ticks_of
from sfumato.plots._clusters import oval, spreads
from sfumato.plots._view import (
    LEVEL,
    MOST_CLUSTERS,
    MOST_NUMBERS,
    Plane,
    View,
    error_radii,
    plane_of,
    regions,
)

MOST_COLUMNS = 24


def clusters(model: Any, view: View) -> Markup:  # noqa: ANN401
    """Where the clusters lie: centres as circles by size, over the released density."""
    plane = plane_of(view)
    high = SIDE if view.cube.shape[1] > 1 else STRIP
    frame = _Frame(plane, high)
    units = plane.of_columns
    ticks = [
        ticks_of(model.box_, model.schema_, i) if units and i < view.cube.shape[1] else []
        for i in range(2)
    ]
    return flat(
        _said(view, plane),
        *_ground(model, plane, high),
        *_ovals(model, view, plane, frame),
        titles=plane.titles,
        ticks=(ticks[0], ticks[1]),
        above=_dots(view, plane, frame),
        high=high,
    )


def _said(view: View, plane: Plane) -> str:
    """What the picture shows, for those who do not see it."""
    where = f"{plane.titles[0]} across"
    if plane.titles[1]:
        where += f", {plane.titles[1]} up"
    order = np.argsort(-view.sizes)[:8]
    largest = ", ".join(f"{i} ({_size(view, view.sizes[i])})" for i in order)
    return (
        f"{len(view)} clusters by {where}. Largest: {largest or 'none'}. "
        "The table of centres has all numbers."
    )


class _Frame:
    """From the plane to pixels: the cube is the frame; directions are fitted into it."""

    def __init__(self, plane: Plane, high: int) -> None:
        self.low, self.span = plane.frame
        self.high = high

    def __call__(self, points: Floats) -> Floats:
        pixels: Floats = (points - self.low) / self.span * (SIDE, self.high)
        pixels[:, 1] = self.high - pixels[:, 1]
        return pixels


def _ground(model: Any, plane: Plane, high: int) -> list[Markup]:  # noqa: ANN401
    """The synopsis as a density, and regions of density clusters in their colours."""
    if not plane.of_columns:
        return []
    found = []
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is not None:
        found.append(shades(raster(synopsis), SIDE, high))
    labels = regions(model)
    for i in range(0 if labels is None else len(model.cluster_sizes_)):
        inside = shades((labels == i).astype(np.float64), SIDE, SIDE, 1)
        found.append(classed("g", f"region f{i % SERIES}", inside))
    return found


def _ovals(model: Any, view: View, plane: Plane, frame: _Frame) -> list[Markup]:  # noqa: ANN401
    found = []
    spread = spreads(model, plane)
    if spread is not None:
        found += [path(frame(oval(plane.points[i], x)), "spread") for i, x in enumerate(spread)]
    radii = error_radii(view)
    if radii is not None:
        ovals = [oval(plane.points[i], np.diag(r)) for i, r in enumerate(radii)]
        found += [path(frame(each), "error") for each in ovals]
    return found


def _dots(view: View, plane: Plane, frame: _Frame) -> list[Markup]:
    largest = max(float(view.sizes.max(initial=0)), 1e-300)
    most = 16 if len(view) <= 20 else 9
    found = []
    for i, (x, y) in enumerate(frame(plane.points)):
        radius = 4 + most * float(np.sqrt(np.clip(view.sizes[i] / largest, 0, 1)))
        title = element("title", f"cluster {i}, {_size(view, view.sizes[i])}")
        found.append(circle(x, y, radius, f"dot f{i % SERIES}", title))
    if len(view) <= MOST_NUMBERS:
        for i, (x, y) in enumerate(frame(plane.points)):
            found.append(text(x, y + 4, i, "halo", "middle"))
    return found


def _size(view: View, size: float) -> str:
    return f"{size:.1%} of the rows" if view.unit.startswith("share") else f"{size:,.0f} rows"


def sizes(view: View) -> Markup:
    """Sizes as bars, with whiskers where intervals are known; the largest 64 clusters."""
    shown = np.arange(len(view))
    if len(view) > MOST_CLUSTERS:
        shown = np.sort(np.argsort(-view.sizes)[:MOST_CLUSTERS])
    ends = view.sizes if view.size_errors is None else view.size_errors[:, 1]
    scale = 430 / max(float(ends.max(initial=0)), 1e-300)
    parts = []
    for row, i in enumerate(shown):
        y = 20 * row
        parts.append(text(34, y + 14, i, "label", "end"))
        wide = max(float(view.sizes[i]), 0) * scale
        parts.append(rect(42, y + 3, wide, 14, f"f{i % SERIES}"))
        end = wide
        if view.size_errors is not None:
            low, high = np.maximum(view.size_errors[i], 0) * scale
            parts += _whisker(42 + low, 42 + high, y + 10)
            end = max(wide, high)
        said = f"{view.sizes[i]:.1%}" if view.unit.startswith("share") else f"{view.sizes[i]:,.0f}"
        parts.append(text(50 + end, y + 14, said))
    bars = f", with intervals of {LEVEL:.0%}" if view.size_errors is not None else ""
    label = f"{view.unit} of {len(shown)} clusters{bars}. The table of centres has all numbers."
    return picture(600, max(20 * len(shown), 20), label, *parts)


def _whisker(low: float, high: float, y: float) -> list[Markup]:
    ends = [line(x, y - 4, x, y + 4, "error") for x in (low, high)]
    return [line(low, y, high, y, "error"), *ends]


def columns(view: View) -> Markup:
    """A heat map of centres by column: the darker, the nearer to the upper bound."""
    width = view.upper - view.lower
    placed = np.clip((view.centers - view.lower) / width, 0, 1)
    order = np.arange(placed.shape[1])
    if len(order) > MOST_COLUMNS:
        order = np.sort(np.argsort(-placed.std(axis=0))[:MOST_COLUMNS])
    rows = min(len(view), MOST_CLUSTERS)
    wide = min(44.0, 560 / len(order))
    names = [shortened(view.names[column], 26) for column in order]
    top = 16 + 6 * max(map(len, names))
    parts = []
    for j, name in enumerate(names):
        where = f"translate({place(46 + (j + 0.6) * wide)} {top - 8}) rotate(-55)"
        parts.append(element("text", name, attributes={"transform": where, "class": "label"}))
    for i in range(rows):
        parts.append(text(38, top + 18 * i + 13, i, "label", "end"))
        for j, column in enumerate(order):
            shade = int(np.ceil(placed[i, column] * 9))
            said = f"cluster {i}, {view.names[column]}: {view.centers[i, column]:,.4g}"
            box = rect(
                44 + j * wide, top + 18 * i, wide - 1, 17, f"d{shade}", element("title", said)
            )
            parts.append(box)
    whole = classed("g", "shades", joined(parts))
    label = (
        f"Heat map: {rows} clusters by {len(order)} columns, from the lower bound (light) to the "
        "upper bound (dark). The table of centres has the numbers."
    )
    return picture(44 + wide * len(order) + 90, top + 2 + 18 * rows, label, whole)
