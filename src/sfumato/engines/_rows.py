"""What rows are to the code that sums over them, and the tasks that sum over one partition.

A task is pure: what it returns depends on its partition alone, and only what it returns counts. An
engine may run it twice, or lose a worker and run it again. No noise, no budget, no files, no state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints, Lattice, Mask
from sfumato._base.validation import check_whole
from sfumato._lattice.box import Box
from sfumato._lattice.kernels.dispatch import write_lattice
from sfumato.engines._groups import codes_of, few_of_each, hash_rows, labels_of
from sfumato.engines._threads import one_blas_thread


class RowEncoder(Protocol):
    """Encodes cells as 16-bit integers, each row by itself: a `Box`, or a binning."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def write_lattice(self, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
        """Write the integers of a block of rows into `out`, and say which rows are kept.

        rows: (n, d), user's units. out: (n, d), lattice steps. Returns a mask of shape (n,).
        """


class Kernel(Protocol):
    """What a pass over the rows sums. Pure: no randomness, no budget, no state of its own."""

    def empty(self) -> Ints:
        """Return the sum over no rows: zeros of a shape that no row can change."""

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add every row of one block into `state`. States of disjoint blocks add up.

        rows: (n, d), lattice steps. state: of the shape of `empty()`.
        """


class Rows(Protocol):
    """A table of rows that can be folded over, wherever it is stored."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row is a unit of its own."""

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over all rows, each counted exactly once."""

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row's own values picks its block."""

    def group_sizes(self, most: int) -> Ints:
        """How many groups have 1, 2, …, `most` rows or more, of shape (most,).

        All rows of a group count here, also those that no fold looks at. Needs groups.
        """

    def keeping(self, max_rows: int) -> Rows:
        """The same rows, of which so many count of each group. Needs groups."""


Read = Callable[[int, int], NDArray[Any]]
"""Called with two row numbers, returns real numbers of shape (stop - start, d)."""


@dataclass(frozen=True)
class Frame:
    """A table of numbers in memory."""

    n_rows: int
    n_features: int
    read: Read


@dataclass(frozen=True)
class Blocks:
    """Rows that are read from the start: `open()` yields float64 blocks of shape (rows, d).

    Every call must yield the same rows, each once. Without `n_rows` the number is found by reading,
    and groups cannot be matched.
    """

    open: Callable[[], Iterator[Floats]]
    n_features: int
    n_rows: int | None = None

    def encoded(self, encoder: RowEncoder) -> tuple[Lattice, Mask]:
        """All rows as integers, of shape (n, d), and which of them are kept, of shape (n,)."""
        blocks: deque[Lattice] = deque()
        masks = [np.empty(0, dtype=np.bool_)]
        for rows, kept in encoded(encoder, self.open()):
            blocks.append(rows.copy())
            masks.append(kept)
        all_kept = np.concatenate(masks)
        if self.n_rows not in (None, len(all_kept)):
            raise RuntimeError("the source did not yield the number of rows it had declared")
        whole = np.empty((len(all_kept), self.n_features), dtype=np.int16)
        start = 0
        while blocks:
            # Each block is freed as soon as it is copied.
            block = blocks.popleft()
            whole[start : start + len(block)] = block
            start += len(block)
        return whole, all_kept


# Cells that are put on the lattice before the kernel sees them: a buffer of half a megabyte.
_BUFFER_CELLS = 2**18


@dataclass(frozen=True)
class Partial:
    """The sum over some partitions, and which ones they are."""

    parts: tuple[int, ...]
    state: Ints


@dataclass(frozen=True)
class Picked:
    """Rows of one partition that lie in the blocks asked for, and the number of each row's own."""

    part: int
    rows: Lattice
    numbers: Ints


def merge(one: Partial, other: Partial) -> Partial:
    """Add the sums over disjoint sets of partitions."""
    twice = set(one.parts) & set(other.parts)
    if twice:
        raise ValueError(f"partitions {sorted(twice)} would be counted twice")
    if one.state.shape != other.state.shape:
        raise ValueError("sums of unlike queries cannot be added")
    return Partial((*one.parts, *other.parts), one.state + other.state)


class Task(ABC):
    """A pure function of one partition. With `max_rows`, so many rows of each group count."""

    encoder: RowEncoder
    max_rows: int | None

    @abstractmethod
    def on(self, part: int, lattices: Iterable[Lattice]) -> Partial | Picked:
        """Run on the rows of one partition that count, encoded already: blocks of shape (n, d)."""

    def over(
        self,
        part: int,
        blocks: Iterable[NDArray[Any]],
        labels: Any = None,  # noqa: ANN401
        chosen: Mask | None = None,
    ) -> Partial | Picked:
        """Run on one partition, given as blocks of rows of shape (n, d), in the user's units.

        `labels` has one label for each row, if a group lies in one partition as a whole. Where it
        does not, the mask `chosen` says which rows count, decided before over all partitions.
        """
        return self.on(part, counted(self.encoder, self.max_rows, blocks, labels, chosen))


@dataclass(frozen=True)
class Fold(Task):
    """Sums a kernel over a partition."""

    encoder: RowEncoder
    kernel: Kernel
    max_rows: int | None = None

    def on(self, part: int, lattices: Iterable[Lattice]) -> Partial:
        """Sum over the rows of one partition."""
        state = self.kernel.empty()
        with one_blas_thread():
            for rows in lattices:
                self.kernel.add(rows, state)
        return Partial((part,), state)


@dataclass(frozen=True)
class Pick(Task):
    """Picks the rows of blocks `first` to `last` - 1 of `parts`; see `block_numbers`."""

    encoder: Box
    parts: int
    first: int
    last: int
    key: int
    max_rows: int | None = None

    def on(self, part: int, lattices: Iterable[Lattice]) -> Picked:
        """Pick among the rows of one partition."""
        found = [np.empty((0, self.encoder.n_features), dtype=np.int16)]
        numbers = [np.empty(0, dtype=np.int64)]
        for rows in lattices:
            places = block_numbers(rows, self.parts, self.key)
            wanted = (places >= self.first) & (places < self.last)
            found.append(rows[wanted])
            numbers.append(places[wanted])
        return Picked(part, np.concatenate(found), np.concatenate(numbers))


def block_numbers(rows: Lattice, parts: int, key: int) -> Ints:
    """Which of `parts` blocks each row lies in, by a keyed hash of its own values.

    rows: (n, d), lattice steps. Returns numbers from 0 to parts - 1, of shape (n,).
    """
    return (hash_rows(rows, key) % np.uint64(parts)).astype(np.int64)


def split_rows(lattice: Lattice, parts: int, key: int) -> Iterator[Lattice]:
    """Yield the rows of each of `parts` blocks. lattice: (n, d), lattice steps."""
    check_whole(parts, "parts")
    numbers = block_numbers(lattice, parts, key)
    # NumPy sorts narrow integers faster.
    order = np.argsort(numbers.astype(np.uint16) if parts <= 2**16 else numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=parts))
    starts = np.concatenate(([0], ends[:-1]))
    return (lattice[order[a:b]] for a, b in zip(starts, ends, strict=True))


@dataclass(frozen=True)
class BlockSizes:
    """Counts the rows of each block: how much memory they will take."""

    parts: int
    key: int

    def empty(self) -> Ints:
        """Zero for every block."""
        return np.zeros(self.parts, dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count rows, of shape (n, d), into `state`, of shape (parts,)."""
        state += np.bincount(block_numbers(rows, self.parts, self.key), minlength=self.parts)


def counted(
    encoder: RowEncoder,
    max_rows: int | None,
    blocks: Iterable[NDArray[Any]],
    labels: Any,  # noqa: ANN401
    chosen: Mask | None,
) -> Iterator[Lattice]:
    """Yield the encoded rows of a partition that count; arguments are as in `Task.over`.

    A block, of shape (n, d), is valid until the next one.
    """
    if max_rows is None or chosen is not None:
        for rows, kept in _only(encoded(encoder, blocks), chosen):
            yield rows if kept.all() else rows[kept]
        return
    pairs = [(rows.copy(), kept) for rows, kept in encoded(encoder, blocks)]
    if not pairs:
        return
    whole = np.concatenate([rows for rows, _ in pairs])
    places = np.flatnonzero(np.concatenate([kept for _, kept in pairs])).astype(np.int64)
    yield whole[few_of_each(whole, places, codes_of(labels_of(labels, len(whole))), max_rows)]


def _only(
    pairs: Iterable[tuple[Lattice, Mask]], chosen: Mask | None
) -> Iterator[tuple[Lattice, Mask]]:
    """Keep only the chosen rows, if there is a choice."""
    if chosen is None:
        yield from pairs
        return
    start = 0
    for rows, kept in pairs:
        wanted = chosen[start : start + len(rows)]
        start += len(rows)
        if len(wanted) == len(rows):
            yield rows, kept & wanted
    if start != len(chosen):
        raise RuntimeError("a partition has not the number of rows it had before")


def encoded(encoder: RowEncoder, blocks: Iterable[NDArray[Any]]) -> Iterator[tuple[Lattice, Mask]]:
    """Encode rows in a buffer that is used again, and say which of them are kept.

    blocks: (n, d), user's units. Yields lattice steps of the same shape, and a mask of shape (n,).
    """
    step = max(1, _BUFFER_CELLS // encoder.n_features)
    buffer = np.empty((step, encoder.n_features), dtype=np.int16)
    for block in blocks:
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            out = buffer[: len(rows)]
            if isinstance(encoder, Box):
                yield out, write_lattice(encoder, rows, out)
            else:
                yield out, encoder.write_lattice(rows, out)
