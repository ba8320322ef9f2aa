"""The loops over one block of lattice rows, compiled by numba when this module is imported."""

from __future__ import annotations

import numpy as np
from numba import int64, types

from sfumato.box import REACH, Floats, Ints, Lattice
from sfumato.engines.compiling import CUTS, LABELS, MATRIX, NODES, POINTS, ROWS, compiled_for
from sfumato.engines.kernels_nearest_numba import nearest
from sfumato.engines.kernels_tree import count_branches

__all__ = [
    "add_branches",
    "add_clipped",
    "add_counts",
    "add_totals",
    "grid",
    "nearest",
    "snap",
    "squares",
]

_SIDE = np.uint64(2 * REACH + 1)

# Cells whose middles and steps stay in the fastest cache.
_TILE = 2**11

# Adding and taking away 1.5·2^52 rounds a float64 below 2^51 to the nearest whole number, ties to
# even, as NumPy's rint does, in two vector instructions.
_TO_WHOLE = 1.5 * 2.0**52


def snap(values: Floats, middle: Floats, step: Floats, out: Lattice) -> None:
    """Write the lattice points of a block of rows, the same as NumPy's."""
    tile = max(1, _TILE // values.shape[1])
    _snap(values, middle[:tile], step[:tile], out)


@compiled_for(MATRIX, MATRIX, MATRIX, types.int16[:, ::1], contract=False)
def _snap(values: Floats, middle: Floats, step: Floats, out: Lattice) -> None:
    cells, middles, steps, points = values.ravel(), middle.ravel(), step.ravel(), out.ravel()
    tile = len(middles)
    for start in range(0, len(cells), tile):
        block, snapped = cells[start : start + tile], points[start : start + tile]
        for i in range(len(block)):
            value = block[i]
            scaled = (value - middles[i]) / steps[i]
            scaled = max(scaled, -REACH)
            scaled = min(scaled, REACH)
            # A difference with itself is 0 for finite numbers alone.
            scaled = scaled if value - value == 0 else 0.0
            snapped[i] = np.int16(np.int32((scaled + _TO_WHOLE) - _TO_WHOLE))


def grid(rows: Lattice, per_axis: int) -> Ints:
    """Label a block by its cells in a grid of `per_axis` slices per column, in C order."""
    labels = np.empty(len(rows), dtype=np.int64)
    _label_grid(rows, per_axis, labels)
    return labels


@compiled_for(ROWS, int64, int64[::1])
def _label_grid(rows: Lattice, per_axis: int, labels: Ints) -> None:
    for i in range(len(rows)):
        cell = np.int64(0)
        for j in range(rows.shape[1]):
            # Unsigned, so that the division by a constant becomes a product.
            above = np.uint64((rows[i, j] + REACH) * per_axis)
            cell = cell * per_axis + np.int64(above // _SIDE)
        labels[i] = cell


@compiled_for(LABELS, int64[::1])
def add_counts(labels: Ints, state: Ints) -> None:
    """Count the rows of each cell."""
    for cell in labels:
        state[cell] += 1


@compiled_for(ROWS, LABELS, int64[:, ::1])
def add_totals(rows: Lattice, labels: Ints, state: Ints) -> None:
    """Count and sum the rows of each cell."""
    for i in range(len(rows)):
        cell = labels[i]
        state[cell, 0] += 1
        for j in range(rows.shape[1]):
            state[cell, j + 1] += rows[i, j]


@compiled_for(ROWS, LABELS, POINTS, LABELS, int64[:, ::1])
def add_clipped(rows: Lattice, labels: Ints, centers: Ints, radii: Ints, state: Ints) -> None:
    """Count and sum the rows of each cell, relative to its centre, shortened to its radius."""
    for i in range(len(rows)):
        cell = labels[i]
        radius = radii[cell]
        square = 0
        for j in range(rows.shape[1]):
            offset = rows[i, j] - centers[cell, j]
            square += offset * offset
        state[cell, 0] += 1
        if square <= radius * radius:
            for j in range(rows.shape[1]):
                state[cell, j + 1] += rows[i, j] - centers[cell, j]
            continue
        length = np.int64(np.ceil(np.sqrt(square)))
        length -= (length - 1) * (length - 1) >= square
        length += length * length < square
        for j in range(rows.shape[1]):
            offset = rows[i, j] - centers[cell, j]
            state[cell, j + 1] += np.int64(np.float64(offset * radius) / np.float64(length))


def squares(rows: Lattice, labels: Ints, centers: Ints) -> Ints:
    """Squared distance of each row to the centre of its cell."""
    found = np.empty(len(rows), dtype=np.int64)
    _squares(rows, labels, centers, found)
    return found


@compiled_for(ROWS, LABELS, POINTS, int64[::1])
def _squares(rows: Lattice, labels: Ints, centers: Ints, found: Ints) -> None:
    for i in range(len(rows)):
        cell = labels[i]
        square = 0
        for j in range(rows.shape[1]):
            offset = rows[i, j] - centers[cell, j]
            square += offset * offset
        found[i] = square


add_branches = compiled_for(ROWS, NODES, CUTS, int64[:, ::1])(count_branches)
