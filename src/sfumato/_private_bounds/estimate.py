"""Private bounds: estimated from noisy histograms with a part of the budget."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato._accounting.budget import Account, Caps, Ledger, Share
from sfumato._accounting.guarantee import neighbours_of
from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats
from sfumato._base.validation import check_epsilon, check_max_rows, is_private
from sfumato._core.curator import Curator
from sfumato._core.declared import Opened, declared_schema, opened_ledger
from sfumato._core.queries.histograms import Binning, EqualBins, LogBins
from sfumato._core.releases.group_sizes import SLICE as SLICE_OF_GROUPS
from sfumato._core.releases.group_sizes import check_groups
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._lattice.box import Box, NanPolicy, columns_in
from sfumato._ledger.durable import DurableLedger
from sfumato._private_bounds.ranges import ColumnSupport, Span, find_support, locate, trim
from sfumato._schema.schema import Schema
from sfumato.engines._open import rows_of

SLICE = Fraction(1, 4)
"""The part of ε that `bounds="private"` takes from a fit."""

DEFAULT = (-1.0, 1.0)
"""The bounds of a column whose noisy histogram shows no rows, or zeros only."""

FINE = 512
COARSE = 32

# Budget of the histograms: log2 bins, then fine and coarse equal bins of narrow columns.
_WEIGHTS = (7, 1, 2)

Noisy = tuple[Floats, float]
"""Noisy counts, (d, bins), and the scale of their noise, in rows."""


@dataclass(frozen=True)
class ReleasedBounds:
    """Bounds of every column, in the user's units, their account and notes for the receipt."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    account: Account
    notes: tuple[str, ...]


def estimate_bounds(
    X: Any,  # noqa: ANN401
    *,
    epsilon: float,
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
    ledger: Opened | None = None,
    dataset: str | None = None,
) -> tuple[Floats, Floats]:
    """Estimate, with ε-differential privacy, bounds of every column that hold nearly all rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), data frame or path
        The rows. Cells that are not finite numbers are not counted.
    epsilon : float
        The privacy cost. It adds up with the fits on the same rows.
    groups, max_rows_per_group
        As in `PrivateKMeans`: protects each group as a whole.
    ledger : Ledger, path or str, optional
        The budget of the dataset, to be shared with a `Curator`; a new one by default. Also where
        one is kept that lasts.
    dataset : str, optional
        The name of the dataset there.

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)
        What `PrivateKMeans` and `Curator` take as `bounds`. Few rows may lie outside, see
        the-promise.md; a column whose noisy histogram shows no rows gets (−1, 1).

    """
    if isinstance(X, Curator):
        raise TypeError("a Curator has its bounds already: pass the rows themselves")
    amount = check_epsilon(epsilon)
    budget = Ledger(amount) if ledger is None else opened_ledger(ledger, dataset)
    curator = HistogramCurator(
        X, ledger=budget, groups=groups, max_rows_per_group=max_rows_per_group
    )
    released = release_bounds(curator, amount)
    if budget.durable:
        text = json.dumps([released.lower, released.upper]) + "\n"
        keep_bounds(budget, released, receipt_of(released, curator), text)
    return np.array(released.lower), np.array(released.upper)


def receipt_of(released: ReleasedBounds, curator: HistogramCurator) -> Receipt:
    """What the bounds cost, and what is promised."""
    return Receipt.of(
        released.account,
        method="bounds",
        neighbours=curator.neighbours,
        notes=released.notes,
        chapters=(curator.source,),
    )


def keep_bounds(ledger: Ledger, released: ReleasedBounds, receipt: Receipt, text: str) -> None:
    """Keep bounds in a ledger that lasts, as the text of a file of bounds."""
    if isinstance(ledger, DurableLedger):
        ledger.release(released.account, text, receipt.summary())


def release_bounds(curator: HistogramCurator, epsilon: Fraction) -> ReleasedBounds:
    """Release bounds of every column, from an account of its own with `epsilon`."""
    account = curator.reserve("private bounds", Caps(pure=epsilon))
    try:
        return _release(curator, account)
    finally:
        curator.ledger.cancel(account)


class UnpreparedRows:
    """Rows, (n, d) in the user's units, before a fit estimates their bounds or rows per group.

    Has the ledger of all that is estimated and of the method. Either word is "private", or both.
    """

    def __init__(
        self,
        X: Any,  # noqa: ANN401
        *,
        bounds: Any,  # noqa: ANN401
        nan: NanPolicy,
        groups: Any,  # noqa: ANN401
        max_rows_per_group: int | str,
        ledger: Ledger,
        schema: Schema | None = None,
    ) -> None:
        limit = check_max_rows(max_rows_per_group)
        self.bounds = None if is_private(bounds) else bounds
        self.schema = declared_schema(schema, bounds, nan, ledger)
        if self.schema is not None:
            groups = self.schema.groups_with(groups)
            self.rows = rows_of(X, groups=groups, max_rows_per_group=limit or 1, schema=self.schema)
        else:
            self.rows = rows_of(
                X, groups=groups, max_rows_per_group=limit or 1, width=columns_in(self.bounds)
            )
            Box.of(DEFAULT if is_private(bounds) else bounds, self.rows.n_features, nan)
        self._chooses = limit is None
        if self._chooses:
            check_groups(self.rows, ledger)
        self.nan, self.ledger = nan, ledger

    @property
    def _estimates(self) -> bool:
        return self.bounds is None and self.schema is None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.rows.n_features if self.schema is None else self.schema.dimensions

    @property
    def rows_per_neighbour(self) -> int:
        """How many rows one neighbour may take away: 1, or the most that a group may have."""
        weights = self.schema.weights if self.schema else None
        return (self.rows.max_rows_per_group or 1) * (weights.most if weights else 1)

    @property
    def neighbours(self) -> str:
        """What is protected as a whole, in words."""
        return neighbours_of(self.rows.max_rows_per_group)

    @property
    def for_method(self) -> Fraction:
        """The ε that is left to the method."""
        taken = SLICE * self._estimates + SLICE_OF_GROUPS * self._chooses
        return self.ledger.total[0] * (1 - taken)

    def prepared(self) -> tuple[Curator, tuple[Account, ...], tuple[str, ...]]:
        """Release what is missing, rows per group first: noise of the bounds depends on them.

        Returns a curator, the accounts of what was released, and notes on it.
        """
        accounts, notes, bounds = list[Account](), list[str](), self.bounds
        if self._chooses:
            chosen = HistogramCurator(self.rows, ledger=self.ledger).choose_max_rows()
            self.rows = self.rows.keeping(chosen.number)
            accounts.append(chosen.account)
            notes.append(chosen.note)
        if self._estimates:
            histograms = HistogramCurator(self.rows, ledger=self.ledger)
            released = release_bounds(histograms, self.ledger.total[0] * SLICE)
            bounds = (released.lower, released.upper)
            accounts.append(released.account)
            notes.extend(released.notes)
        facts = (
            {"bounds": bounds, "nan": self.nan} if self.schema is None else {"schema": self.schema}
        )
        curator = Curator(self.rows, ledger=self.ledger, **facts)
        return curator, tuple(accounts), tuple(notes)


def _release(curator: HistogramCurator, account: Account) -> ReleasedBounds:
    """Ask for log2 histograms, then for equal bins of the columns that few log2 bins cover."""
    d = curator.n_features
    for_logs, for_fine, for_coarse = account.rest("pure").split(*_WEIGHTS)
    # Fewer columns may be asked about later, which needs less noise.
    everywhere = dict.fromkeys(range(d), Span(*DEFAULT, 1.0, DEFAULT))
    curator.check(LogBins(d), for_logs)
    curator.check(_equal_bins(everywhere, d, FINE), for_fine)
    curator.check(_equal_bins(everywhere, d, COARSE), for_coarse)

    logs = _ask(curator, LogBins(d), for_logs)
    supports = _supports(*logs)
    narrow = {i: found.span() for i, found in enumerate(supports) if found and found.is_narrow}
    trimmed: dict[int, tuple[float, float]] = {}
    if narrow:
        counts, scale = _ask(curator, _equal_bins(narrow, d, FINE), for_fine)
        narrow = {i: locate(span, counts[i], scale) for i, span in narrow.items()}
        counts, scale = _ask(curator, _equal_bins(narrow, d, COARSE), for_coarse)
        trimmed = {i: trim(span, counts[i], scale) for i, span in narrow.items()}
    else:
        # No narrow column: the rest of the budget goes to a second log2 histogram.
        again = _ask(curator, LogBins(d), account.rest("pure"))
        supports = _supports(*_combined(logs, again))
    pairs = [
        trimmed.get(i) or (found.ends() if found else DEFAULT) for i, found in enumerate(supports)
    ]
    lower, upper = zip(*pairs, strict=True)
    empty = [i for i in range(d) if not supports[i]]
    return ReleasedBounds(lower, upper, account, _notes(account, empty))


def _supports(counts: Floats, scale: float) -> list[ColumnSupport | None]:
    """The support of each column, from a `Noisy` answer."""
    return [find_support(column, scale, len(counts)) for column in counts]


def _combined(one: Noisy, other: Noisy) -> Noisy:
    """Two answers to one query, averaged by their inverse variances."""
    weights = np.array([scale**-2 for _, scale in (one, other)])
    counts = np.average([one[0], other[0]], axis=0, weights=weights)
    return counts, float(weights.sum() ** -0.5)


def _ask(curator: HistogramCurator, binning: Binning, share: Share) -> Noisy:
    """Noisy counts and the scale of their noise, at least 1e-9."""
    answer = curator.histogram(binning, share=share)
    return answer.values, max(answer.noise_std / 2**0.5, 1e-9)


def _equal_bins(spans: dict[int, Span], columns: int, bins: int) -> EqualBins:
    """Equal bins of the columns that have a span."""
    each = [spans.get(i) for i in range(columns)]
    lower = tuple(span.lower if span else None for span in each)
    return EqualBins(lower, tuple(span.upper if span else None for span in each), bins)


def _notes(account: Account, empty: list[int]) -> tuple[str, ...]:
    cost = f"bounds estimated with ε {float(account.caps.epsilon):.4g}"
    if not empty:
        return (cost,)
    where = f"column{'s' * (len(empty) > 1)} {', '.join(map(str, empty[:10]))}"
    more = f" and {len(empty) - 10} more" if len(empty) > 10 else ""
    low, high = DEFAULT
    return (cost, f"no rows found in {where}{more} (from 0): bounds ({low:g}, {high:g})")
