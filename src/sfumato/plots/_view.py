"""What a picture of a model shows, whatever kind of model it is: post-processing of a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._base.svg import shortened
from sfumato._base.types import Floats
from sfumato._lattice.box import REACH
from sfumato._schema.kinds import Cycle, Linear
from sfumato._schema.schema import Schema
from sfumato._schema.words import in_words, number
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells

LEVEL = 0.95
"""How sure error bars are."""

MOST_CLUSTERS, MOST_NUMBERS = 64, 40
"""Clusters whose errors are drawn, and those that carry their number."""

# Of a normal distribution: half the width of an interval, and the radius of an ellipse, at LEVEL.
_ELLIPSE = 2.4477


@dataclass(frozen=True, eq=False)
class View:
    """Clusters of a model, in the user's units and in the cube that the bounds span.

    `centers` (k, m) are in the user's units, one number for each of `names`, between `lower` and
    `upper` (m,); `cube` (k, d) are the same centres in [−1, 1]^d, whose coordinates are `axes`.
    `errors` (k, m, 2) and `size_errors` (k, 2) are intervals of `LEVEL`, where they are known.
    `straight` if a step of a column is as wide everywhere in the cube, in the user's units.
    """

    centers: Floats
    cube: Floats
    sizes: Floats
    names: tuple[str, ...]
    axes: tuple[str, ...]
    lower: Floats
    upper: Floats
    unit: str
    errors: Floats | None = None
    size_errors: Floats | None = None
    straight: bool = True

    def __len__(self) -> int:
        return len(self.sizes)


def view_of(model: Any) -> View:  # noqa: ANN401
    """What a picture of this model shows."""
    schema: Schema | None = model.schema_
    cube = _cube(model)
    mixture = hasattr(model, "weights_") and hasattr(model, "means_")
    lower, upper = _ends(model)
    errors, size_errors = intervals_of(model)
    return View(
        centers=schema.decode(cube) if schema else model.box_.from_lattice(cube * REACH),
        cube=cube,
        sizes=np.asarray(model.weights_ if mixture else model.cluster_sizes_, dtype=np.float64),
        names=schema.number_names if schema else names_of(model),
        axes=schema.coordinate_names if schema else names_of(model),
        lower=lower,
        upper=upper,
        unit="share of the rows" if mixture else "noisy size",
        errors=errors,
        size_errors=size_errors,
        straight=schema is None or all(map(_straight, map(schema.columns.get, schema.features))),
    )


def _straight(column: Any) -> bool:  # noqa: ANN401
    even = getattr(column, "scale", "linear") == "linear"
    return isinstance(column, Linear) and column.weight == 1 and even


def names_of(model: Any) -> tuple[str, ...]:  # noqa: ANN401
    """The names of the columns; without any, their positions."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return tuple(f"column {i}" for i in range(model.box_.n_features))
    return tuple(str(name) for name in names)


def intervals_of(model: Any) -> tuple[Floats | None, Floats | None]:  # noqa: ANN401
    """Intervals of centres (k, m, 2) and of sizes (k, 2), for models that know their noise."""
    if not hasattr(model, "intervals"):
        return None, None
    try:
        centers, sizes = model.intervals(LEVEL)
    except (AttributeError, TypeError, ValueError):
        return None, None
    found = [
        None if each is None else np.asarray(each, dtype=np.float64) for each in (centers, sizes)
    ]
    return found[0], found[1]


def _cube(model: Any) -> Floats:  # noqa: ANN401
    """The centres (k, d) in the cube: of regions and of trees, weighted means."""
    schema = model.schema_
    if hasattr(model, "cell_labels_"):
        return _region_means(model.synopsis_, model.cell_labels_, len(model.cluster_sizes_))
    if hasattr(model, "leaf_points_"):
        labels, weights = model.cut(model.n_clusters_), model.dendrogram_.weights
        return _means(model.leaf_points_, labels, weights, model.n_clusters_)
    if hasattr(model, "means_"):
        own = model.encoded_means_ if schema else model.means_
    else:
        own = model.encoded_centers_ if schema else model.cluster_centers_
    return np.asarray(own) if schema else np.asarray(model.box_.to_cube(own))


def _region_means(synopsis: Synopsis, labels: Any, count: int) -> Floats:  # noqa: ANN401
    inside = labels >= 0
    weights = np.maximum(synopsis.weights, 0) + 1e-12
    return _means(synopsis.layout[:][inside], labels[inside], weights[inside], count)


def _means(points: Floats, labels: Any, weights: Floats, count: int) -> Floats:  # noqa: ANN401
    """Weighted means (count, d) of points (n, d) by their labels (n,)."""
    totals = np.maximum(np.bincount(labels, weights, count), 1e-300)
    sums = [np.bincount(labels, weights * x, count) / totals for x in points.T]
    return np.stack(sums, axis=1) if sums else np.empty((count, 0))


def _ends(model: Any) -> tuple[Floats, Floats]:  # noqa: ANN401
    """The least and the largest value of every number of a centre, (m,)."""
    schema = model.schema_
    if schema is None:
        return np.array(model.box_.lower), np.array(model.box_.upper)
    ends: list[tuple[float, float]] = []
    for name in schema.features:
        column = schema.columns[name]
        if isinstance(column, Linear):
            ends.append(column.ends)
        elif isinstance(column, Cycle):
            ends.append((0.0, float(column.period)))
        else:
            ends += [(0.0, 1.0)] * column.width
    low, high = zip(*ends, strict=True)
    return np.array(low), np.array(high)


def rows_in_words(model: Any, view: View) -> tuple[tuple[str, ...], list[list[str]]]:  # noqa: ANN401
    """A table of centres for readers: titles of the columns, and a line for each centre."""
    schema = model.schema_
    if schema is not None:
        found = schema.in_words(view.cube)
        columns = schema.columns
        return schema.features, [
            [in_words(columns[name], line[name]) for name in schema.features] for line in found
        ]
    ends = list(zip(view.lower.tolist(), view.upper.tolist(), strict=True))
    return view.names, [
        [number(x, *pair) for x, pair in zip(line, ends, strict=True)]
        for line in view.centers.tolist()
    ]


def numbers_in_words(model: Any, view: View) -> list[list[str]]:  # noqa: ANN401
    """The numbers of the centres (k, m) as texts: dates as dates, shares as numbers."""
    schema = model.schema_
    if schema is None:
        return rows_in_words(model, view)[1]
    columns = [schema.columns[name] for name in schema.features]
    kinds = [c for c in columns for _ in range(1 if isinstance(c, Linear | Cycle) else c.width)]
    return [
        [
            in_words(column, column.in_words(np.array([x])))
            if isinstance(column, Linear)
            else f"{x:.3g}"
            for column, x in zip(kinds, line, strict=True)
        ]
        for line in view.centers
    ]


def with_error(value: float, half: float, low: float, high: float) -> str:
    """A number ± half its interval, in as many digits as two of the latter are."""
    digits = 1 - math.floor(math.log10(half)) if half > 0 else None
    if digits is None or digits > 12 or max(abs(low), abs(high), half) >= 1e13:
        return f"{number(value, low, high)} ± {half:.2g}"
    return f"{value:,.{max(0, digits)}f} ± {half:,.{max(0, digits)}f}"


@dataclass(frozen=True, eq=False)
class Plane:
    """Where centres lie in a picture: two columns, or two directions through the cube.

    `points` (k, 2); `directions` (2, d); `titles` of both axes. `of_columns` if both are columns of
    the table, so that ticks have units.
    """

    points: Floats
    directions: Floats
    titles: tuple[str, str]
    of_columns: bool

    @property
    def frame(self) -> tuple[Floats, float]:
        """The lower ends (2,) of both axes, and their length: of columns, those of the cube."""
        if self.of_columns or not len(self.points):
            return np.array([-1.0, -1.0]), 2.0
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        span = 1.3 * max(float((high - low).max()), 1e-9)
        return (low + high) / 2 - span / 2, span


def plane_of(view: View) -> Plane:
    """The columns, if there are at most two; else the directions in which centres differ most.

    These are principal axes of the released centres, weighted by their noisy sizes.
    """
    k, d = view.cube.shape
    if d <= 2 or k < 2:
        directions = np.eye(2, d)
        titles = (*view.axes, "")[:2]
        return Plane(view.cube @ directions.T, directions, (titles[0], titles[1]), True)
    weights = np.maximum(view.sizes, 0) + 1e-9 * max(1.0, float(np.abs(view.sizes).max()))
    middle = np.average(view.cube, axis=0, weights=weights)
    _, _, axes = np.linalg.svd((view.cube - middle) * np.sqrt(weights)[:, None], full_matrices=True)
    directions = axes[:2] * np.sign(axes[:2].sum(axis=1, keepdims=True) + 1e-300)
    titles = tuple(_direction_title(i, line, view.axes) for i, line in enumerate(directions))
    return Plane(view.cube @ directions.T, directions, (titles[0], titles[1]), False)


def _direction_title(index: int, direction: Floats, names: Sequence[str]) -> str:
    """Which columns a direction is made of: the three that take part most."""
    order = np.argsort(-np.abs(direction))[:3]
    strong = [i for i in order if abs(direction[i]) >= 0.25] or [int(order[0])]
    said = ", ".join(f"{'+' if direction[i] > 0 else '−'}{shortened(names[i], 18)}" for i in strong)
    return f"direction {index + 1} ({said})"


def error_radii(view: View) -> Floats | None:
    """Half axes (k, 2) of the errors of a few centres in one or two columns, in the cube.

    In one column an ellipse is a line, the interval itself.
    """
    if view.errors is None or not view.straight or len(view) > MOST_CLUSTERS:
        return None
    half = (view.errors[:, :, 1] - view.errors[:, :, 0]) / 2
    radii: Floats = half / (view.upper - view.lower) * 2
    if radii.shape[1] == 1:
        return np.hstack([radii, np.zeros_like(radii)])
    # From an interval of each coordinate to an ellipse of both: 1.96 and 2.45 deviations.
    return radii * (_ELLIPSE / 1.96) if radii.shape[1] == 2 else None


def regions(model: Any, size: int = 64) -> Any:  # noqa: ANN401
    """The density cluster of every pixel, (size, size), −1 for noise; None for other models."""
    if not hasattr(model, "cell_labels_"):
        return None
    layout = model.synopsis_.layout
    if not isinstance(layout, GridCells) or layout.n_features != 2:
        return None
    labels = np.asarray(model.cell_labels_).reshape(layout.shape)
    pixels = [
        np.minimum(((np.arange(size) + 0.5) / size * n).astype(int), n - 1) for n in layout.shape
    ]
    return labels[np.ix_(*pixels)].T
