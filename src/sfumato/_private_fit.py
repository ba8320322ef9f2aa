"""What every private estimator does: opens rows, reserves budget, queries, keeps the release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol, Self

import numpy as np
from sklearn.utils import check_random_state

from sfumato._accounting.budget import Account, Caps, Ledger
from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats, Rng
from sfumato._base.validation import check_delta, check_epsilon, is_private
from sfumato._core.curator import Curator
from sfumato._core.queries.breakdown import Levels
from sfumato._error_bars import lines_of
from sfumato._lattice.box import REACH, NanPolicy
from sfumato._private_bounds.estimate import UnpreparedRows
from sfumato._released_model import (
    ReleasedModel,
    is_restored,
    keep_release,
    name_features,
    reserved,
    spent_note,
)
from sfumato._schema.schema import Schema
from sfumato._synopsis import Synopsis
from sfumato.engines._progress import shown
from sfumato.engines._threads import threads
from sfumato.methods import Centers, Task
from sfumato.methods._base import check_rows


class Found(Protocol):
    """What was released by a method: notes for the receipt, a synopsis if there is one."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the receipt."""

    @property
    def synopsis(self) -> Synopsis | None:
        """Cells and noisy weights, if they were released."""


class Queries(Protocol):
    """A method of any kind: caps before anything is read, then queries."""

    def caps(self, task: Task) -> Caps:
        """Divide (ε, δ) among the currencies."""

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Found:
        """Query, charged to the account. `rng` is public randomness."""


class PrivateFit(ReleasedModel):
    """`fit` of every private estimator. A subclass says what it asks and keeps what it is told."""

    epsilon: float
    delta: float
    bounds: Any
    n_rows: int | None
    nan: NanPolicy
    max_rows_per_group: int | str
    random_state: Any
    schema: Schema | None
    n_jobs: int | None
    verbose: int

    def _asked(self) -> tuple[Queries, int, bool]:
        """The method, the number of clusters, and whether fewer may be chosen."""
        raise TypeError(f"{type(self).__name__} has no method")

    def _checked(self, found: Any, task: Task) -> Found:  # noqa: ANN401
        """Refuse what a method returned if it is not what a fit needs."""
        checked: Found = found
        return checked

    def _keep_found(self, found: Any, curator: Curator) -> None:  # noqa: ANN401
        """Keep what a method found, in the user's units."""
        raise TypeError(f"{type(self).__name__} keeps nothing")

    def _bars_in_words(self) -> tuple[str, ...]:
        """The error bars of each centre, for the receipt."""
        errors = self.__dict__.get("_errors_")
        return () if errors is None else lines_of(errors, self.box_, self.schema_)

    def fit(
        self,
        X: Any,  # noqa: ANN401
        y: None = None,
        *,
        groups: Any = None,  # noqa: ANN401
        request: str | None = None,
    ) -> Self:
        """Fit the model to `X`: an array, a data frame, files, or a `Curator`.

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
        self : estimator
            The fitted model.

        """
        if self.n_jobs is None and not self.verbose:
            return self._fit(X, groups, request)
        with threads(self.n_jobs), shown(self.verbose):
            return self._fit(X, groups, request)

    def _fit(self, X: Any, groups: Any, request: str | None) -> Self:  # noqa: ANN401
        method, k, choose_k = self._asked()
        n_rows = None if self.n_rows is None else check_rows(self.n_rows)
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        if request is not None and is_restored(self, X, request):
            return self
        opened = self._open(X, groups, Ledger(epsilon, delta))
        schema = opened.schema
        self.n_features_in_ = len(schema.features) if schema else opened.n_features
        self.__dict__.pop("feature_names_in_", None)
        if type(X) is not np.ndarray:  # which has no names
            name_features(self, X, groups, schema)
        for_method = opened.for_method if isinstance(opened, UnpreparedRows) else epsilon
        if n_rows is not None:
            n_rows = round(Fraction(n_rows) / Fraction(unit_of(schema)))
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
        found = self._checked(_run(method, curator, task, account, rng), task)
        self._keep(found, curator, (*before, account), notes)
        if ledger.durable:
            keep_release(self, ledger, account)
        return self

    def _keep(
        self,
        found: Found,
        curator: Curator,
        accounts: tuple[Account, ...],
        notes: tuple[str, ...],
    ) -> None:
        """Keep what was released, and nothing else."""
        # A copy: what a box remembers of its use would tell whether there were rows.
        self.box_ = replace(curator.box)
        for earlier in ("encoded_centers_", "schema_", "synopsis_", "request_", "_evidence_"):
            self.__dict__.pop(earlier, None)
        self._keep_found(found, curator)
        tables = ("Tables with a schema",) if curator.schema else ()
        self.receipt_ = Receipt.of(
            *accounts,
            method=accounts[-1].purpose,
            neighbours=curator.neighbours,
            chapters=(*curator.ledger.chapters, curator.source, *tables, "Estimator"),
            notes=(*curator.notes, *notes, *found.notes, _nan_note(curator.box.nan)),
            centers=self._bars_in_words(),
        )
        if found.synopsis is not None:
            synopsis = replace(found.synopsis, box=replace(curator.box), schema=curator.schema)
            self.synopsis_: Synopsis = synopsis.times(unit_of(curator.schema))

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
    opened: Curator | UnpreparedRows, method: Queries, task: Task, caps: Caps
) -> tuple[Curator, Task, Caps, tuple[Account, ...], tuple[str, ...]]:
    """Release what is missing of the rows; the task and its caps follow the rows per group found.

    Returns a curator, both, the accounts of what was released, and notes on it.
    """
    if isinstance(opened, Curator):
        return opened, task, caps, (), ()
    curator, accounts, notes = opened.prepared()
    task = replace(task, max_rows_per_group=curator.rows_per_neighbour)
    return curator, task, method.caps(task), accounts, notes


def _run(method: Queries, curator: Curator, task: Task, account: Account, rng: Rng) -> Found:
    """Run a method. An account that was not charged is taken back, of others it is said."""
    try:
        return method(curator, task, account=account, rng=rng)
    except BaseException as error:
        if account.entries:
            error.add_note(spent_note(account))
        raise
    finally:
        curator.ledger.cancel(account)


def keep_centers(model: Any, points: Floats, curator: Curator) -> None:  # noqa: ANN401
    """Keep centres (k, d), lattice steps, in the user's units; with a schema encoded too."""
    schema = curator.schema
    if schema is None:
        model.cluster_centers_ = curator.box.from_lattice(points)
        return
    model.schema_ = schema
    model.encoded_centers_ = schema.settled(points / REACH)
    model.cluster_centers_ = schema.decode(model.encoded_centers_)


def keep_errors(model: Any, found: Centers, curator: Curator) -> None:  # noqa: ANN401
    """Keep the error bars of centres and sizes, if the method says them."""
    model._errors_ = found.errors and found.errors.times(unit_of(curator.schema))


def unit_of(schema: Schema | None) -> float:
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
