"""What the curator selects by: scores of candidates, a closed set of frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import ByContent, lattice_points
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


Score = Cost | Swaps
SCORES = (Cost, Swaps)
