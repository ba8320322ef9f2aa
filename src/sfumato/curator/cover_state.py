"""How many uncovered rows every point of one grid would cover, kept up to date as rows leave.

Points that cover nothing are not written down; all others are counted in blocks. As many blocks as
memory is set aside for keep their counts; those beyond are counted again where they are needed. So
the memory does not depend on where the rows lie, and neither does any result.
"""

from __future__ import annotations

import numpy as np

from sfumato.box import Ints, Lattice
from sfumato.engines.kernels_cover import Mask, Net, add_near, near, pairs_of, tally, tally_near

KEPT = 2**26
"""Points whose counts are kept, eight bytes each."""

# Blocks that are counted again are looked through this many points at a time.
_LOOKED_AT = 2**20


class Cover:
    """The rows that no pick has covered, and how many of them lie near each point of a grid."""

    def __init__(self, rows: Lattice, net: Net, kept: int = KEPT) -> None:
        self.net = net
        self._rows = np.ascontiguousarray(rows)
        self._left = np.ones(len(rows), dtype=np.bool_)
        self._pairs = pairs_of(self._rows, net)
        self._block_of = np.repeat(np.arange(len(self._pairs)), self._pairs.counts())
        # Blocks that many rows reach are dear to count again.
        dear = np.argsort(-self._pairs.counts(), kind="stable")[: max(0, kept // net.cells)]
        self._kept = np.sort(dear)
        self._loose = np.setdiff1d(np.arange(len(self._pairs)), dear)
        self._counts = np.zeros((len(self._kept), net.cells), dtype=np.int64)
        self._many = np.zeros(len(rows) + 1, dtype=np.int64)
        self._add(self._kept, self._counts, self._left, 1)
        tally(self._counts, np.arange(len(self._kept)), self._many, 1)
        self._recount(self._loose, 1)

    def classes(self) -> tuple[Ints, Ints]:
        """Every number of rows, from 1, that some point would cover, and how many points do."""
        scores = np.flatnonzero(self._many)
        return scores, self._many[scores]

    def score(self, point: Ints) -> int:
        """How many uncovered rows one point of the grid would cover."""
        return int((near(self._rows, point, self.net.limit) & self._left).sum())

    def find(self, score: int, rank: int) -> Ints:
        """The point number `rank` of those that would cover `score` rows, block by block."""
        hits = np.zeros(len(self._pairs), dtype=np.int64)
        hits[self._kept] = [np.count_nonzero(line == score) for line in self._counts]
        step = max(1, _LOOKED_AT // self.net.cells)
        for a in range(0, len(self._loose), step):
            some = self._loose[a : a + step]
            hits[some] = (self._look(some) == score).sum(axis=1)
        ends = np.cumsum(hits)
        block = int(np.searchsorted(ends, rank, side="right"))
        within = rank - int(ends[block] - hits[block])
        line = self._look(np.array([block]))[0]
        cell = np.flatnonzero(line == score)[within]
        shape = (self.net.width,) * self.net.n_features
        return self.net.points(self._pairs.origins[block] + np.unravel_index(cell, shape))

    def leave(self, point: Ints) -> None:
        """Let the rows that a point covers leave, for good, and take them off all counts."""
        leaving = near(self._rows, point, self.net.limit) & self._left
        changed = np.unique(self._block_of[leaving[self._pairs.members]])
        loose = np.intersect1d(changed, self._loose)
        self._recount(loose, -1)
        self._left &= ~leaving
        self._recount(loose, 1)
        lines = np.flatnonzero(np.isin(self._kept, changed))
        tally(self._counts, lines, self._many, -1)
        self._add(self._kept, self._counts, leaving, -1)
        tally(self._counts, lines, self._many, 1)

    def left(self) -> Lattice:
        """The rows that no pick has covered."""
        return self._rows[self._left]

    def _look(self, blocks: Ints) -> Ints:
        counts = np.zeros((len(blocks), self.net.cells), dtype=np.int64)
        self._add(blocks, counts, self._left, 1)
        return counts

    def _add(self, blocks: Ints, counts: Ints, active: Mask, sign: int) -> None:
        add_near(self._rows, active, self._pairs, blocks, self.net, counts, sign)

    def _recount(self, blocks: Ints, sign: int) -> None:
        tally_near(self._rows, self._left, self._pairs, blocks, self.net, self._many, sign)
