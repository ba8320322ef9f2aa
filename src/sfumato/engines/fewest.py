"""At most m rows of each group, where the rows of a group lie in many pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.box import Ints
from sfumato.engines.base import Scale
from sfumato.engines.groups import hashes_of
from sfumato.engines.kernels import Hashes
from sfumato.engines.tasks import Mask, snapped

_NO_ROW = np.iinfo(np.int64).max
_NO_HASH = np.iinfo(np.uint64).max


class Fewest:
    """The rows with the least hashes of every group, as `few_of_each` picks them in one table.

    For each group `most` hashes and row numbers are held, whatever its number of rows.
    """

    def __init__(self, sizes: Sequence[int], most: int) -> None:
        self._starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._most = most
        self._hashes = np.empty((0, most), dtype=np.uint64)
        self._rows = np.empty((0, most), dtype=np.int64)

    def look(
        self, part: int, scale: Scale, blocks: Iterable[NDArray[Any]], codes: NDArray[Any]
    ) -> None:
        """Look at the rows of one piece; `codes` are the numbers of their groups."""
        start = 0
        for lattice, kept in snapped(scale, blocks):
            stop = start + len(lattice)
            own = codes[start:stop][kept].astype(np.int64)
            rows = np.flatnonzero(kept) + start + self._starts[part]
            self._take(own, hashes_of(lattice[kept]), rows.astype(np.int64))
            start = stop
        if start != len(codes):
            raise RuntimeError("a file has not the number of rows it had before")

    def _take(self, codes: Ints, hashes: Hashes, rows: Ints) -> None:
        self._grow(int(codes.max(initial=-1)) + 1)
        seen = np.unique(codes)
        codes = np.concatenate((codes, np.repeat(seen, self._most)))
        hashes = np.concatenate((hashes, self._hashes[seen].ravel()))
        rows = np.concatenate((rows, self._rows[seen].ravel()))
        # Equal hashes go by the row's number, as in one table.
        order = np.lexsort((rows, hashes, codes))
        first = np.searchsorted(codes[order], seen)
        best = order[(first[:, None] + np.arange(self._most)).ravel()]
        self._hashes[seen] = hashes[best].reshape(-1, self._most)
        self._rows[seen] = rows[best].reshape(-1, self._most)

    def _grow(self, n_groups: int) -> None:
        more = n_groups - len(self._rows)
        if more > 0:
            more = max(more, len(self._rows))
            shape = (more, self._most)
            self._hashes = np.concatenate((self._hashes, np.full(shape, _NO_HASH)))
            self._rows = np.concatenate((self._rows, np.full(shape, _NO_ROW)))

    def chosen(self) -> list[Mask]:
        """For each piece, which of its rows count."""
        counts = np.zeros(self._starts[-1], dtype=np.bool_)
        counts[self._rows[self._rows != _NO_ROW]] = True
        pairs = zip(self._starts[:-1], self._starts[1:], strict=True)
        return [counts[start:stop] for start, stop in pairs]
