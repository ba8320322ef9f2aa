"""What the curator selects by: scores of candidates, a closed set of frozen data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.breakdown import Breakdown
from sfumato._core.queries.cells import ByContent, Parts, lattice_points
from sfumato._lattice.box import MAX_NUMBERS, REACH
from sfumato._lattice.kernels.costs import LIMB, candidate_costs, swap_costs


def farthest_squared(points: Ints, *, ball: bool) -> int:
    """Return the most that a row's squared distance to one of these points can be.

    In a box Σ(x − c)² ≤ d·(2·REACH)². In a ball |x − c| ≤ |x| + |c|, and |x| ≤ REACH: this is
    (2·REACH)² unless a point lies outside, which makes it more.
    """
    if not ball:
        return int(points.shape[-1]) * (2 * REACH) ** 2
    longest = int(np.square(points).sum(axis=-1).max())
    length = isqrt(longest - 1) + 1 if longest else 0
    return (REACH + max(REACH, length)) ** 2


@dataclass(frozen=True, eq=False)
class Cost(ByContent):
    """The k-means cost of each of m sets of k lattice points: the less, the better.

    Sensitivity: adding a row adds to every cost the squared distance to its nearest point, over the
    columns that it has, an integer from 0 to d·(2·REACH)². In a ball of radius REACH that holds the
    rows and the points it is at most (2·REACH)². All costs move the same way, so the scores are
    monotone.
    """

    candidates: Ints

    def __post_init__(self) -> None:
        points = lattice_points(self.candidates, "candidates", "(sets, k, d)")
        if points.size > MAX_NUMBERS:
            raise ValueError(f"{points.size:,} numbers of candidates; at most {MAX_NUMBERS:,} fit")
        object.__setattr__(self, "candidates", points)

    def __str__(self) -> str:
        return f"{len(self.candidates)} sets of {self.candidates.shape[1]} centres by cost"

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.candidates.shape[2])

    @property
    def n_candidates(self) -> int:
        """Number of sets to choose from."""
        return len(self.candidates)

    def sensitivity(self, *, ball: bool = False) -> int:
        """What one row can add to a cost, if rows are known to lie in a ball or only in the box."""
        return farthest_squared(self.candidates, ball=ball)

    def empty(self) -> Ints:
        """No cost, as two limbs per candidate: costs pass 2^63 where counts never do."""
        return np.zeros((len(self.candidates), 2), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add the cost of one block of rows to every candidate."""
        candidate_costs(rows, self.candidates, state)

    @staticmethod
    def scores(state: Ints) -> NDArray[np.object_]:
        """The score of every candidate, minus its cost, as exact integers."""
        return np.array([-((int(high) << LIMB) + int(low)) for high, low in state], dtype=object)


@dataclass(frozen=True, eq=False)
class Swaps(ByContent):
    """The k-means cost after taking one of k centres out and one of m candidates in.

    Choice number i·m + j takes out centre i and takes in candidate j; the less it costs, the
    better. All k·m costs come from one pass, in which each row knows its two nearest centres.

    Sensitivity: as for `Cost`, of which these are k·m sets of k points: from 0 to d·(2·REACH)², or
    to (2·REACH)² in a ball of radius REACH that holds the rows and the points. Monotone.
    """

    centers: Ints
    candidates: Ints

    def __post_init__(self) -> None:
        for name in ("centers", "candidates"):
            object.__setattr__(self, name, lattice_points(getattr(self, name), name, "(k, d)"))
        if self.centers.shape[1] != self.candidates.shape[1]:
            raise ValueError(
                f"centres have {self.centers.shape[1]} columns, "
                f"candidates have {self.candidates.shape[1]}"
            )
        numbers = max(prod(self._shape), self.candidates.size)
        if numbers > MAX_NUMBERS:
            raise ValueError(f"{self} take {numbers:,} numbers; at most {MAX_NUMBERS:,} fit")

    def __str__(self) -> str:
        k, m = len(self.centers), len(self.candidates)
        return f"{k * m} swaps of {k} centres with {m} candidates by cost"

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.centers.shape[1])

    @property
    def n_candidates(self) -> int:
        """Number of swaps to choose from."""
        return len(self.centers) * len(self.candidates)

    def sensitivity(self, *, ball: bool = False) -> int:
        """What one row can add to a cost, if rows are known to lie in a ball or only in the box."""
        return farthest_squared(np.vstack([self.centers, self.candidates]), ball=ball)

    def empty(self) -> Ints:
        """No cost, as two limbs per number."""
        return np.zeros(self._shape, dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add the costs of one block of rows."""
        swap_costs(rows, self.centers, self.candidates, state)

    @staticmethod
    def scores(state: Ints) -> NDArray[np.object_]:
        """The score of every swap, minus its cost, as exact integers."""
        high, low = (state[0] + state[1:]).astype(object).reshape(-1, 2).T
        found: NDArray[np.object_] = -((high << LIMB) + low)
        return found

    @property
    def _shape(self) -> tuple[int, int, int]:
        """What all rows cost with each candidate, and what those of each centre cost more."""
        return len(self.centers) + 1, len(self.candidates), 2


MAX_WEIGHT = 2**10
"""The most that one row may count in `Guesses`."""


@dataclass(frozen=True)
class Guesses:
    """How many rows have their cell guessed from one column alone, for each of some columns.

    Whoever knows no more of a row than its bin in a column guesses the cell that weighs most there.
    Rows of cell c count weights[c], a public whole number: small cells can be made to count as much
    as large ones. The score of a column is Σ_bins max_c weights[c]·(rows of cell c in the bin).

    Sensitivity: a row lies in one cell c and, in each column, in one bin or in none. Adding it
    raises one of the numbers that a column's maxima are over by weights[c] and leaves the others,
    so one maximum rises by 0 to weights[c] and all others stay: every score rises by at most the
    largest weight, and none falls. The scores are monotone.
    """

    counts: Breakdown
    weights: Sequence[int]

    def __post_init__(self) -> None:
        if type(self.counts) is not Breakdown:
            raise TypeError(f"guesses are made by a Breakdown, got {type(self.counts).__name__}")
        weights = tuple(int(w) if isinstance(w, np.integer) else w for w in self.weights)
        if not all(type(w) is int and 1 <= w <= MAX_WEIGHT for w in weights):
            raise ValueError(f"weights must be whole numbers from 1 to {MAX_WEIGHT}")
        if len(weights) != self.counts.cells.n_cells:
            raise ValueError(f"{len(weights)} weights for {self.counts.cells.n_cells} cells")
        object.__setattr__(self, "weights", weights)

    def __str__(self) -> str:
        columns = len(self.counts.columns)
        return f"{columns} columns by how well they tell {self.counts.cells} apart"

    @property
    def parts(self) -> Parts:
        """What is counted."""
        return ((self.counts, (Breakdown,)),)

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""
        return self.counts.n_features

    @property
    def n_candidates(self) -> int:
        """Number of columns to choose from."""
        return len(self.counts.columns)

    def sensitivity(self, *, ball: bool = False) -> int:
        """What one row can add to a score, wherever rows lie."""
        return max(self.weights)

    def empty(self) -> Ints:
        """Zero for every bin of every cell."""
        return self.counts.empty()

    def add(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        self.counts.add(rows, state)

    def scores(self, state: Ints) -> NDArray[np.object_]:
        """The score of every column, as exact integers: at most 2^10 times the number of rows."""
        heavy = state * np.array(self.weights)[:, np.newaxis]
        best = [int(heavy[:, line].max(axis=0).sum()) for line in self.counts.lines()]
        return np.array(best, dtype=object)


Score = Cost | Swaps | Guesses
SCORES = (Cost, Swaps, Guesses)
