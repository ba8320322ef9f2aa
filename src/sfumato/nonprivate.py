"""The owner's tools: they read rows and promise nothing.

Everything here computes exact numbers from raw rows, for the person who holds them: to judge a
private model, to compare methods, to write a paper. None of it may be published about data that
must stay private.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import metrics

from sfumato._base.types import Floats, Ints
from sfumato._lattice.box import Box

_BLOCK = 65_536


def labels(X: ArrayLike, centers: ArrayLike, *, bounds: Any = None) -> Ints:  # noqa: ANN401
    """Return the nearest centre of every row; with `bounds`, near in the cube they span."""
    nearest, _ = _nearest(X, centers, bounds)
    return nearest


def inertia(X: ArrayLike, centers: ArrayLike, *, bounds: Any = None) -> float:  # noqa: ANN401
    """Return the sum of squared distances to the nearest centre."""
    _, squared = _nearest(X, centers, bounds)
    return float(squared.sum())


def nicv(X: ArrayLike, centers: ArrayLike, *, bounds: Any = None) -> float:  # noqa: ANN401
    """Return the normalised intra-cluster variance: the inertia per row (Su et al. 2015, §3)."""
    _, squared = _nearest(X, centers, bounds)
    return float(squared.mean())


def adjusted_rand(expected: ArrayLike, found: ArrayLike) -> float:
    """Return the adjusted Rand index of two labellings."""
    return float(metrics.adjusted_rand_score(expected, found))


def adjusted_mutual_information(expected: ArrayLike, found: ArrayLike) -> float:
    """Return the adjusted mutual information of two labellings."""
    return float(metrics.adjusted_mutual_info_score(expected, found))


def normalized_mutual_information(expected: ArrayLike, found: ArrayLike) -> float:
    """Return the normalised mutual information of two labellings."""
    return float(metrics.normalized_mutual_info_score(expected, found))


def silhouette(
    X: ArrayLike,
    found: ArrayLike,
    *,
    sample_size: int | None = None,
    random_state: int | None = None,
) -> float:
    """Return the mean silhouette coefficient, of a random sample of rows if a size is given."""
    return float(
        metrics.silhouette_score(X, found, sample_size=sample_size, random_state=random_state)
    )


def calinski_harabasz(X: ArrayLike, found: ArrayLike) -> float:
    """Return the Calinski–Harabasz score: dispersion between clusters over that within."""
    return float(metrics.calinski_harabasz_score(X, found))


def davies_bouldin(X: ArrayLike, found: ArrayLike) -> float:
    """Return the Davies–Bouldin score: how alike each cluster is to its most alike one."""
    return float(metrics.davies_bouldin_score(X, found))


def clusters_with_members(
    X: ArrayLike,
    centers: ArrayLike,
    *,
    bounds: Any = None,  # noqa: ANN401
) -> int:
    """Return NCM, the number of centres that some row is nearest to (Sukpisit et al. 2019)."""
    return len(np.unique(labels(X, centers, bounds=bounds)))


def centroid_index(centers: ArrayLike, reference: ArrayLike) -> int:
    """Return how many clusters are misplaced (Fränti, Rezaei, Zhao 2014): 0 is a perfect match.

    Every centre points to its nearest reference centre; the references that nobody points to are
    counted, in both directions, and the larger count is returned.
    """
    ours, theirs = np.asarray(centers, dtype=float), np.asarray(reference, dtype=float)
    orphans = [
        len(to) - len(np.unique(labels(of, to))) for of, to in ((ours, theirs), (theirs, ours))
    ]
    return max(orphans)


def _nearest(X: ArrayLike, centers: ArrayLike, bounds: Any) -> tuple[Ints, Floats]:  # noqa: ANN401
    rows, points = np.asarray(X), np.asarray(centers, dtype=np.float64)
    if rows.ndim != 2 or points.ndim != 2 or rows.shape[1] != points.shape[1]:
        raise ValueError(
            "rows and centres must be tables with the same number of columns, "
            f"got shapes {rows.shape} and {points.shape}"
        )
    box = None if bounds is None else Box.of(bounds, rows.shape[1])
    if box is not None:
        points = box.to_cube(points)
    nearest = np.empty(len(rows), dtype=np.int64)
    squared = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        block = block if box is None else box.to_cube(block)
        distances = metrics.pairwise.euclidean_distances(block, points, squared=True)
        part = slice(start, start + len(block))
        nearest[part] = distances.argmin(axis=1)
        squared[part] = ((block - points[nearest[part]]) ** 2).sum(axis=1)
    return nearest, squared
