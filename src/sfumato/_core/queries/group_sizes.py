"""The one query about groups themselves: how many of them have how many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato._base.types import Ints
from sfumato._core.queries.cells import Sensitivity
from sfumato.engines._rows import Rows

SIZES = (*range(1, 8), *(step << octave for octave in range(1, 8) for step in range(4, 8)), 1024)
"""Public sizes of groups: 1 to 8 one by one, then four in each octave, up to 1024."""

MOST = 2**16
"""The largest size that can be told from larger ones."""


@dataclass(frozen=True)
class GroupSizes:
    """How many groups have up to edges[0] rows, up to edges[1], and so on.

    A group lies in the bin of the first edge that its number of rows does not pass; one with more
    rows than any edge lies in the last bin. All its rows count, also those that other queries leave
    out.

    Sensitivity: neighbours differ in one whole group, whatever its number of rows. It lies in one
    bin, which depends on its own rows alone: one count moves by 1. L1 = L2 = 1, always reached. So
    this is the change by a group, not by a row: it is not multiplied by the rows of a group.
    """

    n_features: int
    edges: tuple[int, ...] = SIZES

    def __post_init__(self) -> None:
        if type(self.edges) is not tuple or any(type(edge) is not int for edge in self.edges):
            raise TypeError("the edges between sizes of groups are a tuple of whole numbers")
        ordered = all(a < b for a, b in zip((0, *self.edges), self.edges, strict=False))
        if not self.edges or not ordered or self.edges[-1] > MOST:
            raise ValueError(
                f"the edges between sizes of groups must ascend from 1 or more to at most {MOST:,}"
            )

    def __str__(self) -> str:
        return "rows per group"

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return len(self.edges)

    def sensitivity(self) -> Sensitivity:
        """What one group can change."""
        return Sensitivity(1, 1)

    def count(self, rows: Rows) -> Ints:
        """Count the groups in each bin, of shape (bins,)."""
        each = rows.group_sizes(self.edges[-1])
        return np.add.reduceat(each, [0, *self.edges[:-1]])
