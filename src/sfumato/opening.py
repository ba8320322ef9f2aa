"""What a fit is given, opened: a curator, or rows whose bounds are still to be bought."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.bounds import DEFAULT, SLICE, buy_bounds
from sfumato.box import Box, NanPolicy, columns_in
from sfumato.budget import Account, Ledger
from sfumato.curator.bounds import Survey
from sfumato.curator.curator import Curator
from sfumato.engines.base import Rows
from sfumato.engines.opening import rows_of
from sfumato.parameters import check_whole

PRIVATE = "private"
"""What users write in place of bounds that are to be bought."""


def is_private(bounds: Any) -> bool:  # noqa: ANN401
    """Whether bounds are to be bought."""
    return isinstance(bounds, str) and bounds == PRIVATE


@dataclass(frozen=True)
class Bounded:
    """A curator, the ε that the method may spend, and what was paid before it."""

    curator: Curator
    for_method: Fraction
    accounts: tuple[Account, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.curator.box.n_features

    def bounded(self) -> Bounded:
        """The bounds are there."""
        return self


@dataclass(frozen=True)
class Unbounded:
    """Rows without bounds, and the budget that pays for bounds and method."""

    rows: Rows
    nan: NanPolicy
    ledger: Ledger

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.n_features

    @property
    def for_method(self) -> Fraction:
        """The ε that the bounds leave to the method."""
        return self.ledger.total[0] * (1 - SLICE)

    def bounded(self) -> Bounded:
        """Buy bounds, and open a curator with them and with what is left."""
        survey = Survey(self.rows, ledger=self.ledger)
        bought = buy_bounds(survey, self.ledger.total[0] * SLICE)
        curator = Curator(
            self.rows, bounds=(bought.lower, bought.upper), nan=self.nan, ledger=self.ledger
        )
        return Bounded(curator, self.for_method, (bought.account,), bought.notes)


def open_rows(
    X: Any,  # noqa: ANN401
    bounds: Any,  # noqa: ANN401
    ledger: Ledger,
    *,
    nan: NanPolicy,
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
) -> Bounded | Unbounded:
    """Open rows with their bounds, or without; all that can be refused is refused here.

    A `Curator` is taken as it is.
    """
    if isinstance(X, Curator):
        if groups is not None:
            raise ValueError("groups belong to the Curator: pass them where it is made")
        if is_private(bounds):
            raise ValueError("a Curator has its bounds already: leave bounds='private' out")
        return Bounded(X, ledger.total[0])
    most = check_whole(max_rows_per_group, "max_rows_per_group")
    rows = rows_of(X, groups=groups, max_rows_per_group=most, width=columns_in(bounds))
    if is_private(bounds):
        Box.of(DEFAULT, rows.n_features, nan)
        return Unbounded(rows, nan, ledger)
    return Bounded(Curator(rows, bounds=bounds, nan=nan, ledger=ledger), ledger.total[0])
