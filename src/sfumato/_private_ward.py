"""PrivateWard: a tree of clusters under differential privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._base.distances import squared_distances
from sfumato._base.files import array_in
from sfumato._base.types import Floats, Ints
from sfumato._base.validation import check_whole
from sfumato._core.curator import Curator
from sfumato._lattice.box import REACH, NanPolicy
from sfumato._private_fit import PrivateFit, unit_of
from sfumato._released_centers import ReleasedBars
from sfumato._schema.schema import Schema
from sfumato._synopsis.dendrogram import Dendrogram
from sfumato._synopsis.spread import cell_errors, nearest_cells
from sfumato._uncertainty import Errors, joined_errors
from sfumato.methods._small_clusters import Leaves, SmallClusters


class PrivateWard(ReleasedBars, PrivateFit):
    """A tree of clusters (Ward's method) under differential privacy, which any k can be cut from.

    Small clusters are released: of the cells of a grid up to three columns, k-means centres beyond.
    Ward's method joins them, which costs nothing more.

    Parameters
    ----------
    n_clusters : int, default=2
        Where the tree is cut for `predict`; `cut(k)` cuts it anywhere else, for free.
    n_leaves : int, optional
        The most small clusters. By default as many as noise allows, up to 400; in more than three
        columns 40, or twice as many as clusters.
    epsilon : float, default=1.0
        The privacy budget ε of this fit.
    delta : float, default=0.0
        0 is pure ε-DP; a δ above 0 allows Gaussian noise in more than three columns.
    bounds : pair (lower, upper), dict of pairs by column name, or "private"
        Public bounds, as in `PrivateKMeans`.
    n_rows : int, optional
        Declares the number of rows public, or the sum of their weights.
    nan : {"ignore", "center", "drop"}, default="ignore"
        What becomes of cells that are not finite numbers, as in `PrivateKMeans`.
    max_rows_per_group : int or "private", default=1
        With `fit(X, groups=…)`: rows kept of each group, all of which are protected together.
    random_state : int, RandomState instance or None
        Public randomness (starts). It never seeds the noise: two fits always differ.
    schema : Schema, optional
        What is public about each column, in place of `bounds` and `nan`.
    n_jobs : int, optional
        Threads of a pass over rows in memory or in files; by default all processors.
    verbose : int, default=0
        1 prints the progress of every pass to the standard error, for the owner of the rows.

    Attributes
    ----------
    linkage_ : ndarray of shape (n_leaves_ − 1, 4)
        The tree as SciPy has it: `scipy.cluster.hierarchy.dendrogram(model.linkage_)`.
    dendrogram_ : Dendrogram
        The tree with its small clusters, in the user's units.
    n_leaves_ : int
        The number of small clusters.
    n_clusters_ : int
        The number of clusters of `predict`: `n_clusters`, or all leaves where there are fewer.
    cluster_sizes_ : ndarray of shape (n_clusters_,)
        Noisy sizes of the clusters, the largest first.
    cluster_centers_ : ndarray of shape (n_clusters_, n_features)
        The means of the clusters, in the user's units.
    cluster_centers_std_, cluster_sizes_std_ : ndarrays
        The deviation of the noise on each number of both; see `intervals`.
    bounds_ : pair of ndarrays of shape (n_features,)
        The bounds in use, declared or estimated.
    receipt_ : Receipt
        What was asked, what each query cost, and the guarantee.
    synopsis_ : Synopsis
        Up to three columns: the released counts, for any use at no further cost.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import PrivateWard
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal([[0, 0]] * 3000 + [[3, 3]] * 3000 + [[3, 0]] * 3000, 0.3)
    >>> model = PrivateWard(3, epsilon=1.0, bounds=(-2, 5)).fit(X)
    >>> len(set(model.cut(2)))
    2

    """

    kind = "ward"
    leaf_points_: Floats

    def __init__(  # noqa: PLR0913
        self,
        n_clusters: int = 2,
        *,
        n_leaves: int | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,  # noqa: ANN401
        n_rows: int | None = None,
        nan: NanPolicy = "ignore",
        max_rows_per_group: int | str = 1,
        random_state: Any = None,  # noqa: ANN401
        schema: Schema | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_leaves = n_leaves
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_rows = n_rows
        self.nan = nan
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.schema = schema
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def linkage_(self) -> Floats:
        """The tree as SciPy has it, (n_leaves_ − 1, 4)."""
        return self.dendrogram_.linkage

    @property
    def n_leaves_(self) -> int:
        """The number of small clusters."""
        return len(self.dendrogram_)

    @property
    def n_clusters_(self) -> int:
        """The number of clusters of `predict`."""
        return min(int(self.n_clusters), self.n_leaves_)

    @property
    def cluster_sizes_(self) -> Floats:  # type: ignore[override]
        """Noisy sizes of the clusters, (n_clusters_,)."""
        labels = self.cut(self.n_clusters_)
        sums = np.bincount(labels, self.dendrogram_.weights, self.n_clusters_)
        return sums.astype(np.float64)

    @property
    def cluster_centers_(self) -> Floats:  # type: ignore[override]
        """The means of the clusters, (n_clusters_, d) in the user's units."""
        labels, weights = self.cut(self.n_clusters_), self.dendrogram_.weights
        return self._in_units(_means(self.leaf_points_, labels, weights, self.n_clusters_))

    def cut(self, k: int) -> Ints:
        """Return the cluster of every leaf, (n_leaves_,), where there are k clusters: for free."""
        return self.dendrogram_.cut(k)

    def predict(self, X: Any, n_clusters: int | None = None) -> Ints:  # noqa: ANN401
        """Return the cluster of the nearest leaf for rows that the caller brings.

        With `n_clusters` the tree is cut elsewhere. Near is meant as in `PrivateKMeans.predict`.
        """
        leaves = super().predict(X)
        return self.cut(self.n_clusters_ if n_clusters is None else n_clusters)[leaves]

    def labels_of(self, rows: Floats) -> Ints:
        """The cluster of rows (n, d) of the columns of the fit: see `ReleasedModel.labels_of`."""
        return self.cut(self.n_clusters_)[super().labels_of(rows)]

    def _labels(self, points: Floats) -> Ints:
        """The nearest leaf of points (n, d) of the cube."""
        nearest: Ints = squared_distances(points, self.leaf_points_).argmin(axis=1)
        return nearest

    def _bars(self) -> Errors | None:
        """The noise of the cells of each cluster, or where there are none of its leaves."""
        points, cut = self.leaf_points_ * REACH, self.cut(self.n_clusters_)
        means = _means(points, cut, self.dendrogram_.weights, self.n_clusters_)
        synopsis = self.__dict__.get("synopsis_")
        if synopsis is not None:
            return cell_errors(synopsis, means, cut[nearest_cells(synopsis, points)])
        return self._errors_ and joined_errors(self._errors_, cut, self.n_clusters_)

    def _in_units(self, points: Floats) -> Floats:
        """Points (n, d) of the cube in the user's units."""
        schema = self.schema_
        return schema.decode(points) if schema else self.box_.from_lattice(points * REACH)

    def _asked(self) -> tuple[SmallClusters, int, bool]:
        k = check_whole(self.n_clusters, "n_clusters")
        if self.n_leaves is not None:
            check_whole(self.n_leaves, "n_leaves", least=k)
        return SmallClusters(self.n_leaves), k, False

    def _keep_found(self, found: Leaves, curator: Curator) -> None:
        self.schema_ = curator.schema
        points, weights = found.points / REACH, found.weights * unit_of(curator.schema)
        self.leaf_points_ = points if self.schema_ is None else self.schema_.settled(points)
        self.dendrogram_ = Dendrogram(self._in_units(self.leaf_points_), weights, found.linkage)
        self._errors_ = found.errors and found.errors.times(unit_of(curator.schema))

    def _bars_in_words(self) -> tuple[str, ...]:
        """None on the receipt: it does not know where the tree will be cut."""
        return ()

    def _settings(self) -> dict[str, Any]:
        most = self.n_leaves
        return {
            "n_clusters": int(self.n_clusters),
            "n_leaves": None if most is None else int(most),
        }

    @classmethod
    def _parameters(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return {name: settings[name] for name in ("n_clusters", "n_leaves")}

    def _released(self) -> dict[str, Any]:
        tree = self.dendrogram_
        bars = {} if self._errors_ is None else {"errors": self._errors_.to_dict()}
        return {
            **bars,
            "leaves": self.leaf_points_.tolist(),
            "leaf_weights": tree.weights.tolist(),
            "linkage": tree.linkage.tolist(),
            "cluster_centers": self.cluster_centers_.tolist(),
            "cluster_sizes": self.cluster_sizes_.tolist(),
        }

    def _restore(self, data: dict[str, Any]) -> None:
        self.leaf_points_ = array_in(data["leaves"], None, self.box_.n_features)
        weights = array_in(data["leaf_weights"], len(self.leaf_points_))
        joins = data["linkage"] or np.empty((0, 4))
        linkage = array_in(joins, len(weights) - 1, 4)
        self.dendrogram_ = Dendrogram(self._in_units(self.leaf_points_), weights, linkage)
        if "errors" in data:
            self._errors_ = Errors.from_dict(data["errors"], len(weights), self.box_.n_features)


def _means(points: Floats, own: Ints, weights: Floats, k: int) -> Floats:
    """Means (k, d) of points (n, d) with weights (n,) by their cluster (n,)."""
    sums = [np.bincount(own, weights * x, k) for x in points.T]
    means: Floats = np.stack(sums, axis=1) / np.bincount(own, weights, k)[:, None]
    return means
