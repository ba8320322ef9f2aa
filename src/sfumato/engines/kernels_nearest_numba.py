"""Rows labelled by their nearest centre, compiled by numba: the same labels as NumPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import float64, int64

from sfumato.box import Floats, Ints, Lattice
from sfumato.engines.compiling import MATRIX, ROWS, VECTOR, compiled_for

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
