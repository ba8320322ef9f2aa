"""Files that do not fit into memory: read in pieces by threads, again in every pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Mask
from sfumato._lattice.box import Box
from sfumato._lattice.kernels.dispatch import MAX_FEATURES, Hashes
from sfumato.engines._groups import hashes_of, numbered
from sfumato.engines._partitions import Piece, pieces_of
from sfumato.engines._progress import Pass
from sfumato.engines._rows import Fold, Partial, Pick, Picked, RowEncoder, snapped
from sfumato.engines._threads import allowed_threads, as_done
from sfumato.engines.formats._table import Layout

_NO_ROW = np.iinfo(np.int64).max
_NO_HASH = np.iinfo(np.uint64).max


class GroupSampler:
    """The rows with the least hashes of every group, as `few_of_each` picks them in one table.

    For each group `most` hashes and row numbers are held, whatever its number of rows.
    """

    def __init__(self, sizes: Sequence[int], most: int) -> None:
        self._starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._most = most
        self._hashes = np.empty((0, most), dtype=np.uint64)
        self._rows = np.empty((0, most), dtype=np.int64)

    def look(
        self, part: int, scale: RowEncoder, blocks: Iterable[NDArray[Any]], codes: NDArray[Any]
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


# Every thread has a state of its own; together they stay below this.
_STATE_BYTES = 2**27


class FileEngine:
    """Pieces of files, each a partition. What is held is a few blocks of each thread's piece.

    With groups, one number for each row is held as well, and which rows count: of a group whose
    rows lie in several pieces, they are settled by a pass of their own, once for every box.
    """

    def __init__(self, pieces: Sequence[Piece], max_rows_per_group: int = 1) -> None:
        self._pieces = list(pieces)
        self.n_features = len(self._pieces[0].positions)
        if self.n_features > MAX_FEATURES:
            raise ValueError(
                f"the data has {self.n_features} columns; at most {MAX_FEATURES} keep sums exact"
            )
        self._threads = allowed_threads()
        self._most = max_rows_per_group
        self._groups: list[NDArray[Any]] | None = None
        self._chosen: dict[RowEncoder, list[Mask]] = {}
        if self._pieces[0].owner is not None:
            self._groups = _groups(self._pieces)

    @classmethod
    def of(cls, layout: Layout, max_rows_per_group: int = 1) -> FileEngine:
        """Cut the files of a layout into pieces; labels of groups are read at once."""
        return cls(pieces_of(layout), max_rows_per_group)

    @property
    def n_parts(self) -> int:
        """Number of pieces."""
        return len(self._pieces)

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""
        return None if self._groups is None else self._most

    def run(self, task: Fold | Pick) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every piece, as threads get done with it."""
        chosen = self._choose(task.scale if isinstance(task, Fold) else task.box)

        def work(part: int) -> Partial | Picked:
            blocks = self._pieces[part].blocks()
            return task.over(part, blocks, chosen=None if chosen is None else chosen[part])

        size = task.kernel.empty().nbytes if isinstance(task, Fold) else 0
        threads = min(self._threads, max(1, _STATE_BYTES // max(1, size)))
        return as_done(work, range(self.n_parts), threads)

    def _choose(self, scale: RowEncoder) -> list[Mask] | None:
        """Which rows of each piece count, where a group has only so many."""
        if self._groups is None:
            return None
        if scale in self._chosen:
            return self._chosen[scale]
        fewest = GroupSampler([len(codes) for codes in self._groups], self._most)
        step = Pass(self.n_parts).step
        for part, (piece, codes) in enumerate(zip(self._pieces, self._groups, strict=True)):
            fewest.look(part, scale, piece.blocks(), codes)
            step()
        chosen = fewest.chosen()
        # A binning is laid on the rows once.
        if isinstance(scale, Box):
            self._chosen[scale] = chosen
        return chosen


def _groups(pieces: Sequence[Piece]) -> list[NDArray[Any]]:
    """The number of every row's group, in as few bytes as it takes."""
    known: dict[Any, int] = {}
    found = []
    for piece in pieces:
        codes = numbered(piece.labels(), known)
        found.append(codes.astype(np.min_scalar_type(len(known))))
    return found
