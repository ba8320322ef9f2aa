"""The loops over one block of lattice rows, compiled by numba. Importing this module compiles them.

Floats are whole numbers below 2^53, or such over one power of 2, so contracting a product and a
sum changes nothing, and nor does adding in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import float64, int64, njit, types

from sfumato.box import REACH, Floats, Ints, Lattice
from sfumato.engines.kernels_tree import count_branches

_Loop = TypeVar("_Loop", bound=Callable[..., None])

# From this many columns on a matrix product is faster than the loop over groups of rows.
_WIDE = 32

_GROUP = 128
_SIDE = np.uint64(2 * REACH + 1)

# Readable arrays of either kind may be passed where the loop promises not to write.
_ROWS = types.Array(types.int16, 2, "C", readonly=True)
_LABELS = types.Array(int64, 1, "C", readonly=True)
_POINTS = types.Array(int64, 2, "C", readonly=True)
_VECTOR = types.Array(float64, 1, "C", readonly=True)
_MATRIX = types.Array(float64, 2, "C", readonly=True)
_NODES = types.Array(types.int32, 2, "C", readonly=True)
_CUTS = types.Array(types.int32, 3, "C", readonly=True)

# Cells whose middles and steps stay in the fastest cache.
_TILE = 2**11

# Adding and taking away 1.5·2^52 rounds a float64 below 2^51 to the nearest whole number, ties to
# even, as NumPy's rint does, in two vector instructions.
_TO_WHOLE = 1.5 * 2.0**52


def _compiled(
    *arguments: Any,  # noqa: ANN401
    contract: bool = True,
    any_order: bool = False,
) -> Callable[[_Loop], _Loop]:
    signature = types.void(*arguments)

    def compile_(loop: _Loop) -> _Loop:
        # By Python's model every division asks whether to raise, and nothing is vectorised.
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        allowed = {"contract"} if contract else set()
        options["fastmath"] = allowed | ({"reassoc", "nsz"} if any_order else set())
        try:
            return cast(_Loop, njit(signature, cache=True, **options)(loop))
        except (RuntimeError, OSError):
            # Neither the package's folder nor the user's cache can be written, or the disk is full.
            return cast(_Loop, njit(signature, **options)(loop))

    return compile_


def snap(values: Floats, middle: Floats, step: Floats, out: Lattice) -> None:
    """Write the lattice points of a block of rows, the same as NumPy's."""
    tile = max(1, _TILE // values.shape[1])
    _snap(values, middle[:tile], step[:tile], out)


@_compiled(_MATRIX, _MATRIX, _MATRIX, types.int16[:, ::1], contract=False)
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


@_compiled(_ROWS, _MATRIX, _VECTOR, int64[::1])
def _label_groups(rows: Lattice, w: Floats, squares: Floats, labels: Ints) -> None:
    # Two centres and two columns at a time, `_GROUP` rows side by side in vector registers.
    n, d = rows.shape
    k, width = w.shape
    x = np.zeros((width, _GROUP))
    even, odd, best = np.empty(_GROUP), np.empty(_GROUP), np.empty(_GROUP)
    winner = np.empty(_GROUP, np.int64)
    for start in range(0, n, _GROUP):
        m = min(_GROUP, n - start)
        for i in range(m):
            for j in range(d):
                x[j, i] = rows[start + i, j]
        best[:] = np.inf
        for c in range(0, k, 2):
            even[:], odd[:] = squares[c], squares[c + 1]
            for j in range(0, width - 2, 2):
                a, b, p, q = w[c, j], w[c, j + 1], w[c + 1, j], w[c + 1, j + 1]
                for i in range(_GROUP):
                    even[i] += a * x[j, i] + b * x[j + 1, i]
                    odd[i] += p * x[j, i] + q * x[j + 1, i]
            # The last two columns go straight into the comparison and are never stored.
            j = width - 2
            a, b, p, q = w[c, j], w[c, j + 1], w[c + 1, j], w[c + 1, j + 1]
            for i in range(_GROUP):
                one = even[i] + (a * x[j, i] + b * x[j + 1, i])
                two = odd[i] + (p * x[j, i] + q * x[j + 1, i])
                score = two if two < one else one
                first = c + 1 if two < one else c
                better = score < best[i]
                best[i] = score if better else best[i]
                winner[i] = first if better else winner[i]
        labels[start : start + m] = winner[:m]


@_compiled(_MATRIX, _VECTOR, int64[::1])
def _label_scores(scores: Floats, squares: Floats, labels: Ints) -> None:
    k, n = scores.shape
    best = np.empty(n)
    best[:] = np.inf
    for c in range(k):
        for i in range(n):
            score = scores[c, i] + squares[c]
            better = score < best[i]
            best[i] = score if better else best[i]
            labels[i] = c if better else labels[i]


def nearest(centers: Ints, most_rows: int) -> Callable[[Lattice], Ints]:
    """Prepare to label blocks of at most `most_rows` rows by their nearest centre."""
    # |x − c|² and |c|² − 2x·c order the centres alike.
    k, d = centers.shape
    weights = np.zeros((k + k % 2, d + d % 2))
    weights[:k, :d] = -2 * centers
    squares = np.full(k + k % 2, np.inf)
    squares[:k] = np.square(centers).sum(axis=1)
    labels = np.empty(most_rows, dtype=np.int64)

    def label(rows: Lattice) -> Ints:
        _label_groups(rows, weights, squares, labels[: len(rows)])
        return labels[: len(rows)]

    def label_wide(rows: Lattice) -> Ints:
        n = len(rows)
        values[:n] = rows
        found = np.dot(narrow, values[:n].T, out=scores[: k * n].reshape(k, n))
        _label_scores(found, squares, labels[:n])
        return labels[:n]

    if d < _WIDE:
        return label
    narrow = np.ascontiguousarray(weights[:k, :d])
    values, scores = np.empty((most_rows, d)), np.empty(k * most_rows)
    return label_wide


def grid(rows: Lattice, per_axis: int) -> Ints:
    """Label a block by its cells in a grid of `per_axis` slices per column, in C order."""
    labels = np.empty(len(rows), dtype=np.int64)
    _label_grid(rows, per_axis, labels)
    return labels


@_compiled(_ROWS, int64, int64[::1])
def _label_grid(rows: Lattice, per_axis: int, labels: Ints) -> None:
    for i in range(len(rows)):
        cell = np.int64(0)
        for j in range(rows.shape[1]):
            # Unsigned, so that the division by a constant becomes a product.
            above = np.uint64((rows[i, j] + REACH) * per_axis)
            cell = cell * per_axis + np.int64(above // _SIDE)
        labels[i] = cell


@_compiled(_LABELS, int64[::1])
def add_counts(labels: Ints, state: Ints) -> None:
    """Count the rows of each cell."""
    for cell in labels:
        state[cell] += 1


@_compiled(_ROWS, _LABELS, int64[:, ::1])
def add_totals(rows: Lattice, labels: Ints, state: Ints) -> None:
    """Count and sum the rows of each cell."""
    for i in range(len(rows)):
        cell = labels[i]
        state[cell, 0] += 1
        for j in range(rows.shape[1]):
            state[cell, j + 1] += rows[i, j]


@_compiled(_ROWS, _LABELS, _POINTS, _LABELS, int64[:, ::1])
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


@_compiled(_ROWS, _LABELS, _POINTS, int64[::1])
def _squares(rows: Lattice, labels: Ints, centers: Ints, found: Ints) -> None:
    for i in range(len(rows)):
        cell = labels[i]
        square = 0
        for j in range(rows.shape[1]):
            offset = rows[i, j] - centers[cell, j]
            square += offset * offset
        found[i] = square


add_branches = _compiled(_ROWS, _NODES, _CUTS, int64[:, ::1])(count_branches)
