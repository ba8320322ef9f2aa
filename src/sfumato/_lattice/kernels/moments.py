"""Sums of squares and products of coordinates, exactly: docs/proofs/moments.md."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice

# A block has at most 2^14 rows: its sums of products of at most 2^30 are exact in float64.
_BLOCK_ROWS = 2**14
_BLOCK_CELLS = 2**20


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
    step = max(1, min(n, _BLOCK_ROWS, _BLOCK_CELLS // d))
    values = np.empty((step, d))
    for start in range(0, n, step):
        block = rows[start : start + step]
        # A right shift rounds down; what it would round away from zero is lifted before.
        values[: len(block)] = (block + ((block >> 15) & ((1 << shift) - 1))) >> shift
        yield values[: len(block)]
