"""Mixtures of normal distributions: densities, and EM on released blobs.

A blob stands for the rows of a cell: its weight, its mean and its covariance. Points are drawn from
every blob with exactly these moments, and EM is run on them: all of it is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from sfumato._base.types import Floats, Ints, Rng
from sfumato._synopsis.cells import Cells
from sfumato._synopsis.kmeans import nearest, weighted_kmeans

CovarianceType = Literal["full", "diag", "spherical"]

_STARTS = 3
_ROUNDS = 200
_TOLERANCE = 1e-5

# No component is narrower than this part of all points together, as a variance.
_NARROWEST = 1e-6
_LIGHTEST = 1e-9


def check_covariance_type(kind: object) -> None:
    """Refuse a word that is not a type of covariances."""
    if kind not in get_args(CovarianceType):
        raise ValueError(
            f"covariance_type must be one of {', '.join(get_args(CovarianceType))}, got {kind!r}"
        )


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normal distributions: weights (k,) that add up to 1, means (k, d), covariances (k, d, d)."""

    weights: Floats
    means: Floats
    covariances: Floats

    def moved(self, matrix: Floats, offset: Floats) -> Mixture:
        """The same after x → matrix @ x + offset."""
        spread = matrix @ self.covariances @ matrix.T
        spread = (spread + np.swapaxes(spread, 1, 2)) / 2
        return Mixture(self.weights, self.means @ matrix.T + offset, spread)

    def log_densities(self, points: Floats) -> Floats:
        """Log of weight × density of every component, (n, k), over the finite cells of each point.

        A point without any has density 1.
        """
        present = np.isfinite(points)
        if present.all():
            return self._over(points, slice(None))
        found = np.empty((len(points), len(self.weights)))
        patterns, own = np.unique(present, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            chosen = own.reshape(-1) == i
            columns = np.flatnonzero(pattern)
            found[chosen] = self._over(points[chosen][:, columns], columns)
        return found

    def _over(self, points: Floats, columns: Ints | slice) -> Floats:
        found = np.empty((len(points), len(self.weights)))
        log_weights = np.log(np.maximum(self.weights, 1e-300))
        for j, (mean, spread) in enumerate(zip(self.means, self.covariances, strict=True)):
            root = np.linalg.cholesky(spread[columns][:, columns])
            scaled = np.linalg.solve(root, (points - mean[columns]).T)
            log_det = np.log(np.diag(root)).sum() + points.shape[1] / 2 * math.log(2 * math.pi)
            found[:, j] = log_weights[j] - np.square(scaled).sum(axis=0) / 2 - log_det
        return found

    def sample(self, n: int, rng: Rng) -> tuple[Floats, Ints]:
        """Draw n points (n, d), component by component, and the component of each (n,)."""
        each = rng.multinomial(n, self.weights / self.weights.sum())
        roots = np.linalg.cholesky(self.covariances)
        parts = [
            mean + rng.normal(size=(m, len(mean))) @ root.T
            for m, mean, root in zip(each, self.means, roots, strict=True)
        ]
        return np.vstack(parts), np.repeat(np.arange(len(each)), each)


def log_sums(values: Floats) -> Floats:
    """The log of Σ exp of every line (n, k): (n,)."""
    top = values.max(axis=1)
    sums: Floats = top + np.log(np.exp(values - top[:, None]).sum(axis=1))
    return sums


class Points(NamedTuple):
    """Points (n, d) with weights (n,)."""

    places: Floats
    weights: Floats


def points_of(blobs: Mixture, n: int, rng: Rng) -> Points:
    """About n points whose moments, blob by blob, are exactly those of the blobs."""
    d = blobs.means.shape[1]
    each = np.maximum(np.rint(n * blobs.weights), 2 * d + 2).astype(np.int64)
    roots = np.linalg.cholesky(blobs.covariances)
    places = []
    for m, mean, root in zip(each, blobs.means, roots, strict=True):
        drawn = rng.normal(size=(m, d))
        drawn -= drawn.mean(axis=0)
        own = np.linalg.cholesky(drawn.T @ drawn / m)
        places.append(mean + np.linalg.solve(own, drawn.T).T @ root.T)
    return Points(np.vstack(places), np.repeat(blobs.weights / each, each))


def mixture_of_cells(
    cells: Cells, weights: Floats, k: int, kind: CovarianceType, rng: Rng
) -> Mixture:
    """The most likely mixture of rows that lie anywhere in their cells, in the cube.

    `weights` (n_cells,) are at least 0; without any, all cells weigh the same.
    """
    if not weights.any():
        weights = np.ones(len(weights))
    heavy = np.flatnonzero(weights > 0)
    middles, widths = cells[:][heavy], np.broadcast_to(cells.widths, (len(cells), cells.n_features))
    half = widths[heavy] / 2
    # Two points on each axis of a cell have its variance, width² / 12.
    each = len(middles[0]) * 2
    places = np.repeat(middles[:, None], each, axis=1)
    shift = np.sqrt(each / 2 / 3) * half
    for axis in range(each // 2):
        places[:, 2 * axis, axis] += shift[:, axis]
        places[:, 2 * axis + 1, axis] -= shift[:, axis]
    points = Points(places.reshape(-1, middles.shape[1]), np.repeat(weights[heavy] / each, each))
    return fit_mixture(points, k, kind, rng)


def fit_mixture(
    points: Points, k: int, kind: CovarianceType, rng: Rng, start: Mixture | None = None
) -> Mixture:
    """The most likely mixture of k components of some EM searches, one of them from `start`."""
    middle = np.average(points.places, axis=0, weights=points.weights)
    spread = np.average(np.square(points.places - middle), axis=0, weights=points.weights)
    least = _NARROWEST * np.diag(np.maximum(spread, 1e-12))
    if kind == "spherical":
        least = np.eye(len(middle)) * np.trace(least) / len(middle)
    best, likelihood = None, -math.inf
    for i in range(_STARTS):
        first = start if i == 0 and start is not None else _start(points, k, kind, least, rng)
        found, reached = _em(points, first, kind, least)
        if best is None or reached > likelihood:
            best, likelihood = found, reached
    if best is None:
        raise ValueError("EM needs a start")
    return best


def _start(points: Points, k: int, kind: CovarianceType, least: Floats, rng: Rng) -> Mixture:
    centers, _ = weighted_kmeans(*points, k, rng, n_starts=1, patience=3)
    own, _ = nearest(points.places, centers)
    shares = (own[:, None] == np.arange(k)) * points.weights[:, None]
    return _updated(points, shares, kind, least)


def _em(
    points: Points, mixture: Mixture, kind: CovarianceType, least: Floats
) -> tuple[Mixture, float]:
    """EM until the mean log-likelihood hardly grows; returns it too."""
    total, before = points.weights.sum(), -math.inf
    for _ in range(_ROUNDS):
        joint = mixture.log_densities(points.places)
        log_sum = log_sums(joint)
        reached = float(points.weights @ log_sum / total)
        if reached - before < _TOLERANCE:
            break
        before = reached
        shares = np.exp(joint - log_sum[:, None]) * points.weights[:, None]
        mixture = _updated(points, shares, kind, least)
    return mixture, reached


def _updated(points: Points, shares: Floats, kind: CovarianceType, least: Floats) -> Mixture:
    """The mixture of weighted moments; `shares` (n, k) are weights of points in components."""
    shares = shares + _LIGHTEST * points.weights[:, None]
    held = shares.sum(axis=0)
    means = shares.T @ points.places / held[:, None]
    covariances = np.empty((len(held), *least.shape))
    for j, mean in enumerate(means):
        apart = points.places - mean
        covariances[j] = of_type((apart.T * shares[:, j]) @ apart / held[j], kind) + least
    return Mixture(held / held.sum(), means, covariances)


def of_type(covariance: Floats, kind: CovarianceType) -> Floats:
    """The nearest covariance (d, d) of this type."""
    if kind == "full":
        return covariance
    diagonal = np.diag(covariance)
    if kind == "spherical":
        diagonal = np.full(len(diagonal), diagonal.mean())
    return np.diag(diagonal)
