"""AboveThreshold: the release of the first count below a threshold, of all rows or cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Entry, Share
from sfumato._base.types import Ints
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.sampling.additive import check_scale, laplace_slack
from sfumato._core.sampling.source import Noise
from sfumato.engines._rows import Rows

MAX_THRESHOLD = 2**62
"""With noise below 2^51 on either side no sum leaves 64 bits."""


@dataclass(frozen=True)
class AboveThreshold:
    """AboveThreshold, for counts that all move the same way, by at most `most` (Lyu et al. 2017).

    The answer is the first i with count_i + noise_i ≤ threshold + noise, where each noise is an
    independent discrete Laplace integer, that of the threshold drawn once.

    Guarantee: ε-DP for the ε of its share, for any number of counts, because the released index
    alone leaves: half of ε hides the move of the threshold, half that of the count which ended the
    search.
    """

    query: str
    share: Share
    most: int
    threshold: int
    size: int

    def __post_init__(self) -> None:
        if self.share.kind != "pure":
            raise TypeError(f"a search takes a pure share, got {self.share.kind!r}")
        if type(self.threshold) is not int or abs(self.threshold) > MAX_THRESHOLD:
            raise ValueError(
                "a threshold is a whole number of rows (an int) between -2^62 and 2^62, "
                f"got {self.threshold!r}"
            )
        check_scale(self.scale)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of the threshold and of every count."""
        return 2 * Fraction(self.most) / self.share.amount

    def loss(self) -> Fraction:
        """ε of one search: of the threshold's move and of one count's."""
        return 2 * Fraction(self.most) / self.scale

    def entry(self) -> Entry:
        """The line of the account for this search."""
        noise = f"± {float(self.scale) * 2**0.5:.3g} rows each on the threshold and on every count"
        slack, loss = laplace_slack(self.size + 1), self.loss()
        return Entry(self.query, self.share, "above_threshold", self.scale, noise, slack, loss)

    def draw(self, noise: Noise, counts: Ints) -> int:
        """Search the counts; their number is the answer where none is below."""
        moved = noise.laplace(self.scale, self.size + 1)
        below = counts + moved[1:] <= self.threshold + moved[0]
        # All counts are looked at, whichever ends the search.
        return int(np.append(below, True).argmax())


@dataclass(frozen=True)
class SearchPerCell:
    """One search by `AboveThreshold` in every cell, each with the whole share and its own noise.

    Guarantee: ε-DP for the ε of the share, which all searches have: they are about disjoint rows,
    and t of the m rows of a group lose at most ε·t/m in the cell they lie in (parallel
    composition; docs/proofs/first_below.md).
    """

    searches: tuple[AboveThreshold, ...]

    def entry(self) -> Entry:
        """The line of the account for all searches together."""
        entry = self.searches[0].entry()
        slack = sum(one.entry().slack for one in self.searches)
        loss = max(one.loss() for one in self.searches)
        return replace(entry, slack=slack, loss=loss)

    def draw(self, noise: Noise, counts: Ints) -> list[int]:
        """Search the counts (cells, edges)."""
        pairs = zip(self.searches, counts, strict=True)
        return [one.draw(noise, own) for one, own in pairs]


def release_first_below(data: PrivateData, query: RowsBeyond, threshold: int, share: Share) -> int:
    """See `Curator.first_below`."""
    data.admit(query, (RowsBeyond,), share)
    if query.each:
        raise ValueError("this query is about each cell: ask `first_below_each`")
    most = query.sensitivity() * data.rows_per_neighbour
    search = AboveThreshold(f"first of {query}", share, most, threshold, len(query.edges))

    def read(rows: Rows) -> int:
        return data.draw(search, query.counts(rows.fold(data.box, query)))

    return data.release([search.entry()], read)


def release_first_below_each(
    data: PrivateData, query: RowsBeyond, thresholds: Sequence[int], share: Share
) -> list[int]:
    """See `Curator.first_below_each`."""
    data.admit(query, (RowsBeyond,), share)
    if not query.each:
        raise ValueError("this query is about all rows together: ask `first_below`, or each=True")
    if not isinstance(thresholds, Sequence) or len(thresholds) != query.cells.n_cells:
        raise ValueError(
            f"thresholds are {query.cells.n_cells} whole numbers, one for each cell, "
            f"got {thresholds!r}"
        )
    most = query.sensitivity() * data.rows_per_neighbour
    name, size = f"first of {query}", len(query.edges)
    search = SearchPerCell(tuple(AboveThreshold(name, share, most, t, size) for t in thresholds))

    def read(rows: Rows) -> list[int]:
        return data.draw(search, query.counts(rows.fold(data.box, query)))

    return data.release([search.entry()], read)
