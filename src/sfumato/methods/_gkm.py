"""GkM and GkM-3K: k-means in small blocks of rows, averaged (sample and aggregate).

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.1.2, after
GUPT (Mohan et al. 2012). Departs from it: a row's block is a keyed hash of its own values, the
quantiles of the output range count all k values of a block, and noisy sizes are bought at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._base.validation import check_whole
from sfumato._core.curator import Curator
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
from sfumato.methods.formulas import gkm_noise


@dataclass(frozen=True)
class GkM:
    """Average over n^exponent blocks."""

    exponent: float = 0.4

    def __post_init__(self) -> None:
        if not 0 < self.exponent <= 1:
            raise ValueError(f"exponent must lie in (0, 1], got {self.exponent!r}")

    def caps(self, task: Task) -> Caps:
        """All of the budget is pure."""
        return Caps(pure=task.epsilon)

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Buy the number of rows, the averages, and the sizes of the clusters around them."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        return _averaged(curator, task, n, n**self.exponent, rest, rng)

    def predict(self, task: PlannedTask) -> Prediction:
        """Eq. 3 for the blocks that are made."""
        return _predicted(task, task.n**self.exponent)


@dataclass(frozen=True)
class GkM3K:
    """Average over n/(3k) blocks, so that each has about 3k rows."""

    rows_per_center: int = 3

    def __post_init__(self) -> None:
        check_whole(self.rows_per_center, "rows_per_center")

    def caps(self, task: Task) -> Caps:
        """All of the budget is pure."""
        return Caps(pure=task.epsilon)

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Buy the number of rows, the averages, and the sizes of the clusters around them."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        return _averaged(curator, task, n, n / (self.rows_per_center * task.k), rest, rng)

    def predict(self, task: PlannedTask) -> Prediction:
        """Eq. 3 for the blocks that are made."""
        return _predicted(task, task.n / (self.rows_per_center * task.k))


def _predicted(task: PlannedTask, wanted: float) -> Prediction:
    blocks = max(1, int(wanted))
    d, k, n = task.n_features, task.k, task.n
    # Eq. 3 halves ε: the other half buys the range, here the full width.
    error = gkm_noise(n, d, k, task.after_sizes, blocks)
    # The hash, the block and the order of the rows; the centres of all blocks, ranked and clipped.
    memory = 3 * NUMBER * (n + blocks * k * d)
    note = f"{blocks:,} blocks; without the error of averaging them"
    return Prediction.of(task, error, memory=memory, passes=2 + task.count_passes, note=note)


def _averaged(
    curator: Curator, task: Task, n: float, blocks: float, share: Share, rng: np.random.Generator
) -> Centers:
    most = max(1, MAX_NUMBERS // (task.k * task.n_features))
    whole = int(np.clip(blocks, 1, most))
    for_sizes, for_means = share.split(SLICE, 1 - SLICE)
    key = int(rng.integers(2**63))
    means = curator.block_means(task.k, blocks=whole, share=for_means, key=key)
    points = np.clip(means.values, -REACH, REACH)
    sizes = sizes_of(curator, points, for_sizes)
    return Centers(points, sizes, (f"{whole:,} blocks for about {n:,.0f} rows",))
