"""Tasks that travel to the partitions of a table, and what they send back.

A task is pure: what it returns depends on its partition alone, and only what it returns counts. An
engine may run it twice, or lose a worker and run it again. No noise, no budget, no files, no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice, Mask
from sfumato._lattice.box import Box
from sfumato._lattice.kernels.dispatch import hash_rows, write_lattice
from sfumato.engines._groups import codes_of, few_of_each, labels_of
from sfumato.engines._threads import one_blas_thread


class RowEncoder(Protocol):
    """Encodes cells as 16-bit integers, one row at a time: a `Box`, or a binning."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def write_lattice(self, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
        """Write the integers of a block of rows, and say which rows are kept."""


class Kernel(Protocol):
    """What a pass over the rows adds up. Pure: no randomness, no budget, no state of its own."""

    def empty(self) -> Ints:
        """Return the sum over no rows: zeros of a shape that no row can change."""

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add every row of one block into `state`. States of disjoint blocks add up."""


class Rows(Protocol):
    """A table of rows that can be folded over, wherever it lives."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over all rows, each counted exactly once."""

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row's own values picks its block."""


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


@dataclass(frozen=True)
class Fold:
    """Sums a kernel over a partition. With `most`, at most so many rows of each group count."""

    scale: RowEncoder
    kernel: Kernel
    most: int | None = None

    def over(
        self,
        part: int,
        blocks: Iterable[NDArray[Any]],
        labels: Any = None,  # noqa: ANN401
        chosen: Mask | None = None,
    ) -> Partial:
        """Sum over one partition, given as blocks of rows.

        Of groups, `labels` has one label for each row; a group lies in one partition as a whole.
        Where it does not, `chosen` says which rows count, settled before over all partitions.
        """
        return self.on(part, counted(self.scale, self.most, blocks, labels, chosen))

    def on(self, part: int, lattices: Iterable[Lattice]) -> Partial:
        """Sum over the rows of one partition that count, on the lattice already."""
        state = self.kernel.empty()
        with one_blas_thread():
            for rows in lattices:
                self.kernel.add(rows, state)
        return Partial((part,), state)


@dataclass(frozen=True)
class Pick:
    """Picks the rows of blocks `first` to `last` - 1 of `parts`; see `block_numbers`."""

    box: Box
    parts: int
    first: int
    last: int
    key: int
    most: int | None = None

    def over(
        self,
        part: int,
        blocks: Iterable[NDArray[Any]],
        labels: Any = None,  # noqa: ANN401
        chosen: Mask | None = None,
    ) -> Picked:
        """Pick rows of one partition, given as in `Fold.over`."""
        return self.on(part, counted(self.box, self.most, blocks, labels, chosen))

    def on(self, part: int, lattices: Iterable[Lattice]) -> Picked:
        """Pick among the rows of one partition that count, on the lattice already."""
        found = [np.empty((0, self.box.n_features), dtype=np.int16)]
        numbers = [np.empty(0, dtype=np.int64)]
        for rows in lattices:
            places = block_numbers(rows, self.parts, self.key)
            wanted = (places >= self.first) & (places < self.last)
            found.append(rows[wanted])
            numbers.append(places[wanted])
        return Picked(part, np.concatenate(found), np.concatenate(numbers))


def block_numbers(rows: Lattice, parts: int, key: int) -> Ints:
    """Which of `parts` blocks each row lies in, by a keyed hash of its own values."""
    return (hash_rows(rows, key) % np.uint64(parts)).astype(np.int64)


@dataclass(frozen=True)
class BlockSizes:
    """Counts the rows of each block: how much memory they will take."""

    parts: int
    key: int

    def empty(self) -> Ints:
        """Zero for every block."""
        return np.zeros(self.parts, dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        state += np.bincount(block_numbers(rows, self.parts, self.key), minlength=self.parts)


def counted(
    scale: RowEncoder,
    most: int | None,
    blocks: Iterable[NDArray[Any]],
    labels: Any,  # noqa: ANN401
    chosen: Mask | None,
) -> Iterator[Lattice]:
    """Yield the lattice rows of a partition that count. A block is valid until the next one."""
    if most is None or chosen is not None:
        for rows, kept in _settled(snapped(scale, blocks), chosen):
            yield rows if kept.all() else rows[kept]
        return
    pairs = [(rows.copy(), kept) for rows, kept in snapped(scale, blocks)]
    if not pairs:
        return
    whole = np.concatenate([rows for rows, _ in pairs])
    places = np.flatnonzero(np.concatenate([kept for _, kept in pairs])).astype(np.int64)
    yield whole[few_of_each(whole, places, codes_of(labels_of(labels, len(whole))), most)]


def _settled(
    pairs: Iterable[tuple[Lattice, Mask]], chosen: Mask | None
) -> Iterator[tuple[Lattice, Mask]]:
    """Keep of all rows only those that were chosen, if any were."""
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


def snapped(scale: RowEncoder, blocks: Iterable[NDArray[Any]]) -> Iterator[tuple[Lattice, Mask]]:
    """Put rows on the lattice in a buffer that is used again, and say which of them are kept."""
    step = max(1, _BUFFER_CELLS // scale.n_features)
    buffer = np.empty((step, scale.n_features), dtype=np.int16)
    for block in blocks:
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            out = buffer[: len(rows)]
            if isinstance(scale, Box):
                yield out, write_lattice(scale, rows, out)
            else:
                yield out, scale.write_lattice(rows, out)
