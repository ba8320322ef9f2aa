"""Categories among the coordinates of rows: the errors of asking about them, and their shares.

A category of m levels is m coordinates, `high` at the level of a row and −high at the others. Its
mean over rows is a distribution: a share p of a level is the coordinate −high + 2·high·p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import cbrt, sqrt
from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats
from sfumato._core.queries.breakdown import Levels
from sfumato._lattice.box import REACH
from sfumato.methods._base import Task

# How far rows lie from their centre, squared: of a number, in half widths; of a category, as a
# part of the most that shares of its levels allow.
_NUMBER = 0.1
_CATEGORY = 0.5


@dataclass(frozen=True)
class StepErrors:
    """Squared errors of a centre × count² by one step with ε = 1, or μ = 1, in half widths.

    `whole` where all coordinates are summed, `counted` where levels are counted and numbers are
    summed, `numbers` the part of the share for these sums.
    """

    whole: float
    counted: float
    numbers: float
    radius: float

    @property
    def by_counts(self) -> bool:
        """Whether counts of levels err less than sums of their coordinates."""
        return self.counted < self.whole

    @property
    def least(self) -> float:
        """The smaller error, for clusters of radius 1."""
        return min(self.whole, self.counted) / self.radius**2


def n_numbers(task: Task) -> int:
    """Coordinates that are numbers: those before the first category."""
    return task.levels[0].start if task.levels else task.n_features


def step_errors(task: Task, per_sum: Fraction, *, pure: bool) -> StepErrors:
    """Compare both ways of a step; `per_sum` is what counts get beside a Gaussian sum."""
    d, q = task.n_features, n_numbers(task)
    numbers = _NUMBER * q
    wide = _widths(task.levels)
    radius = numbers + _CATEGORY * sum(
        w * (1 - 1 / one.width) for w, one in zip(wide, task.levels, strict=True)
    )
    sums = q * (q + 3) if pure else q
    best = _divided(sums * numbers, _of_counts(task, pure=pure), pure=pure)
    whole = d * (d + 3) if pure else d * float(1 + per_sum)
    return StepErrors(whole * radius, best.error, best.first, sqrt(radius))


def mean_part(task: Task, *, pure: bool) -> float:
    """The part of the share of a mean that is for the sums of numbers."""
    q = n_numbers(task)
    cube = q * (q + 2) * (q + 3) / 3
    return _divided(cube if pure else q * q, _of_counts(task, pure=pure), pure=pure).first


def unclipped(task: Task, *, pure: bool) -> Division:
    """Sums of numbers that are not clipped, with noise of their own, and counts of levels."""
    q = n_numbers(task)
    return _divided(2 * q**3 if pure else q * q, _of_counts(task, pure=pure), pure=pure)


def _of_counts(task: Task, *, pure: bool) -> float:
    """The squared error of all coordinates of levels by counts with ε = 1, or μ = 1."""
    c = len(task.levels)
    wide = zip(_widths(task.levels), task.levels, strict=True)
    return sum(w * one.width for w, one in wide) * (2 * c * c if pure else c)


def _widths(levels: Sequence[Levels]) -> list[float]:
    """The squared distance between the two values of a coordinate, in half widths."""
    return [(2 * one.high / REACH) ** 2 for one in levels]


class Division(NamedTuple):
    """The error of two answers that share a budget, and the part of the first."""

    error: float
    first: float


def _divided(first: float, second: float, *, pure: bool) -> Division:
    """The least of first/x² + second/(1 − x)², or first/x + second/(1 − x), and its x."""
    root = cbrt if pure else sqrt
    a, b = root(first), root(second)
    return Division((a + b) ** (3 if pure else 2), a / (a + b))


def shares_of(points: Floats, one: Levels) -> Floats:
    """What the coordinates of a category say about the shares of its levels."""
    found: Floats = (points[..., one.start : one.end] / one.high + 1) / 2
    return found


def coordinates_of(shares: Floats, one: Levels) -> Floats:
    """The coordinates of shares."""
    return one.high * (2 * shares - 1)


def distributions(points: Floats, levels: Sequence[Levels]) -> Floats:
    """Points (k, d) whose categories are the nearest ones that are distributions."""
    nearest = points.copy()
    for one in levels:
        nearest[:, one.start : one.end] = coordinates_of(on_simplex(shares_of(points, one)), one)
    return nearest


def on_simplex(values: Floats) -> Floats:
    """The nearest distributions to lines (k, m): Duchi, Shalev-Shwartz, Singer, Chandra 2008."""
    falling = -np.sort(-values, axis=1)
    above = (np.cumsum(falling, axis=1) - 1) / np.arange(1, values.shape[1] + 1)
    last = (falling > above).sum(axis=1) - 1
    cut = above[np.arange(len(values)), last]
    projected: Floats = np.maximum(values - cut[:, None], 0.0)
    return projected


def most_varied(mean: Floats, size: int, levels: Sequence[Levels]) -> Floats:
    """The coordinates that vary most (size, d), by the shares of levels in the mean (d,)."""
    variances = np.full(len(mean), _NUMBER)
    for one, wide in zip(levels, _widths(levels), strict=True):
        shares = np.clip(shares_of(mean, one), 0, 1)
        variances[one.start : one.end] = wide * shares * (1 - shares)
    chosen = np.sort(np.argsort(-variances, kind="stable")[:size])
    directions: Floats = np.eye(len(mean))[chosen]
    return directions
