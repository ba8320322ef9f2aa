"""Coordinates that show the clusters: some columns, main axes of the rows, random directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.privtree import Domain
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato.methods._auto.budget import AXES, MANY, BudgetSplit, RowCount
from sfumato.methods._auto.refine import Clusters, mean_of, merge, radius_around, refine
from sfumato.methods._auto.synopsis import centers_of, on_tree
from sfumato.methods._base import Centers, KChoice, projection_of

# Half width of the domain along an axis, in standard deviations; less along random ones.
_SPREAD = 2.5
_SPREAD_RANDOM = 1.4

# Mean squared distance of rows, as a part of the squared radius.
_INSIDE = 0.75

# Keep eigenvalues > 0.8 × noise edge; a spread is at least the root of 0.3 × that edge.
_ABOVE_EDGE = 0.8
_LEAST_SPREAD = 0.3

# Random directions for more than `MANY` clusters.
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


def columns(curator: Curator, split: BudgetSplit, rows: RowCount) -> Axes:
    """The columns that vary most, as far as the rows reach around their mean."""
    d = curator.box.n_features
    mean, rows = mean_of(curator, split.steps.share(split.mean), rows)
    n = rows.n
    radius = _radius(curator, mean, split, n)
    ball = curator.view(projection_of(np.eye(d), mean, REACH / radius, ball=True))
    answer = ball.moments(Squares(d), share=split.steps.share(split.moments))
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


def main_axes(curator: Curator, split: BudgetSplit, rows: RowCount, k: int, rng: Rng) -> Axes:
    """The main axes of the rows in a random sketch; random directions where noise hides them."""
    d = curator.box.n_features
    mean, rows = mean_of(curator, split.steps.share(split.mean), rows)
    n = rows.n
    random = not split.sketch
    size = split.sketch or min(_RANDOM_AXES if k > MANY else AXES, d)
    sketch = np.eye(d) if size == d else np.linalg.qr(rng.normal(size=(d, size)))[0].T
    # Twice the half diagonal is the longest that a difference to the mean can be.
    whole = projection_of(sketch, mean, 1 / (2 * math.sqrt(d)))
    radius = _radius(curator.view(whole), np.zeros(size), split, n) * 2 * math.sqrt(d)
    if random:
        reach = np.full(size, min((_SPREAD_RANDOM if k > MANY else _SPREAD) / math.sqrt(size), 1.0))
        directions, note = sketch, f"{size} random directions"
    else:
        ball = curator.view(projection_of(sketch, mean, REACH / radius, ball=True))
        shares = split.steps.share(split.moments)
        axes, reach = _main(ball, shares, split, n)
        directions = axes @ sketch
        note = f"{len(axes)} main axes of a sketch of {size} columns"
    projection = projection_of(directions, mean, REACH / radius)
    domain = _domain(-reach * REACH, reach * REACH)
    seen = curator.view(projection)
    return Axes(seen, domain, projection.from_view, REACH / radius, 0.0, note)


def _main(ball: Curator, share: Share, split: BudgetSplit, n: float) -> tuple[Floats, Floats]:
    """Eigenvectors (m, size) that stand out from noise, and the half widths (m,), radius 1."""
    size = ball.box.n_features
    answer = ball.moments(Products(size), share=share)
    values, vectors = np.linalg.eigh(answer.values / REACH**2)
    values, vectors = values[::-1], vectors.T[::-1]
    edge = math.sqrt(2 * size) * answer.noise_std / REACH**2
    number = int(np.clip((values > _ABOVE_EDGE * edge).sum(), 2, min(AXES, size)))
    spread = np.sqrt(np.maximum(values[:number], _LEAST_SPREAD * edge) / n)
    return vectors[:number], np.minimum(_SPREAD * spread, 1.0)


def _radius(curator: Curator, center: Floats, split: BudgetSplit, n: float) -> float:
    """The radius around a centre (d,) that holds nine rows in ten, or fewer if noise is large."""
    share = split.radius_share(split.radii)
    outside = min(0.5, max(0.1, 16 / (split.per_row(split.radii) * n)))
    return radius_around(curator, center[None], share, outside=outside, n=n)


def _domain(low: Floats, high: Floats) -> Domain:
    """A box of whole numbers around low and high (m,), at least REACH/50 wide."""
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
    curator: Curator, axes: Axes, split: BudgetSplit, choose: KChoice, n: float, rng: Rng
) -> Centers:
    """Cluster a PrivTree in these axes, move the centres there, then in all columns."""
    counted = on_tree(axes.curator, split.tree_share(), axes.domain)
    k, how = choose(counted.synopsis, rng)
    many = _finer(split, k, n, axes.curator.box.n_features)
    many = min(many, max(k, int(np.count_nonzero(counted.weights)) // 2))
    found = centers_of(counted, many, _QUANTILE, rng)
    for part in split.inside:
        found = merge(refine(axes.curator, found, split.steps.share(part)), k, rng)
    points = np.clip(axes.lift(found.centers), -REACH, REACH)
    radii = np.sqrt(np.square(found.radii / axes.scale) + axes.residual)
    lifted = merge(Clusters(points, np.ones(len(points)), radii), k, rng)
    moved = in_full(curator, lifted, split, n)
    notes = (
        f"PrivTree with {len(counted.weights):,} leaves in {axes.note}",
        *how,
        f"{len(split.inside)} clipped steps there and {len(split.full)} in all columns",
    )
    return Centers(moved.centers, moved.sizes, notes)


def in_full(curator: Curator, moved: Clusters, split: BudgetSplit, n: float) -> Clusters:
    """Clipped steps in all columns, each within a radius found for it."""
    k, d = moved.centers.shape
    for i, part in enumerate(split.full):
        last = i == len(split.full) - 1
        if i and last:
            moved = _in_span(curator, moved, split)
        if split.asks_radius:
            noise = k * math.sqrt(d) * split.steps.noise(part, d) / n
            outside = min(0.5, max(0.03, noise, 16 / (split.per_row(split.radius) * n)))
            share = split.radius_share(split.radius, last=last)
            found = radius_around(curator, moved.centers, share, outside=outside, n=n)
            radii = np.minimum(moved.radii, 1.2 * found) if d <= 12 else np.full(k, found)
            moved = replace(moved, radii=radii)
        share = split.steps.last() if last else split.steps.share(part)
        moved = refine(curator, moved, share, "pooled" if d > 24 else "each")
    return moved


def _in_span(curator: Curator, moved: Clusters, split: BudgetSplit) -> Clusters:
    """Clipped steps among the centres: in as many dimensions as they span there is less noise."""
    if not split.span:
        return moved
    points = moved.centers
    middle = points.mean(axis=0)
    directions = np.linalg.svd(points - middle, full_matrices=False)[2][: max(1, len(points) - 1)]
    longest = 2 * REACH * math.sqrt(points.shape[1])
    projection = projection_of(directions, middle, REACH / longest)
    seen, start = curator.view(projection), projection.to_view(points)
    inside = Clusters(start, moved.sizes, moved.radii * REACH / longest)
    for part in split.span:
        inside = refine(seen, inside, split.steps.share(part))
    shift = projection.from_view(inside.centers) - projection.from_view(start)
    return replace(moved, centers=np.clip(points + shift, -REACH, REACH))


def _finer(split: BudgetSplit, k: int, n: float, n_features: int) -> int:
    """How many clusters to begin with."""
    if not split.inside:
        return k
    noise = _ROWS_PER_NOISE * math.sqrt(n_features) * split.steps.noise(split.inside[0], n_features)
    return k * next((o for o in _FINER if n / (o * k) > noise), 1)
