"""Exact integer sums over lattice rows: the inner loops of every pass.

Each function looks at `rows` (int16, one row per line) and adds into the int64 `state` it is given,
so that blocks can be visited in any order and the states of disjoint blocks add up. The loops exist
twice, in NumPy and compiled by numba; both give the same integers: docs/proofs/exact-kernels.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from math import isqrt
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice
from sfumato._lattice.box import REACH, Box, Snap
from sfumato._lattice.kernels import numpy_loops as kernels_numpy
from sfumato._lattice.kernels.tree import Table

Label = Callable[[Lattice], Ints]
Backend = Literal["auto", "numpy", "numba"]

MAX_FEATURES = 2**20
"""The most columns for which every distance is an exact integer in float64."""

LONGEST = 2 * REACH * isqrt(MAX_FEATURES)
"""No two lattice points are further apart."""

# Loading the compiled loops takes about as long as NumPy gains by them over this many cells.
_WORTH_LOADING = 2**24

_BLOCK_ROWS = 2**14
_BLOCK_CELLS = 2**19

_backend: Backend = "auto"
_cells_seen = 0


class Loops(Protocol):
    """The loops over one block of rows; `labels` are the numbers of the cells of its rows."""

    @property
    def snap(self) -> Snap | None:
        """Writes the lattice points of a block, or None where the box's own way is as good."""

    def nearest(self, centers: Ints, most_rows: int) -> Label:
        """Prepare to label blocks of at most `most_rows` rows by their nearest centre."""

    def grid(self, rows: Lattice, per_axis: int) -> Ints:
        """Label a block by its cells in a grid, in C order.

        A coordinate x lies in slice (x + REACH)·per_axis // (2·REACH + 1) of its axis.
        """

    def add_counts(self, labels: Ints, state: Ints) -> None:
        """Count the rows of each cell."""

    def add_totals(self, rows: Lattice, labels: Ints, state: Ints) -> None:
        """Count and sum the rows of each cell."""

    def add_clipped(
        self, rows: Lattice, labels: Ints, centers: Ints, radii: Ints, state: Ints
    ) -> None:
        """Count and sum the rows of each cell, relative to its centre, shortened to its radius."""

    def squares(self, rows: Lattice, labels: Ints, centers: Ints) -> Ints:
        """Squared distance of each row to the centre of its cell."""

    def add_branches(self, rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
        """Count the rows of each box below each open node of a tree."""


def write_lattice(box: Box, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
    """Snap rows into `out`, one lattice row for each, and say which of them are kept."""
    return box.write_lattice(rows, out, _loops(out).snap)


def nearest_counts(rows: Lattice, centers: Ints, state: Ints) -> None:
    """Count the rows nearest to each of k centres; `state` has shape (k,)."""
    loops = _loops(rows)
    for _, labels in _by_nearest(loops, rows, centers):
        loops.add_counts(labels, state)


def nearest_totals(rows: Lattice, centers: Ints, state: Ints) -> None:
    """Count (column 0) and sum (columns 1 to d) the rows nearest to each of k centres."""
    loops = _loops(rows)
    for block, labels in _by_nearest(loops, rows, centers):
        loops.add_totals(block, labels, state)


def nearest_clipped(rows: Lattice, centers: Ints, radii: Ints, state: Ints) -> None:
    """Count and sum the differences v = row − nearest centre, none longer than its cell's radius R.

    A difference of squared length S > R² enters as sign(v_i)·⌊|v_i|·R / ⌈√S⌉⌋.
    """
    loops = _loops(rows)
    radii = np.minimum(radii, LONGEST)
    for block, labels in _by_nearest(loops, rows, centers):
        loops.add_clipped(block, labels, centers, radii, state)


def nearest_farther(rows: Lattice, centers: Ints, edges: Ints, state: Ints) -> None:
    """Count the rows by how many of the ascending `edges` are less than their distance.

    `state` has one number more than there are edges. Squares are compared: nothing is rounded.
    """
    loops = _loops(rows)
    limits = np.square(edges)
    for block, labels in _by_nearest(loops, rows, centers):
        passed = np.searchsorted(limits, loops.squares(block, labels, centers))
        loops.add_counts(passed, state)


def grid_counts(rows: Lattice, per_axis: int, state: Ints) -> None:
    """Count the rows of each cell of a grid; `state` has shape (per_axis**d,), in C order."""
    loops = _loops(rows)
    for block in _blocks(rows, 1):
        loops.add_counts(loops.grid(block, per_axis), state)


def grid_totals(rows: Lattice, per_axis: int, state: Ints) -> None:
    """Count (column 0) and sum (columns 1 to d) the rows of each cell of a grid."""
    loops = _loops(rows)
    for block in _blocks(rows, 1):
        loops.add_totals(block, loops.grid(block, per_axis), state)


def labelled_totals(rows: Lattice, labels: Ints, state: Ints) -> None:
    """Count (column 0) and sum (columns 1 to d) rows whose cells are known."""
    loops, start = _loops(rows), 0
    for block in _blocks(rows, 1):
        loops.add_totals(block, labels[start : start + len(block)], state)
        start += len(block)


def branch_counts(rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
    """Count the rows of each box below each open node of a tree; see `kernels_tree`."""
    loops = _loops(rows)
    for block in _blocks(rows, 8):
        loops.add_branches(block, nodes, cuts, state)


def cells_of_nearest(rows: Lattice, centers: Ints) -> Ints:
    """Number of the nearest centre of each row; of equally near ones the first."""
    labels = [labels.copy() for _, labels in _by_nearest(_loops(rows), rows, centers)]
    return np.concatenate([np.empty(0, dtype=np.int64), *labels])


@contextmanager
def use(backend: Backend) -> Iterator[None]:
    """Force one backend inside a `with` block, in all threads; for tests and measurements."""
    global _backend
    if backend not in get_args(Backend):
        raise ValueError(f"backend must be one of {get_args(Backend)}, got {backend!r}")
    if backend == "numba" and _numba() is None:
        raise ImportError('numba is not installed; it comes with pip install "sfumato[fast]"')
    before, _backend = _backend, backend
    try:
        yield
    finally:
        _backend = before


def compiled(rows: Lattice, times: int = 1) -> bool:
    """Whether the compiled loops are there, and worth it, for rows like these seen so often."""
    return _loops(rows, times) is not kernels_numpy


def _loops(rows: Lattice, times: int = 1) -> Loops:
    global _cells_seen
    if _backend == "numpy":
        return kernels_numpy
    if _backend == "auto" and not _numba.cache_info().currsize:
        _cells_seen += rows.size * times
        if _cells_seen < _WORTH_LOADING:
            return kernels_numpy
    return _numba() or kernels_numpy


@cache
def _numba() -> Loops | None:
    try:
        from sfumato._lattice.kernels import numba_loops as kernels_numba
    except ImportError:
        return None
    from sfumato._lattice.kernels.verify import accepted, agree

    return kernels_numba if accepted(agree(kernels_numba, kernels_numpy)) else None


def _blocks(rows: Lattice, width: int) -> Iterator[Lattice]:
    """Cut rows into blocks whose buffers, `width` numbers per row besides the row, stay small."""
    step = _block_rows(rows, width)
    for start in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[start : start + step])


def _block_rows(rows: Lattice, width: int) -> int:
    return max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // (int(rows.shape[1]) + width)))


def _by_nearest(loops: Loops, rows: Lattice, centers: Ints) -> Iterator[tuple[Lattice, Ints]]:
    label = loops.nearest(centers, _block_rows(rows, len(centers)))
    for block in _blocks(rows, len(centers)):
        yield block, label(block)
