"""The query behind `first_below`: how many rows lie farther from the centres than each edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import Nearest, Parts
from sfumato._lattice.kernels import dispatch as kernels


@dataclass(frozen=True)
class RowsBeyond:
    """For each edge, the number of rows farther than that many steps from their nearest centre.

    Edges are whole numbers of lattice steps, each larger than the one before it. The state of a
    pass is the number of rows for every number of edges that they lie beyond; with `each`, one such
    line for the rows of every cell. Distances are over the columns that a row has.

    Sensitivity: adding a row adds 1 to the counts of the edges that its distance exceeds, which are
    the first ones, and leaves the others: no count moves by more than 1, and none moves down. With
    `each` only the counts of its own cell move.
    """

    cells: Nearest
    edges: tuple[int, ...]
    each: bool = False

    def __post_init__(self) -> None:
        given = self.edges if isinstance(self.edges, Sequence | np.ndarray) else ()
        edges = tuple(int(e) if isinstance(e, np.integer) else e for e in given)
        whole = all(type(e) is int and 1 <= e <= kernels.LONGEST for e in edges)
        if not edges or not whole or any(a >= b for a, b in pairwise(edges)):
            raise ValueError(
                f"edges are ascending whole numbers of lattice steps from 1 to {kernels.LONGEST}"
            )
        if type(self.each) is not bool:
            raise ValueError(f"each is True or False, got {self.each!r}")
        object.__setattr__(self, "edges", edges)

    def __str__(self) -> str:
        by_themselves = ", each by itself" if self.each else ""
        return f"{len(self.edges)} distances from {self.cells}{by_themselves}"

    @property
    def parts(self) -> Parts:
        """Its cells."""
        return ((self.cells, (Nearest,)),)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.cells.n_features

    @property
    def n_numbers(self) -> int:
        """Integers that a pass counts."""
        return (len(self.edges) + 1) * (self.cells.n_cells if self.each else 1)

    def sensitivity(self) -> int:
        """What one row can add to a count."""
        return 1

    def empty(self) -> Ints:
        """No row beyond any number of edges."""
        numbers = len(self.edges) + 1
        return np.zeros((self.cells.n_cells, numbers) if self.each else numbers, dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows by how many edges they lie beyond."""
        edges = np.array(self.edges, dtype=np.int64)
        kernels.nearest_farther(rows, self.cells.centers, edges, state)

    @staticmethod
    def counts(state: Ints) -> Ints:
        """The number of rows beyond each edge, in every cell if these are apart."""
        # Whoever lies beyond more than i edges lies beyond edge i: the edges ascend.
        counts: Ints = np.cumsum(state[..., ::-1], axis=-1)[..., ::-1][..., 1:]
        return counts
