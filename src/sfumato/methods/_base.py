"""What every clustering method is: a data-independent division of its budget, then queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, Self, runtime_checkable

import numpy as np

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.types import Floats, Rng
from sfumato._base.validation import check_whole, in_digits
from sfumato._core.curator import Curator
from sfumato._core.queries.breakdown import Levels
from sfumato._core.queries.counts import MAX_NUMBERS, Grid, Nearest
from sfumato._core.queries.projection import MAX_ENTRY, MAX_SHIFT, Projection
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.curve import Criterion
from sfumato._uncertainty import Errors, Estimate, Law
from sfumato.methods.formulas import RHO


@dataclass(frozen=True)
class Centers:
    """What a method returns: centres, noisy sizes, notes for the receipt, a synopsis if released.

    points: (k, d), lattice steps; sizes: (k,), rows. `errors` are the error bars of both, if the
    method can say.
    """

    points: Floats
    sizes: Floats
    notes: tuple[str, ...] = ()
    synopsis: Synopsis | None = None
    errors: Errors | None = None


class NeedsDelta(ValueError):  # noqa: N818  (the name users catch)
    """A method that is (ε, δ)-DP, and has no pure mode, was asked for with δ = 0."""


MAX_CLUSTERS = 10_000
"""The most centres that a fit finds."""

MAX_ROWS = 10**15
"""The most rows that can be declared or planned for."""


MAX_EPSILON = 10**9
"""The largest ε, for each row of a group, whose noise can be worked out by every method."""

ENOUGH = 1000.0
"""Nothing is made finer for an ε beyond this: noise is nearly 0 already."""


def check_amount(task: Task) -> None:
    """Refuse, before any charge, an ε so large that sizes and noise leave floating point."""
    most = MAX_EPSILON * task.max_rows_per_group
    if task.epsilon > most:
        raise ValueError(
            f"epsilon = {float(min(task.epsilon, Fraction(10**308))):.3g} is more than {most:,}, "
            "and promises nothing: take a smaller one, such as 1; method='auto' takes any, and "
            "spends no more than it can use"
        )


AUTO = " or take method='auto'"
"""The way out where a method finds fewer clusters than others."""


def check_rows(n_rows: object) -> int:
    """Read a number of rows that is declared."""
    rows = check_whole(n_rows, "n_rows", least=0)
    if rows > MAX_ROWS:
        raise ValueError(
            f"n_rows must be at most {MAX_ROWS:,}, got {in_digits(rows)}: leave it out, and the "
            "number of rows is estimated"
        )
    return rows


def check_clusters(k: int, most: int = MAX_CLUSTERS, by: str = "a fit", or_else: str = "") -> None:
    """Refuse more clusters than a method is made for, before anything is opened or charged."""
    if k > most:
        raise ValueError(
            f"{in_digits(k)} clusters were asked for, at most {most:,} are found by {by}: ask for "
            f"fewer clusters{or_else}, or divide the rows by a public column and fit each part"
        )


@dataclass(frozen=True)
class Task:
    """What a fit is asked for: public numbers only. `n_rows` is None unless declared public.

    With `choose_k` the method chooses the number of clusters, at most `k`.
    `max_rows_per_group` is how many rows are protected together: noise is so many times larger.
    `levels` are the coordinates of categories, the last ones of a row, one block after another.
    """

    k: int
    n_features: int
    epsilon: Fraction
    delta: Fraction
    n_rows: int | None = None
    choose_k: bool = field(default=False, kw_only=True)
    max_rows_per_group: int = field(default=1, kw_only=True)
    levels: tuple[Levels, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        ends = [*(one.start for one in self.levels), self.n_features]
        if self.levels and ends[1:] != [one.end for one in self.levels]:
            raise ValueError(
                "the levels of categories are the last columns, one category after another, got "
                f"{', '.join(f'{one.start} to {one.end}' for one in self.levels)} of "
                f"{self.n_features} columns"
            )
        check_clusters(self.k)
        if self.n_rows is not None:
            check_rows(self.n_rows)
        if self.k * (self.n_features + 1) > MAX_NUMBERS:
            raise ValueError(
                f"{self.k:,} clusters in {in_digits(self.n_features)} columns need "
                f"{in_digits(self.k * (self.n_features + 1))} numbers, but at most "
                f"{MAX_NUMBERS:,} fit: ask for fewer clusters or for fewer columns"
            )


SLICE = Fraction(1, 50)
"""The part of a budget for the number of rows, or for the sizes of the final clusters."""

NUMBER = 8
"""Bytes of an int64 or a float64."""


@dataclass(frozen=True)
class PlannedTask(Task):
    """A task whose rows are still to come: `n` are expected, `n_rows` is what will be declared."""

    n: int = 0

    @property
    def count_passes(self) -> int:
        """A pass for the number of rows, unless it is declared."""
        return int(self.n_rows is None)

    @property
    def after_count(self) -> float:
        """What is left of ε after the number of rows, unless that is declared."""
        return float(self.epsilon * (1 - SLICE) ** self.count_passes)

    @property
    def after_sizes(self) -> float:
        """What is left of ε after the sizes of the final clusters as well."""
        return self.after_count * float(1 - SLICE)


@dataclass(frozen=True)
class Prediction:
    """What a method is expected to do.

    `error` is the mean squared distance, in the cube [−1, 1]^d, between a centre and the one that
    the same method would find without noise; `noise` the deviation of one of its coordinates;
    `memory` the bytes of the method's arrays beside the rows; `passes` go over all rows.
    """

    error: float
    noise: float
    memory: int
    passes: int
    note: str

    @classmethod
    def of(cls, task: Task, error: float, *, memory: int, passes: int, note: str) -> Self:
        """A prediction with this error, cut to what centres inside the cube can have."""
        # Centres are clipped into the cube: noise without end leaves one of its corners.
        per_axis = min(error / task.n_features, 1 + (2 * RHO) ** 2)
        return cls(per_axis * task.n_features, math.sqrt(per_axis), memory, passes, note)


class Method(Protocol):
    """A private clustering method. It never sees a row and never states a sensitivity.

    A method may also have `predict`, for plans: see `Predicting`.
    """

    def caps(self, task: Task) -> Caps:
        """Divide (ε, δ) among the currencies."""

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Find centres by queries charged to the account. `rng` is public randomness."""


class PureMethod:
    """A method whose whole budget is pure ε."""

    def check(self, task: Task) -> None:
        """Refuse, before any charge, a task that cannot run: by default none."""

    def caps(self, task: Task) -> Caps:
        """All of the budget is pure."""
        check_amount(task)
        self.check(task)
        return Caps(pure=task.epsilon)


@runtime_checkable
class Predicting(Protocol):
    """A method that can say what it is expected to do. A plan lists others without numbers."""

    def predict(self, task: PlannedTask) -> Prediction:
        """Predict error, memory and passes from public numbers, before any row is read."""


def check_centers(found: object, method: str, task: Task) -> Centers:
    """Refuse what a method returned if it is not what a fit needs. Looks at nothing else."""
    if not isinstance(found, Centers):
        raise TypeError(f"{method} must return Centers, got {type(found).__name__}")
    k, d = task.k, task.n_features
    points, sizes = found.points, found.sizes
    for name, values in (("points", points), ("sizes", sizes)):
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
            kind = f"of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
            raise TypeError(f"{method} must return {name} as a NumPy array of numbers, got {kind}")
        if not np.isfinite(values).all():
            raise ValueError(f"{method} must return finite {name}, got infinite or missing ones")
    least = 1 if task.choose_k else k
    if points.ndim != 2 or not least <= len(points) <= k or points.shape[1] != d:
        rows = f"1 to {k}" if task.choose_k else f"{k}"
        raise ValueError(
            f"{method} must return points of shape ({rows}, {d}), one centre in each row and one "
            f"column of the data in each column, got {points.shape}"
        )
    if sizes.shape != (len(points),):
        raise ValueError(
            f"{method} must return sizes of shape ({len(points)},), one for each centre, got "
            f"{sizes.shape}"
        )
    _check_notes(found, method)
    return found


def _check_notes(found: Centers, method: str) -> None:
    if not isinstance(found.notes, tuple) or not all(isinstance(n, str) for n in found.notes):
        raise TypeError(f"{method} must return notes as a tuple of texts, got {found.notes!r}")
    if found.synopsis is not None and not isinstance(found.synopsis, Synopsis):
        kind = type(found.synopsis).__name__
        raise TypeError(f"{method} must return a Synopsis or None as synopsis, got {kind}")
    if found.errors is not None:
        _check_errors(found, found.errors, method)


def _check_errors(found: Centers, errors: Errors, method: str) -> None:
    if not isinstance(errors, Errors):
        kind = type(errors).__name__
        raise TypeError(f"{method} must return Errors or None as errors, got {kind}")
    pairs = (("centers", errors.centers, found.points), ("sizes", errors.sizes, found.sizes))
    for name, one, of in pairs:
        if one is not None and not (one.values.shape == one.stds.shape == of.shape):
            raise ValueError(
                f"{method} must return errors of {name} of shape {of.shape}, got values "
                f"{one.values.shape} and stds {one.stds.shape}"
            )


def take(share: Share, amount: Fraction) -> Share:
    """Cut an amount off a share; all of it where there is no more."""
    if amount >= share.amount:
        return share
    return share.split(amount, share.amount - amount)[0]


def gaussian_is_smaller(
    epsilon: Fraction, delta: Fraction, steps: int, weights: tuple[float, float]
) -> bool:
    """Whether Gaussian noise errs less than pure noise in steps that share (ε, δ).

    `weights` are the squared errors of one step with ε = 1 and with μ = 1.
    """
    if not delta:
        return False
    # A bound on the ratio: its square must not overflow, however small ε is.
    per_epsilon = float(min(steps / epsilon, Fraction(10**100)))
    return weights[1] * steps / float(mu2_of(epsilon, delta)) < weights[0] * per_epsilon**2


def size_and_rest(
    curator: Curator, task: Task, share: Share, part: Fraction = SLICE
) -> tuple[float, Share]:
    """The number of rows, noisy unless declared, never below 1; and the share that is left."""
    if task.n_rows is not None:
        return float(max(1, task.n_rows)), share
    for_rows, rest = share.split(part, 1 - part)
    answer = curator.counts(Grid(1, task.n_features), share=for_rows)
    return max(1.0, float(answer.values[0])), rest


KChoice = Callable[[Synopsis, Rng], tuple[int, tuple[str, ...]]]
"""The number of clusters on a synopsis, and a note for the receipt if it was chosen there."""


def chosen_k(
    task: Task, least: int, by: Criterion, synopsis: Synopsis, rng: Rng
) -> tuple[int, tuple[str, ...]]:
    """The number of clusters, and a note for the receipt if it was chosen on the synopsis."""
    if not task.choose_k:
        return task.k, ()
    k = synopsis.choose_k((min(least, task.k), task.k), by, random_state=rng)
    return k, (f"{k} clusters, chosen on the released counts by {by}",)


def nearest_to(points: Floats) -> Nearest:
    """The cells of points (k, d), rounded to whole lattice steps."""
    return Nearest(np.rint(points).astype(np.int64))


def sizes_of(curator: Curator, points: Floats, share: Share) -> Estimate:
    """Noisy sizes (k,) of the clusters around centres (k, d), lattice steps."""
    answer = curator.counts(nearest_to(points), share=share)
    law: Law = "laplace" if share.kind == "pure" else "gaussian"
    return Estimate(answer.values, np.full(len(points), answer.noise_std), law)


# The largest sum that is exact in float64, and the fewest bits of the largest entry.
_EXACT = 2**53
_FEWEST_BITS = 16


def projection_of(
    directions: Floats, center: Floats, scale: float, *, ball: bool = False
) -> Projection:
    """Round y ≈ scale·directions @ (x − center) to whole numbers, as finely as is exact.

    directions: (m, d); center: (d,), lattice steps. The centre is rounded to whole lattice steps;
    the largest entry of the matrix keeps at least 16 bits.
    """
    if directions.ndim != 2 or 0 in directions.shape or center.shape != directions.shape[1:]:
        shapes = f"{directions.shape} and {center.shape}"
        raise ValueError(f"directions (m, d) and a centre (d,) are needed, got {shapes}")
    wanted = directions * scale
    if not (np.isfinite(wanted).all() and np.isfinite(center).all() and wanted.any()):
        raise ValueError("directions, centre and scale must be finite, and not all 0")
    offset = np.rint(np.clip(center, -REACH, REACH)).astype(np.int64)
    largest = float(np.abs(wanted).max())
    finest = MAX_ENTRY.bit_length() - 1 - math.frexp(largest)[1]
    for shift in range(min(finest, MAX_SHIFT), -1, -1):
        matrix = np.rint(np.ldexp(wanted, shift)).astype(np.int64)
        if np.abs(matrix).max() < 2 ** (_FEWEST_BITS - 1):
            break
        # What the terms of matrix @ (x − offset) can add up to.
        if (np.abs(matrix) @ (REACH + np.abs(offset))).max() <= _EXACT:
            return Projection(matrix, offset, shift, ball)
    raise ValueError(
        f"scale·directions has entries of up to {largest:.3g}, which cannot be rounded to "
        f"whole numbers over 2^0 to 2^{MAX_SHIFT} of {_FEWEST_BITS} bits: rescale it"
    )


def directions_of(projection: Projection) -> Floats:
    """The matrix as it acts: matrix / 2^shift."""
    return np.ldexp(projection.matrix.astype(np.float64), -projection.shift)


def to_view(projection: Projection, points: Floats) -> Floats:
    """Map lattice points to the view, without cutting off or clipping anything."""
    values: Floats = (points - projection.offset) @ directions_of(projection).T
    return values


def from_view(projection: Projection, points: Floats) -> Floats:
    """Map viewed points back, for directions at right angles to each other."""
    directions = directions_of(projection)
    squares = np.square(directions).sum(axis=1)
    inverse = directions / np.where(squares > 0, squares, 1)[:, np.newaxis]
    values: Floats = projection.offset + points @ inverse
    return values
