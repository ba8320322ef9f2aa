"""Coordinates that show the clusters: some columns, main axes of the rows, random directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats
from sfumato._core.curator import Curator
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.privtree import Domain
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato.methods._auto.budget import AXES, MANY, BudgetSplit, RowCount
from sfumato.methods._auto.refine import MovedClusters, mean_of, merge, radius_around, refine
from sfumato.methods._auto.synopsis import Choice, Clusters, centers_of, on_tree
from sfumato.methods._base import Centers, projection_of

# An axis is looked at up to so many deviations; random ones up to fewer.
_SPREAD = 2.5
_SPREAD_RANDOM = 1.4

# Part of a squared radius that rows have on average.
_INSIDE = 0.75

# This part of the noise's largest eigenvalue is taken for a true one, and a part for a spread.
_ABOVE_EDGE = 0.8
_LEAST_SPREAD = 0.3

# Directions that tell more than `MANY` clusters apart without knowing where the rows lie.
_RANDOM_AXES = 16


@dataclass(frozen=True)
class Axes:
    """A curator that sees the rows in these coordinates, and where in them the rows lie.

    `scale` is in steps of these coordinates per lattice step; `lift` takes points back to the
    lattice; `residual` is the mean squared distance of rows from what can be seen of them.
    """

    curator: Curator
    domain: Domain
    lift: Callable[[Floats], Floats]
    scale: float
    residual: float
    note: str


def own_columns(curator: Curator) -> Axes:
    """The columns as they are, over their whole width."""
    d = curator.box.n_features
    domain = Domain((-REACH,) * d, (REACH,) * d)
    return Axes(curator, domain, lambda points: points, 1.0, 0.0, "all columns")


def columns(curator: Curator, route: BudgetSplit, rows: RowCount) -> Axes:
    """The columns that vary most, as far as the rows reach around their mean."""
    d = curator.box.n_features
    mean, rows = mean_of(curator, route.steps.share(route.mean), rows)
    n = rows.n
    radius = _radius(curator, mean, route, n)
    ball = curator.view(projection_of(np.eye(d), mean, REACH / radius, ball=True))
    answer = ball.moments(Squares(d), share=route.steps.share(route.moments))
    squares = np.maximum(answer.values, answer.noise_std) * (radius / REACH) ** 2 / n
    chosen = np.sort(np.argsort(-squares)[:AXES])
    reach = _SPREAD * np.sqrt(squares[chosen])
    low, high = (np.clip(mean[chosen] + side * reach, -REACH, REACH) for side in (-1, 1))
    domain = _domain(low, high)
    note = f"{len(chosen)} of {d} columns, as far as the rows reach"
    if len(chosen) == d:
        return Axes(curator, domain, lambda points: points, 1.0, 0.0, note)

    def lift(points: Floats) -> Floats:
        lifted = np.tile(mean, (len(points), 1))
        lifted[:, chosen] = points
        return lifted

    seen = curator.view(Projection(np.eye(d, dtype=np.int64)[chosen], np.zeros(d, dtype=np.int64)))
    residual = max(_INSIDE * radius**2 - squares[chosen].sum(), 0.0)
    return Axes(seen, domain, lift, 1.0, residual, note)


def main_axes(
    curator: Curator, route: BudgetSplit, rows: RowCount, k: int, rng: np.random.Generator
) -> Axes:
    """The main axes of the rows in a random sketch; random directions where noise hides them."""
    d = curator.box.n_features
    mean, rows = mean_of(curator, route.steps.share(route.mean), rows)
    n = rows.n
    random = not route.sketch
    size = route.sketch or min(_RANDOM_AXES if k > MANY else AXES, d)
    sketch = np.eye(d) if size == d else np.linalg.qr(rng.normal(size=(d, size)))[0].T
    # Twice the half diagonal is the longest that a difference to the mean can be.
    whole = projection_of(sketch, mean, 1 / (2 * math.sqrt(d)))
    radius = _radius(curator.view(whole), np.zeros(size), route, n) * 2 * math.sqrt(d)
    if random:
        reach = np.full(size, min((_SPREAD_RANDOM if k > MANY else _SPREAD) / math.sqrt(size), 1.0))
        directions, note = sketch, f"{size} random directions"
    else:
        ball = curator.view(projection_of(sketch, mean, REACH / radius, ball=True))
        shares = route.steps.share(route.moments)
        axes, reach = _main(ball, shares, route, n)
        directions = axes @ sketch
        note = f"{len(axes)} main axes of a sketch of {size} columns"
    projection = projection_of(directions, mean, REACH / radius)
    domain = _domain(-reach * REACH, reach * REACH)
    seen = curator.view(projection)
    return Axes(seen, domain, projection.from_view, REACH / radius, 0.0, note)


def _main(ball: Curator, share: Share, route: BudgetSplit, n: float) -> tuple[Floats, Floats]:
    """Eigenvectors that stand out from noise, and how far rows reach along them, radius 1."""
    size = ball.box.n_features
    answer = ball.moments(Products(size), share=share)
    values, vectors = np.linalg.eigh(answer.values / REACH**2)
    values, vectors = values[::-1], vectors.T[::-1]
    edge = math.sqrt(2 * size) * answer.noise_std / REACH**2
    number = int(np.clip((values > _ABOVE_EDGE * edge).sum(), 2, min(AXES, size)))
    spread = np.sqrt(np.maximum(values[:number], _LEAST_SPREAD * edge) / n)
    return vectors[:number], np.minimum(_SPREAD * spread, 1.0)


def _radius(curator: Curator, center: Floats, route: BudgetSplit, n: float) -> float:
    """The radius around a point that holds nine rows in ten, if noise lets it be seen."""
    share = route.radius_share(route.radii)
    outside = min(0.5, max(0.1, 16 / (route.per_row(route.radii) * n)))
    return radius_around(curator, center[None], share, outside=outside, n=n)


def _domain(low: Floats, high: Floats) -> Domain:
    """A box of whole numbers that is nowhere flat."""
    middle = (low + high) / 2
    half = np.maximum((high - low) / 2, REACH / 100)
    low, high = np.clip(middle - half, -REACH, REACH), np.clip(middle + half, -REACH, REACH)
    return Domain(
        tuple(np.floor(low).astype(int).tolist()), tuple(np.ceil(high).astype(int).tolist())
    )


_QUANTILE = 0.95

# Small clusters first, as long as noise stays below a twelfth of their rows.
_FINER = (8, 4, 2)
_ROWS_PER_NOISE = 12


def deep(
    curator: Curator, axes: Axes, route: BudgetSplit, choice: Choice, rng: np.random.Generator
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
    lifted = _merged(MovedClusters(points, np.ones(len(points))), radii, k, rng)
    moved = in_full(curator, lifted.centers, lifted.radii, route, choice.n)
    notes = (
        f"a tree of {len(counted.weights):,} leaves in {axes.note}",
        *how,
        f"{len(route.inside)} clipped steps there and {len(route.full)} in all columns",
    )
    return Centers(moved.points, moved.sizes, notes)


def in_full(
    curator: Curator, points: Floats, radii: Floats, route: BudgetSplit, n: float
) -> MovedClusters:
    """Clipped steps in all columns, each within a radius found for it."""
    k, d = points.shape
    moved = MovedClusters(points, np.zeros(k))
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


def _in_span(
    curator: Curator, moved: MovedClusters, radii: Floats, route: BudgetSplit
) -> MovedClusters:
    """Clipped steps among the centres: in as many dimensions as they span there is less noise."""
    if not route.span:
        return moved
    points = moved.points
    middle = points.mean(axis=0)
    directions = np.linalg.svd(points - middle, full_matrices=False)[2][: max(1, len(points) - 1)]
    longest = 2 * REACH * math.sqrt(points.shape[1])
    projection = projection_of(directions, middle, REACH / longest)
    seen = curator.view(projection)
    start = projection.to_view(points)
    inside = start
    for part in route.span:
        share = route.steps.share(part)
        inside = refine(seen, inside, radii * REACH / longest, share).points
    shift = projection.from_view(inside) - projection.from_view(start)
    return MovedClusters(np.clip(points + shift, -REACH, REACH), moved.sizes)


def _finer(route: BudgetSplit, k: int, n: float, n_features: int) -> int:
    """How many clusters to look for at first."""
    if not route.inside:
        return k
    noise = _ROWS_PER_NOISE * math.sqrt(n_features) * route.steps.noise(route.inside[0], n_features)
    return k * next((o for o in _FINER if n / (o * k) > noise), 1)


def _merged(moved: MovedClusters, radii: Floats, k: int, rng: np.random.Generator) -> Clusters:
    """At most k clusters, with the radii that go with them."""
    if len(moved.points) <= k:
        return Clusters(moved.points, moved.sizes, radii)
    points, radii = merge(moved.points, np.maximum(moved.sizes, 1.0), radii, k, rng)
    return Clusters(points, np.zeros(k), radii)
