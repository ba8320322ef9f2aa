"""k-means with more centres than can be compared to all points: starts by cuts, nearest by a tree.

Only released numbers come here.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from scipy.spatial import cKDTree

from sfumato._base.types import Floats, Ints

MANY = 1000
"""Up to so many centres all pairs are compared, several starts are tried, and centres swapped."""

STEPS = 12
"""Lloyd steps from starts that lie close to the end already."""

# In more columns a tree visits most centres, and one product of matrices is faster.
_FLAT = 5

# Points that are looked up at a time.
_AT_A_TIME = 2**20


def uses_tree(k: int, n_features: int) -> bool:
    """Whether the nearest of k centres is found by a tree."""
    return k > MANY and n_features <= _FLAT


def nearest_by_tree(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """The index of the nearest of centres (k, d) to points (n, d), and its squared distance."""
    tree = cKDTree(centers)
    own, squares = np.empty(len(points), dtype=np.int64), np.empty(len(points))
    for start in range(0, len(points), _AT_A_TIME):
        part = slice(start, start + _AT_A_TIME)
        squares[part], own[part] = tree.query(points[part])
    return own, np.square(squares, out=squares)


def starts_by_cuts(points: Floats, weights: Floats, k: int) -> Floats:
    """Cut points (n, d) with weights (n,) into k parts; returns the mean of each, (k, d).

    The part with the largest Σ w·|x − mean|² is cut at its mean, across the axis in which it is
    widest (Var-Part: Su, Dy. In search of deterministic methods for initializing k-means and
    Gaussian mixture clustering. Intelligent Data Analysis 2007). Where no part can be cut any
    more, means are repeated.
    """
    parts = [_Part(points, weights, np.flatnonzero(weights > 0))]
    waiting, means = [(-parts[0].cost, 0)], {0: parts[0].mean}
    heapify(waiting)
    while len(means) < k and waiting:
        _, index = heappop(waiting)
        halves = parts[index].halves(points)
        if halves is None:
            continue
        parts[index] = _Part(points, weights, halves[0])
        parts.append(_Part(points, weights, halves[1]))
        for i in (index, len(parts) - 1):
            means[i] = parts[i].mean
            heappush(waiting, (-parts[i].cost, i))
    found = np.array(list(means.values()))
    return found[np.arange(k) % len(found)]


class _Part:
    """Some of the points, by indices (m,): their mean, and how they are spread about it."""

    def __init__(self, points: Floats, weights: Floats, indices: Ints) -> None:
        held, rows = weights[indices], points[indices]
        self._indices = indices
        self.mean: Floats = held @ rows / held.sum()
        spread = held @ np.square(rows - self.mean)
        self._axis = int(spread.argmax())
        self.cost = float(spread.sum())

    def halves(self, points: Floats) -> tuple[Ints, Ints] | None:
        """Those below the mean and the others; None if these are not two parts."""
        below = points[self._indices, self._axis] < self.mean[self._axis]
        if not below.any() or below.all():
            return None
        return self._indices[below], self._indices[~below]
