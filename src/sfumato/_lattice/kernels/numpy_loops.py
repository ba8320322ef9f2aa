"""The loops over one block of lattice rows, in NumPy. Every float is a whole number below 2^53."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.tree import add_branches as add_branches

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
