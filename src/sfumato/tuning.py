"""How many clusters, how near is near: parameters of clusterers read off the points they cluster.

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
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_random_state

from sfumato._base.types import Floats
from sfumato._base.validation import check_whole
from sfumato._synopsis.choose_k import Criterion, KCurve, check_criterion, check_range, gaps, jumps
from sfumato.nonprivate import silhouette

_STARTS = 10
_COMPARED = 2**11
_EVEN_TABLES = 3
_LEAST_COST = 1e-12
DAMPINGS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def clusters(
    X: ArrayLike,
    *,
    k_range: tuple[int, int] = (2, 10),
    criterion: Criterion = "elbow",
    random_state: Any = None,  # noqa: ANN401
) -> KCurve:
    """Run k-means for every k of the range and say which one a criterion takes.

    The criteria are those of `Synopsis.k_curve`: "elbow" (the jump of cost^(−d/2)), "silhouette"
    and "gap", here for points without weights.
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
    else:
        scores = gaps(costs, _even_costs(points, tried, rng))
    ks, scores = np.arange(least, most + 1), scores[least - tried[0] :]
    return KCurve(ks, scores, costs[least - tried[0] :], criterion, int(ks[scores.argmax()]))


@dataclass(frozen=True, eq=False)
class DistanceCurve:
    """How far the `neighbour`-th nearest point is, for all points from the farthest on.

    `eps` is the distance at the knee, which stands at place `knee` of the curve.
    """

    distances: Floats
    neighbour: int
    knee: int

    @property
    def eps(self) -> float:
        """The radius that the knee stands for."""
        return float(self.distances[self.knee])


def k_distances(X: ArrayLike, *, neighbour: int | None = None) -> DistanceCurve:
    """Return the k-distance curve of DBSCAN (Ester et al. 1996) and its knee.

    By default it is the distance to neighbour 2d − 1: DBSCAN counts a point among its own
    neighbours, so that this one makes 2d (Sander et al. 1998).
    """
    points = check_array(X, dtype=np.float64, ensure_min_samples=3)
    place = min_points(points.shape[1]) - 1
    if neighbour is not None:
        place = check_whole(neighbour, "neighbour")
    elif place >= len(points):
        place = len(points) - 1
    if place >= len(points):
        raise ValueError(
            f"neighbour must be below the number of points {len(points)}, got {neighbour}"
        )
    nearest = NearestNeighbors(n_neighbors=place).fit(points)
    distances = np.sort(nearest.kneighbors()[0][:, -1])[::-1]
    return DistanceCurve(distances, place, knee_of(distances))


def knee_of(heights: Floats) -> int:
    """Return the place of a falling curve that lies farthest below the line between its ends."""
    places = np.linspace(0, 1, len(heights))
    fall = heights[0] - heights[-1]
    if fall <= 0:
        return 0
    return int((1 - places - (heights - heights[-1]) / fall).argmax())


def min_points(n_features: int) -> int:
    """Return minPts = 2d (Sander et al. 1998)."""
    return 2 * check_whole(n_features, "n_features")


def dbscan(X: ArrayLike) -> DBSCAN:
    """Return a DBSCAN for these points: eps at the knee of the k-distance curve, minPts = 2d."""
    curve = k_distances(X)
    # Where many points are equal the knee may stand at zero, which is no radius.
    eps = max(curve.eps, float(np.finfo(float).tiny))
    return DBSCAN(eps=eps, min_samples=curve.neighbour + 1)


def preference(X: ArrayLike) -> float:
    """Return the median similarity, −‖x − y‖² over all pairs (Frey, Dueck 2007)."""
    points = check_array(X, dtype=np.float64, ensure_min_samples=2)
    squared = euclidean_distances(points, squared=True)
    return float(-np.median(squared[np.triu_indices(len(points), 1)]))


def damping(X: ArrayLike, *, max_iter: int = 200) -> float:
    """Return the least of the usual damping factors at which Affinity Propagation settles.

    0.5 first, and more where the messages oscillate (Wang et al. 2007); the largest if none does.
    """
    found = _settled(check_array(X, dtype=np.float64, ensure_min_samples=2), max_iter)
    return float(found.damping)


def affinity(X: ArrayLike, *, max_iter: int = 200) -> AffinityPropagation:
    """Return an Affinity Propagation for these points: median preference, damping that settles."""
    found = _settled(check_array(X, dtype=np.float64, ensure_min_samples=2), max_iter)
    return AffinityPropagation(
        damping=found.damping, preference=found.preference, max_iter=max_iter, random_state=0
    )


def draw(curve: KCurve | DistanceCurve, axes: Any) -> None:  # noqa: ANN401
    """Draw a curve and what it takes on axes of matplotlib."""
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


def _settled(points: Floats, max_iter: int) -> AffinityPropagation:
    squared = euclidean_distances(points, squared=True)
    median = float(-np.median(squared[np.triu_indices(len(points), 1)]))
    for factor in DAMPINGS:
        model = AffinityPropagation(
            damping=factor,
            preference=median,
            affinity="precomputed",
            max_iter=max_iter,
            random_state=0,
        )
        if _settles(model, -squared):
            break
    return model


def _settles(model: AffinityPropagation, similarities: Floats) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(similarities)
    return bool(model.n_iter_ < model.max_iter)


def _solve(points: Floats, k: int, rng: np.random.Generator) -> KMeans:
    return KMeans(k, n_init=_STARTS, random_state=int(rng.integers(2**31))).fit(points)


def _costs(solved: list[KMeans], n: int) -> Floats:
    return np.maximum([model.inertia_ / n for model in solved], _LEAST_COST)


def _silhouette(points: Floats, found: Any, rng: np.random.Generator) -> float:  # noqa: ANN401
    if len(np.unique(found)) < 2:
        return 0.0
    size = _COMPARED if len(points) > _COMPARED else None
    return silhouette(points, found, sample_size=size, random_state=int(rng.integers(2**31)))


def _even_costs(points: Floats, ks: range, rng: np.random.Generator) -> Floats:
    """Mean log cost, as a cost, of points spread evenly over the same range."""
    low, high, n = points.min(axis=0), points.max(axis=0), min(len(points), _COMPARED)
    tables = [rng.uniform(low, high, (n, len(low))) for _ in range(_EVEN_TABLES)]
    logs = [np.log(_costs([_solve(table, k, rng) for k in ks], n)) for table in tables]
    costs: Floats = np.exp(np.mean(logs, axis=0))
    return costs
