"""PrivateDBSCAN: density clusters of any shape under differential privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._base.files import array_in
from sfumato._base.types import Floats, Ints
from sfumato._base.validation import check_positive
from sfumato._core.curator import Curator
from sfumato._lattice.box import NanPolicy
from sfumato._private_fit import PrivateFit, unit_of
from sfumato._schema.schema import Schema
from sfumato._synopsis import Synopsis
from sfumato.methods._histogram import GridHistogram, Histogram


class PrivateDBSCAN(PrivateFit):
    """Density clusters of any shape, and noise around them, under differential privacy.

    The counts of a grid are released, with all of the budget. Clusters are its connected dense
    cells, which are regions of space: no label of a private row is released. For one to three
    columns; beyond, cells are few and coarse.

    Parameters
    ----------
    min_cluster_size : float, optional
        The fewest rows of a cluster, or the least sum of their weights. By default a hundredth of
        all rows. Regions that noise could have made are never clusters.
    epsilon : float, default=1.0
        The privacy budget ε of this fit.
    delta : float, default=0.0
        Is allowed and not used: of counts pure noise is the smaller.
    bounds : pair (lower, upper), dict of pairs by column name, or "private"
        Public bounds, as in `PrivateKMeans`. The cells of the grid divide them evenly, so bounds
        far around the rows make cells too large.
    n_rows : int, optional
        Declares the number of rows public, or the sum of their weights.
    nan : {"ignore", "center", "drop"}, default="ignore"
        What becomes of cells of the table that are not finite numbers. A row with one is in no
        cell of the grid and not counted, unless it is put in the centre of its column.
    max_rows_per_group : int or "private", default=1
        With `fit(X, groups=…)`: rows kept of each group, all of which are protected together.
    random_state : None
        There is no public randomness. It is here as in every estimator.
    schema : Schema, optional
        What is public about each column, in place of `bounds` and `nan`.
    n_jobs : int, optional
        Threads of a pass over rows in memory or in files; by default all processors.
    verbose : int, default=0
        1 prints the progress of every pass to the standard error, for the owner of the rows.

    Attributes
    ----------
    n_clusters_ : int
        The number of clusters that were found; it may be 0.
    cluster_sizes_ : ndarray of shape (n_clusters_,)
        Noisy sizes of the clusters, the largest first.
    cell_labels_ : ndarray of shape (n_cells,)
        The cluster of every cell of the grid, −1 for noise: in the order of `synopsis_.cells`.
    synopsis_ : Synopsis
        The released counts, for any use at no further cost.
    bounds_ : pair of ndarrays of shape (n_features,)
        The bounds in use, declared or estimated.
    receipt_ : Receipt
        What was asked, what each query cost, and the guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sfumato import PrivateDBSCAN
    >>> X, _ = make_moons(20_000, noise=0.05, random_state=0)
    >>> model = PrivateDBSCAN(epsilon=1.0, bounds=([-1.5, -1], [2.5, 1.5])).fit(X)
    >>> model.n_clusters_
    2
    >>> model.predict([[0, 1], [1, -0.5], [-1.4, -0.9]])[2]
    np.int64(-1)

    """

    kind = "density"
    cell_labels_: Ints
    cluster_sizes_: Floats

    def __init__(  # noqa: PLR0913
        self,
        min_cluster_size: float | None = None,
        *,
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
        self.min_cluster_size = min_cluster_size
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
    def n_clusters_(self) -> int:
        """The number of clusters that were found."""
        return len(self.cluster_sizes_)

    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the cluster of rows that the caller brings, −1 for noise.

        It is that of the cell of the grid that a row lies in, after it was clipped into the bounds.
        A row with a missing cell lies in none, unless the model was fitted with `nan="center"` or
        "drop", where missing cells are at the centre of their column.
        """
        return super().predict(X)

    def _labels(self, points: Floats) -> Ints:
        shape = np.array(self.synopsis_.layout.shape)  # type: ignore[union-attr]
        whole = np.isfinite(points).all(axis=1)
        slices = ((points[whole] + 1) / 2 * shape).astype(np.int64)
        cells = np.ravel_multi_index(tuple(np.clip(slices, 0, shape - 1).T), tuple(shape))
        labels = np.full(len(points), -1, dtype=np.int64)
        labels[whole] = self.cell_labels_[cells]
        return labels

    def _asked(self) -> tuple[GridHistogram, int, bool]:
        if self.min_cluster_size is not None:
            check_positive(self.min_cluster_size, "min_cluster_size")
        return GridHistogram(), 1, False

    def _keep_found(self, found: Histogram, curator: Curator) -> None:
        self.schema_ = curator.schema
        unit, least = unit_of(curator.schema), self.min_cluster_size
        spans = found.synopsis.spans(None if least is None else float(least) / unit)
        self.cell_labels_ = spans.labels
        self.cluster_sizes_ = spans.sizes * unit

    def _settings(self) -> dict[str, Any]:
        least = self.min_cluster_size
        return {"min_cluster_size": None if least is None else float(least)}

    @classmethod
    def _parameters(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return {"min_cluster_size": settings["min_cluster_size"]}

    def _released(self) -> dict[str, Any]:
        labels = range(self.n_clusters_)
        regions = [np.flatnonzero(self.cell_labels_ == label).tolist() for label in labels]
        return {"cluster_sizes": self.cluster_sizes_.tolist(), "cells_of_clusters": regions}

    def _restore(self, data: dict[str, Any]) -> None:
        regions = data["cells_of_clusters"]
        self.cluster_sizes_ = array_in(data["cluster_sizes"], len(regions))
        self.cell_labels_ = np.full(len(Synopsis.from_dict(data["synopsis"])), -1, dtype=np.int64)
        for label, cells in enumerate(regions):
            self.cell_labels_[cells] = label
