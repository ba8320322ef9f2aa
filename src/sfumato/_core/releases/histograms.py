"""Releases about rows that have no bounds yet: histograms of raw columns, and sizes of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._accounting.budget import Account, Caps, Ledger, Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.histograms import Binning, Histogram
from sfumato._core.releases.counts import Measurement, in_rows
from sfumato._core.releases.group_sizes import MaxRows, choose_max_rows
from sfumato._core.sampling.source import Noise, SecureNoise
from sfumato._lattice.box import Box
from sfumato.engines._open import rows_of
from sfumato.engines._rows import Rows


class HistogramCurator:
    """Answers histograms of the columns of a dataset whose bounds are not known.

    It charges a ledger that a `Curator` of the same rows can share afterwards.

    Guarantee: as a `Curator`: all answers together satisfy the (ε, δ) of the ledger for adding or
    removing one row, or one group. A cell finds its bin by itself, by public edges.
    """

    _data_type: type[PrivateData] = PrivateData

    def __init__(
        self,
        X: Any,  # noqa: ANN401
        *,
        ledger: Ledger,
        groups: Any = None,  # noqa: ANN401
        max_rows_per_group: int = 1,
        noise: Noise | None = None,
    ) -> None:
        rows = rows_of(X, groups=groups, max_rows_per_group=max_rows_per_group)
        # No query here looks at the bounds.
        box = Box.of((-1, 1), rows.n_features)
        self._data = self._data_type(rows, box, ledger, noise or SecureNoise())
        self.ledger = ledger
        self.neighbours = self._data.neighbours
        self.source = self._data.source

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._data.box.n_features

    def reserve(self, purpose: str, caps: Caps) -> Account:
        """Set a part of the budget aside; raises `Overspent` if too little is left."""
        return self.ledger.reserve(purpose, caps)

    def check(self, binning: Binning, share: Share) -> None:
        """Refuse what `histogram` would refuse, without asking."""
        self._measure(binning, share)

    def histogram(self, binning: Binning, *, share: Share) -> Answer:
        """Release how many cells of each column lie in each bin, with noise on every bin.

        Sensitivity: see `Histogram`; d for one row in L1, m·d for a group of m rows.
        Guarantee: discrete Laplace noise for a pure share, rounded Gaussian noise for a gdp share.
        """
        query, part = self._measure(binning, share)

        def read(rows: Rows) -> Ints:
            return self._data.perturb(part.mechanism, rows.fold(binning, query))

        return Answer(self._data.release([part.entry()], read).astype(np.float64), part.std)

    def choose_max_rows(self) -> MaxRows:
        """Choose how many rows of each group are kept; see `choose_max_rows`."""
        return choose_max_rows(self._data)

    def _measure(self, binning: Binning, share: Share) -> tuple[Histogram, Measurement]:
        query = self._data.admit(Histogram(binning), (Histogram,), share)
        most = query.sensitivity().times(self._data.rows_per_neighbour)
        mechanism = independent(share, most)
        shape, std, loss = (self.n_features, binning.bins), mechanism.std, mechanism.loss(most)
        mechanism.check(shape)
        noise, chapter = in_rows(std), "Private bounds"
        part = Measurement(str(query), share, mechanism, shape, std, noise, loss, chapter=chapter)
        return query, part
