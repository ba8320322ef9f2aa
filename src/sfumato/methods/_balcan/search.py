"""k of the candidates: by private swaps, or by clustering what their noisy weights say."""

from __future__ import annotations

from math import sqrt

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Ints
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import Cost, Swaps
from sfumato._core.queries.counts import Nearest
from sfumato._lattice.box import REACH
from sfumato._synopsis.denoise import denoise_leaves
from sfumato._synopsis.kmeans import Weighted, assign, lloyd, weighted_kmeans
from sfumato.methods._balcan.config import Recipe
from sfumato.methods._balcan.partition import Cutting, into_ball

# Swaps that are scored at once; of more candidates a random part is taken.
_MAX_SWAPS = 2**20

# Lloyd steps among the cubes.
_STEPS = 20


def pooled(cuts: list[Cutting], k: int, deepest: bool) -> Floats:
    """The candidates of all partitions: at least k, filled up with the fullest cubes not cut."""
    found = np.concatenate([cut.candidates(k if deepest else None) for cut in cuts])
    if len(found) < k:
        leaves = np.concatenate([cut.leaves for cut in cuts])
        counts = np.concatenate([cut.counts for cut in cuts])
        fullest = np.argsort(-counts, kind="stable")[: k - len(found)]
        found = np.concatenate([found, leaves[fullest]])
    points = np.unique(into_ball(found), axis=0)
    # Cubes of several partitions may share their middle.
    return points if len(points) >= k else points[np.arange(k) % len(points)]


def by_swaps(
    view: Curator,
    points: Floats,
    k: int,
    share: Share,
    swaps: int,
    recipe: Recipe,
    rng: np.random.Generator,
) -> Floats:
    """Start at random, swap one centre at a time for less cost, and choose among all sets seen.

    Edler 2023, Algorithms 4 and 11. points: (m, p), lattice steps of the view; returns (k, p).
    Without candidates to swap with, the share stays unspent.
    """
    chosen = rng.choice(len(points), k, replace=False)
    if len(points) == k:
        return points[chosen]
    shares = share.evenly(swaps + 1 if swaps > 1 else 1)
    seen: list[Floats] = []
    for part in shares[:swaps]:
        others = _others(len(points), chosen, recipe.subset, rng)
        query = Swaps(points[chosen].astype(np.int64), points[others].astype(np.int64))
        (pick,) = view.choose(query, share=part, law=recipe.law)
        chosen = chosen.copy()
        chosen[pick // len(others)] = others[pick % len(others)]
        seen.append(points[chosen])
    if len(seen) == 1:
        return seen[0]
    (best,) = view.choose(Cost(np.array(seen).astype(np.int64)), share=shares[-1], law=recipe.law)
    return seen[best]


def _others(m: int, chosen: Ints, subset: int | None, rng: np.random.Generator) -> Ints:
    """The candidates that a swap may take in: all that are not centres, or a random part."""
    others = np.setdiff1d(np.arange(m), chosen)
    limit = min(subset or m, max(1, _MAX_SWAPS // len(chosen)))
    if len(others) <= limit:
        return others
    return np.sort(rng.choice(others, limit, replace=False))


def by_weights(
    view: Curator, points: Floats, k: int, share: Share, rng: np.random.Generator
) -> Floats:
    """Estimate how many rows are nearest to each candidate, and cluster the candidates by that.

    points: (m, p), lattice steps of the view; returns (k, p).
    """
    answer = view.counts(Nearest(points.astype(np.int64)), share=share)
    weights = denoise_leaves(answer.values, np.ones(len(points)), answer.noise_std / sqrt(2))
    centers, _ = weighted_kmeans(points / REACH, weights, k, rng)
    return np.rint(centers * REACH)


def by_cubes(
    cuts: list[Cutting], k: int, rng: np.random.Generator, start: Floats | None = None
) -> Floats:
    """Cluster the cubes that were counted but not cut, by those counts: post-processing.

    With a start (k, p), lattice steps of the view, Lloyd steps begin there.
    """
    points = into_ball(np.concatenate([cut.leaves for cut in cuts])) / REACH
    weights = np.concatenate(
        [denoise_leaves(cut.counts, cut.volumes, cut.noise_std / sqrt(2)) for cut in cuts]
    )
    held = weights > 0
    if start is None or not held.any():
        found, _ = weighted_kmeans(points, weights, k, rng)
    else:
        mass = Weighted.of(points[held], weights[held])
        found = lloyd(mass, assign(mass, start / REACH), _STEPS).centers
    return np.rint(found * REACH)
