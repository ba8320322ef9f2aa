"""Trees of clusters: Ward's method on small clusters that were released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato._base.types import Floats, Ints, Rng
from sfumato._base.validation import check_whole
from sfumato._synopsis.kmeans import nearest, weighted_kmeans


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """Small clusters, and the order in which they join.

    `leaves` (m, d) are their centres, in the user's units, `weights` (m,) their noisy sizes.
    `linkage` (m − 1, 4) is as SciPy has it: which two join, at which height, and of how many leaves
    the new cluster is; `scipy.cluster.hierarchy.dendrogram(linkage)` draws it. Heights are
    √(2·a·b/(a + b)) times the distance of two clusters of weights a and b, in the cube that the
    bounds span: Ward's distance on rows.
    """

    leaves: Floats
    weights: Floats
    linkage: Floats

    def __post_init__(self) -> None:
        if not len(self.leaves) == len(self.weights) == len(self.linkage) + 1:
            raise ValueError("a tree of m leaves has m weights and m − 1 joins")

    def __len__(self) -> int:
        return len(self.leaves)

    def cut(self, k: int) -> Ints:
        """Return the cluster of every leaf, (m,), where there are k: the heaviest is cluster 0."""
        if check_whole(k, "k") > len(self):
            raise ValueError(f"a tree of {len(self)} leaves has at most as many clusters, got {k}")
        names = list(range(2 * len(self) - 1))
        for new, (one, other) in enumerate(self.linkage[: len(self) - k, :2].astype(int).tolist()):
            names[one] = names[other] = len(self) + new
        # A later join has a larger number: from above, every name is that of its root already.
        for i in reversed(range(len(names))):
            names[i] = names[names[i]]
        found, labels = np.unique(names[: len(self)], return_inverse=True)
        order = np.argsort(-np.bincount(labels, self.weights, len(found)), kind="stable")
        places = np.empty(len(found), dtype=np.int64)
        places[order] = np.arange(len(found))
        return places[labels]


def gathered(points: Floats, weights: Floats, most: int, rng: Rng) -> tuple[Floats, Floats]:
    """At most so many small clusters of points (n, d) with weights (n,) of at least 0.

    Returns their means and weights, all above 0; without any weight all points weigh the same.
    """
    if not weights.any():
        weights = np.ones(len(weights))
    points, weights = points[weights > 0], weights[weights > 0]
    if len(points) <= most:
        return points, weights
    centers, _ = weighted_kmeans(points, weights, most, rng, n_starts=1)
    own, _ = nearest(points, centers)
    sums = np.bincount(own, weights, most).astype(np.float64)
    full = sums > 0
    axes = [np.bincount(own, weights * x, most)[full] / sums[full] for x in points.T]
    return np.stack(axes, axis=1), sums[full]


def ward_linkage(points: Floats, weights: Floats) -> Floats:
    """Join weighted points (m, d), two nearest clusters at a time: (m − 1, 4) as SciPy has it.

    By chains of nearest neighbours (Murtagh 1983), so in time m²; weights (m,) are above 0.
    """
    centers, masses = points.astype(np.float64), weights.astype(np.float64)
    alive = np.ones(len(points), dtype=bool)
    chain: list[int] = []
    joins: list[tuple[float, int, int]] = []
    while len(joins) < len(points) - 1:
        if not chain:
            chain.append(int(alive.argmax()))
        height, near = _nearest(chain, centers, masses, alive)
        if len(chain) < 2 or near != chain[-2]:
            chain.append(near)
            continue
        one, other = chain.pop(), chain.pop()
        joins.append((height, one, other))
        both = masses[one] + masses[other]
        centers[other] += (centers[one] - centers[other]) * (masses[one] / both)
        masses[other], alive[one] = both, False
    return _numbered(sorted(joins, key=lambda join: join[0]), len(points))


def _nearest(chain: list[int], centers: Floats, masses: Floats, alive: Ints) -> tuple[float, int]:
    """The height at which the last cluster of a chain joins its nearest, and which that is."""
    last = chain[-1]
    squares = np.square(centers - centers[last]).sum(axis=1)
    squares *= 2 * masses * masses[last] / (masses + masses[last])
    squares[~alive] = np.inf
    squares[last] = np.inf
    near = int(squares.argmin())
    # Of equally near ones the one before in the chain, so that chains end.
    if len(chain) > 1 and squares[chain[-2]] <= squares[near]:
        near = chain[-2]
    return float(np.sqrt(squares[near])), near


def _numbered(joins: list[tuple[float, int, int]], n_leaves: int) -> Floats:
    """Joins by height, with the numbers that clusters have in SciPy: leaves, then joins."""
    parent, name, size = list(range(n_leaves)), list(range(n_leaves)), [1] * n_leaves

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    lines = []
    for number, (height, one, other) in enumerate(joins):
        a, b = root(one), root(other)
        lines.append([*sorted((name[a], name[b])), height, size[a] + size[b]])
        parent[a] = b
        name[b], size[b] = n_leaves + number, size[a] + size[b]
    return np.array(lines, dtype=np.float64).reshape(-1, 4)
