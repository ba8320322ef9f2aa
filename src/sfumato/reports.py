"""What a server knows about the noise of reports, and k-means centres with it taken off."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from sfumato.box import Box, Floats
from sfumato.curator.local_laws import NDLaplaceLaw

_STEPS = 50
_CLOSE = 0.1
# Where reports scatter around their centres much more than the noise explains, clusters are wide,
# and a cluster is no longer one place.
_WIDE = 1.3


def noise_widths(perturbation: Any) -> Floats:  # noqa: ANN401
    """Return w such that reports have density ∝ exp(−‖(z − x) / w‖), one value per column.

    Only the noise of nD-Laplace is known in this form; any other mechanism is refused.
    """
    if not has_known_noise(perturbation):
        raise TypeError(
            f"the noise of {type(perturbation).__name__} is not known as a density around each "
            "row: a fitted NDLaplace would work"
        )
    plan = perturbation.plan_
    widths: Floats = plan.lattice.steps * float(plan.law.scale)
    return widths


def has_known_noise(perturbation: Any) -> bool:  # noqa: ANN401
    """Whether reports are rows plus nD-Laplace noise, remapped onto no other points."""
    plan = getattr(perturbation, "plan_", None)
    remapped = getattr(perturbation, "remap", None) is not None
    return isinstance(getattr(plan, "law", None), NDLaplaceLaw) and not remapped


def without_noise(reports: Floats, centers: Floats, widths: Floats) -> Floats:
    """Move k-means centres of reports to where rows would have to be to make such reports.

    The rows of a cluster are taken to be at one place: then reports are a mixture of nD-Laplace
    noise around k places, whose likelihood is climbed from the centres of k-means by expectation
    and maximisation (the latter a step towards the weighted geometric median). Clusters much wider
    than the noise are no places, and their centres are returned as they are.
    """
    points, places = reports / widths, centers / widths
    squared = euclidean_distances(points, places, squared=True)
    d = points.shape[1]
    # A coordinate of the noise has variance d + 1 in units of its width.
    if squared.min(axis=1).mean() / d > _WIDE * (d + 1):
        return centers
    low, high = points.min(axis=0), points.max(axis=0)
    shares = np.full(len(places), 1 / len(places))
    for _ in range(_STEPS):
        distances = euclidean_distances(points, places)
        parts = _posterior(np.log(np.maximum(shares, 1e-300)) - distances)
        shares = parts.mean(axis=0)
        weights = parts / np.maximum(distances, _CLOSE)
        sums = np.maximum(weights.sum(axis=0), 1e-300)[:, None]
        places = np.clip(weights.T @ points / sums, low, high)
    moved: Floats = places * widths
    return moved


def sampled(
    kept: Floats, batch: Floats, seen: int, size: int, *, rng: np.random.Generator
) -> Floats:
    """An even sample of `size` of all that was seen: Vitter 1985, algorithm R, batch by batch."""
    if len(kept) > size:
        kept = kept[rng.choice(len(kept), size, replace=False)]
    room = max(0, size - len(kept))
    pool, rest = np.concatenate([kept, batch[:room]]), batch[room:]
    places = rng.integers(0, seen + min(room, len(batch)) + 1 + np.arange(len(rest)))
    chosen = places < size
    # Of two reports for one place the later one stays, as if they had come one by one.
    pool[places[chosen]] = rest[chosen]
    return pool


def move(kmeans: KMeans, points: Floats, centers: Floats) -> None:
    """Give a fitted k-means other centres."""
    squared = euclidean_distances(points, centers, squared=True)
    kmeans.cluster_centers_ = centers
    kmeans.labels_ = squared.argmin(axis=1).astype(np.int32)
    kmeans.inertia_ = float(squared.min(axis=1).sum())


def centered(rows: Floats, bounds: Any) -> Floats:  # noqa: ANN401
    """Put cells that are not finite numbers at the centre of their column."""
    middle = Box.of(bounds, rows.shape[1]).middle
    return np.where(np.isfinite(rows), rows, middle)


def _posterior(logs: Floats) -> Floats:
    parts = np.exp(logs - logs.max(axis=1, keepdims=True))
    posterior: Floats = parts / parts.sum(axis=1, keepdims=True)
    return posterior
