"""AboveThreshold: the release of the first count below a threshold."""

from __future__ import annotations

from dataclasses import dataclass
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


def release_first_below(data: PrivateData, query: RowsBeyond, threshold: int, share: Share) -> int:
    """See `Curator.first_below`."""
    data.admit(query, (RowsBeyond,), share)
    most = query.sensitivity() * data.rows_per_neighbour
    search = AboveThreshold(f"first of {query}", share, most, threshold, len(query.edges))

    def read(rows: Rows) -> int:
        return data.draw(search, query.counts(rows.fold(data.box, query)))

    return data.release([search.entry()], read)
