"""The loops over one block of lattice rows, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import boolean, float64, int64, njit, types

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.numpy_loops import OPEN, SPAN, Table

_Loop = TypeVar("_Loop", bound=Callable[..., None])

# Readable arrays of either kind may be passed where the loop promises not to write.
ROWS = types.Array(types.int16, 2, "C", readonly=True)
LABELS = types.Array(int64, 1, "C", readonly=True)
POINTS = types.Array(int64, 2, "C", readonly=True)
VECTOR = types.Array(float64, 1, "C", readonly=True)
MATRIX = types.Array(float64, 2, "C", readonly=True)
NODES = types.Array(types.int32, 2, "C", readonly=True)
CUTS = types.Array(types.int32, 3, "C", readonly=True)


def compiled_for(
    *arguments: Any,  # noqa: ANN401
    contract: bool = True,
    any_order: bool = False,
) -> Callable[[_Loop], _Loop]:
    """Compile a loop for arguments of these types, with whichever cache can be written."""
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


# From this many columns on a matrix product is faster than the loop over groups of rows.
_WIDE = 32

# Up to this many centres a loop over few rows at a time is faster than a matrix product.
_FEW = 12
_AT_ONCE = 4

_GROUP = 128


@compiled_for(ROWS, MATRIX, VECTOR, int64[::1])
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


@compiled_for(ROWS, MATRIX, float64[:, ::1], any_order=True)
def multiply(rows: Lattice, matrix: Floats, y: Floats) -> None:
    """Write rows @ matrix.T, for a matrix of few lines."""
    d, last = rows.shape[1], len(rows) - 1
    wide = np.empty((_AT_ONCE, d))
    for i in range(0, len(rows), _AT_ONCE):
        # At the end the last row is done several times.
        for k in range(_AT_ONCE):
            row = min(i + k, last)
            for c in range(d):
                wide[k, c] = rows[row, c]
        for j in range(len(matrix)):
            a = b = e = f = 0.0
            for c in range(d):
                value = matrix[j, c]
                a += wide[0, c] * value
                b += wide[1, c] * value
                e += wide[2, c] * value
                f += wide[3, c] * value
            y[i, j], y[min(i + 1, last), j] = a, b
            y[min(i + 2, last), j], y[min(i + 3, last), j] = e, f


@compiled_for(MATRIX, VECTOR, int64[::1])
def _label_rows(scores: Floats, squares: Floats, labels: Ints) -> None:
    for i in range(len(scores)):
        best, winner = np.inf, 0
        for c in range(scores.shape[1]):
            score = scores[i, c] + squares[c]
            if score < best:
                best, winner = score, c
        labels[i] = winner


@compiled_for(MATRIX, VECTOR, int64[::1])
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

    def label_few(rows: Lattice) -> Ints:
        found = scores[: len(rows) * k].reshape(len(rows), k)
        multiply(rows, narrow, found)
        _label_rows(found, squares, labels[: len(rows)])
        return labels[: len(rows)]

    def label_wide(rows: Lattice) -> Ints:
        n = len(rows)
        values[:n] = rows
        found = np.dot(narrow, values[:n].T, out=scores[: k * n].reshape(k, n))
        _label_scores(found, squares, labels[:n])
        return labels[:n]

    if d < _WIDE:
        return label
    narrow, scores = np.ascontiguousarray(weights[:k, :d]), np.empty(k * most_rows)
    if k <= _FEW:
        return label_few
    values = np.empty((most_rows, d))
    return label_wide


_SIDE = np.uint64(2 * REACH + 1)

# Cells whose middles and steps stay in the fastest cache.
_TILE = 2**11

# Adding and taking away 1.5·2^52 rounds a float64 below 2^51 to the nearest whole number, ties to
# even, as NumPy's rint does, in two vector instructions.
_TO_WHOLE = 1.5 * 2.0**52


def snap(values: Floats, middle: Floats, step: Floats, missing: int, out: Lattice) -> None:
    """Write the lattice points of a block of rows, the same as NumPy's."""
    tile = max(1, _TILE // values.shape[1])
    _snap(values, middle[:tile], step[:tile], float(missing), out)


@compiled_for(MATRIX, MATRIX, MATRIX, float64, types.int16[:, ::1], contract=False)
def _snap(values: Floats, middle: Floats, step: Floats, missing: float, out: Lattice) -> None:
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
            scaled = scaled if value - value == 0 else missing
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


# Rows that descend a tree together.
_DESCENT = 256


@compiled_for(ROWS, NODES, CUTS, int64[:, ::1])
def add_branches(rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
    """Count the rows of each place below each open node of a tree; see `tree.py`."""
    # Rows of a group take each step together, so that no step waits for the one before.
    who, at = np.empty(_DESCENT, np.int64), np.empty(_DESCENT, np.int64)
    found, place = np.empty(_DESCENT, np.int64), np.empty(_DESCENT, np.int64)
    top, width = np.empty(_DESCENT, np.int64), state.shape[1]
    for start in range(0, len(rows), _DESCENT):
        going, met, level = min(_DESCENT, len(rows) - start), 0, 1
        who[:going], at[:going], place[:going] = np.arange(start, start + going), 0, 1
        while going > 0:
            left = 0
            for i in range(going):
                row, node = who[i], at[i]
                axis, cut, child = nodes[node, 0], nodes[node, 1], np.int64(nodes[node, 2])
                who[left], at[left] = row, child + (rows[row, axis] > cut)
                left += int(child >= 0)
                if child <= OPEN:
                    found[met], top[met] = row, OPEN - child
                    met += 1
            going = left
        while level < width:
            for i in range(met):
                line = cuts[top[i], place[i] - 1]
                place[i] = 2 * place[i] + (rows[found[i], line[0]] > line[1])
            level *= 2
        for i in range(met):
            state[top[i], place[i] - width] += 1


_SQUARE = float(REACH * REACH)


@compiled_for(float64[:, ::1], VECTOR, VECTOR, float64, boolean, types.int16[:, ::1])
def finish(
    y: Floats, factors: Floats, constant: Floats, most: float, ball: bool, out: Lattice
) -> None:
    """Multiply, subtract, cut off fractions, clip to ±most; shorten for a ball; write."""
    n, m = y.shape
    for i in range(n):
        square = 0.0
        for j in range(m):
            value = np.trunc(y[i, j] * factors[j] - constant[j])
            value = min(max(value, -most), most)
            y[i, j] = value
            square += value * value
        length = float(REACH)
        if ball and square > _SQUARE:
            length = np.ceil(np.sqrt(square))
            length -= (length - 1) * (length - 1) >= square
            length += length * length < square
        for j in range(m):
            value = y[i, j] * REACH / length if ball else y[i, j]
            out[i, j] = np.int16(np.int32(value))


@compiled_for(MATRIX, int64[::1], float64[::1], float64[::1])
def two_nearest(scores: Floats, labels: Ints, first: Floats, second: Floats) -> None:
    """Write the nearest centre of each row, its score and the next one's."""
    for i in range(len(scores)):
        one = two = np.inf
        nearest = 0
        for c in range(scores.shape[1]):
            score = scores[i, c]
            if score < one:
                one, two, nearest = score, one, c
            elif score < two:
                two = score
        labels[i], first[i], second[i] = nearest, one, two


@compiled_for(MATRIX, VECTOR, VECTOR, LABELS, float64[::1], float64[:, ::1])
def sums(
    scores: Floats, first: Floats, second: Floats, line: Ints, kept: Floats, moved: Floats
) -> None:
    """Add min(score, first) into `kept`, and what min(score, second) is more into its line."""
    for i in range(len(scores)):
        row, more, one, two = scores[i], moved[line[i]], first[i], second[i]
        for j in range(len(row)):
            near = row[j] if row[j] < one else one
            kept[j] += near
            more[j] += (row[j] if row[j] < two else two) - near


@compiled_for(ROWS, LABELS, int64, LABELS, LABELS, LABELS, int64[::1])
def add_halves(
    rows: Lattice, low: Ints, side: int, keys: Ints, starts: Ints, numbers: Ints, state: Ints
) -> None:
    """Count the rows of every half of every cube; see `cubes.py`."""
    half, axes = side // 2, len(low)
    for i in range(len(rows)):
        node, child, axis = np.int64(0), np.int64(0), 0
        while axis < axes:
            above = rows[i, axis] - low[axis]
            place = above // side
            key = node * SPAN + place
            first, last = starts[axis], starts[axis + 1]
            while first < last:
                middle = (first + last) // 2
                if keys[middle] < key:
                    first = middle + 1
                else:
                    last = middle
            if first == starts[axis + 1] or keys[first] != key:
                break
            node = first - starts[axis]
            child += np.int64(above - place * side >= half) << axis
            axis += 1
        if axis == axes:
            state[(numbers[node] << axes) + child] += 1
