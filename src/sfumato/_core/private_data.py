"""Rows, noise and budget of one dataset: the only object that holds all three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

from sfumato._accounting.budget import Entry, Ledger, Share, Uncopied
from sfumato._accounting.guarantee import neighbours_of
from sfumato._base.types import Ints
from sfumato._base.validation import is_whole
from sfumato._core.mechanisms import Mechanism
from sfumato._core.queries.projection import Projection, ViewedRows
from sfumato._core.sampling.source import Noise
from sfumato._core.weighted import WeightedRows
from sfumato._lattice.box import MAX_NUMBERS, Box
from sfumato.engines._rows import Rows

_Query = TypeVar("_Query")
_Result = TypeVar("_Result")
_Exact = TypeVar("_Exact")
_Given = TypeVar("_Given", contravariant=True)
_Released = TypeVar("_Released", covariant=True)

MEMORY, FILES = "Rows in memory", "Files and engines"


class Chooser(Protocol[_Given, _Released]):
    """A mechanism that releases a choice, with its scale fixed: bits, an index or a point.

    Guarantee: stated by each mechanism for itself.
    """

    def draw(self, noise: Noise, exact: _Given, /) -> _Released:
        """Draw what is released about exact numbers."""


class PrivateData(Uncopied):
    """The rows of one dataset with their bounds, their budget and their noise; see `Curator`.

    `rows_per_neighbour` is the number of rows by which neighbouring datasets differ at most, the
    `copies` of weighted ones included; `grouped` says whether these are the rows of one group,
    `in_ball` whether every row is known to lie in a ball of radius REACH, and `source` is the
    chapter of docs/trusted.md about where the rows come from.

    Guarantee: rows are reached through `release` alone, which charges first. Noise is drawn through
    `perturb` and `draw` alone, for mechanisms whose scales were fixed before the rows were read.
    """

    def __init__(self, rows: Rows, box: Box, ledger: Ledger, noise: Noise) -> None:
        if ledger.durable and noise.replayable:
            raise ValueError("a durable ledger needs secret noise: replayable noise is for tests")
        self.neighbours = neighbours_of(rows.max_rows_per_group)
        if ledger.unit not in (None, self.neighbours):
            raise ValueError(
                f"the ledger protects {ledger.unit}, but these rows are opened to protect "
                f"{self.neighbours}: both must be the same, or their costs do not add up"
            )
        self.__rows = rows
        self.__noise = noise
        self.ledger = ledger
        self.box = box
        self.copies = rows.most if isinstance(rows, WeightedRows) else 1
        self.rows_per_neighbour = (rows.max_rows_per_group or 1) * self.copies
        self.grouped = rows.max_rows_per_group is not None
        self.in_ball = False
        self.source = MEMORY if getattr(rows, "in_memory", False) else FILES

    def admit(self, query: _Query, kinds: Sequence[type], *shares: Share) -> _Query:
        """Refuse, before any charge, what is not a query of the curator with shares of an account.

        Nothing here depends on a row.
        """
        admit(query, kinds, self.box.n_features)
        for share in shares:
            # A subclass could show one amount to the noise and another to the ledger.
            if type(share) is not Share or share.account is None:
                raise TypeError("a query is charged to a share of an account of this curator")
            if share.account.ledger is not self.ledger:
                raise ValueError("this share belongs to the ledger of another dataset")
            if share.account is not shares[0].account:
                raise ValueError("the shares of one query come from one account")
            if share.amount <= 0:
                raise ValueError("a query needs a share above 0")
        return query

    def release(self, entries: Sequence[Entry], read: Callable[[Rows], _Result]) -> _Result:
        """Charge, read, record: the only way to the rows.

        A mechanism that would cost more than its share is a bug, and fails closed: nothing is
        charged, and no row is read.
        """
        for entry in entries:
            if entry.loss > entry.share.amount:
                raise RuntimeError(
                    f"{entry.query}: the noise is too small for the budget that was set aside "
                    "for it. This is a bug in sfumato; nothing was charged and no row was read"
                )
        account = entries[0].share.account
        if account is None:
            raise TypeError("a query is charged to a share of an account")
        positions = self.ledger.charge(account, entries)
        result = read(self.__rows)
        self.ledger.record(account, positions)
        return result

    def perturb(self, mechanism: Mechanism, exact: Ints) -> Ints:
        """Add noise to exact integers of any shape."""
        noise: Ints = mechanism.draw(self.__noise, exact.shape)
        return exact + noise

    def draw(self, mechanism: Chooser[_Exact, _Result], exact: _Exact) -> _Result:
        """Draw a choice by exact numbers."""
        return mechanism.draw(self.__noise, exact)

    def keeping(self, max_rows: int) -> Self:
        """Return the same data, not a copy, with so many rows of each group."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other.__rows = self.__rows.keeping(max_rows)
        other.rows_per_neighbour = max_rows * self.copies
        other.neighbours = neighbours_of(max_rows)
        return other

    def seen_through(self, projection: Projection) -> Self:
        """Return the same data, not a copy, with each row mapped by a public projection."""
        view = object.__new__(type(self))
        vars(view).update(vars(self))
        view.__rows = ViewedRows(self.__rows, self.box, projection)
        view.box = projection.box(self.box.nan)
        view.in_ball = projection.ball
        return view


def admit(query: Any, kinds: Sequence[type], n_features: int) -> None:  # noqa: ANN401
    """Refuse anything but a query of these types, of this width, with an answer that fits.

    A query has `n_features` columns; what looks at some columns of a row says by `end` how many it
    needs. A query that is made of others lists them in `parts`, each with the types that are
    allowed there. One whose answer can be large says by `n_numbers` how many
    integers it has.
    """
    # Exact types: a subclass, or somebody else's class, could keep the rows that it is shown.
    if type(query) not in kinds:
        raise TypeError(
            f"{type(query).__name__} is not one of the curator's own queries: "
            f"{', '.join(kind.__name__ for kind in kinds)}"
        )
    for part, own in getattr(query, "parts", ()):
        admit(part, own, n_features)
    if hasattr(query, "end"):
        if query.end > n_features:
            raise ValueError(f"{query} end at column {query.end}, but the data has {n_features}")
    elif not is_whole(query.n_features) or query.n_features != n_features:
        raise ValueError(f"{query}: {query.n_features} columns, but the data has {n_features}")
    numbers = getattr(query, "n_numbers", 0)
    if numbers > MAX_NUMBERS:
        raise ValueError(
            f"{query}: {numbers:,} numbers, but at most {MAX_NUMBERS:,} fit: ask for fewer"
        )
