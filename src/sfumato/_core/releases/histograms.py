"""The door for rows that have no bounds yet: histograms of raw columns, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._accounting.budget import Account, Caps, Ledger, Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import independent
from sfumato._core.queries.histograms import Binning, Histogram, check_binning
from sfumato._core.releases.counts import Measurement, in_rows
from sfumato._core.sampling.source import Noise
from sfumato._core.vault import Vault
from sfumato.engines._rows import Rows


class HistogramCurator(Vault):
    """Answers histograms of the columns of a dataset whose bounds are not known.

    It pays from a ledger that a `Curator` of the same rows can share afterwards.

    Guarantee: as a `Curator`: all answers together satisfy the (ε, δ) of the ledger for adding or
    removing one row, or one group. A cell finds its bin by itself, on a public binning.
    """

    def __init__(
        self,
        X: Any,  # noqa: ANN401
        *,
        ledger: Ledger,
        groups: Any = None,  # noqa: ANN401
        max_rows_per_group: int = 1,
        noise: Noise | None = None,
    ) -> None:
        # No query here looks at the box.
        super().__init__(
            X,
            bounds=(-1, 1),
            groups=groups,
            max_rows_per_group=max_rows_per_group,
            ledger=ledger,
            noise=noise,
        )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.box.n_features

    def reserve(self, purpose: str, caps: Caps) -> Account:
        """Set a part of the budget aside; raises `Overspent` if too little is left."""
        return self.ledger.open(purpose, caps)

    def check(self, binning: Binning, share: Share) -> None:
        """Refuse what `histogram` would refuse, without asking."""
        self._part(binning, share)

    def histogram(self, binning: Binning, *, share: Share) -> Answer:
        """Release how many cells of each column lie in each bin, with noise on every bin.

        Sensitivity: see `Histogram`; d for one row in L1, m·d for a group of m rows.
        Guarantee: discrete Laplace noise for a pure share, rounded Gaussian noise for a gdp share.
        """
        part = self._part(binning, share)
        query = Histogram(binning)

        def read(rows: Rows) -> Ints:
            return self._perturb(part.mechanism, rows.fold(binning, query))

        return Answer(self._pay([part.entry()], read).astype(np.float64), part.std)

    def _part(self, binning: Binning, share: Share) -> Measurement:
        query = Histogram(check_binning(binning, self.n_features))
        self._check(share)
        most = query.sensitivity().times(self._rows_per_neighbour)
        mechanism = independent(share, most)
        shape, std, loss = (self.n_features, binning.bins), mechanism.std, mechanism.loss(most)
        mechanism.check(shape)
        return Measurement(
            str(query), share, mechanism, slice(None), shape, std, in_rows(std), loss
        )
