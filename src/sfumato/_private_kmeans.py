"""PrivateKMeans: opens rows, reserves budget, runs a method, keeps what was released."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from sfumato._accounting.budget import Account, Caps, Ledger
from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats
from sfumato._base.validation import check_delta, check_epsilon, check_whole, is_private
from sfumato._core.curator import Curator
from sfumato._core.queries.breakdown import Levels
from sfumato._lattice.box import NanPolicy
from sfumato._private_bounds.estimate import UnpreparedRows
from sfumato._released_model import (
    ReleasedModel,
    is_restored,
    keep_centers,
    keep_release,
    load_as,
    name_features,
    reserved,
    spent_note,
)
from sfumato._schema.schema import Schema
from sfumato._synopsis import Synopsis
from sfumato.engines._progress import shown
from sfumato.engines._threads import threads
from sfumato.methods import Centers, Method, Task, clusters_of, method_of
from sfumato.methods._base import check_centers


class PrivateKMeans(ReleasedModel):
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
    bounds_ : pair of ndarrays of shape (n_features,)
        The bounds in use, declared or estimated.
    receipt_ : Receipt
        What was asked, what each query cost, and the guarantee.
    request_ : str
        Where the ledger lasts: the name under which it keeps this model.
    synopsis_ : Synopsis
        Where the method releases one: cells and noisy weights, for any use at no further cost.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato import PrivateKMeans
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> model = PrivateKMeans(n_clusters=3, epsilon=1.0, bounds=(0, 1)).fit(X)
    >>> model.cluster_centers_.shape
    (3, 2)

    """

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

    def fit(
        self,
        X: Any,  # noqa: ANN401
        y: None = None,
        *,
        groups: Any = None,  # noqa: ANN401
        request: str | None = None,
    ) -> Self:
        """Find private centres of `X`: an array, a data frame, files, or a `Curator`.

        Rows given directly open a budget of their own, used up by this fit. A `Curator` keeps one
        budget across many fits, of which this one takes (epsilon, delta).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), data frame, path or Curator
            The rows, or where they are: also a folder, a pattern, a Dask array or frame, a Spark
            frame. NaN and infinite cells follow the `nan` policy.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,) or column name, optional
            Whose rows are whose: protects each group as a whole.
        request : str, optional
            With a `Curator` whose ledger lasts: a name for this fit. The same name returns the
            model that was released under it, at no further cost.

        Returns
        -------
        self : PrivateKMeans
            The fitted model.

        """
        with threads(self.n_jobs), shown(self.verbose):
            return self._fit(X, groups, request)

    def _fit(self, X: Any, groups: Any, request: str | None) -> Self:  # noqa: ANN401
        method = method_of(self.method)
        k, choose_k = clusters_of(self.n_clusters, method)
        n_rows = None if self.n_rows is None else check_whole(self.n_rows, "n_rows", least=0)
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        if request is not None and is_restored(self, X, request):
            return self
        opened = self._open(X, groups, Ledger(epsilon, delta))
        schema = opened.schema
        self.n_features_in_ = len(schema.features) if schema else opened.n_features
        name_features(self, X, groups, schema)
        for_method = opened.for_method if isinstance(opened, UnpreparedRows) else epsilon
        if n_rows is not None:
            n_rows = round(n_rows / _unit(schema))
        task = Task(
            *(k, opened.n_features, for_method, delta, n_rows),
            choose_k=choose_k,
            max_rows_per_group=opened.rows_per_neighbour,
            levels=tuple(Levels(*one) for one in schema.levels) if schema else (),
        )
        caps = method.caps(task)
        curator, task, caps, before, notes = _prepared(opened, method, task, caps)
        name, ledger = type(method).__name__, curator.ledger
        account = reserved(self, curator, caps, name, request) if ledger.durable else None
        account = account or curator.reserve(name, caps)
        centers = check_centers(_run(method, curator, task, account, rng), name, task)
        self._keep(centers, curator, (*before, account), (*notes, *centers.notes))
        if ledger.durable:
            keep_release(self, ledger, account)
        return self

    def _keep(
        self,
        centers: Centers,
        curator: Curator,
        accounts: tuple[Account, ...],
        notes: tuple[str, ...],
    ) -> None:
        """Keep what was released, and nothing else."""
        self.box_ = curator.box
        keep_centers(self, centers.points, curator.schema)
        unit = _unit(curator.schema)
        self.cluster_sizes_: Floats = centers.sizes * unit
        tables = ("Tables with a schema",) if curator.schema else ()
        self.receipt_ = Receipt.of(
            *accounts,
            method=accounts[-1].purpose,
            neighbours=curator.neighbours,
            chapters=(*curator.ledger.chapters, curator.source, *tables, "Estimator"),
            notes=(*curator.notes, *notes, _nan_note(curator.box.nan)),
        )
        self.__dict__.pop("synopsis_", None)
        self.__dict__.pop("request_", None)
        if centers.synopsis is not None:
            synopsis = replace(centers.synopsis, schema=curator.schema)
            self.synopsis_: Synopsis = synopsis.times(unit)

    def _open(self, X: Any, groups: Any, ledger: Ledger) -> Curator | UnpreparedRows:  # noqa: ANN401
        """Open rows, (n, d); all that can be refused is refused here."""
        private, chooses = is_private(self.bounds), is_private(self.max_rows_per_group)
        if isinstance(X, Curator):
            if groups is not None:
                raise ValueError("groups belong to the Curator: pass them where it is made")
            if private:
                raise ValueError("a Curator has its bounds already: leave bounds='private' out")
            if chooses:
                raise ValueError("max_rows_per_group='private' belongs where the Curator is made")
            if self.schema is not None and self.schema != X.schema:
                raise ValueError("a Curator has a schema of its own: leave schema out")
            return X
        return (UnpreparedRows if private or chooses else Curator)(
            X,
            bounds=self.bounds,
            nan=self.nan,
            groups=groups,
            max_rows_per_group=self.max_rows_per_group,
            ledger=ledger,
            schema=self.schema,
        )


def _prepared(
    opened: Curator | UnpreparedRows, method: Method, task: Task, caps: Caps
) -> tuple[Curator, Task, Caps, tuple[Account, ...], tuple[str, ...]]:
    """Release what is missing of the rows; the task and its caps follow the rows per group found.

    Returns a curator, both, the accounts of what was released, and notes on it.
    """
    if isinstance(opened, Curator):
        return opened, task, caps, (), ()
    curator, accounts, notes = opened.prepared()
    task = replace(task, max_rows_per_group=curator.rows_per_neighbour)
    return curator, task, method.caps(task), accounts, notes


def _run(
    method: Method, curator: Curator, task: Task, account: Account, rng: np.random.Generator
) -> Centers:
    """Run a method. An account that was not charged is taken back, of others it is said."""
    try:
        return method(curator, task, account=account, rng=rng)
    except BaseException as error:
        if account.entries:
            error.add_note(spent_note(account))
        raise
    finally:
        curator.ledger.cancel(account)


def _unit(schema: Schema | None) -> float:
    """How much a row that a method counts weighs."""
    return schema.weights.unit if schema is not None and schema.weights else 1.0


_NAN_NOTES = {
    "ignore": "missing cells, if any, were ignored: a row counts with the columns it has",
    "center": "missing cells, if any, were put at the centre of their column",
    "drop": "rows with missing cells, if any, were left out",
}


def _nan_note(nan: NanPolicy) -> str:
    """What became of missing cells: said whether there were any or not."""
    return _NAN_NOTES[nan]


def load(path: str | os.PathLike[str]) -> PrivateKMeans:
    """Read a model that `PrivateKMeans.save` wrote."""
    return load_as(path, PrivateKMeans)
