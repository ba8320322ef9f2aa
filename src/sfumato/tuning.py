"""Parameters of clusterers (k, eps, damping …) from the points that they will cluster, (n, d).

On reports of the local model or on released points all of this is post-processing and costs no
privacy. On raw rows it is for their owner: a choice made there tells about them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import DBSCAN, AffinityPropagation, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state

from sfumato._base.types import Floats, Rng
from sfumato._base.validation import check_whole
from sfumato._synopsis.curve import (
    Criterion,
    KCurve,
    best_of,
    check_criterion,
    check_range,
    gaps,
    jumps,
    stabilities,
)

_STARTS = 10
_COMPARED = 2**11
_EVEN_TABLES = 3
_DRAWS = 6
_LEAST_COST = 1e-12
DAMPINGS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def clusters(
    X: ArrayLike,
    *,
    k_range: tuple[int, int] = (2, 10),
    criterion: Criterion = "elbow",
    random_state: Any = None,  # noqa: ANN401
) -> KCurve:
    """Run k-means for every k of the range and choose one by a criterion. X: (n, d).

    The criteria are those of `Synopsis.k_curve`: "elbow" (the jump of cost^(−d/2)), "silhouette"
    "gap" and "stability", here for points without weights.
    """
    check_criterion(criterion)
    least, most = check_range(k_range)
    points = check_array(X, dtype=np.float64)
    if most >= len(points):
        raise ValueError(f"k_range must end below the number of points {len(points)}, got {most}")
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    tried = range(max(least - 1, 1), most + 1)
    solved = [_solve(points, k, rng) for k in tried]
    costs = _costs(solved, len(points))
    if criterion == "elbow":
        scores = jumps(costs, points.shape[1])
    elif criterion == "silhouette":
        scores = np.array([_silhouette(points, model.labels_, rng) for model in solved])
    elif criterion == "stability":
        scores = _stability(points, tried, rng)
    else:
        scores = gaps(costs, _even_costs(points, tried, rng))
    ks, scores = np.arange(least, most + 1), scores[least - tried[0] :]
    best = int(ks[best_of(scores, criterion)])
    return KCurve(ks, scores, costs[least - tried[0] :], criterion, best)


@dataclass(frozen=True, eq=False)
class DistanceCurve:
    """Distances to the `neighbour`-th nearest point, (n,), in descending order.

    `eps` is the distance at the index `knee`.
    """

    distances: Floats
    neighbour: int
    knee: int

    @property
    def eps(self) -> float:
        """The distance at the knee."""
        return float(self.distances[self.knee])


def k_distances(X: ArrayLike, *, neighbour: int | None = None) -> DistanceCurve:
    """Return the k-distance curve of DBSCAN (Ester et al. 1996) and its knee. X: (n, d).

    By default it is the distance to neighbour 2d − 1: DBSCAN counts a point among its own
    neighbours, so that this one makes 2d (Sander et al. 1998).
    """
    points = check_array(X, dtype=np.float64, ensure_min_samples=3)
    if neighbour is None:
        place = min(min_points(points.shape[1]), len(points)) - 1
    else:
        place = check_whole(neighbour, "neighbour")
    if place >= len(points):
        raise ValueError(f"neighbour must be below the number of points {len(points)}, got {place}")
    nearest = NearestNeighbors(n_neighbors=place).fit(points)
    distances = np.sort(nearest.kneighbors()[0][:, -1])[::-1]
    return DistanceCurve(distances, place, knee_of(distances))


def knee_of(heights: Floats) -> int:
    """Return the index at which a falling curve, (n,), is farthest below the line of its ends."""
    places = np.linspace(0, 1, len(heights))
    fall = heights[0] - heights[-1]
    if fall <= 0:
        return 0
    return int((1 - places - (heights - heights[-1]) / fall).argmax())


def min_points(n_features: int) -> int:
    """Return minPts = 2d (Sander et al. 1998)."""
    return 2 * check_whole(n_features, "n_features")


def dbscan(X: ArrayLike) -> DBSCAN:
    """Return a DBSCAN for these points, (n, d): eps at the knee of `k_distances`, minPts = 2d."""
    curve = k_distances(X)
    # Where many points are equal the distance at the knee may be 0, which DBSCAN refuses.
    eps = max(curve.eps, float(np.finfo(float).tiny))
    return DBSCAN(eps=eps, min_samples=curve.neighbour + 1)


def preference(X: ArrayLike) -> float:
    """Return the median similarity, −‖x − y‖² over all pairs (Frey, Dueck 2007). X: (n, d)."""
    return _similarities(X)[1]


def damping(X: ArrayLike, *, max_iter: int = 200) -> float:
    """Return the least of the usual damping factors at which Affinity Propagation converges.

    X: (n, d). 0.5 first, and more where the messages oscillate (Wang et al. 2007); the largest if
    it converges at none.
    """
    return float(affinity(X, max_iter=max_iter).damping)


def affinity(X: ArrayLike, *, max_iter: int = 200) -> AffinityPropagation:
    """Return an Affinity Propagation for these points: median preference, `damping`. X: (n, d)."""
    similarities, median = _similarities(X)
    settings = {"preference": median, "max_iter": max_iter, "random_state": 0}
    for factor in DAMPINGS:
        tried = AffinityPropagation(damping=factor, affinity="precomputed", **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tried.fit(similarities)
        if tried.n_iter_ < max_iter:
            break
    return AffinityPropagation(damping=factor, **settings)


def draw(curve: KCurve | DistanceCurve, axes: Any) -> None:  # noqa: ANN401
    """Draw a curve and the value chosen from it on axes of matplotlib."""
    if isinstance(curve, KCurve):
        axes.plot(curve.ks, curve.scores, marker="o")
        axes.axvline(curve.best, linestyle="--", label=f"k = {curve.best}")
        axes.set_xlabel("number of clusters k")
        axes.set_ylabel(curve.criterion)
    else:
        axes.plot(np.arange(1, len(curve.distances) + 1), curve.distances)
        axes.axhline(curve.eps, linestyle="--", label=f"eps = {curve.eps:.3g}")
        axes.set_xlabel("points, the farthest first")
        axes.set_ylabel(f"distance to neighbour {curve.neighbour}")
    axes.legend()


def _similarities(X: ArrayLike) -> tuple[Floats, float]:
    """−‖x − y‖² of all pairs, (n, n), and their median."""
    points = check_array(X, dtype=np.float64, ensure_min_samples=2)
    similarities = -euclidean_distances(points, squared=True)
    return similarities, float(np.median(similarities[np.triu_indices(len(points), 1)]))


def _solve(points: Floats, k: int, rng: Rng) -> KMeans:
    return KMeans(k, n_init=_STARTS, random_state=int(rng.integers(2**31))).fit(points)


def _costs(solved: list[KMeans], n: int) -> Floats:
    return np.maximum([model.inertia_ / n for model in solved], _LEAST_COST)


def _silhouette(points: Floats, found: Any, rng: Rng) -> float:  # noqa: ANN401
    if len(np.unique(found)) < 2:
        return 0.0
    size = _COMPARED if len(points) > _COMPARED else None
    seed = int(rng.integers(2**31))
    return float(silhouette_score(points, found, sample_size=size, random_state=seed))


def _stability(points: Floats, ks: range, rng: Rng) -> Floats:
    """How alike the clusters of two bootstrap samples are, for each k."""
    found = []
    for _ in range(_DRAWS):
        drawn = points[rng.integers(len(points), size=len(points))]
        with warnings.catch_warnings():
            # A sample may have fewer different points than there are clusters.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append([_solve(drawn, k, rng).predict(points) for k in ks])
    return stabilities(found, np.ones(len(points)))


def _even_costs(points: Floats, ks: range, rng: Rng) -> Floats:
    """Geometric mean of the costs of uniform points in the same range, one for each k."""
    low, high, n = points.min(axis=0), points.max(axis=0), min(len(points), _COMPARED)
    tables = [rng.uniform(low, high, (n, len(low))) for _ in range(_EVEN_TABLES)]
    logs = [np.log(_costs([_solve(table, k, rng) for k in ks], n)) for table in tables]
    costs: Floats = np.exp(np.mean(logs, axis=0))
    return costs
