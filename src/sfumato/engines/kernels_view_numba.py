"""The steps of a view over one block, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, types

from sfumato.box import REACH, Floats, Lattice
from sfumato.engines.compiling import VECTOR, compiled_for

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
