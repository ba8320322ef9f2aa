"""PrivateKMedian: k-median centres under differential privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._core.curator import Curator
from sfumato._lattice.box import NanPolicy
from sfumato._private_fit import PrivateFit, keep_centers, keep_errors, unit_of
from sfumato._released_centers import ReleasedCenters
from sfumato._schema.schema import Schema
from sfumato.methods import Centers, Method, Task, clusters_of
from sfumato.methods._base import check_centers
from sfumato.methods._kmedian import KMedian


class PrivateKMedian(ReleasedCenters, PrivateFit):
    """k-median centres under differential privacy: few rows far away do not move them.

    The sum of Euclidean distances to the nearest centre is low, in the cube [−1, 1]^d that the
    bounds span; `PrivateKMeans` lowers that of squared distances.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of centres. "auto" chooses from 2 to 20 on the released cells, at no further cost.
    epsilon : float, default=1.0
        The privacy budget ε of this fit.
    delta : float, default=0.0
        0 is pure ε-DP; a δ above 0 allows Gaussian noise.
    bounds : pair (lower, upper), dict of pairs by column name, or "private"
        Public bounds, scalars or one value per column. Required without a schema, and never read
        from the data: what lies outside is clipped. Columns that a dict does not name are left
        alone. "private" estimates them with a quarter of `epsilon`.
    n_rows : int, optional
        Declares the number of rows public, or the sum of their weights; it is taken as declared
        and never compared with the data. By default a noisy count is released.
    nan : {"ignore", "center", "drop"}, default="ignore"
        What becomes of cells that are not finite numbers. "ignore": their row counts with the
        columns it has; "center": they go to the centre of their column, where many may look like a
        cluster; "drop": their row is left out.
    max_rows_per_group : int or "private", default=1
        With `fit(X, groups=…)`: rows kept of each group, all of which are protected together.
        "private" chooses the number from a noisy histogram of rows per group, with a twentieth of
        `epsilon`.
    random_state : int, RandomState instance or None
        Public randomness (starts). It never seeds the noise: two fits always differ.
    schema : Schema, optional
        What is public about each column, in place of `bounds` and `nan`: numbers, categories,
        dates. It also names the column of the groups.
    n_jobs : int, optional
        Threads of a pass over rows in memory or in files; by default all processors.
    verbose : int, default=0
        1 prints the progress of every pass to the standard error, for the owner of the rows.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres, in the user's units. With a schema there is one number for each of
        `schema_.number_names`: a share for each level of a category, days since 1970 for a date.
    cluster_profiles_ : list of dict
        With a schema: every centre in the user's words, by column.
    schema_ : Schema
        With a schema, or bounds by name: what was declared.
    encoded_centers_ : ndarray of shape (n_clusters, schema_.dimensions)
        With a schema: the centres in the cube that distances are measured in.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Noisy sizes of the clusters.
    cluster_centers_std_ : ndarray of shape (n_clusters, n_features)
        The deviation of the noise on each number of the centres; see `intervals`.
    cluster_sizes_std_ : ndarray of shape (n_clusters,)
        The deviation of the noise on each size.
    evidence_ : ndarray of shape (n_clusters,)
        From 0 to 1: how surely a cluster is not made by noise; see docs/error-bars.md.
    bounds_ : pair of ndarrays of shape (n_features,)
        The bounds in use, declared or estimated.
    receipt_ : Receipt
        What was asked, what each query cost, and the guarantee.
    request_ : str
        Where the ledger lasts: the name under which it keeps this model.
    synopsis_ : Synopsis
        In up to 3 columns: cells and noisy weights, for any use at no further cost.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import PrivateKMedian
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> model = PrivateKMedian(n_clusters=3, epsilon=1.0, bounds=(0, 1)).fit(X)
    >>> model.cluster_centers_.shape
    (3, 2)

    """

    kind = "median"
    _cost_power = 1

    def __init__(  # noqa: PLR0913
        self,
        n_clusters: int | str = 8,
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
        self.n_clusters = n_clusters
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

    def score(self, X: Any, y: None = None) -> float:  # noqa: ANN401
        """Return minus the sum of distances to the nearest centre, not squared.

        For rows that the caller brings; distances are those of `transform`.
        """
        nearest = (squared.min(axis=1) for squared in self._distances(X))
        return -float(sum(np.sqrt(squared).sum() for squared in nearest))

    def _asked(self) -> tuple[Method, int, bool]:
        method = KMedian()
        return method, *clusters_of(self.n_clusters, method)

    def _checked(self, found: Any, task: Task) -> Centers:  # noqa: ANN401
        return check_centers(found, KMedian.__name__, task)

    def _keep_found(self, found: Centers, curator: Curator) -> None:
        keep_centers(self, found.points, curator)
        self.cluster_sizes_ = found.sizes * unit_of(curator.schema)
        keep_errors(self, found, curator)

    def _settings(self) -> dict[str, Any]:
        k = "auto" if self.n_clusters == "auto" else int(self.n_clusters)
        return {"n_clusters": k}

    @classmethod
    def _parameters(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return {"n_clusters": settings["n_clusters"]}
