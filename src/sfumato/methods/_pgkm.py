"""PGkM: centre sets bred by private selection (PrivGene).

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.1.3, after
Zhang, Xiao, Yang, Zhang, Winslett 2013. Departs from it: the parents stay in the pool, the costs of
all sets are exact integers from one pass, and noisy sizes are bought at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._base.types import Floats
from sfumato._base.validation import check_whole
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import Cost
from sfumato._core.queries.counts import MAX_NUMBERS
from sfumato._lattice.box import REACH
from sfumato.methods._base import (
    NUMBER,
    SLICE,
    Centers,
    PlannedTask,
    Prediction,
    Task,
    size_and_rest,
    sizes_of,
)

_MOST_ROUNDS = 1000


@dataclass(frozen=True)
class PGkM:
    """A pool of candidate sets, of which each round keeps a few and breeds the next pool."""

    candidates: int = 200
    parents: int = 10
    pace: float = 1.25e-3
    least_rounds: int = 8

    def __post_init__(self) -> None:
        check_whole(self.parents, "parents", least=2)
        check_whole(self.candidates, "candidates", least=self.parents)
        check_whole(self.least_rounds, "least_rounds")
        if not 0 <= self.pace < float("inf"):
            raise ValueError(f"pace must be a number of at least 0, got {self.pace!r}")

    def caps(self, task: Task) -> Caps:
        """All of the budget is pure."""
        if self.candidates * task.k * task.n_features > MAX_NUMBERS:
            raise ValueError(
                f"{self.candidates} sets of {task.k} centres in {task.n_features} columns have "
                f"more than {MAX_NUMBERS:,} numbers: take fewer candidates or dplloyd"
            )
        return Caps(pure=task.epsilon)

    def rounds(self, n: float, epsilon: float) -> int:
        """Number of rounds for n rows."""
        return max(
            self.least_rounds, int(min(self.pace * n * epsilon / self.parents, _MOST_ROUNDS))
        )

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Select and breed; the last round selects one set."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        for_sizes, for_rounds = rest.split(SLICE, 1 - SLICE)
        rounds = self.rounds(n, float(task.epsilon))
        *earlier, last = for_rounds.split(*[self.parents] * (rounds - 1), 1)
        pool = rng.uniform(-REACH, REACH, (self.candidates, task.k, task.n_features))
        for done, share in enumerate(earlier):
            best = pool[curator.choose(Cost(np.rint(pool)), share=share, picks=self.parents)]
            pool = breed(best, self.candidates, 1 - done / rounds, rng)
        (winner,) = curator.choose(Cost(np.rint(pool)), share=last)
        sizes = sizes_of(curator, pool[winner], for_sizes)
        return Centers(pool[winner], sizes, (f"{rounds} rounds for about {n:,.0f} rows",))

    def predict(self, task: PlannedTask) -> Prediction:
        """How far above the best set the picks end."""
        d = task.n_features
        rounds = self.rounds(task.n, float(task.epsilon))
        picks = (rounds - 1) * self.parents + 1
        # A row costs at most 4d: the exponential mechanism lies 4d·ln(candidates)/ε₀ above the
        # best. Moving a centre by z costs each of its rows |z|² more, so cost per row is squared
        # distance.
        error = 4 * d * math.log(self.candidates) * picks / (task.n * task.after_sizes)
        memory, passes = 2 * NUMBER * self.candidates * task.k * d, rounds + 1 + task.count_passes
        note = f"{picks:,} picks in {rounds:,} rounds; without the error of the search"
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)


def breed(parents: Floats, size: int, reach: float, rng: np.random.Generator) -> Floats:
    """Fill a pool with the parents and their children: crossed over, one number of each mutated.

    A pair swaps the tails of its k·d numbers after a random cut; a mutation moves one number by at
    most `reach` of the box's half-width, which the caller lets shrink over the rounds.
    """
    flat = parents.reshape(len(parents), -1)
    length, missing = flat.shape[1], size - len(parents)
    mothers, fathers = rng.integers(len(flat), size=(2, missing))
    cut = rng.integers(1, max(2, length), size=missing)
    tail = np.arange(length) >= cut[:, None]
    children = np.where(tail, flat[fathers], flat[mothers])
    place = rng.integers(length, size=missing)
    moves = rng.uniform(-reach, reach, size=missing) * REACH
    children[np.arange(missing), place] += moves
    pool = np.concatenate([flat, np.clip(children, -REACH, REACH)])
    return pool.reshape(size, *parents.shape[1:])
