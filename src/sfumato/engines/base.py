"""Where rows come from: visit every row once and add integers. Two methods, no third."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.box import Box, Ints, Lattice


class Scale(Protocol):
    """What turns cells into 16-bit integers, looking at one row at a time: a `Box`, or a ruler."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    def write_lattice(self, rows: NDArray[Any], out: Lattice) -> NDArray[np.bool_]:
        """Write the integers of a block of rows, and say which rows are kept."""


class Kernel(Protocol):
    """What a pass over the rows adds up. Pure: no randomness, no budget, no state of its own."""

    def empty(self) -> Ints:
        """Return the sum over no rows: zeros of a shape that no row can change."""

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add every row of one block into `state`. States of disjoint blocks add up."""


class Rows(Protocol):
    """A table of rows that can be folded over, wherever it lives."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def max_rows_per_group(self) -> int | None:
        """Rows that one group can have, or None where every row stands for itself."""

    def fold(self, box: Scale, kernel: Kernel) -> Ints:
        """Sum `kernel` over all rows, each counted exactly once."""

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row's own values picks its block."""
