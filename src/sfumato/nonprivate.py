"""The owner's tools: they read rows and promise nothing.

Everything here computes exact numbers from raw rows, for the person who holds them: to judge a
private model, to compare methods, to write a paper. None of it may be published about data that
must stay private. The scores of labellings are scikit-learn's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_mutual_info_score as adjusted_mutual_information
from sklearn.metrics import adjusted_rand_score as adjusted_rand
from sklearn.metrics import calinski_harabasz_score as calinski_harabasz
from sklearn.metrics import davies_bouldin_score as davies_bouldin
from sklearn.metrics import normalized_mutual_info_score as normalized_mutual_information
from sklearn.metrics import silhouette_score as silhouette
from sklearn.metrics.pairwise import euclidean_distances

from sfumato._base.types import Floats, Ints
from sfumato._lattice.box import Box

__all__ = [
    "adjusted_mutual_information",
    "adjusted_rand",
    "calinski_harabasz",
    "centroid_index",
    "clusters_with_members",
    "davies_bouldin",
    "inertia",
    "labels",
    "nicv",
    "normalized_mutual_information",
    "silhouette",
]

_BLOCK = 65_536


def labels(X: ArrayLike, centers: ArrayLike, *, bounds: Any = None) -> Ints:  # noqa: ANN401
    """Return the nearest centre of every row: (n,), indices.

    X: (n, d), centers: (k, d), in the same units; with `bounds`, distances are those of the cube
    [−1, 1]^d that the bounds span.
    """
    return _nearest(X, centers, bounds)[0]


def inertia(X: ArrayLike, centers: ArrayLike, *, bounds: Any = None) -> float:  # noqa: ANN401
    """Return the sum of squared distances to the nearest centre; arguments as in `labels`."""
    return float(_nearest(X, centers, bounds)[1].sum())


def nicv(X: ArrayLike, centers: ArrayLike, *, bounds: Any = None) -> float:  # noqa: ANN401
    """Return the normalised intra-cluster variance: the inertia per row (Su et al. 2015, §3)."""
    return float(_nearest(X, centers, bounds)[1].mean())


def clusters_with_members(X: ArrayLike, centers: ArrayLike, *, bounds: Any = None) -> int:  # noqa: ANN401
    """Return NCM, the number of centres that some row is nearest to (Sukpisit et al. 2019)."""
    return len(np.unique(labels(X, centers, bounds=bounds)))


def centroid_index(centers: ArrayLike, reference: ArrayLike) -> int:
    """Return how many clusters are misplaced (Fränti, Rezaei, Zhao 2014): 0 is a perfect match.

    centers: (k, d), reference: (m, d). Every centre points to its nearest reference centre; the
    references that none points to are counted, in both directions, and the larger count is
    returned.
    """
    ours, theirs = np.asarray(centers, dtype=float), np.asarray(reference, dtype=float)
    return max(
        len(to) - len(np.unique(labels(of, to))) for of, to in ((ours, theirs), (theirs, ours))
    )


def _nearest(X: ArrayLike, centers: ArrayLike, bounds: Any) -> tuple[Ints, Floats]:  # noqa: ANN401
    """The nearest centre of every row and the squared distance to it, each (n,)."""
    rows, points = np.asarray(X), np.asarray(centers, dtype=np.float64)
    if rows.ndim != 2 or points.ndim != 2 or rows.shape[1] != points.shape[1]:
        raise ValueError(
            "rows and centres must be tables with the same number of columns, "
            f"got shapes {rows.shape} and {points.shape}"
        )
    box = None if bounds is None else Box.of(bounds, rows.shape[1])
    points = points if box is None else box.to_cube(points)
    nearest, squared = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        block = block if box is None else box.to_cube(block)
        part = slice(start, start + len(block))
        nearest[part] = euclidean_distances(block, points, squared=True).argmin(axis=1)
        squared[part] = ((block - points[nearest[part]]) ** 2).sum(axis=1)
    return nearest, squared
