"""Steps of `auto` in all columns: the radii they are clipped at, and where they start from.

Points and centres are (k, d), radii (k,), in lattice steps.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats, Mask, Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato.methods._auto.budget import MIDDLE, BudgetSplit
from sfumato.methods._auto.levels import n_numbers
from sfumato.methods._auto.mixed import refine_counts, with_distributions
from sfumato.methods._auto.refine import (
    MEANS,
    Aim,
    Clusters,
    Shrink,
    radius_around,
    radius_of_each,
    refine,
)
from sfumato.methods._base import from_view, projection_of, to_view

# Rows × ε of a cluster at which its own radius stands out from noise, and its rows left outside.
_TELLS_EACH = 30
_OUTSIDE_EACH = 0.05

# Numbers of a row may lie further from those of its own centre than from the nearest.
_BEYOND = 1.2


def _outside(split: BudgetSplit, noise: float = 0.0, least: float = MEANS.outside) -> float:
    """The part of rows that the radius of a full step leaves outside."""
    fit = split.steps.fit
    return min(0.5, max(least, noise, 16 / (fit.per_row(split.radius) * fit.n)))


def in_full(curator: Curator, moved: Clusters, split: BudgetSplit, aim: Aim, rng: Rng) -> Clusters:
    """Clipped steps in all columns, each within radii found for it.

    Centres that were put elsewhere are as many steps behind the others, and so are their radii.
    """
    (k, d), fit = moved.centers.shape, split.steps.fit
    late, radii = np.zeros(k, dtype=np.int64), []
    for i, part in enumerate(split.full):
        last = i == len(split.full) - 1
        if i and last and split.span:
            moved = _in_span(curator, moved, split)
        if split.asks_radius:
            moved = replace(moved, radii=_radii(curator, moved, split, part, aim, last=last))
        radii.append(moved.radii)
        reach = np.array(radii)[np.maximum(i - late, 0), np.arange(k)]
        share = split.steps.last() if last else split.steps.share(part)
        pooled: Shrink = "pooled" if d > MIDDLE else "each"
        moved = refine(curator, replace(moved, radii=reach), share, pooled)
        if split.from_afar and not last:
            moved, away = divided(moved, rng)
            late += away
        moved = with_distributions(moved, fit.task)
    return moved


def _radii(
    curator: Curator, moved: Clusters, split: BudgetSplit, part: float, aim: Aim, *, last: bool
) -> Floats:
    """The radii (k,) of a step: of each cluster by itself where its rows stand out from noise."""
    (k, d), fit = moved.centers.shape, split.steps.fit
    share = split.radius_share(last=last)
    epsilon = fit.per_row(float(share.amount))
    if aim.means and d <= MIDDLE and fit.n / k * epsilon > _TELLS_EACH:
        rows = np.maximum(moved.sizes, fit.n / k / 8)
        # Of a small cluster: a radius that is too wide costs less than one that is too narrow.
        outside = np.maximum(_OUTSIDE_EACH * rows, np.minimum(6 / epsilon, 0.3 * rows))
        least = float(moved.radii.min()) / 4
        return radius_of_each(curator, moved.centers, share, outside, least)
    noise = k * math.sqrt(d) * split.steps.noise(part, d) / fit.n
    outside_all = _outside(split, noise, aim.outside)
    found = radius_around(curator, moved.centers, share, outside=outside_all, n=fit.n)
    return np.minimum(moved.radii, 1.2 * found) if d <= 12 else np.full(k, found)


def by_counts(curator: Curator, moved: Clusters, split: BudgetSplit) -> Clusters:
    """Steps in all columns of mixed rows: levels are counted, numbers clipped at a radius."""
    fit = split.steps.fit
    (k, d), q = moved.centers.shape, n_numbers(fit.task)
    numbers = Projection(np.eye(max(q, 1), d, dtype=np.int64), np.zeros(d, dtype=np.int64))
    for i, part in enumerate(split.full):
        last = i == len(split.full) - 1
        if q and split.asks_radius:
            share, seen = split.radius_share(last=last), curator.view(numbers)
            outside = _outside(split)
            found = radius_around(seen, moved.centers[:, :q], share, outside=outside, n=fit.n)
            moved = replace(moved, radii=np.full(k, _BEYOND * found))
        share = split.steps.last() if last else split.steps.share(part)
        moved = refine_counts(curator, moved, share, fit.task, fit.rows)
    return moved


def _in_span(curator: Curator, moved: Clusters, split: BudgetSplit) -> Clusters:
    """Clipped steps among the centres: in as many dimensions as they span there is less noise."""
    points = moved.centers
    middle = points.mean(axis=0)
    directions = np.linalg.svd(points - middle, full_matrices=False)[2][: max(1, len(points) - 1)]
    longest = 2 * REACH * math.sqrt(points.shape[1])
    projection = projection_of(directions, middle, REACH / longest)
    seen, start = curator.view(projection), to_view(projection, points)
    inside = replace(moved, centers=start, radii=moved.radii * REACH / longest)
    for part in split.span:
        inside = refine(seen, inside, split.steps.share(part))
    shift = from_view(projection, inside.centers) - from_view(projection, start)
    return replace(moved, centers=np.clip(points + shift, -REACH, REACH))


# A centre is empty with fewer rows than this part of the mean, and stands for two with more.
_EMPTY, _DOUBLE = 0.45, 1.6

# How far the centres of a pair are put apart, as a part of the radius.
_APART = 0.01


class Divided(NamedTuple):
    """Clusters of which some were put elsewhere, and which those are (k,)."""

    found: Clusters
    moved: Mask


def divided(found: Clusters, rng: Rng) -> Divided:
    """Put empty centres beside those that have the rows of two clusters, by the noisy sizes.

    The rows of such a pair are told apart by a random direction at first: its next step must reach
    as far as the last one did.
    """
    centers, sizes = found.centers.copy(), found.sizes.copy()
    moved, rows = np.zeros(len(sizes), dtype=np.bool_), float(sizes.mean())
    for empty in np.argsort(sizes, kind="stable"):
        full = int(np.argmax(sizes))
        if sizes[empty] > _EMPTY * rows or sizes[full] < _DOUBLE * rows:
            break
        way = rng.normal(size=centers.shape[1])
        way *= _APART * found.radii[full] / np.linalg.norm(way)
        centers[empty], centers[full] = centers[full] - way, centers[full] + way
        sizes[[empty, full]] = sizes[full] / 2
        moved[[empty, full]] = True
    apart = replace(found, centers=np.clip(centers, -REACH, REACH), sizes=sizes)
    return Divided(apart, moved)
