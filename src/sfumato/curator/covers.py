"""The verb that covers rows with few points of grids too large to be written down."""

from __future__ import annotations

from sfumato.budget import Share
from sfumato.curator.answers import Picked
from sfumato.curator.cover_law import Covering
from sfumato.curator.cover_questions import Grids, check_grids
from sfumato.curator.cover_state import Cover
from sfumato.curator.vault import Vault
from sfumato.engines.base import Rows
from sfumato.parameters import check_whole


class Covers(Vault):
    """The verb `cover`; see `Curator`.

    Guarantee: that of `Covering`, for the ε and δ of the share.
    """

    def cover(self, grids: Grids, *, share: Share, picks: int) -> list[Picked]:
        """Pick points, `picks` at each radius from small to large, that cover many rows.

        A pick is an exponential mechanism over all points of its grid, by how many rows it covers
        that none before it did. All rows come to the driver, as many numbers each as the (viewed)
        table has columns.

        Sensitivity: see `Grids`: a row counts until it is covered, and never again.
        Guarantee: all picks together are (ε, δ)-DP for the approximate share; see `Covering`.
        """
        nets = check_grids(grids, self.box.n_features).nets()
        self._check(share)
        all_picks = check_whole(picks, "picks") * len(nets)
        law = Covering(f"{picks} {grids}", share, self._rows_per_neighbour, all_picks)

        def read(rows: Rows) -> list[Picked]:
            (left,) = rows.split(self.box, 1, 0)
            found = []
            for radius, net in zip(grids.radii, nets, strict=True):
                cover = Cover(left, net)
                for _ in range(picks):
                    found.append(Picked(self._cover(law, cover), radius))
                    cover.leave(found[-1].point)
                left = cover.left()
            return found

        return self._pay([law.entry(grids.n_features)], read)
