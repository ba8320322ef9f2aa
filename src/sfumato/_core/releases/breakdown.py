"""The release of counts of cells by bins of several columns."""

from __future__ import annotations

from sfumato._accounting.budget import Share
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.breakdown import Breakdown
from sfumato._core.releases.counts import Measurement, in_rows, release_all


def release_breakdown(data: PrivateData, query: Breakdown, share: Share) -> list[Answer]:
    """See `Curator.breakdown`."""
    data.admit(query, (Breakdown,), share)
    most = query.sensitivity().times(data.rows_per_neighbour)
    mechanism = independent(share, most)
    part = Measurement(
        str(query),
        share,
        mechanism,
        (query.cells.n_cells, query.n_bins),
        mechanism.std,
        in_rows(mechanism.std),
        mechanism.loss(most),
        (slice(None), slice(None)),
        query.cells.chapter,
    )
    [counts] = release_all(data, query, part)
    return [Answer(counts.values[:, line], counts.noise_std) for line in query.lines()]
