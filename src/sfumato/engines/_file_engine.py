"""Files that do not fit into memory: read in pieces by threads, again in every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Mask
from sfumato._lattice.box import Box
from sfumato.engines._groups import Hashes, hashes_of, numbered
from sfumato.engines._memory import check_width
from sfumato.engines._partitions import Piece, pieces_of
from sfumato.engines._progress import Pass
from sfumato.engines._rows import Fold, Partial, Picked, RowEncoder, Task, encoded
from sfumato.engines._threads import allowed_threads
from sfumato.engines.formats._table import Layout

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")

_NO_ROW = np.iinfo(np.int64).max
_NO_HASH = np.iinfo(np.uint64).max


class GroupSampler:
    """Bottom-k sample per group over several pieces, as `few_of_each` takes it in one table.

    For each group `most` hashes and row numbers are held, whatever its number of rows. `sizes` are
    the numbers of rows of the pieces.
    """

    def __init__(self, sizes: Sequence[int], most: int) -> None:
        self._starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._most = most
        self._hashes = np.empty((0, most), dtype=np.uint64)
        self._rows = np.empty((0, most), dtype=np.int64)

    def look(
        self, part: int, encoder: RowEncoder, blocks: Iterable[NDArray[Any]], codes: NDArray[Any]
    ) -> None:
        """Look at the rows of one piece.

        blocks: (n, d), user's units. codes: the numbers of the groups of all its rows.
        """
        start = 0
        for lattice, kept in encoded(encoder, blocks):
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
        """For each piece, a mask of the rows that count."""
        counts = np.zeros(self._starts[-1], dtype=np.bool_)
        counts[self._rows[self._rows != _NO_ROW]] = True
        pairs = zip(self._starts[:-1], self._starts[1:], strict=True)
        return [counts[start:stop] for start, stop in pairs]


# Every thread has a state of its own; together they stay below this.
_STATE_BYTES = 2**27


class FileEngine:
    """Pieces of files, each a partition. What is held is a few blocks of each thread's piece.

    With groups, one number for each row is held as well, and which rows count: of a group whose
    rows lie in several pieces, they are chosen by a pass of their own, once for every box.
    """

    max_rows_per_group: int | None

    def __init__(self, pieces: Sequence[Piece], max_rows_per_group: int = 1) -> None:
        self._pieces = list(pieces)
        self.n_parts = len(self._pieces)
        self.n_features = len(self._pieces[0].positions)
        check_width(self.n_features)
        self._threads = allowed_threads()
        self._chosen: dict[RowEncoder, list[Mask]] = {}
        owned = self._pieces[0].owner is not None
        self._groups = _groups(self._pieces) if owned else []
        self.max_rows_per_group = max_rows_per_group if owned else None

    @classmethod
    def of(cls, layout: Layout, max_rows_per_group: int = 1) -> FileEngine:
        """Cut the files of a layout into pieces; labels of groups are read at once."""
        return cls(pieces_of(layout), max_rows_per_group)

    def run(self, task: Task) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every piece, as threads get done with it."""
        masks = self._masks(task.encoder)

        def work(part: int) -> Partial | Picked:
            return task.over(part, self._pieces[part].blocks(), chosen=masks[part])

        size = task.kernel.empty().nbytes if isinstance(task, Fold) else 0
        threads = min(self._threads, max(1, _STATE_BYTES // max(1, size)))
        return as_done(work, range(self.n_parts), threads)

    def _masks(self, encoder: RowEncoder) -> Sequence[Mask | None]:
        """For each piece, which of its rows count; None where all do."""
        if self.max_rows_per_group is None:
            return [None] * self.n_parts
        if encoder in self._chosen:
            return self._chosen[encoder]
        sampler = GroupSampler([len(codes) for codes in self._groups], self.max_rows_per_group)
        step = Pass(self.n_parts).step
        for part, (piece, codes) in enumerate(zip(self._pieces, self._groups, strict=True)):
            sampler.look(part, encoder, piece.blocks(), codes)
            step()
        chosen = sampler.chosen()
        # Encodings of histograms are not cached.
        if isinstance(encoder, Box):
            self._chosen[encoder] = chosen
        return chosen


def as_done(
    work: Callable[[_Piece], _Result], pieces: Iterable[_Piece], threads: int
) -> Iterator[_Result]:
    """Yield what threads make of pieces, as it comes, holding few results at a time.

    When the caller stops, only the pieces under way are waited for.
    """
    left = iter(pieces)
    pool = ThreadPoolExecutor(threads)
    try:
        running = {pool.submit(work, piece) for piece in islice(left, 2 * threads)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(work, piece) for piece in islice(left, len(done))}
            while done:
                yield done.pop().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _groups(pieces: Sequence[Piece]) -> list[NDArray[Any]]:
    """The number of every row's group, in as few bytes as it takes."""
    known: dict[Any, int] = {}
    found = []
    for piece in pieces:
        codes = numbered(piece.labels(), known)
        found.append(codes.astype(np.min_scalar_type(len(known))))
    return found
