"""How good clusters of perturbed rows are: the owner's measures, which read the clean rows.

Nothing here is private. The numbers are for the person who holds the rows, to decide about a
mechanism; published together with a release they tell about rows that the release protects.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn import metrics
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from sfumato._base.distances import unmasked
from sfumato.local._clustering import LocalClustering, centred


@dataclass(frozen=True)
class Agreement:
    """How alike two labellings of the same rows are: 1 is equal, 0 is what chance gives."""

    ari: float
    ami: float
    nmi: float


@dataclass(frozen=True)
class Shape:
    """How compact and separate clusters are; NaN where there are not two clusters to compare."""

    silhouette: float
    calinski_harabasz: float
    davies_bouldin: float


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` measures; `center_error` is NaN for a clusterer without centres."""

    agreement: Agreement
    on_rows: Shape
    on_reports: Shape
    displacement: float
    center_error: float

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values."""
        return asdict(self)


def evaluate(model: LocalClustering, X: ArrayLike) -> Evaluation:
    """Compare a fitted local clustering with the same clusterer on the clean rows `X`, (n, d).

    `X` are the rows that the model was fitted on, in the same order. The clean clusterer has the
    same parameters, and the same scaling if the model scales. Cells that are masked, or not finite
    numbers, are at the centre of their column, where the mechanism puts them by default.
    """
    check_is_fitted(model)
    rows = np.asarray(unmasked(X), dtype=np.float64)
    if rows.shape != model.reports_.shape:
        raise ValueError(
            "evaluate needs the rows that the model was fitted on: "
            f"{model.reports_.shape} reports, got rows of shape {rows.shape}"
        )
    rows = centred(model, rows)
    scaler = StandardScaler().fit(rows) if model.scale else None
    clean = clean_twin(model).fit(rows if scaler is None else scaler.transform(rows))
    error = math.nan
    if hasattr(clean, "cluster_centers_") and hasattr(model.estimator_, "cluster_centers_"):
        centers = np.asarray(clean.cluster_centers_, dtype=np.float64)
        centers = centers if scaler is None else scaler.inverse_transform(centers)
        error = center_error(model.cluster_centers_, centers)
    return Evaluation(
        agreement=agreement(clean.labels_, model.labels_),
        on_rows=shape(rows, model.labels_),
        on_reports=shape(model.reports_, model.labels_),
        displacement=displacement(rows, model.reports_),
        center_error=error,
    )


def clean_twin(model: LocalClustering) -> Any:  # noqa: ANN401
    """Return the clusterer of a fitted model, unfitted: for clean rows."""
    return clone(model.estimator_)


def agreement(expected: ArrayLike, found: ArrayLike) -> Agreement:
    """Compare two labellings, (n,) each; −1 (noise of DBSCAN) is a cluster like any other."""
    return Agreement(
        float(metrics.adjusted_rand_score(expected, found)),
        float(metrics.adjusted_mutual_info_score(expected, found)),
        float(metrics.normalized_mutual_info_score(expected, found)),
    )


def shape(X: ArrayLike, found: ArrayLike) -> Shape:
    """Return the internal indices of a labelling, (n,), of these points, (n, d)."""
    labels = np.asarray(found)
    if not 2 <= len(np.unique(labels)) < len(labels):
        return Shape(math.nan, math.nan, math.nan)
    return Shape(
        float(metrics.silhouette_score(X, labels)),
        float(metrics.calinski_harabasz_score(X, labels)),
        float(metrics.davies_bouldin_score(X, labels)),
    )


def displacement(X: ArrayLike, reports: ArrayLike) -> float:
    """Return the mean distance of reports to their rows, (n, d) each, in the units of the data."""
    moves = np.asarray(reports, dtype=np.float64) - np.asarray(X, dtype=np.float64)
    return float(np.linalg.norm(moves, axis=1).mean())


def center_error(
    centers: ArrayLike, reference: ArrayLike, *, origin: ArrayLike | None = None
) -> float:
    """Return the relative error of centres, Σ‖c − r‖ / Σ‖r − origin‖, each with its own reference.

    centers: (k, d), reference: (m, d). Pairs minimise the sum of their squared distances. The
    origin, (d,), is the mean of the references, so that the error does not depend on where zero
    is; 0 gives that of Huang et al. 2021 and Xia et al. 2020. A missing centre counts as one at
    the origin.
    """
    ours, theirs = np.asarray(centers, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    start = theirs.mean(axis=0) if origin is None else np.asarray(origin, dtype=np.float64)
    whole = float(np.linalg.norm(theirs - start, axis=1).sum())
    if whole == 0:
        return math.nan
    rows, columns = linear_sum_assignment(euclidean_distances(ours, theirs, squared=True))
    matched = np.tile(start, (len(theirs), 1)).astype(np.float64)
    matched[columns] = ours[rows]
    return float(np.linalg.norm(matched - theirs, axis=1).sum()) / whole
