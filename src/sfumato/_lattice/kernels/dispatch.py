"""Exact integer sums over lattice rows: the inner loops of every pass.

Each function looks at `rows` (int16, one row per line) and adds into the int64 `state` it is given,
so that blocks can be visited in any order and the states of disjoint blocks add up. The loops exist
twice, in NumPy and compiled by numba; both give the same integers: docs/proofs/exact-kernels.md.
Gaps are filled, or their rows left out, before any of them: `gaps.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import isqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice
from sfumato._lattice.box import ABSENT, REACH, Box, has_gaps
from sfumato._lattice.kernels import gaps
from sfumato._lattice.kernels import numpy_loops as kernels_numpy
from sfumato._lattice.kernels.numpy_loops import Table
from sfumato._lattice.kernels.verify import Loops, accepted, agree

Backend = Literal["auto", "numpy", "numba"]

MAX_FEATURES = 2**20
"""The most columns for which every distance is an exact integer in float64."""

LONGEST = 2 * REACH * isqrt(MAX_FEATURES)
"""No two lattice points are further apart."""

# Loading the compiled loops takes about as long as NumPy gains by them over this many cells.
_WORTH_LOADING = 2**24

_BLOCK_ROWS = 2**14
_BLOCK_CELLS = 2**19

backend: Backend = "auto"
"""Which loops are used. Set by tests and measurements only."""

_cells_seen = 0


def write_lattice(box: Box, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
    """Snap rows into `out`, one lattice row for each, and say which of them are kept."""
    return box.write_lattice(rows, out, loops_for(out).snap)


def nearest_counts(rows: Lattice, centers: Ints, state: Ints) -> None:
    """Count the rows nearest to each of k centres; `state` has shape (k,)."""
    loops = loops_for(rows)
    for _, labels in by_nearest(loops, rows, centers):
        loops.add_counts(labels, state)


def nearest_totals(rows: Lattice, centers: Ints, state: Ints) -> None:
    """Count (column 0) and sum (columns 1 to d) the rows nearest to each of k centres."""
    loops = loops_for(rows)
    for block, labels in by_nearest(loops, rows, centers):
        loops.add_totals(block, labels, state)


def nearest_clipped(rows: Lattice, centers: Ints, radii: Ints, state: Ints) -> None:
    """Count and sum the differences v = row − nearest centre, none longer than its cell's radius R.

    A difference of squared length S > R² enters as sign(v_i)·⌊|v_i|·R / ⌈√S⌉⌋.
    """
    loops = loops_for(rows)
    radii = np.minimum(radii, LONGEST)
    for block, labels in by_nearest(loops, rows, centers):
        loops.add_clipped(block, labels, centers, radii, state)


def nearest_first(rows: Lattice, centers: Ints, radii: Ints, state: Ints) -> None:
    """Count, and sum the first columns of, the rows nearest to each of k centres.

    As many columns as `state` has sums. With radii differences are summed, as by `nearest_clipped`.
    """
    loops, q = loops_for(rows), state.shape[1] - 1
    radii, first = np.minimum(radii, LONGEST), np.ascontiguousarray(centers[:, :q])
    for block, labels in by_nearest(loops, rows, centers):
        part = np.ascontiguousarray(block[:, :q])
        if len(radii):
            loops.add_clipped(part, labels, first, radii, state)
        else:
            loops.add_totals(part, labels, state)


def nearest_farther(rows: Lattice, centers: Ints, edges: Ints, state: Ints) -> None:
    """Count the rows by how many of the ascending `edges` are less than their distance.

    `state` has one number more than there are edges, or a line of so many for every centre.
    Squares are compared: nothing is rounded.
    """
    loops = loops_for(rows)
    limits = np.square(edges)
    for block, labels in by_nearest(loops, rows, centers):
        passed = np.searchsorted(limits, loops.squares(block, labels, centers))
        if state.ndim > 1:
            passed += labels * state.shape[1]
        loops.add_counts(passed, state.reshape(-1))


def two_squares(rows: Lattice, centers: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
    """For blocks of rows: the nearest centre, its squared distance, and that of the next centre.

    The first of equals is the nearest. Distances are over the columns that a row has; a row that
    has none is left out. Where there is one centre it is also the next. Exact integers.
    """
    for block in blocks(rows, 2 * len(centers)):
        there = block[(block != ABSENT).any(axis=1)]
        squares = gaps.scores(there, centers)
        squares += np.square(gaps.filled(there, 0), dtype=np.float64).sum(axis=1)[:, np.newaxis]
        labels: Ints = squares.argmin(axis=1)
        ordered = np.partition(squares, min(1, len(centers) - 1), axis=1).astype(np.int64)
        yield labels, ordered[:, 0], ordered[:, min(1, len(centers) - 1)]


def nearest_products(
    rows: Lattice, centers: Ints, radii: Ints, bits: int, pairs: tuple[Ints, Ints], state: Ints
) -> None:
    """Add up products of coordinates of z for the rows nearest to each of k centres.

    z is 2^(bits − 1), then y_i = sign(v_i)·⌊|v_i|·2^bits / max(R, ⌈√Σv²⌉)⌋ with v = row − centre
    and the radius R of its cell. `pairs` are places in z, one for each number of a line of `state`.
    Rows have no gaps. Products are below 2^24 and a block has at most 2^14 rows.
    """
    loops, (first, second) = loops_for(rows), pairs
    step = max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // (len(first) + len(centers))))
    for block, labels in by_nearest(loops, rows, centers):
        z = kernels_numpy.seen_from_center(block, labels, centers, radii, bits)
        for start in range(0, len(z), step):
            part = z[start : start + step]
            member = np.arange(len(centers))[:, None] == labels[start : start + step]
            found = np.dot(member.astype(np.float64), part[:, first] * part[:, second])
            state += found.astype(np.int64)


def grid_counts(rows: Lattice, per_axis: int, state: Ints) -> None:
    """Count the rows of each cell of a grid; `state` has shape (per_axis**d,), in C order."""
    loops = loops_for(rows)
    for block in _on_grid(rows, per_axis):
        loops.add_counts(loops.grid(block, per_axis), state)


def grid_totals(rows: Lattice, per_axis: int, state: Ints) -> None:
    """Count (column 0) and sum (columns 1 to d) the rows of each cell of a grid."""
    loops = loops_for(rows)
    for block in _on_grid(rows, per_axis):
        loops.add_totals(block, loops.grid(block, per_axis), state)


def _on_grid(rows: Lattice, per_axis: int) -> Iterator[Lattice]:
    """Blocks of the rows that lie in a cell: all where there is one, else those without a gap."""
    for block in blocks(rows, 1):
        yield gaps.filled(block, 0) if per_axis == 1 else gaps.complete(block)


def branch_counts(rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
    """Count the rows of each box below each open node of a tree; see `numpy_loops`."""
    loops = loops_for(rows)
    for block in blocks(rows, 8):
        loops.add_branches(gaps.complete(block), nodes, cuts, state)


def compiled(rows: Lattice, times: int = 1) -> bool:
    """Whether the compiled loops are there, and worth it, for rows like these seen so often."""
    return loops_for(rows, times) is not kernels_numpy


def loops_for(rows: Lattice, times: int = 1) -> Loops:
    """The loops for rows like these, seen so often."""
    global _cells_seen
    if backend == "numpy":
        return kernels_numpy
    if backend == "auto" and not compiled_loops.cache_info().currsize:
        _cells_seen += rows.size * times
        if _cells_seen < _WORTH_LOADING:
            return kernels_numpy
    return compiled_loops() or kernels_numpy


@cache
def compiled_loops() -> Loops | None:
    """The loops that numba compiles, if it is there and they agree with NumPy's."""
    try:
        from sfumato._lattice.kernels import numba_loops as kernels_numba
    except ImportError:
        return None
    return kernels_numba if accepted(agree(kernels_numba, kernels_numpy)) else None


def blocks(rows: Lattice, width: int) -> Iterator[Lattice]:
    """Cut rows into blocks whose buffers, `width` numbers per row besides the row, stay small."""
    step = _block_rows(rows, width)
    for start in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[start : start + step])


def _block_rows(rows: Lattice, width: int) -> int:
    return max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // (int(rows.shape[1]) + width)))


def by_nearest(loops: Loops, rows: Lattice, centers: Ints) -> Iterator[tuple[Lattice, Ints]]:
    """Blocks of rows, each with the number of every row's nearest centre, the first of equals.

    Only columns that a row has count; an absent coordinate is that of the row's own centre.
    """
    label = loops.nearest(centers, _block_rows(rows, len(centers)))
    for block in blocks(rows, len(centers)):
        yield gaps.by_nearest(block, centers) if has_gaps(block) else (block, label(block))
