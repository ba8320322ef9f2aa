"""One search for the first count below a threshold: how it is paid and how it is noised."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Entry, Share
from sfumato._base.types import Ints
from sfumato._core.queries.first_below import RowsBeyond, check_rows_beyond
from sfumato._core.sampling import source as laws
from sfumato._core.vault import Vault
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
            raise TypeError(f"a search is bought with a pure share, got {self.share.kind!r}")
        if type(self.threshold) is not int or abs(self.threshold) > MAX_THRESHOLD:
            raise ValueError(
                "a threshold is a whole number of rows (an int) between -2^62 and 2^62, "
                f"got {self.threshold!r}"
            )
        laws.check_scale(self.scale)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of the threshold and of every count."""
        return 2 * Fraction(self.most) / self.share.amount

    def loss(self) -> Fraction:
        """ε of one search: of the threshold's move and of one count's."""
        return 2 * Fraction(self.most) / self.scale

    def entry(self) -> Entry:
        """The line of the account that pays for this search."""
        std = float(self.scale) * 2**0.5
        return Entry(
            query=self.query,
            share=self.share,
            law="threshold",
            scale=self.scale,
            noise=f"± {std:.3g} rows each on the threshold and on every count",
            slack=laws.laplace_slack(self.size + 1),
            loss=self.loss(),
        )

    def draw(self, noise: laws.Noise, counts: Ints) -> int:
        """Search the counts; their number is the answer where none is below."""
        moved = noise.laplace(self.scale, self.size + 1)
        below = counts + moved[1:] <= self.threshold + moved[0]
        # All counts are looked at, whichever ends the search.
        return int(np.append(below, True).argmax())


class Thresholds(Vault):
    """The verb that looks through many counts and releases one index; see `Curator`.

    Guarantee: that of `AboveThreshold`, for the ε of the share.
    """

    def first_below(self, counts: RowsBeyond, threshold: int, *, share: Share) -> int:
        """Release the index of the first edge beyond which about `threshold` rows lie, or fewer.

        The number of edges stands for none. One price buys any number of edges.

        Sensitivity: see `RowsBeyond`: a row moves all counts the same way, by at most 1.
        Guarantee: ε-DP for the ε of the pure share; see `AboveThreshold`.
        """
        query = check_rows_beyond(counts, self.box.n_features)
        self._check(share)
        most = query.sensitivity() * self._rows_per_neighbour
        law = AboveThreshold(f"first of {query}", share, most, threshold, len(query.edges))

        def search(rows: Rows) -> int:
            return self._draw(law, query.counts(rows.fold(self.box, query)))

        return self._pay([law.entry()], search)
