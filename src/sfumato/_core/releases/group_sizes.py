"""Releases about groups: noisy numbers of groups by size, and by them the rows that are kept.

Rows of m per group make noise m times as large; fewer leave rows of large groups out. Which m is
best is read from a noisy histogram of rows per group alone: post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from sfumato._accounting.budget import Account, Caps, Ledger, Share
from sfumato._base.types import Floats, Ints
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.group_sizes import GroupSizes
from sfumato._core.releases.counts import Measurement
from sfumato.engines._rows import Rows

SLICE = Fraction(1, 20)
"""The part of ε that `max_rows_per_group="private"` takes."""

# The noise of a fit over that of one count: clusters, columns and queries share rows and budget.
_NOISE = 50.0

# Noise alone makes a size stand out with about this probability, in all bins together.
_FALSE_ALARM = 0.001
_DEVIATIONS = 5.0


def release_group_sizes(data: PrivateData, query: GroupSizes, share: Share) -> Answer:
    """See `Curator.group_sizes`."""
    data.admit(query, (GroupSizes,), share)
    if not data.grouped:
        raise ValueError("rows per group need groups: whose rows are whose")
    # The unit is the group: whatever its rows, it moves one count by 1.
    most = query.sensitivity()
    mechanism = independent(share, most)
    shape, std, loss = (query.n_numbers, 1), mechanism.std, mechanism.loss(most)
    mechanism.check(shape)
    noise, chapter = f"± {std:.3g} groups", "Rows per group"
    part = Measurement(str(query), share, mechanism, shape, std, noise, loss, chapter=chapter)

    def read(rows: Rows) -> Ints:
        return data.perturb(mechanism, query.count(rows))

    return Answer(data.release([part.entry()], read).astype(np.float64), std)


@dataclass(frozen=True)
class MaxRows:
    """The released number of rows that are kept of each group, its account and a note on it."""

    number: int
    account: Account
    note: str


def check_groups(rows: Rows, ledger: Ledger) -> None:
    """Refuse, before any charge, rows for which there is no number to choose."""
    if rows.max_rows_per_group is None:
        raise ValueError(
            "max_rows_per_group='private' needs groups: whose rows are whose. Without them each "
            "row is a unit of its own, and there is nothing to choose"
        )
    if ledger.unit is not None:
        raise ValueError(
            "max_rows_per_group='private' has no place in a ledger that lasts: what it protects "
            f"was declared when it was created, {ledger.unit}; give the number declared there"
        )


def choose_max_rows(data: PrivateData) -> MaxRows:
    """Choose how many rows of each group are kept, with `SLICE` of ε in an account of its own.

    Guarantee: ε·SLICE-DP for adding or removing one whole group; see `GroupSizes`.
    """
    epsilon, query = data.ledger.total[0], GroupSizes(data.box.n_features)
    account = data.ledger.reserve("max_rows_per_group", Caps(pure=epsilon * SLICE))
    try:
        answer = release_group_sizes(data, query, account.rest("pure"))
    finally:
        data.ledger.cancel(account)
    number = best_limit(answer, query.edges, float(epsilon))
    cost = f"ε {float(epsilon * SLICE):.4g}"
    return MaxRows(number, account, f"max_rows_per_group {number}, chosen with {cost}")


def best_limit(answer: Answer, edges: tuple[int, ...], epsilon: float) -> int:
    """The m among the edges with the least predicted error, by noisy numbers of groups.

    With N(s) groups of s rows or more, m of each are K(m) = N(1) + … + N(m) rows, and the fit's
    noise relative to them is about 50·m/(ε·K(m)). The part 1 − K(m)/K(all) of the rows is left out.
    The sum of both is least at the best m. 1 where nothing stands out from the noise.
    """
    counts = _seen(answer)
    # Groups with more rows than the edge below: never fewer than with still more rows.
    above = np.maximum.accumulate(np.cumsum(counts[::-1]))[::-1]
    kept = np.cumsum(above * np.diff((0, *edges)))
    if kept[-1] <= 0:
        return 1
    lost = 1 - kept / kept[-1]
    noise = _NOISE * np.array(edges) / (epsilon * np.maximum(kept, 1.0))
    return edges[int(np.argmin(lost + noise))]


def _seen(answer: Answer) -> Floats:
    """The noisy counts up to the largest size that stands out, and 0 beyond it.

    A size stands out by its own bin, or together with all larger ones.
    """
    counts, std = answer.values, answer.noise_std
    alone = std * log(len(counts) / (2 * _FALSE_ALARM)) / 2**0.5
    larger = np.cumsum(counts[::-1])[::-1]
    together = _DEVIATIONS * std * np.sqrt(np.arange(len(counts), 0, -1))
    found = np.flatnonzero((counts > alone) | (larger > together))
    return np.where(np.arange(len(counts)) <= found.max(initial=-1), counts, 0.0)
