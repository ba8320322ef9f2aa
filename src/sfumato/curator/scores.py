"""What the curator selects by: scores of candidates, a closed set of frozen data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.box import REACH, Ints, Lattice
from sfumato.curator.questions import MAX_NUMBERS
from sfumato.engines.kernels_cost import LIMB, candidate_costs


@dataclass(frozen=True, eq=False)
class Cost:
    """The k-means cost of each of m sets of k lattice points: the less, the better.

    Sensitivity: adding a row adds to every cost the squared distance to its nearest point, an
    integer from 0 to d·(2·REACH)². All costs move the same way, so the scores are monotone.
    """

    candidates: Ints

    def __post_init__(self) -> None:
        points = np.asarray(self.candidates, dtype=np.float64)
        if points.ndim != 3 or 0 in points.shape or not np.isfinite(points).all():
            raise ValueError(
                f"candidates must be finite and of shape (sets, k, d), got {points.shape}"
            )
        if points.size > MAX_NUMBERS:
            raise ValueError(f"{points.size:,} numbers of candidates; at most {MAX_NUMBERS:,} fit")
        lattice = np.clip(np.rint(points), -REACH, REACH).astype(np.int64)
        lattice.flags.writeable = False
        object.__setattr__(self, "candidates", lattice)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cost) and np.array_equal(self.candidates, other.candidates)

    def __hash__(self) -> int:
        return hash(self.candidates.tobytes())

    def __str__(self) -> str:
        return f"{len(self.candidates)} sets of {self.candidates.shape[1]} centres by cost"

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.candidates.shape[2])

    def sensitivity(self) -> int:
        """What one row can add to a cost."""
        return self.n_features * (2 * REACH) ** 2

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


Score = Cost
SCORES = (Cost,)


def check_score(score: object, n_features: int, picks: int) -> Score:
    """Refuse anything but the curator's own scores of tables of this width."""
    # Exact types: a subclass, or somebody else's class, could keep the rows that it is shown.
    if type(score) not in SCORES or not isinstance(score, Cost):
        raise TypeError(
            f"{type(score).__name__} is not one of the curator's own scores: "
            f"{', '.join(c.__name__ for c in SCORES)}"
        )
    if score.n_features != n_features:
        raise ValueError(f"the candidates have {score.n_features} columns, the data {n_features}")
    if not 1 <= picks <= len(score.candidates):
        raise ValueError(f"from {len(score.candidates)} candidates, {picks} cannot be picked")
    return score
