"""Rows and noise under one lock: the only class that holds both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol, Self, TypeVar

from sfumato._accounting.budget import Entry, Ledger, Share
from sfumato._accounting.guarantee import neighbours_of
from sfumato._base.types import Ints
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._core.mechanisms import Mechanism
from sfumato._core.queries.projection import Projection, ViewedRows, check_projection
from sfumato._core.sampling.source import Noise, SecureNoise
from sfumato._lattice.box import Box, NanPolicy, columns_in
from sfumato.engines._open import rows_of
from sfumato.engines._rows import Rows

_Result = TypeVar("_Result")
_Exact = TypeVar("_Exact")
_Given = TypeVar("_Given", contravariant=True)
_Released = TypeVar("_Released", covariant=True)


class Law(Protocol[_Given, _Released]):
    """A mechanism whose scale is fixed: from exact numbers to what is released.

    Guarantee: stated by each mechanism for itself.
    """

    def draw(self, noise: Noise, exact: _Given, /) -> _Released:
        """Draw what is released about exact numbers."""


class Vault:
    """One dataset with its bounds, its budget and its noise; see `Curator`.

    Guarantee: rows are reached through `_pay` alone, which charges first. Noise is drawn through
    `_perturb` and `_draw` alone, for mechanisms whose scales were fixed before the rows were read.
    """

    def __init__(
        self,
        X: Any,  # noqa: ANN401
        *,
        bounds: Any = None,  # noqa: ANN401
        epsilon: float | None = None,
        delta: float = 0.0,
        nan: NanPolicy = "center",
        groups: Any = None,  # noqa: ANN401
        max_rows_per_group: int = 1,
        ledger: Ledger | None = None,
        noise: Noise | None = None,
    ) -> None:
        if (ledger is None) == (epsilon is None):
            raise ValueError("a curator needs either epsilon (and delta) or a ledger")
        if ledger is not None and not isinstance(ledger, Ledger):
            raise TypeError(f"a ledger must be a sfumato Ledger, got {type(ledger).__name__}")
        self.__ledger = ledger or Ledger(check_epsilon(epsilon), check_delta(delta))
        self.__noise: Noise = noise or SecureNoise()
        if self.ledger.durable and self.__noise.replayable:
            raise ValueError("a durable ledger needs secret noise: replayable noise is for tests")
        most = check_whole(max_rows_per_group, "max_rows_per_group")
        self.__rows = rows_of(X, groups=groups, max_rows_per_group=most, width=columns_in(bounds))
        self.__box = Box.of(bounds, self.__rows.n_features, nan)
        # The rows say how many of them a neighbour can take away, however they were opened.
        self._rows_per_neighbour = self.__rows.max_rows_per_group or 1
        # Rows of some views are known to lie in a ball of radius REACH.
        self._in_ball = False

    @property
    def ledger(self) -> Ledger:
        """The budget of this dataset."""
        return self.__ledger

    @property
    def box(self) -> Box:
        """The bounds, and the lattice in them."""
        return self.__box

    @property
    def rows_per_neighbour(self) -> int:
        """How many rows one neighbour may take away: 1, or the most that a group may have."""
        return self._rows_per_neighbour

    @property
    def neighbours(self) -> str:
        """What is protected as a whole, in words."""
        return neighbours_of(self.__rows.max_rows_per_group)

    def __repr__(self) -> str:
        epsilon, delta = (float(x) for x in self.ledger.left)
        return f"Curator(n_features={self.box.n_features}, left=({epsilon:.6g}, {delta:.3g}))"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Curator cannot be copied or pickled: the copy would spend the same budget twice"
        )

    def _check(self, *shares: Share) -> None:
        for share in shares:
            # A subclass could show one amount to the noise and another to the ledger.
            if type(share) is not Share or share.account is None:
                raise TypeError("a query is paid with a share of an account of this curator")
            if share.account.ledger is not self.ledger:
                raise ValueError("this share belongs to the ledger of another dataset")
            if share.account is not shares[0].account:
                raise ValueError("the shares of one query come from one account")
            if share.amount <= 0:
                raise ValueError("a query needs a share above 0")

    def _pay(self, entries: list[Entry], read: Callable[[Rows], _Result]) -> _Result:
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
            raise TypeError("a query is paid with a share of an account")
        positions = self.__ledger.charge(account, entries)
        result = read(self.__rows)
        self.__ledger.record(account, positions)
        return result

    def _seen_through(self, projection: Projection) -> Self:
        """Return this vault once more, not a copy: all it holds is shared but its view of rows."""
        view = object.__new__(type(self))
        vars(view).update(vars(self))
        view.__rows = ViewedRows(self.__rows, self.box, projection)
        view.__box = projection.box(self.box.nan)
        view._in_ball = projection.ball
        return view

    def _perturb(self, mechanism: Mechanism, exact: Ints) -> Ints:
        noise: Ints = mechanism.draw(self.__noise, exact.shape)
        return exact + noise

    def _draw(self, law: Law[_Exact, _Result], exact: _Exact) -> _Result:
        return law.draw(self.__noise, exact)


class Views(Vault):
    """The verb `view`; see `Curator`.

    Guarantee: a view is the same vault. It has the ledger, the noise, the rows and the groups of
    the curator it was opened from, and answers from the same accounts.
    """

    def view(self, projection: Projection) -> Self:
        """Open the same rows as seen through a public linear map, which is free.

        The map is applied within every pass; no mapped copy of the rows is made. The `box` of the
        view has one unit per lattice step. Shares come from any account of this curator.

        Sensitivity: see `Projection`. A row of the table is one row of the view.
        Guarantee: that of this curator; nothing is read or released here.
        """
        return self._seen_through(check_projection(projection, self.box.n_features))
