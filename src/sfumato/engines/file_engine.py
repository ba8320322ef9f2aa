"""Files that do not fit into memory: read in pieces by threads, again in every pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.box import Box
from sfumato.engines.base import Scale
from sfumato.engines.fewest import Fewest
from sfumato.engines.groups import numbered
from sfumato.engines.kernels import MAX_FEATURES
from sfumato.engines.parts import Fold, Partial, Pick, Picked
from sfumato.engines.pieces import Piece, pieces_of
from sfumato.engines.progress import Pass
from sfumato.engines.tables import Layout
from sfumato.engines.tasks import Mask
from sfumato.engines.working import allowed_threads, as_done

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
        self._chosen: dict[Scale, list[Mask]] = {}
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

    def _choose(self, scale: Scale) -> list[Mask] | None:
        """Which rows of each piece count, where a group has only so many."""
        if self._groups is None:
            return None
        if scale in self._chosen:
            return self._chosen[scale]
        fewest = Fewest([len(codes) for codes in self._groups], self._most)
        step = Pass(self.n_parts).step
        for part, (piece, codes) in enumerate(zip(self._pieces, self._groups, strict=True)):
            fewest.look(part, scale, piece.blocks(), codes)
            step()
        chosen = fewest.chosen()
        # A ruler is laid on the rows once.
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
