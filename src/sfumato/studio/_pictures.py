"""Released numbers as a page draws them: densities on a raster, axes, centres, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import Schema, Synopsis

SIDE = 48
"""Squares of a raster along each axis."""

_BLOCK = 2**14
_TICKS = 5


@dataclass(frozen=True)
class Axis:
    """A column that can be drawn: one coordinate of the cube, from −reach to reach."""

    name: str
    coordinate: int
    reach: float
    ticks: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The axis as plain values; ticks are at equal distances."""
        return {"name": self.name, "ticks": list(self.ticks)}


def axes_of(model: Any) -> list[Axis]:  # noqa: ANN401
    """The columns of a model that one coordinate says all about: numbers, dates, levels in order.

    Where there are fewer than two, every coordinate is one.
    """
    schema: Schema | None = model.schema_
    if schema is None:
        return _plain_axes(model)
    found, all_, place = [], [], 0
    for name in schema.features:
        column = schema.columns[name]
        for offset, label in enumerate(column.coordinate_names(name)):
            ticks: tuple[str, ...] = ()
            if column.width == 1:
                ends = np.linspace(-1, 1, _TICKS)[:, None]
                ticks = tuple(in_text(column.in_words(number)) for number in column.decoded(ends))
            axis = Axis(label, place + offset, column.weight, ticks)
            all_.append(axis)
            found += [axis] if ticks else []
        place += column.width
    return found if len(found) > 1 else all_


def _plain_axes(model: Any) -> list[Axis]:  # noqa: ANN401
    lower, upper = model.bounds_
    names = getattr(model, "feature_names_in_", None)
    found = []
    for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
        ticks = tuple(in_text(float(x)) for x in np.linspace(low, high, _TICKS))
        found.append(Axis(f"column {i}" if names is None else str(names[i]), i, 1.0, ticks))
    return found


def in_text(value: object) -> str:
    """A number with few digits; a share as a level with its share; words as they are."""
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"
    if isinstance(value, dict):
        level, share = max(value.items(), key=lambda pair: pair[1], default=("", 0.0))
        return f"{level} ({share:.0%})"
    return "missing" if value is None else str(value)


def chosen_axes(axes: Sequence[Axis], points: np.ndarray, x: int, y: int) -> tuple[Axis, Axis]:
    """The axes that were asked for, by number; else the two along which centres differ most."""
    places = points if len(points) else np.zeros((1, points.shape[1]))
    spread = [float(np.std(places[:, a.coordinate]) / max(a.reach, 1e-9)) for a in axes]
    order = np.argsort(-np.array(spread), kind="stable").tolist()
    best = sorted(order[:2])
    first = x if 0 <= x < len(axes) else best[0]
    second = y if 0 <= y < len(axes) else best[-1]
    return axes[first], axes[second]


def raster_of(synopsis: Synopsis, x: Axis, y: Axis, weights: np.ndarray) -> np.ndarray:
    """The weights of cells on squares: (SIDE, SIDE), one row for each step of y, lowest first."""
    found, layout = np.zeros((SIDE, SIDE)), synopsis.layout
    for start in range(0, len(layout), _BLOCK):
        middles = layout[start : start + _BLOCK]
        widths = layout.widths
        if len(widths) > 1:
            widths = widths[start : start + _BLOCK]
        widths = np.broadcast_to(widths, middles.shape)
        mine = weights[start : start + _BLOCK, None]
        across = _parts(middles[:, x.coordinate], widths[:, x.coordinate], x.reach)
        up = _parts(middles[:, y.coordinate], widths[:, y.coordinate], y.reach)
        found += up.T @ (mine * across)
    return found


def _parts(middles: np.ndarray, widths: np.ndarray, reach: float) -> np.ndarray:
    """Which part of each interval lies on each step of an axis: (m, SIDE)."""
    edges = np.linspace(-reach, reach, SIDE + 1)
    low, high = (middles - widths / 2)[:, None], (middles + widths / 2)[:, None]
    inside = np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1])
    return np.asarray(np.maximum(inside, 0) / np.maximum(high - low, 1e-300))


def regions_on(synopsis: Synopsis, x: Axis, y: Axis, labels: np.ndarray) -> list[list[int]]:
    """The region that holds most weight on each square; −1 where there is none."""
    positive = np.maximum(synopsis.weights, 0)
    layers = [
        raster_of(synopsis, x, y, np.where(labels == label, positive, 0.0))
        for label in range(int(labels.max(initial=-1)) + 1)
    ]
    if not layers:
        return np.full((SIDE, SIDE), -1).tolist()
    stacked = np.stack(layers)
    best = np.where(stacked.max(axis=0) > 0, stacked.argmax(axis=0), -1)
    found: list[list[int]] = best.tolist()
    return found


def rounded(raster: np.ndarray) -> list[list[float]]:
    """A raster as few bytes."""
    found: list[list[float]] = np.round(raster, 2).tolist()
    return found


def places(points: np.ndarray, x: Axis, y: Axis) -> list[list[float]]:
    """Points (k, d) of the cube on the two axes, each from 0 to 1."""
    pairs = [points[:, a.coordinate] / max(2 * a.reach, 1e-9) + 0.5 for a in (x, y)]
    found: list[list[float]] = np.clip(np.stack(pairs, axis=1), 0, 1).round(5).tolist()
    return found
