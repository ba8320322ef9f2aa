"""A later batch of a stream: counts and clipped sums about centres that are public by now."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._base.types import Floats, Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.cells import Nearest
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato.methods._auto import bounded
from sfumato.methods._auto.budget import COUNTS_PER_SUM, FIND_RADIUS, MIN_ROWS, is_tiny
from sfumato.methods._auto.refine import MEANS, clipped_totals, radius_around, whole
from sfumato.methods._base import Task, gaussian_is_smaller, nearest_to, take

# The parts of ε that compare a batch with those before it, and that find the radius of clusters.
_COMPARE = Fraction(1, 10)
_RADIUS = Fraction(1, 20)


@dataclass(frozen=True)
class Measured:
    """Noisy counts (k,) and sums of clipped differences (k, d), with the variances of their noise.

    Counts are in rows, sums in lattice steps.
    """

    counts: Floats
    sums: Floats
    count_var: float
    sum_var: float

    def plus(self, other: Measured, kept: float = 1.0) -> Measured:
        """Both together, this one weighted by `kept`."""
        return Measured(
            kept * self.counts + other.counts,
            kept * self.sums + other.sums,
            kept**2 * self.count_var + other.count_var,
            kept**2 * self.sum_var + other.sum_var,
        )


@dataclass(frozen=True)
class Reference:
    """Cells around centres (k, d), in whole lattice steps, and a radius: the same in every batch.

    `totals` are the answers about them so far.
    """

    centers: Floats
    radius: int
    totals: Measured


@dataclass(frozen=True)
class BatchFound:
    """What a batch released: about the centres so far, and about the reference if there is one.

    `radius` is the one that rows were clipped at, None where ε is too small for sums.
    `rows_per_neighbour` is how many rows may belong together.
    """

    moved: Measured
    compared: Measured | None
    radius: int | None
    rows_per_neighbour: int
    notes: tuple[str, ...] = ()
    synopsis: Synopsis | None = None


@dataclass(frozen=True)
class BatchStep:
    """One clipped step from centres (k, d), lattice steps, and a comparison with the reference."""

    centers: Floats
    reference: Reference | None = None

    def caps(self, task: Task) -> Caps:
        """Pure ε for all; or Gaussian noise for the step, where that is the smaller."""
        task = bounded(task)
        parts = (task.epsilon * _COMPARE, task.epsilon * _RADIUS)
        pure = sum(parts, Fraction(0))
        weights = (task.n_features + 3, float(1 + COUNTS_PER_SUM))
        if is_tiny(task) or not gaussian_is_smaller(task.epsilon - pure, task.delta, 1, weights):
            return Caps(pure=task.epsilon)
        return Caps(pure=pure, gaussian=(task.epsilon - pure, task.delta), parts=parts)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> BatchFound:
        """Compare, find a radius, then ask for counts and sums with all that is left."""
        task = bounded(task)
        cells, together = nearest_to(self.centers), task.max_rows_per_group
        if is_tiny(task):
            answer = curator.counts(cells, share=account.rest("pure"))
            stay = np.zeros(self.centers.shape)
            moved = Measured(answer.values, stay, answer.noise_std**2, float("inf"))
            note = "sizes alone: ε is too small to move centres"
            return BatchFound(moved, None, None, together, (note,))
        for_compare, for_radius = _shares(account, task)
        compared, n = self._compared(curator, cells, for_compare)
        n = float(max(MIN_ROWS, n if task.n_rows is None else task.n_rows))
        radius = self._radius(curator, for_radius, n, together)
        rest = account.rest("gdp" if account.caps.gaussian[1] else "pure")
        moved = _measured(curator, cells, radius, rest)
        note = f"one clipped step of {len(self.centers)} centres"
        return BatchFound(moved, compared, radius, together, (note,))

    def _compared(
        self, curator: Curator, cells: Nearest, share: Share
    ) -> tuple[Measured | None, float]:
        """The answer about the reference, and the number of rows."""
        if self.reference is None:
            return None, float(curator.counts(cells, share=share).values.sum())
        same = nearest_to(self.reference.centers)
        found = _measured(curator, same, self.reference.radius, share)
        return found, float(found.counts.sum())

    def _radius(self, curator: Curator, share: Share, n: float, together: int) -> int:
        """The radius that leaves few rows outside; the widest where noise would hide it."""
        seen, d = n * float(share.amount) / together, self.centers.shape[1]
        if seen <= FIND_RADIUS:
            return whole(np.array([2.0 * REACH * d]), d)[0]
        outside = min(0.5, max(MEANS.outside, 16 / seen))
        found = radius_around(curator, self.centers, share, outside=outside, n=n)
        return whole(np.array([found]), d)[0]


def _shares(account: Account, task: Task) -> tuple[Share, Share]:
    """The shares of the comparison and of the radius."""
    if account.caps.gaussian[1]:
        return account.rest("pure", 0), account.rest("pure", 1)
    rest = account.rest("pure")
    return take(rest, task.epsilon * _COMPARE), take(rest, task.epsilon * _RADIUS)


def _measured(curator: Curator, cells: Nearest, radius: int, share: Share) -> Measured:
    totals = clipped_totals(curator, cells, radius, share)
    sizes, sums = totals.sizes, totals.sums
    return Measured(sizes.values, sums.values, sizes.noise_std**2, sums.noise_std**2)
