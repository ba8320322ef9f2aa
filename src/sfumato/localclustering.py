"""LocalClustering: rows are perturbed one by one, then any clusterer works on the reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, TransformerTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato.box import Floats, Ints
from sfumato.guarantee import Guarantee
from sfumato.local_receipt import LocalReceipt
from sfumato.parameters import check_whole
from sfumato.reports import centered, move, noise_widths, sampled, without_noise

DONE = "done"
Verb = TypeVar("Verb", bound=Callable[..., Any])


def _clusterer_has(name: str) -> Callable[[Verb], Verb]:
    def check(model: LocalClustering) -> bool:
        own = model.__dict__.get("estimator_", model.estimator)
        return hasattr(KMeans() if own is None else own, name)

    return available_if(check)  # type: ignore[no-any-return]


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

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        *,
        perturbation: Any = None,  # noqa: ANN401
        scale: bool = False,
        denoise: bool = False,
        reservoir: int = 10_000,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.estimator = estimator
        self.perturbation = perturbation
        self.scale = scale
        self.denoise = denoise
        self.reservoir = reservoir
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ANN401
        """Perturb each row with new noise, then cluster the reports.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or data frame
            The rows, or with `perturbation="done"` their reports.
        y : None
            Ignored.

        Returns
        -------
        self : LocalClustering
            The fitted model.

        """
        self._start()
        self.reports_ = self._reports_of(X, reset=True)
        self.n_reports_seen_ = len(self.reports_)
        return self._cluster()

    def partial_fit(self, X: Any, y: None = None) -> Self:  # noqa: ANN401
        """Take one more batch, as a server does that collects from many clients.

        A clusterer with `partial_fit` (MiniBatchKMeans) learns from the batch alone, and
        `reports_` is the last batch. For any other, or with `scale` or `denoise`, an even sample of
        all reports so far is kept in a reservoir and clustered again.
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
        return self._mechanism().receipt_  # type: ignore[no-any-return]

    @property
    def guarantee_(self) -> Guarantee:
        """What each report promises about its row."""
        return self._mechanism().guarantee_  # type: ignore[no-any-return]

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
            return validate_data(self, X, reset=reset, dtype=np.float64)  # type: ignore[no-any-return]
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
            centers = without_noise(
                self.reports_, self.cluster_centers_, noise_widths(self.perturbation_)
            )
            move(self.estimator_, points, self._scaled(centers))
        self.labels_ = self.estimator_.labels_
        return self

    def _scaled(self, points: Floats) -> Floats:
        return self.scaler_.transform(points) if self.scale else points

    def _own(self, X: Any) -> Floats:  # noqa: ANN401
        check_is_fitted(self)
        done = isinstance(self.perturbation, str)
        rows = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=done)
        return self._scaled(rows if done else centered(rows, self.perturbation_.bounds))

    def _mechanism(self) -> Any:  # noqa: ANN401
        check_is_fitted(self)
        if not hasattr(self, "perturbation_"):
            raise AttributeError(
                "the reports were made by the clients: their mechanism has the guarantee"
            )
        return self.perturbation_


def _check(model: LocalClustering) -> None:
    """Refuse settings before any row is perturbed."""
    mechanism = model.perturbation
    if mechanism is None or (isinstance(mechanism, str) and mechanism != DONE):
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
