"""The steps of a view over one block, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, types

from sfumato.box import REACH, Floats, Lattice
from sfumato.engines.kernels_numba import _MATRIX, _ROWS, _VECTOR, _compiled

_SQUARE = float(REACH * REACH)

_AT_ONCE = 4


@_compiled(_ROWS, _MATRIX, float64[:, ::1], any_order=True)
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


@_compiled(float64[:, ::1], _VECTOR, _VECTOR, float64, boolean, types.int16[:, ::1])
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
