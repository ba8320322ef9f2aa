"""The loops over one block of lattice rows, in NumPy. Every float is a whole number below 2^53.

A tree of boxes is a table of nodes with three numbers each: the axis on which it is cut, the cut,
and its left child, which the right child follows; a row turns right if it lies above the cut. Where
there are no children, the third number says CLOSED, or OPEN − i for the open node number i. Below
every open node hangs a full binary tree of cuts (axis, cut), level by level from the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels import gaps

Table = NDArray[np.int32]

CLOSED = -1
OPEN = -2

SPAN = 2**22
"""Four times as many as there are places of cubes on an axis, or of rows below them."""

# Sums of squares take at most 2^14 rows at a time: they are exact in float64, 2^30 each.
_MOMENT_ROWS = 2**14
_MOMENT_CELLS = 2**20

# Above this many columns one product with a matrix of zeros and ones beats a pass per column.
_WIDE = 256

# The box itself snaps with NumPy.
snap = None


def nearest(centers: Ints, most_rows: int) -> Callable[[Lattice], Ints]:
    """Prepare to label blocks of at most `most_rows` rows by their nearest centre."""
    # |x − c|² and |c|² − 2x·c order the centres alike; a column of ones carries |c|².
    weights = np.empty((centers.shape[1] + 1, len(centers)))
    weights[0] = np.square(centers).sum(axis=1)
    weights[1:] = -2 * centers.T
    values = np.ones((most_rows, len(weights)))
    scores = np.empty((most_rows, len(centers)))

    def label(rows: Lattice) -> Ints:
        n = len(rows)
        values[:n, 1:] = rows
        np.dot(values[:n], weights, out=scores[:n])
        labels: Ints = scores[:n].argmin(axis=1)
        return labels

    return label


def grid(rows: Lattice, per_axis: int) -> Ints:
    """Label a block by its cells in a grid of `per_axis` slices per column, in C order."""
    labels = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        slices = column.astype(np.int64)
        slices += REACH
        slices *= per_axis
        slices //= 2 * REACH + 1
        labels *= per_axis
        labels += slices
    return labels


def add_counts(labels: Ints, state: Ints) -> None:
    """Count the rows of each cell."""
    np.add.at(state, labels, 1)


def add_totals(rows: Lattice, labels: Ints, state: Ints) -> None:
    """Count and sum the rows of each cell."""
    np.add.at(state[:, 0], labels, 1)
    _add_sums(rows, labels, state[:, 1:])


def add_clipped(rows: Lattice, labels: Ints, centers: Ints, radii: Ints, state: Ints) -> None:
    """Count and sum the rows of each cell, relative to its centre, shortened to its radius."""
    np.add.at(state[:, 0], labels, 1)
    offsets = _offsets(rows, labels, centers)
    square = np.einsum("ij,ij->i", offsets, offsets)
    far = square > np.square(radii)[labels]
    lengths = np.ceil(np.sqrt(square[far]))
    lengths -= np.square(lengths - 1) >= square[far]
    lengths += np.square(lengths) < square[far]
    reach = radii[labels[far]]
    offsets[far] = np.trunc(offsets[far] * reach[:, np.newaxis] / lengths[:, np.newaxis])
    _add_sums(offsets, labels, state[:, 1:])


def seen_from_center(rows: Lattice, labels: Ints, centers: Ints, radii: Ints, bits: int) -> Floats:
    """Rows (n, d) as z (n, d + 1): half of 2^bits, then differences to the centre in its radii."""
    offsets = _offsets(rows, labels, centers)
    square = np.einsum("ij,ij->i", offsets, offsets)
    lengths = np.ceil(np.sqrt(square))
    lengths -= np.square(lengths - 1) >= square
    lengths += np.square(lengths) < square
    unit = np.maximum(lengths, radii[labels])
    z = np.full((len(rows), rows.shape[1] + 1), float(1 << (bits - 1)))
    z[:, 1:] = np.trunc(offsets * (1 << bits) / unit[:, np.newaxis])
    return z


def squares(rows: Lattice, labels: Ints, centers: Ints) -> Ints:
    """Squared distance of each row to the centre of its cell."""
    offsets = _offsets(rows, labels, centers)
    found: Ints = np.einsum("ij,ij->i", offsets, offsets).astype(np.int64)
    return found


def _offsets(rows: Lattice, labels: Ints, centers: Ints) -> Floats:
    # One new array of this size, not three: fresh memory takes longer than the arithmetic.
    offsets = centers.astype(np.float64)[labels]
    np.subtract(rows, offsets, out=offsets)
    return offsets


def _add_sums(values: Lattice | Floats, labels: Ints, sums: Ints) -> None:
    if values.shape[1] > _WIDE and len(sums) <= _WIDE:
        member = (np.arange(len(sums))[:, np.newaxis] == labels).astype(np.float64)
        sums += np.dot(member, values.astype(np.float64)).astype(np.int64)
        return
    columns = np.empty((values.shape[1], len(values)), dtype=np.int64)
    columns[:] = values.T
    for column, total in zip(columns, sums.T, strict=True):
        # Whole arrays of one type: anything else takes a path a hundred times slower.
        np.add.at(total, labels, column)


def add_branches(rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
    """Count the rows of each place below each open node; `state` has shape (open, 2^levels)."""
    who, top = _descend(rows, nodes)
    width = state.shape[1]
    # Places are numbered as in a heap: the top is 1, the children of i are 2i and 2i + 1.
    place = np.ones(len(who), dtype=np.int64)
    for _ in range(width.bit_length() - 1):
        axis, cut = cuts[top, place - 1].T
        place = 2 * place + (rows[who, axis] > cut)
    np.add.at(state.reshape(-1), top * width + place - width, 1)


def _descend(rows: Lattice, nodes: Table) -> tuple[Ints, Ints]:
    """Find the rows that reach an open node, and the number of that node."""
    who, at = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
    found, tops = [], []
    while who.size:
        axis, cut, child = nodes[at].T
        found.append(who[child <= OPEN])
        tops.append(OPEN - child[child <= OPEN].astype(np.int64))
        inner = child >= 0
        who = who[inner]
        at = child[inner].astype(np.int64) + (rows[who, axis[inner]] > cut[inner])
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *found]), np.concatenate([none, *tops])


def add_squares(rows: Lattice, shift: int, state: Ints) -> None:
    """Add Σ y_a² of the rows, each cut to y = trunc(x / 2^shift), into `state` (d,)."""
    for values in _coarse(rows, shift):
        state += np.einsum("ij,ij->j", values, values).astype(np.int64)


def add_products(rows: Lattice, shift: int, state: Ints) -> None:
    """Add Σ y·yᵀ of the rows, each cut to y = trunc(x / 2^shift), into `state` (d, d)."""
    for values in _coarse(rows, shift):
        state += np.dot(values.T, values).astype(np.int64)


def _coarse(rows: Lattice, shift: int) -> Iterator[Floats]:
    n, d = rows.shape
    step = max(1, min(n, _MOMENT_ROWS, _MOMENT_CELLS // d))
    values = np.empty((step, d))
    for start in range(0, n, step):
        # What is absent adds nothing.
        block = gaps.filled(rows[start : start + step], 0)
        # A right shift rounds down; what it would round away from zero is lifted before.
        values[: len(block)] = (block + ((block >> 15) & ((1 << shift) - 1))) >> shift
        yield values[: len(block)]
