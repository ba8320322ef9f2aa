"""`partial_fit`: a model of rows that come in batches, each row in one of them.

Guarantee: a batch is asked with its own rows alone, and with what was released before. Neighbours
that differ by one row of one batch lose what that batch is charged (docs/proofs/batches.md).
"""

from __future__ import annotations

import hashlib
import json
from copy import copy
from dataclasses import dataclass, replace
from operator import add
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from sfumato._accounting.budget import Account, Ledger
from sfumato._accounting.guarantee import ONE_ROW, Guarantee
from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats
from sfumato._base.validation import check_whole, is_private
from sfumato._core.curator import Curator
from sfumato._lattice.box import REACH
from sfumato._private_bounds.estimate import UnpreparedRows
from sfumato._private_fit import Found, PrivateFit, unit_of
from sfumato._stream import Drift, Stream, running_errors, weight_kept
from sfumato.engines._elsewhere import names_of
from sfumato.engines._open import elsewhere, split_groups
from sfumato.methods._base import Centers
from sfumato.methods._batch import BatchFound, BatchStep

EVENT = f"{ONE_ROW} of one batch"


@dataclass(frozen=True)
class Batch:
    """A batch that is being taken in, and the model before it: None if it is the first."""

    earlier: Any


class StreamedFit(PrivateFit):
    """`partial_fit` of centres: a first batch is a fit, each later one moves them."""

    half_life: float | None
    max_batches: int | None
    stream_: Stream
    cluster_centers_: Floats
    encoded_centers_: Floats
    cluster_sizes_: Floats

    _batch: Batch | None = None

    def partial_fit(
        self,
        X: Any,  # noqa: ANN401
        y: None = None,
        *,
        groups: Any = None,  # noqa: ANN401
        request: str | None = None,
    ) -> Self:
        """Take in one more batch of rows: a day, a shipment. The first is a fit.

        Every batch costs (epsilon, delta) of its own rows. A row is in one batch, so that all
        batches together promise each row what one batch does. Which batch a row is in must depend
        on the row alone, such as on its date. With groups the costs of all batches add up, because
        a group may be in all of them; `max_batches` says how many there may be.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), data frame, path or Curator
            The rows of the batch, in the columns and with the bounds of those before.
        y : None
            Ignored.
        groups : array-like of shape (n_samples,) or column name, optional
            Whose rows are whose, as in every batch before.
        request : str, optional
            With a `Curator` whose ledger lasts: a name for this batch.

        Returns
        -------
        self : estimator
            The model of all batches so far. A batch that is refused leaves it as it was.

        """
        weight_kept(self.half_life)
        if self.max_batches is not None:
            check_whole(self.max_batches, "max_batches")
        if is_private(self.max_rows_per_group):
            raise ValueError(
                "every batch keeps the same number of rows of a group: give max_rows_per_group as "
                "a number in place of 'private'"
            )
        earlier = self if hasattr(self, "receipt_") else None
        later = copy(self)
        later._batch = Batch(earlier)  # noqa: SLF001
        if earlier is not None:
            self._check_asked()
            if is_private(self.bounds):
                later.bounds = (self.box_.lower, self.box_.upper)
        try:
            later.fit(X, groups=groups, request=request)
        finally:
            # What was released is kept, even if a ledger could not keep it.
            if vars(later).get("receipt_") is not vars(self).get("receipt_"):
                _take_over(self, later)
        return self

    @property
    def n_batches_(self) -> int:
        """How many batches the model has taken in."""
        return self.stream_.n_batches

    @property
    def drift_(self) -> Drift | None:
        """How unlike the batches before it the last one is; None up to the second batch."""
        return self.stream_.drift

    def _check_asked(self) -> None:
        """Refuse other settings than those of the first batch."""
        stream, k = self.stream_, len(self.cluster_centers_)
        if (float(self.epsilon), float(self.delta)) != (stream.epsilon, stream.delta):
            raise ValueError(
                f"every batch of this stream costs ε = {stream.epsilon:g}, δ = {stream.delta:g}, "
                f"got epsilon={self.epsilon!r}, delta={self.delta!r}: begin a new stream with fit"
            )
        asked = getattr(self, "n_clusters", "auto")
        if asked not in ("auto", k):
            raise ValueError(
                f"this stream has {k} centres, got n_clusters={asked!r}: begin a new stream with "
                "fit"
            )
        if self.max_batches is not None and stream.n_batches >= self.max_batches:
            raise ValueError(
                f"this stream has {stream.n_batches} batches, and max_batches = "
                f"{self.max_batches}: nothing was read or charged. Begin a new stream with fit"
            )

    def _open(self, X: Any, groups: Any, ledger: Ledger) -> Curator | UnpreparedRows:  # noqa: ANN401
        if self._batch is None:
            return super()._open(X, groups, ledger)
        earlier = self._batch.earlier
        if earlier is not None and not isinstance(X, Curator) and not elsewhere(X):
            _check_columns(earlier, X, groups)
        opened = super()._open(X, groups, ledger)
        if opened.neighbours != ONE_ROW and self.max_batches is None:
            raise ValueError(
                "a group may have rows in every batch, so its costs add up: say with max_batches "
                "how many batches there will be, at most max_batches·ε in all; or leave groups "
                "out, to protect each row of each batch by itself"
            )
        if earlier is not None and isinstance(opened, Curator):
            _check_like(earlier, opened)
            _check_names(earlier, X, opened, groups)
        return opened

    def _step(self, earlier: Any) -> tuple[BatchStep, int, bool]:  # noqa: ANN401
        """What a later batch is asked."""
        centers = lattice_centers(earlier)
        return BatchStep(centers, earlier.stream_.reference), len(centers), False

    def _followed(self, found: BatchFound, curator: Curator) -> Centers:
        """The running centres and sizes with one more batch."""
        earlier, unit = self._batch.earlier, unit_of(curator.schema)  # type: ignore[union-attr]
        kept, before = weight_kept(self.half_life), earlier._errors_
        self.stream_, points, sizes, shares = earlier.stream_.followed(
            lattice_centers(earlier), earlier.cluster_sizes_ / unit, found, kept
        )
        known = before and before.times(1 / unit)
        errors = running_errors(known, shares, found.moved, points, sizes, kept)
        return Centers(points, sizes, found.notes, errors=errors)

    def _keep(
        self,
        found: Found,
        curator: Curator,
        accounts: tuple[Account, ...],
        notes: tuple[str, ...],
    ) -> None:
        super()._keep(found, curator, accounts, notes)
        earlier = self._batch.earlier if self._batch else None
        if earlier is None:
            rows = (float(self.cluster_sizes_.sum()),)
            self.stream_ = Stream(float(self.epsilon), float(self.delta), rows)
            return
        grouped = curator.neighbours != ONE_ROW
        self.receipt_ = joined(earlier.receipt_, self.receipt_, self.stream_, grouped=grouped)

    def _requested(self) -> dict[str, Any]:
        """What a request is about: also what was released before."""
        asked = super()._requested()
        if self._batch is None or self._batch.earlier is None:
            return asked
        before = json.dumps(self._batch.earlier._released())  # noqa: SLF001
        return {**asked, "after": hashlib.sha256(before.encode()).hexdigest()}


def _take_over(model: StreamedFit, later: StreamedFit) -> None:
    """Make what was fitted of one model that of another."""
    settings = {*model.get_params(), "_batch"}
    for name in [n for n in vars(model) if n not in settings]:
        del model.__dict__[name]
    model.__dict__.update({n: v for n, v in vars(later).items() if n not in settings})


def lattice_centers(model: Any) -> Floats:  # noqa: ANN401
    """The centres (k, d) of a model, in lattice steps."""
    centers: Floats = model._cube_centers * REACH  # noqa: SLF001
    return np.clip(centers, -REACH, REACH)


def _check_columns(earlier: Any, X: Any, groups: Any) -> None:  # noqa: ANN401
    """Refuse other columns than those before, in rows that the caller brings."""
    if earlier.schema_ is None:
        validate_data(earlier, split_groups(X, groups)[0], reset=False, skip_check_array=True)


def _check_like(earlier: Any, opened: Curator) -> None:  # noqa: ANN401
    """Refuse rows with other bounds, another schema or other groups than those before."""
    old, new = earlier.box_, opened.box
    if (old.lower, old.upper, old.nan) != (new.lower, new.upper, new.nan):
        raise ValueError(
            "every batch of a stream has the bounds, the columns and the nan policy of the first; "
            "these rows were opened with others"
        )
    if earlier.schema_ != opened.schema:
        raise ValueError("every batch of a stream has the schema of the first")
    before = earlier.receipt_.guarantee.neighbours.removesuffix(EVENT.removeprefix(ONE_ROW))
    if before != opened.neighbours:
        raise ValueError(
            f"this stream protects {before}, but these rows are opened to protect "
            f"{opened.neighbours}: every batch has groups, or none has"
        )


def _check_names(earlier: Any, X: Any, opened: Curator, groups: Any) -> None:  # noqa: ANN401
    """Refuse columns of other names than those before, wherever the rows are."""
    known = getattr(earlier, "feature_names_in_", None)
    if known is None or earlier.schema_ is not None or not (isinstance(X, Curator) or elsewhere(X)):
        return
    given = isinstance(X, Curator)
    names = X.names if given else names_of(elsewhere(X), X, groups, opened.n_features)
    if names is not None and tuple(names) != tuple(known):
        raise ValueError(
            f"the columns of this stream are {', '.join(map(str, known))}, got {', '.join(names)}"
        )


def joined(before: Receipt, batch: Receipt, stream: Stream, *, grouped: bool) -> Receipt:
    """The receipt of a stream after one more batch: its own lines are those of that batch.

    A row is in one batch, so that what all promise is the largest of what each does, in every
    number; with groups they add up.
    """
    old, new = before.guarantee, batch.guarantee
    together = add if grouped else max
    delta = together(old.delta, new.delta)
    return replace(
        batch,
        guarantee=Guarantee(
            "approximate" if delta else "pure",
            together(old.amount, new.amount),
            delta,
            new.neighbours if grouped else EVENT,
        ),
        slack=together(before.slack, batch.slack),
        rho=None if before.rho is None or batch.rho is None else together(before.rho, batch.rho),
        notes=(*_stream_notes(stream, grouped=grouped), *batch.notes),
        chapters=tuple(dict.fromkeys([*before.chapters, *batch.chapters])),
    )


def _stream_notes(stream: Stream, *, grouped: bool) -> tuple[str, ...]:
    """What a receipt says about a stream."""
    n, epsilon = stream.n_batches, stream.epsilon
    lines = f"batch {n} of a stream; the queries are those of this batch"
    if grouped:
        costs = f"a group may be in every batch: the ε = {epsilon:g} of {n} batches add up"
    else:
        costs = (
            f"each row is in one batch, which costs ε = {epsilon:g}; a person with rows in several "
            f"batches spends the sum of these, ε = {n * epsilon:g} with rows in all {n}"
        )
    drift = () if stream.drift is None else (str(stream.drift),)
    return (lines, costs, *drift)
