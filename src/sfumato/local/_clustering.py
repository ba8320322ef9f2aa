"""LocalClustering: any clusterer, on reports of rows that were perturbed one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, TypeVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, TransformerTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato._accounting.guarantee import Guarantee
from sfumato._base.types import Floats, Ints
from sfumato._base.validation import check_whole
from sfumato._core.local.lattice import LatticeNDLaplace
from sfumato._lattice.box import Box
from sfumato.engines._memory import own_rows
from sfumato.local._transformer import LocalReceipt

_STEPS = 50
_CLOSE = 0.1
# A variance around the centres above this many times that of the noise means wide clusters.
_WIDE = 1.3


def noise_widths(perturbation: Any) -> Floats:  # noqa: ANN401
    """Return w, (d,) in the user's units, such that reports have density ∝ exp(−‖(z − x) / w‖).

    Only the noise of nD-Laplace is known in this form; any other mechanism is refused.
    """
    if not has_known_noise(perturbation):
        raise TypeError(
            f"the noise of {type(perturbation).__name__} is not known as a density around each "
            "row: a fitted NDLaplace would work"
        )
    plan = perturbation.plan_
    widths: Floats = plan.lattice.steps * float(plan.mechanism.scale)
    return widths


def has_known_noise(perturbation: Any) -> bool:  # noqa: ANN401
    """Whether reports are rows plus nD-Laplace noise, remapped onto no other points."""
    plan = getattr(perturbation, "plan_", None)
    remapped = getattr(perturbation, "remap", None) is not None
    return isinstance(getattr(plan, "mechanism", None), LatticeNDLaplace) and not remapped


def without_noise(reports: Floats, centers: Floats, widths: Floats) -> Floats:
    """Estimate centres of the rows from the k-means centres of their reports, by EM.

    reports: (n, d), centers: (k, d), widths: (d,), all in the user's units. All rows of a cluster
    are modelled as one point: reports are then a mixture of nD-Laplace noise around k points, and
    the maximisation is a step towards the weighted geometric median. Where clusters are much wider
    than the noise the model is wrong, and the centres are returned as they are.
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
        parts = softmax(np.log(np.maximum(shares, 1e-300)) - distances, axis=1)
        shares = parts.mean(axis=0)
        weights = parts / np.maximum(distances, _CLOSE)
        sums = np.maximum(weights.sum(axis=0), 1e-300)[:, None]
        places = np.clip(weights.T @ points / sums, low, high)
    moved: Floats = places * widths
    return moved


def sampled(
    kept: Floats, batch: Floats, seen: int, size: int, *, rng: np.random.Generator
) -> Floats:
    """A uniform sample of `size` of all reports, (m, d) each: Vitter 1985, algorithm R."""
    if len(kept) > size:
        kept = kept[rng.choice(len(kept), size, replace=False)]
    free = max(0, size - len(kept))
    pool, rest = np.concatenate([kept, batch[:free]]), batch[free:]
    places = rng.integers(0, seen + min(free, len(batch)) + 1 + np.arange(len(rest)))
    chosen = places < size
    # Of two reports for one slot the later one stays, as if they had come one by one.
    pool[places[chosen]] = rest[chosen]
    return pool


Verb = TypeVar("Verb", bound=Callable[..., Any])


def _clusterer_has(name: str) -> Callable[[Verb], Verb]:
    def check(model: LocalClustering) -> bool:
        own = model.__dict__.get("estimator_", model.estimator)
        return hasattr(KMeans() if own is None else own, name)

    return available_if(check)  # type: ignore[no-any-return]


@dataclass(eq=False, repr=False)
class LocalClustering(ClusterMixin, BaseEstimator):
    """Cluster what a local mechanism reports about each row.

    Everything after the perturbation is post-processing and keeps the guarantee of the reports.

    Parameters
    ----------
    estimator : clusterer, default=KMeans()
        Any of scikit-learn's kind: KMeans, DBSCAN, AffinityPropagation …
    perturbation : transformer or "done"
        A local mechanism. "done" is for the server: it is given reports, made by the clients.
    scale : bool, default=False
        Bring the reports to mean 0 and variance 1 before they are clustered.
    denoise : bool, default=False
        For k-means on nD-Laplace reports: move the centres to where the known noise says that rows
        are. It helps where the noise is wider than the clusters and changes nothing elsewhere.
    reservoir : int, default=10_000
        How many reports `partial_fit` keeps for a clusterer that cannot learn from batches.
    random_state : int, RandomState instance or None
        Public randomness (which reports the reservoir keeps). It never seeds the noise.

    Attributes
    ----------
    labels_ : ndarray of shape (n_reports,)
        The cluster of every report in `reports_`, not of the rows.
    reports_ : ndarray of shape (n_reports, n_features)
        The reports: all of the last `fit`, or those that `partial_fit` keeps.
    estimator_ : clusterer
        The fitted clusterer. It lives in scaled units if `scale` is set.
    guarantee_, receipt_ : Guarantee, LocalReceipt
        Those of the perturbation. A row reported again is promised the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sfumato import LocalClustering, NDLaplace
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> mechanism = NDLaplace(level=1, radius=0.1, bounds=(0, 1))
    >>> LocalClustering(KMeans(3), perturbation=mechanism).fit(X).cluster_centers_.shape
    (3, 2)

    """

    estimator: Any = None
    _: KW_ONLY
    perturbation: Any = None
    scale: bool = False
    denoise: bool = False
    reservoir: int = 10_000
    random_state: Any = None

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ANN401
        """Perturb each row with new noise, then cluster the reports.

        X: array-like of shape (n_samples, n_features) or data frame, the rows, or with
        `perturbation="done"` their reports. y: ignored. Returns the fitted model.
        """
        self._start()
        self.reports_ = self._reports_of(X, reset=True)
        self.n_reports_seen_ = len(self.reports_)
        return self._cluster()

    def partial_fit(self, X: Any, y: None = None) -> Self:  # noqa: ANN401
        """Take one more batch, as a server does that collects from many clients.

        A clusterer with `partial_fit` (MiniBatchKMeans) learns from the batch alone, and
        `reports_` is the last batch. For any other, or with `scale` or `denoise`, a uniform sample
        of all reports so far is kept in a reservoir and clustered again.
        """
        first = not hasattr(self, "estimator_")
        if first:
            self._start()
        reports = self._reports_of(X, reset=first)
        before = 0 if first else self.n_reports_seen_
        self.n_reports_seen_ = before + len(reports)
        if hasattr(self.estimator_, "partial_fit") and not (self.scale or self.denoise):
            self.reports_ = reports
            self.estimator_.partial_fit(reports)
            self.labels_: Ints = self.estimator_.predict(reports)
            return self
        kept = reports[:0] if first else self.reports_
        self.reports_ = sampled(kept, reports, before, self.reservoir, rng=self._rng)
        return self._cluster()

    @_clusterer_has("predict")
    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the cluster of rows that the caller brings, as they are, without noise.

        Cells that are not finite numbers count as the centre of their column.
        """
        points = self._own(X)
        return self.estimator_.predict(points)  # type: ignore[no-any-return]

    @_clusterer_has("transform")
    def transform(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the distances of rows that the caller brings to the centres, scaled if it is."""
        points = self._own(X)
        return self.estimator_.transform(points)  # type: ignore[no-any-return]

    @_clusterer_has("transform")
    def fit_transform(self, X: Any, y: None = None) -> Floats:  # noqa: ANN401
        """Fit, then transform the caller's own rows: for their owner, not a release."""
        return self.fit(X).transform(X)

    @property
    def cluster_centers_(self) -> Floats:
        """The centres, in the user's units, where the clusterer has any."""
        check_is_fitted(self)
        centers: Floats = np.asarray(self.estimator_.cluster_centers_, dtype=np.float64)
        return self.scaler_.inverse_transform(centers) if self.scale else centers

    @property
    def receipt_(self) -> LocalReceipt:
        """The receipt of the perturbation."""
        check_is_fitted(self)
        if not hasattr(self, "perturbation_"):
            raise AttributeError(
                "the reports were made by the clients: their mechanism has the guarantee"
            )
        return self.perturbation_.receipt_  # type: ignore[no-any-return]

    @property
    def guarantee_(self) -> Guarantee:
        """What each report promises about its row."""
        return self.receipt_.guarantee

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.transformer_tags = TransformerTags() if hasattr(self, "transform") else None
        tags.input_tags.allow_nan = isinstance(self.perturbation, BaseEstimator)
        return tags

    def _start(self) -> None:
        _check(self)
        self._rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.estimator_ = KMeans() if self.estimator is None else clone(self.estimator)
        self.__dict__.pop("perturbation_", None)

    def _reports_of(self, X: Any, *, reset: bool) -> Floats:  # noqa: ANN401
        if isinstance(self.perturbation, str):
            return self._checked(X, reset=reset, finite=True)
        if reset:
            self.perturbation_ = clone(self.perturbation).fit(X)
            if self.denoise:
                noise_widths(self.perturbation_)
        reports = np.asarray(self.perturbation_.transform(X))
        validate_data(self, X, reset=reset, skip_check_array=True)
        return reports

    def _cluster(self) -> Self:
        if self.scale:
            self.scaler_ = StandardScaler().fit(self.reports_)
        points = self._scaled(self.reports_)
        self.estimator_ = clone(self.estimator_).fit(points)
        if self.denoise:
            widths = noise_widths(self.perturbation_)
            centers = self._scaled(without_noise(self.reports_, self.cluster_centers_, widths))
            squared = euclidean_distances(points, centers, squared=True)
            self.estimator_.cluster_centers_ = centers
            self.estimator_.labels_ = squared.argmin(axis=1).astype(np.int32)
            self.estimator_.inertia_ = float(squared.min(axis=1).sum())
        self.labels_ = self.estimator_.labels_
        return self

    def _scaled(self, points: Floats) -> Floats:
        return self.scaler_.transform(points) if self.scale else points

    def _own(self, X: Any) -> Floats:  # noqa: ANN401
        check_is_fitted(self)
        done = isinstance(self.perturbation, str)
        rows = self._checked(X, reset=False, finite=done)
        return self._scaled(centred(self, rows))

    def _checked(self, X: Any, *, reset: bool, finite: bool) -> Floats:  # noqa: ANN401
        settings = {"reset": reset, "dtype": np.float64, "ensure_all_finite": finite}
        return own_rows(X, lambda given: validate_data(self, given, **settings))


def centred(model: LocalClustering, rows: Floats) -> Floats:
    """Rows with missing cells at the centre of their column; as they are for reports of clients."""
    if isinstance(model.perturbation, str):
        return rows
    middle = Box.of(model.perturbation_.bounds, rows.shape[1]).middle
    return np.where(np.isfinite(rows), rows, middle)


def _check(model: LocalClustering) -> None:
    """Refuse settings before any row is perturbed."""
    mechanism = model.perturbation
    if mechanism != "done" if isinstance(mechanism, str) else not hasattr(mechanism, "fit"):
        raise ValueError(
            "perturbation must be a local mechanism such as NDLaplace(epsilon=1, "
            f"bounds=(0, 1)), or 'done' for reports of clients, got {mechanism!r}"
        )
    check_whole(model.reservoir, "reservoir")
    kmeans = model.estimator is None or isinstance(model.estimator, KMeans)
    if model.denoise and (isinstance(mechanism, str) or not kmeans):
        raise ValueError(
            "denoise needs k-means and a mechanism: KMeans, perturbation=NDLaplace(…) would work"
        )
