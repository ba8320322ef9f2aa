"""Rows seen through a public linear map, exactly: docs/proofs/projection.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._lattice.box import ABSENT, REACH, has_gaps
from sfumato._lattice.kernels import gaps
from sfumato._lattice.kernels.dispatch import compiled

# Cells of a block, before and after the map: its buffers stay in the cache.
_BLOCK_CELLS = 2**17

# Up to this many coordinates the compiled loop is faster than a matrix product: at 784 columns
# three times as fast for 5 of them, no faster for 16.
_FEW = 8

_Multiply = Callable[[Lattice, Floats, Floats], None]
_Finish = Callable[[Floats, Floats, Floats, float, bool, Lattice], None]


@dataclass(frozen=True)
class Weights:
    """A matrix over 2^shift as floats, ready to be multiplied; both are exact.

    With `columns` every coordinate looks at one column only, and `factors` does all the work.
    `whole` is the matrix as it was given, and `offset` what a column that is absent is taken for.
    """

    whole: Ints
    offset: Ints
    matrix: Floats
    factors: Floats
    constant: Floats
    columns: Ints | slice | None
    ball: bool

    @classmethod
    def of(cls, matrix: Ints, offset: Ints, shift: int, *, ball: bool) -> Weights:
        """Prepare y = trunc(matrix @ (x − offset) / 2^shift)."""
        scale = np.float64(2.0**-shift)
        m, d = matrix.shape
        constant: Floats = (matrix @ offset) * scale
        if (np.count_nonzero(matrix, axis=1) > 1).any():
            floats = np.ascontiguousarray(matrix) * scale
            return cls(matrix, offset, floats, np.ones(m), constant, None, ball)
        columns = np.argmax(matrix != 0, axis=1)
        factors = matrix[np.arange(m), columns] * scale
        in_order = np.array_equal(columns, np.arange(d))
        picked = slice(None) if in_order else columns
        return cls(matrix, offset, np.empty((0, 0)), factors, constant, picked, ball)


def project(rows: Lattice, weights: Weights) -> Lattice:
    """Map every row alone: multiply, cut off fractions, clip to ±REACH or to the ball.

    A column that is absent adds nothing; a coordinate that looks at no other columns is absent.
    """
    n, d = rows.shape
    m = len(weights.constant)
    multiply, finish = _compiled_loops() if compiled(rows) else (None, _finish)
    multiply = multiply if m <= _FEW else None
    most = float(widest(m) if weights.ball else REACH)
    out = np.empty((n, m), dtype=np.int16)
    as_floats = weights.columns is None and multiply is None
    step = max(1, min(n, _BLOCK_CELLS // (max(d, m) if as_floats else m)))
    seen = np.empty((step, m))
    wide = np.empty((step if as_floats else 0, d))
    for start in range(0, n, step):
        given = rows[start : start + step]
        block = gaps.filled(given, weights.offset) if (holes := has_gaps(given)) else given
        y = seen[: len(block)]
        if weights.columns is not None:
            y[:] = block[:, weights.columns]
        elif multiply is not None:
            multiply(np.ascontiguousarray(block), weights.matrix, y)
        else:
            wide[: len(block)] = block
            np.dot(wide[: len(block)], weights.matrix.T, out=y)
        finish(y, weights.factors, weights.constant, most, weights.ball, out[start : start + step])
        if holes:
            out[start : start + step][gaps.unseen(given, weights.whole)] = ABSENT
    return out


def widest(n_out: int) -> int:
    """Coordinates are clipped to this before they are squared: the sum of squares is below 2^53."""
    return int(2 ** ((52 - (n_out - 1).bit_length()) // 2))


@cache
def _compiled_loops() -> tuple[_Multiply | None, _Finish]:
    from sfumato._lattice.kernels.verify import projection_loops

    return projection_loops(_finish)


def _finish(
    y: Floats, factors: Floats, constant: Floats, most: float, ball: bool, out: Lattice
) -> None:
    y *= factors
    y -= constant
    np.trunc(y, out=y)
    np.clip(y, -most, most, out=y)
    if ball:
        _shorten(y)
    out[:] = y


def _shorten(y: Floats) -> None:
    """Shorten lines of whole numbers to a length of at most REACH, in whole numbers."""
    squares = np.einsum("ij,ij->i", y, y)
    # A line that is short enough is multiplied and divided by REACH, which is exact.
    np.maximum(squares, REACH * REACH, out=squares)
    lengths = np.ceil(np.sqrt(squares))
    lengths -= np.square(lengths - 1) >= squares
    lengths += np.square(lengths) < squares
    y *= REACH
    y /= lengths[:, np.newaxis]
    np.trunc(y, out=y)
