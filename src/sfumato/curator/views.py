"""The same rows seen through a public linear map."""

from __future__ import annotations

from typing import Self

from sfumato.curator.projection import Projection, check_projection
from sfumato.curator.vault import Vault


class Views(Vault):
    """The verb `view`; see `Curator`.

    Guarantee: a view is the same vault. It has the ledger, the noise, the rows and the groups of
    the curator it was opened from, and answers from the same accounts.
    """

    def view(self, projection: Projection) -> Self:
        """Open the same rows as seen through a public linear map, which is free.

        The map is applied within every pass; no mapped copy of the rows is made. The `box` of the
        view has one unit per lattice step. Shares come from any account of this curator.

        Sensitivity: see `Projection`. A row of the table is one row of the view.
        Guarantee: that of this curator; nothing is read or released here.
        """
        return self._seen_through(check_projection(projection, self.box.n_features))
