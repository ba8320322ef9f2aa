"""PrivateKMeans: k-means centres under differential privacy."""

from __future__ import annotations

import dataclasses
from typing import Any

from sfumato._core.curator import Curator
from sfumato._lattice.box import NanPolicy
from sfumato._private_fit import keep_centers, keep_errors, unit_of
from sfumato._private_stream import StreamedFit
from sfumato._released_centers import ReleasedCenters
from sfumato._schema.schema import Schema
from sfumato._stream import Stream
from sfumato.methods import METHODS, Centers, Method, Task, clusters_of, method_of
from sfumato.methods._base import check_centers
from sfumato.methods._batch import BatchFound, BatchStep


class PrivateKMeans(ReleasedCenters, StreamedFit):
    """k-means centres under differential privacy.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of centres. A method that releases a synopsis can choose it there at no further cost.
    epsilon : float, default=1.0
        The privacy budget ε of this fit.
    delta : float, default=0.0
        0 is pure ε-DP; a δ above 0 allows Gaussian noise.
    bounds : pair (lower, upper), dict of pairs by column name, or "private"
        Public bounds, scalars or one value per column. Required without a schema, and never read
        from the data: what lies outside is clipped. Columns that a dict does not name are left
        alone. "private" estimates them with a quarter of `epsilon`.
    method : str or method, default="auto"
        A name in `sfumato.METHODS`, or a configured instance such as `DPLloyd(iterations=3)`.
    n_rows : int, optional
        Declares the number of rows public, or the sum of their weights; it is taken as declared
        and never compared with the data. By default a method that needs the number releases a
        noisy count.
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
    half_life : float, optional
        With `partial_fit`: after so many batches a batch counts half, in centres and in sizes. By
        default all batches count alike.
    max_batches : int, optional
        With `partial_fit`: more batches are refused. Needed with groups, whose costs add up.

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
        Where the method releases one: cells and noisy weights, for any use at no further cost.
        After `partial_fit` of a second batch there is none.
    n_batches_ : int
        How many batches were taken in; 1 after `fit`.
    drift_ : Drift or None
        How unlike the batches before it the last one is, from the third on: `drift_.alarm`.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import PrivateKMeans
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> model = PrivateKMeans(n_clusters=3, epsilon=1.0, bounds=(0, 1)).fit(X)
    >>> model.cluster_centers_.shape
    (3, 2)

    """

    kind = "kmeans"

    def __init__(  # noqa: PLR0913
        self,
        n_clusters: int | str = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Any = None,  # noqa: ANN401
        method: str | Method = "auto",
        n_rows: int | None = None,
        nan: NanPolicy = "ignore",
        max_rows_per_group: int | str = 1,
        random_state: Any = None,  # noqa: ANN401
        schema: Schema | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        half_life: float | None = None,
        max_batches: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.method = method
        self.n_rows = n_rows
        self.nan = nan
        self.max_rows_per_group = max_rows_per_group
        self.random_state = random_state
        self.schema = schema
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.half_life = half_life
        self.max_batches = max_batches

    def _asked(self) -> tuple[Method | BatchStep, int, bool]:
        if self._batch is not None and self._batch.earlier is not None:
            return self._step(self._batch.earlier)
        method = method_of(self.method)
        return method, *clusters_of(self.n_clusters, method)

    def _checked(self, found: Any, task: Task) -> Centers | BatchFound:  # noqa: ANN401
        if isinstance(found, BatchFound):
            return found
        return check_centers(found, type(method_of(self.method)).__name__, task)

    def _keep_found(self, found: Centers | BatchFound, curator: Curator) -> None:
        if isinstance(found, BatchFound):
            found = self._followed(found, curator)
        keep_centers(self, found.points, curator)
        self.cluster_sizes_ = found.sizes * unit_of(curator.schema)
        keep_errors(self, found, curator)

    def _settings(self) -> dict[str, Any]:
        chosen = self.n_clusters == "auto"
        k = "auto" if chosen else int(self.n_clusters)
        limits = {"half_life": self.half_life, "max_batches": self.max_batches}
        return {
            "n_clusters": k,
            "method": _method_to_dict(self.method),
            **{name: value for name, value in limits.items() if value is not None},
        }

    @classmethod
    def _parameters(cls, settings: dict[str, Any]) -> dict[str, Any]:
        method = _method_from_dict(settings["method"])
        limits = {n: v for n, v in settings.items() if n in ("half_life", "max_batches")}
        return {"n_clusters": settings["n_clusters"], "method": method, **limits}

    def _released(self) -> dict[str, Any]:
        stream = {"stream": self.stream_.to_dict()} if self.n_batches_ > 1 else {}
        return {**super()._released(), **stream}

    def _restore(self, data: dict[str, Any]) -> None:
        super()._restore(data)
        if "stream" in data:
            shape = self._cube_centers.shape
            self.stream_ = Stream.from_dict(data["stream"], *shape)
            return
        rows = (float(self.cluster_sizes_.sum()),)
        self.stream_ = Stream(float(data["epsilon"]), float(data["delta"]), rows)


def _method_to_dict(method: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(method, str):
        return {"name": method, "settings": {}}
    settings = dataclasses.asdict(method) if dataclasses.is_dataclass(type(method)) else {}
    return {"name": METHODS.name_of(type(method)) or type(method).__name__, "settings": settings}


def _method_from_dict(data: dict[str, Any]) -> str | Method:
    if data["settings"] and data["name"] in METHODS:
        return METHODS[data["name"]](**data["settings"])
    name: str = data["name"]
    return name
