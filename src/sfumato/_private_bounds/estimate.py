"""Bounds bought with a part of the budget, where none are known."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato._accounting.budget import Account, Caps, Ledger, Share
from sfumato._base.types import Floats
from sfumato._base.validation import check_epsilon
from sfumato._core.curator import Curator
from sfumato._core.queries.histograms import Binning, EqualBins, LogBins
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._private_bounds.log_histogram import ColumnSupport, reach
from sfumato._private_bounds.trim import Span, locate, trim

SLICE = Fraction(1, 4)
"""The part of ε that `bounds="private"` takes from a fit."""

DEFAULT = (-1.0, 1.0)
"""The bounds of a column in which nothing stands out of the noise, or nothing but zeros."""

FINE = 512
COARSE = 32

# Size, place, ends: the last two only matter to columns of which all is of one size.
_WEIGHTS = (7, 1, 2)

Noisy = tuple[Floats, float]
"""Counts and the scale of their noise."""


@dataclass(frozen=True)
class Bought:
    """Bounds that were paid for, with the account that shows it and remarks for the receipt."""

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
    ledger: Ledger | None = None,
) -> tuple[Floats, Floats]:
    """Buy bounds of every column that hold nearly all rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), data frame or path
        The rows. Cells that are not finite numbers are counted nowhere.
    epsilon : float
        What the bounds cost. Together with the fits on the same rows it adds up.
    groups, max_rows_per_group
        As in `PrivateKMeans`: protects each group as a whole.
    ledger : Ledger, optional
        The budget of the dataset, to be shared with a `Curator`; a new one by default.

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)
        What `PrivateKMeans` and `Curator` take as `bounds`. Few rows may lie outside, see
        the-promise.md; a column in which nothing stands out of the noise gets (−1, 1).

    """
    if isinstance(X, Curator):
        raise TypeError("a Curator has its bounds already: pass the rows themselves")
    amount = check_epsilon(epsilon)
    survey = HistogramCurator(
        X, ledger=ledger or Ledger(amount), groups=groups, max_rows_per_group=max_rows_per_group
    )
    bought = buy_bounds(survey, amount)
    return np.array(bought.lower), np.array(bought.upper)


def buy_bounds(survey: HistogramCurator, epsilon: Fraction) -> Bought:
    """Ask for the sizes in every column; where all is of one size, also where its rows lie."""
    account = survey.reserve("private bounds", Caps(pure=epsilon))
    try:
        return _buy(survey, account)
    finally:
        survey.ledger.cancel(account)


def _buy(survey: HistogramCurator, account: Account) -> Bought:
    d = survey.n_features
    for_size, for_place, for_ends = account.rest("pure").split(*_WEIGHTS)
    # Later ranges may be of fewer columns, which needs less noise.
    everywhere = dict.fromkeys(range(d), Span(*DEFAULT, 1.0, DEFAULT))
    survey.check(LogBins(d), for_size)
    survey.check(_slices(everywhere, d, FINE), for_place)
    survey.check(_slices(everywhere, d, COARSE), for_ends)

    sizes = _ask(survey, LogBins(d), for_size)
    reaches = _reaches(*sizes)
    narrow = {i: found.span() for i, found in enumerate(reaches) if found and found.is_narrow}
    sliced: dict[int, tuple[float, float]] = {}
    if narrow:
        counts, scale = _ask(survey, _slices(narrow, d, FINE), for_place)
        narrow = {i: locate(span, counts[i], scale) for i, span in narrow.items()}
        counts, scale = _ask(survey, _slices(narrow, d, COARSE), for_ends)
        sliced = {i: trim(span, counts[i], scale) for i, span in narrow.items()}
    else:
        # Nothing to be sliced: what is left buys a second look.
        again = _ask(survey, LogBins(d), account.rest("pure"))
        reaches = _reaches(*_together(sizes, again))
    pairs = [
        sliced.get(i) or (found.ends() if found else DEFAULT) for i, found in enumerate(reaches)
    ]
    lower, upper = zip(*pairs, strict=True)
    return Bought(lower, upper, account, _notes(account, [i for i in range(d) if not reaches[i]]))


def _reaches(counts: Floats, scale: float) -> list[ColumnSupport | None]:
    return [reach(column, scale, len(counts)) for column in counts]


def _together(one: Noisy, other: Noisy) -> Noisy:
    """Two answers to one query as one of less noise."""
    weights = np.array([scale**-2 for _, scale in (one, other)])
    counts = np.average([one[0], other[0]], axis=0, weights=weights)
    return counts, float(weights.sum() ** -0.5)


def _ask(survey: HistogramCurator, binning: Binning, share: Share) -> Noisy:
    """Noisy counts and the scale of their noise, which is never taken for nothing at all."""
    answer = survey.histogram(binning, share=share)
    return answer.values, max(answer.noise_std / 2**0.5, 1e-9)


def _slices(spans: dict[int, Span], columns: int, bins: int) -> EqualBins:
    """Slices of the columns that have a span."""
    there = [spans.get(i) for i in range(columns)]
    lower = tuple(span.lower if span else None for span in there)
    return EqualBins(lower, tuple(span.upper if span else None for span in there), bins)


def _notes(account: Account, empty: list[int]) -> tuple[str, ...]:
    paid = f"bounds bought with ε {float(account.caps.epsilon):.4g}"
    if not empty:
        return (paid,)
    where = f"column{'s' * (len(empty) > 1)} {', '.join(map(str, empty[:10]))}"
    more = f" and {len(empty) - 10} more" if len(empty) > 10 else ""
    low, high = DEFAULT
    return (paid, f"nothing stood out in {where}{more} (from 0): bounds ({low:g}, {high:g})")
