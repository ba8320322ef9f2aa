"""The release of counts of several sets of cells, from one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato._accounting.budget import Share
from sfumato._core.answers import Answer
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.counts import Cells, Counts
from sfumato._core.queries.counts_each import CountsBatch
from sfumato._core.releases.counts import flat, measure_counts, release_all


def release_batch(
    data: PrivateData, cells: Sequence[Cells], shares: Sequence[Share]
) -> list[Answer]:
    """See `Curator.counts_of_each`."""
    if len(cells) != len(shares):
        raise ValueError(f"{len(shares)} shares were given for {len(cells)} queries")
    query = CountsBatch(tuple(Counts(one) for one in cells))
    data.admit(query, (CountsBatch,), *shares)
    parts = [
        replace(measure_counts(data, c, s), where=(lines, slice(0, 1)))
        for c, s, lines in zip(cells, shares, query.lines(), strict=True)
    ]
    return [flat(answer) for answer in release_all(data, query, *parts)]
