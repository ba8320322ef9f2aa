"""Rows in memory: a lattice of int16, folded by a pool of threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice, Mask
from sfumato._lattice.box import Box
from sfumato._lattice.kernels.dispatch import hash_rows, write_lattice
from sfumato.engines._frames import Blocks, Frame, source_of
from sfumato.engines._groups import codes_of, few_of_each, labels_of
from sfumato.engines._progress import Pass
from sfumato.engines._rows import Kernel, RowEncoder
from sfumato.engines._threads import allowed_threads, one_blas_thread, share

# Cells that a thread takes at a time: long enough to hide the taking, short enough to share evenly.
_SPAN_CELLS = 2**18
_SPAN_ROWS = 4096
_END_PARTS = 4

# Every thread has a state of its own; together they stay below this.
_STATE_BYTES = 2**28


class ArrayRows:
    """Rows of an array, a data frame or a block reader, kept as one int16 lattice per box.

    The lattice is built at the first pass, block by block, and takes a quarter of a float64 array.
    With `groups`, one label per row, at most `max_rows_per_group` rows of each group are counted:
    which ones depends on that group's rows alone. Rows without a label are one group.
    """

    def __init__(
        self,
        source: Any,  # noqa: ANN401
        groups: Any = None,  # noqa: ANN401
        max_rows_per_group: int = 1,
    ) -> None:
        self._source = source_of(source)
        self._groups = groups
        self._most = check_whole(max_rows_per_group, "max_rows_per_group")
        self._threads = allowed_threads()
        self._lattices: dict[RowEncoder, Lattice] = {}
        if groups is not None:
            if self._source.n_rows is None:
                raise ValueError("groups need a source whose number of rows is known")
            self._groups = labels_of(groups, self._source.n_rows)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._source.n_features

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""
        return None if self._groups is None else self._most

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over all rows, each counted exactly once."""
        lattice = self._lattice(box)
        spans = _spans(len(lattice), self.n_features)
        step = Pass(len(spans)).step

        def work(spans: Iterator[slice]) -> Ints:
            state = kernel.empty()
            for span in spans:
                kernel.add(lattice[span], state)
                step()
            return state

        threads = min(self._threads, max(1, _STATE_BYTES // kernel.empty().nbytes))
        with one_blas_thread():
            states = share(work, spans, threads)
        for state in states[1:]:
            states[0] += state
        return states[0]

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row's own values picks its block."""
        check_whole(parts, "parts")
        lattice = self._lattice(box)
        narrow = np.uint16 if parts <= 2**16 else np.int64
        part_of = (hash_rows(lattice, key) % np.uint64(parts)).astype(narrow)
        order = np.argsort(part_of, kind="stable")
        ends = np.cumsum(np.bincount(part_of, minlength=parts))
        starts = np.concatenate(([0], ends[:-1]))
        return (lattice[order[a:b]] for a, b in zip(starts, ends, strict=True))

    def _lattice(self, box: RowEncoder) -> Lattice:
        if box.n_features != self.n_features:
            raise ValueError(
                f"the bounds have {box.n_features} columns, the data has {self.n_features}"
            )
        if box in self._lattices:
            return self._lattices[box]
        if isinstance(self._source, Blocks):
            whole, kept = _read_blocks(self._source, box)
        else:
            whole, kept = _read_frame(self._source, box, self._threads)
        if self._groups is not None:
            rows = np.flatnonzero(kept)
            rows = few_of_each(whole, rows, codes_of(self._groups), self._most)
            whole = _packed(whole, rows)
        elif not kept.all():
            whole = _packed(whole, np.flatnonzero(kept))
        # A binning is laid on the rows once.
        if isinstance(box, Box):
            self._lattices[box] = whole
        return whole


def _read_frame(frame: Frame, box: RowEncoder, threads: int) -> tuple[Lattice, Mask]:
    whole = np.empty((frame.n_rows, frame.n_features), dtype=np.int16)
    kept = np.empty(frame.n_rows, dtype=np.bool_)

    def work(spans: Iterator[slice]) -> None:
        for span in spans:
            kept[span] = _write(box, frame.read(span.start, span.stop), whole[span])

    share(work, _spans(*whole.shape), threads)
    return whole, kept


def _read_blocks(source: Blocks, box: RowEncoder) -> tuple[Lattice, Mask]:
    blocks: deque[Lattice] = deque()
    masks = [np.empty(0, dtype=np.bool_)]
    for block in source.open():
        blocks.append(np.empty((len(block), source.n_features), dtype=np.int16))
        masks.append(_write(box, block, blocks[-1]))
    kept = np.concatenate(masks)
    if source.n_rows not in (None, len(kept)):
        raise RuntimeError("the source did not yield the number of rows it had declared")
    whole = np.empty((len(kept), source.n_features), dtype=np.int16)
    start = 0
    while blocks:
        # Let go of each block as soon as it is copied.
        snapped = blocks.popleft()
        whole[start : start + len(snapped)] = snapped
        start += len(snapped)
    return whole, kept


def _write(box: RowEncoder, rows: NDArray[Any], out: Lattice) -> Mask:
    return write_lattice(box, rows, out) if isinstance(box, Box) else box.write_lattice(rows, out)


def _packed(lattice: Lattice, rows: Ints) -> Lattice:
    """Move some rows, in ascending order, to the front, without a second copy of the lattice."""
    for span in _spans(len(rows), lattice.shape[1]):
        lattice[span] = lattice[rows[span]]
    return lattice[: len(rows)]


def _spans(n_rows: int, n_features: int) -> deque[slice]:
    step = max(_SPAN_ROWS, _SPAN_CELLS // n_features)
    # The last rows are taken in smaller parts, so that all threads end at about the same time.
    starts = [*range(0, n_rows * 3 // 4, step)]
    starts += range(min(len(starts) * step, n_rows), n_rows, max(1, step // _END_PARTS))
    return deque(slice(a, b) for a, b in pairwise([*starts, n_rows]))


def check_whole(value: int, name: str) -> int:
    """Refuse what is not a whole number from 1 on."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1 on, got {value!r}")
    return int(value)
