"""More than three columns: a tree where the rows lie, clusters of its leaves, clipped steps."""

from __future__ import annotations

import math

import numpy as np

from sfumato.box import REACH, Floats
from sfumato.curator.curator import Curator
from sfumato.curator.projection import Projection
from sfumato.methods.auto.axes import Axes
from sfumato.methods.auto.cells import Choice, Found, centers_of, on_tree
from sfumato.methods.auto.routes import Route
from sfumato.methods.auto.steps import Moved, radius_around, refine
from sfumato.methods.base import Centers
from sfumato.synopsis.merge import merge

_QUANTILE = 0.95

# Small clusters first, as long as noise stays below a twelfth of their rows.
_FINER = (8, 4, 2)
_ROWS_PER_NOISE = 12


def deep(
    curator: Curator, axes: Axes, route: Route, choice: Choice, rng: np.random.Generator
) -> Centers:
    """Cluster a tree in these axes, move the centres there, then in all columns."""
    counted = on_tree(axes.curator, route.tree_share(), axes.domain)
    k, how = choice.clusters(counted, rng)
    many = _finer(route, k, choice.n, axes.curator.box.n_features)
    many = min(many, max(k, int(np.count_nonzero(counted.weights)) // 2))
    found = centers_of(counted, many, _QUANTILE, rng)
    for part in route.inside:
        moved = refine(axes.curator, found.centers, found.radii, route.steps.share(part))
        found = _merged(moved, found.radii, k, rng)
    points = np.clip(axes.lift(found.centers), -REACH, REACH)
    radii = np.sqrt(np.square(found.radii / axes.scale) + axes.residual)
    lifted = _merged(Moved(points, np.ones(len(points))), radii, k, rng)
    moved = in_full(curator, lifted.centers, lifted.radii, route, choice.n)
    notes = (
        f"a tree of {len(counted.weights):,} leaves in {axes.note}",
        *how,
        f"{len(route.inside)} clipped steps there and {len(route.full)} in all columns",
    )
    return Centers(moved.points, moved.sizes, notes)


def in_full(curator: Curator, points: Floats, radii: Floats, route: Route, n: float) -> Moved:
    """Clipped steps in all columns, each within a radius found for it."""
    k, d = points.shape
    moved = Moved(points, np.zeros(k))
    for i, part in enumerate(route.full):
        last = i == len(route.full) - 1
        if i and last:
            moved = _in_span(curator, moved, radii, route)
        if route.asks_radius:
            noise = k * math.sqrt(d) * route.steps.noise(part, d) / n
            outside = min(0.5, max(0.03, noise, 16 / (route.per_row(route.radius) * n)))
            share = route.radius_share(route.radius, last=last)
            found = radius_around(curator, moved.points, share, outside=outside, n=n)
            radii = np.minimum(radii, 1.2 * found) if d <= 12 else np.full(k, found)
        share = route.steps.last() if last else route.steps.share(part)
        moved = refine(curator, moved.points, radii, share, "pooled" if d > 24 else "each")
    return moved


def _in_span(curator: Curator, moved: Moved, radii: Floats, route: Route) -> Moved:
    """Clipped steps among the centres: in as many dimensions as they span there is less noise."""
    if not route.span:
        return moved
    points = moved.points
    middle = points.mean(axis=0)
    directions = np.linalg.svd(points - middle, full_matrices=False)[2][: max(1, len(points) - 1)]
    longest = 2 * REACH * math.sqrt(points.shape[1])
    projection = Projection.of(directions, middle, REACH / longest)
    seen = curator.view(projection)
    start = projection.to_view(points)
    inside = start
    for part in route.span:
        share = route.steps.share(part)
        inside = refine(seen, inside, radii * REACH / longest, share).points
    shift = projection.from_view(inside) - projection.from_view(start)
    return Moved(np.clip(points + shift, -REACH, REACH), moved.sizes)


def _finer(route: Route, k: int, n: float, n_features: int) -> int:
    """How many clusters to look for at first."""
    if not route.inside:
        return k
    noise = _ROWS_PER_NOISE * math.sqrt(n_features) * route.steps.noise(route.inside[0], n_features)
    return k * next((o for o in _FINER if n / (o * k) > noise), 1)


def _merged(moved: Moved, radii: Floats, k: int, rng: np.random.Generator) -> Found:
    """At most k clusters, with the radii that go with them."""
    if len(moved.points) <= k:
        return Found(moved.points, moved.sizes, radii)
    points, radii = merge(moved.points, np.maximum(moved.sizes, 1.0), radii, k, rng)
    return Found(points, np.zeros(k), radii)
