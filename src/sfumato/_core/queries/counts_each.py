"""Counts of several sets of cells, from one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import Parts
from sfumato._core.queries.counts import Counts


@dataclass(frozen=True)
class CountsBatch:
    """Several counts of the same rows from one pass: one's numbers after those of the one before.

    Sensitivity: that of `Counts` for the numbers of each, which are released as its own answer.
    """

    queries: tuple[Counts, ...]

    def __post_init__(self) -> None:
        if not self.queries:
            raise ValueError("there is no query: ask about the cells of at least one")

    def __str__(self) -> str:
        return f"an answer of {len(self.queries)} counts"

    @property
    def parts(self) -> Parts:
        """The counts of each."""
        return tuple((query, (Counts,)) for query in self.queries)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.queries[0].n_features

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return sum(query.n_numbers for query in self.queries)

    def lines(self) -> list[slice]:
        """Where the numbers of each are."""
        ends = np.cumsum([0, *(q.cells.n_cells for q in self.queries)]).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def empty(self) -> Ints:
        """Zero for every cell of each."""
        return np.concatenate([q.empty() for q in self.queries])

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows in the cells of each."""
        for query, lines in zip(self.queries, self.lines(), strict=True):
            query.add(rows, state[lines])
