"""Blocks of lattice rows in which coordinates are absent: docs/proofs/missing.md.

Before any arithmetic a row with gaps is left out, or its gaps are filled: with public numbers, or
with means of the one block of sample and aggregate that the row is in. So the other loops never see
ABSENT. Blocks without gaps are returned as they are.
"""

from __future__ import annotations

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice, Mask
from sfumato._lattice.box import ABSENT, has_gaps


def complete(rows: Lattice) -> Lattice:
    """Only the rows without a gap."""
    return rows[(rows != ABSENT).all(axis=1)] if has_gaps(rows) else rows


def filled(rows: Lattice, values: Ints | int) -> Lattice:
    """Rows with `values` for absent coordinates: one for all, for each column or for each cell."""
    if not has_gaps(rows):
        return rows
    # Values lie within ±REACH.
    return np.where(rows == ABSENT, values, rows).astype(np.int16)


def filled_with_means(rows: Lattice) -> Lattice:
    """Rows with the mean of what is present in a column, a whole number, for what is absent."""
    if not has_gaps(rows):
        return rows
    present = rows != ABSENT
    sums = np.where(present, rows, 0).sum(axis=0, dtype=np.int64)
    means: Ints = np.rint(sums / np.maximum(present.sum(axis=0), 1)).astype(np.int64)
    return filled(rows, means)


def scores(rows: Lattice, points: Ints) -> Floats:
    """For each row and point the Σ (c² − 2xc) over the columns that the row has: (n, points).

    That is the squared distance less Σ x², and 0 for a row that has none. Exact integers.
    """
    present = (rows != ABSENT).astype(np.float64)
    squares, doubled = (part.T.astype(np.float64) for part in (np.square(points), -2 * points))
    found: Floats = present @ squares + filled(rows, 0).astype(np.float64) @ doubled
    return found


def by_nearest(rows: Lattice, centers: Ints) -> tuple[Lattice, Ints]:
    """Number the nearest centre of each row, the first of equals, over the columns that it has.

    Returns rows in which absent coordinates are those of that centre, and these numbers. A row
    that has no coordinate is near to nothing: it is left out.
    """
    rows = np.ascontiguousarray(rows[(rows != ABSENT).any(axis=1)])
    labels: Ints = scores(rows, centers).argmin(axis=1)
    return filled(rows, centers[labels]), labels


def unseen(rows: Lattice, matrix: Ints) -> Mask:
    """Which coordinates of rows @ matrix.T look at absent columns alone: (n, lines).

    A line of zeros looks at nothing and is always seen.
    """
    used = matrix != 0
    seen = (rows != ABSENT).astype(np.float64) @ used.T.astype(np.float64)
    alone: Mask = (seen == 0) & used.any(axis=1)
    return alone
