"""GkM, GkM-3K and PGkM: two baselines of Su et al.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016.

GkM (§4.1.2, sample and aggregate, after GUPT, Mohan et al. 2012) averages the k-means centres of
small blocks of rows. Departs from it: a row's block is a keyed hash of its own values, and the
quantiles of the output range count all k values of a block.

PGkM (§4.1.3, PrivGene, after Zhang, Xiao, Yang, Zhang, Winslett 2013) breeds centre sets by private
selection. Departs from it: the parents stay in the pool, and the costs of all sets are exact
integers from one pass.

Both estimate noisy sizes at the end.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Account
from sfumato._base.types import Floats, Rng
from sfumato._base.validation import check_whole
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import Cost
from sfumato._core.queries.counts import MAX_NUMBERS
from sfumato._lattice.box import REACH
from sfumato._uncertainty import Errors, Estimate
from sfumato.methods._base import (
    AUTO,
    ENOUGH,
    NUMBER,
    SLICE,
    Centers,
    PlannedTask,
    Prediction,
    PureMethod,
    Task,
    check_clusters,
    size_and_rest,
    sizes_of,
)
from sfumato.methods.formulas import gkm_noise

# In each block, and in each set of a pool, all rows are compared to all centres.
_MOST = 1000

# Of more rows the blocks are larger.
_MAX_BLOCKS = 2**18

# Columns whose range is chosen among all lattice values.
_WIDEST = 1000


class _BlockMeans(PureMethod, ABC):
    """Average the k-means centres of blocks of rows."""

    def check(self, task: Task) -> None:
        """Refuse, before any charge, more clusters than blocks of rows can tell apart."""
        check_clusters(task.k, _MOST, "sample and aggregate", AUTO)
        if task.n_features > _WIDEST:
            raise ValueError(
                f"sample and aggregate ranks the centres of all blocks in each of "
                f"{task.n_features:,} columns, at most {_WIDEST:,} are allowed: take fewer "
                "columns, or method='auto' or 'dplloyd'"
            )

    @abstractmethod
    def blocks(self, n: float, k: int) -> float:
        """The number of blocks for n rows, before rounding."""

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Estimate the number of rows, the averages, and the sizes of the clusters around them."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        limit = max(1, min(_MAX_BLOCKS, MAX_NUMBERS // (task.k * task.n_features)))
        blocks = int(np.clip(round(self.blocks(n, task.k)), 1, limit))
        for_sizes, for_means = rest.split(SLICE, 1 - SLICE)
        key = int(rng.integers(2**63))
        means = curator.block_means(task.k, blocks=blocks, share=for_means, key=key)
        points = np.clip(means.values, -REACH, REACH)
        sizes = sizes_of(curator, points, for_sizes)
        # The noise of the column with the widest range: an upper bound in others.
        stds = np.full(points.shape, means.noise_std)
        errors = Errors(Estimate(means.values, stds, "laplace"), sizes)
        note = f"{blocks:,} blocks for about {n:,.0f} rows"
        return Centers(points, sizes.values, (note,), errors=errors)

    def predict(self, task: PlannedTask) -> Prediction:
        """Eq. 3 for the blocks that are made."""
        d, k, n = task.n_features, task.k, task.n
        blocks = max(1, round(self.blocks(n, k)))
        # Eq. 3 halves ε: the other half estimates the range, here the full width.
        error = gkm_noise(n, d, k, task.after_sizes, blocks)
        # Hash, block and order of the rows; the centres of all blocks, ranked and clipped.
        memory = 3 * NUMBER * (n + blocks * k * d)
        note = f"{blocks:,} blocks; without the error of averaging them"
        return Prediction.of(task, error, memory=memory, passes=2 + task.count_passes, note=note)


@dataclass(frozen=True)
class GkM(_BlockMeans):
    """Average over n^exponent blocks."""

    exponent: float = 0.4

    def __post_init__(self) -> None:
        if not 0 < self.exponent <= 1:
            raise ValueError(f"exponent must lie in (0, 1], got {self.exponent!r}")

    def blocks(self, n: float, k: int) -> float:
        """The number of blocks for n rows, before rounding."""
        return float(n**self.exponent)


@dataclass(frozen=True)
class GkM3K(_BlockMeans):
    """Average over n/(3k) blocks, so that each has about 3k rows."""

    rows_per_center: int = 3

    def __post_init__(self) -> None:
        check_whole(self.rows_per_center, "rows_per_center")

    def blocks(self, n: float, k: int) -> float:
        """The number of blocks for n rows, before rounding."""
        return n / (self.rows_per_center * k)


_MAX_ROUNDS = 1000


@dataclass(frozen=True)
class PGkM(PureMethod):
    """A pool of candidate sets, of which each round keeps a few and breeds the next pool."""

    candidates: int = 200
    parents: int = 10
    pace: float = 1.25e-3
    least_rounds: int = 8

    def __post_init__(self) -> None:
        check_whole(self.parents, "parents", least=2)
        check_whole(self.candidates, "candidates", least=self.parents)
        check_whole(self.least_rounds, "least_rounds", most=_MAX_ROUNDS)
        if not 0 <= self.pace < float("inf"):
            raise ValueError(f"pace must be a number of at least 0, got {self.pace!r}")

    def check(self, task: Task) -> None:
        """Refuse, before any charge, a pool that does not fit."""
        check_clusters(task.k, _MOST, "PrivGene", AUTO)
        if self.candidates * task.k * task.n_features > MAX_NUMBERS:
            raise ValueError(
                f"{self.candidates:,} sets of {task.k:,} centres in {task.n_features:,} columns "
                f"have {self.candidates * task.k * task.n_features:,} numbers, which is more than "
                f"{MAX_NUMBERS:,} numbers: take fewer candidates or dplloyd"
            )

    def rounds(self, n: float, epsilon: float) -> int:
        """Number of rounds for n rows."""
        rounds = int(min(self.pace * n * min(epsilon, ENOUGH) / self.parents, _MAX_ROUNDS))
        return max(self.least_rounds, rounds)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
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
        # A set that was chosen has no noise added to it: its centres have no deviation.
        note, errors = f"{rounds} rounds for about {n:,.0f} rows", Errors(None, sizes)
        return Centers(pool[winner], sizes.values, (note,), errors=errors)

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


def breed(parents: Floats, size: int, reach: float, rng: Rng) -> Floats:
    """Fill a pool (size, k, d) with parents (p, k, d), lattice steps, and their children.

    A pair swaps the tails of its k·d numbers after a random cut; then one number is moved by at
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
