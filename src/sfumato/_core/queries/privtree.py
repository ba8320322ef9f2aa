"""What a tree of boxes is grown over, and the query of each pass over the rows.

Free of noise and budget, like all queries, so that it can travel to wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels import dispatch as kernels
from sfumato._lattice.kernels.numpy_loops import Table

Corners = NDArray[np.int32]


@dataclass(frozen=True)
class Domain:
    """A box of lattice points, `lower` to `upper` inclusive, one pair for each column.

    Rows outside enter as the nearest point inside, each row on its own; rows with a gap are left
    out.
    """

    lower: Sequence[int]
    upper: Sequence[int]

    def __post_init__(self) -> None:
        lower, upper = (tuple(index(x) for x in side) for side in (self.lower, self.upper))
        if not lower or len(lower) != len(upper):
            raise ValueError(
                f"a domain has one lower and one upper end per column, got {len(lower)} and "
                f"{len(upper)}"
            )
        if any(not -REACH <= a <= b <= REACH for a, b in zip(lower, upper, strict=True)):
            raise ValueError(
                f"every side of a domain goes from a lower to an upper end, both from {-REACH} to "
                f"{REACH}"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.lower)


@dataclass(frozen=True, eq=False)
class Branches:
    """How many rows lie in each of 2^levels boxes below every open node of a tree of boxes.

    The tables are those of `kernels/numpy_loops.py`. Cuts lie between the ends of the domain, so
    a row outside turns wherever the nearest point inside would: no row needs to be clipped.

    Sensitivity: a row descends one path, which ends in one box below one open node or in a closed
    leaf; with a gap it is in none. It moves one count by 1, or none. The counts never leave the
    curator; what is released of them is charged by `PrivTreeSplits` and by the counts of the
    leaves.
    """

    nodes: Table
    cuts: Table

    def __str__(self) -> str:
        return f"counts below {len(self.cuts)} open nodes"

    def empty(self) -> Ints:
        """Zero for every box."""
        return np.zeros((len(self.cuts), self.cuts.shape[1] + 1), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        kernels.branch_counts(rows, self.nodes, self.cuts, state)


def halve(lower: Corners, upper: Corners) -> tuple[Ints, Corners, Corners, Corners]:
    """Cut boxes, (n, d) corners, in two on their widest side, the first of equals, in the middle.

    Returns axes (n,), cuts (n,), rounded down, and the corners of the halves, (2n, d): the points
    up to the cut, then the points above it.
    """
    axis = np.asarray((upper - lower).argmax(axis=1))
    side = np.arange(len(axis)), axis
    cut = (lower[side] + upper[side]) >> 1
    lower, upper = np.repeat(lower, 2, axis=0), np.repeat(upper, 2, axis=0)
    places = 2 * np.arange(len(axis))
    upper[places, axis] = cut
    lower[places + 1, axis] = cut + 1
    return axis, cut, lower, upper


def cuts_below(lower: Corners, upper: Corners, levels: int) -> Table:
    """List the cuts (axis, cut) of the first `levels` levels below each box, from the left."""
    n = len(lower)
    cuts = np.empty((n, 2**levels - 1, 2), dtype=np.int32)
    for level in range(levels):
        axis, cut, lower, upper = halve(lower, upper)
        here = slice(2**level - 1, 2 ** (level + 1) - 1)
        cuts[:, here, 0], cuts[:, here, 1] = axis.reshape(n, -1), cut.reshape(n, -1)
    return cuts
