"""A mixture of normal distributions: moments of small cells, released, then EM on them.

Centres of more cells than components are found by `auto`. Count, sum and second moments of every
cell are released; EM on points with these moments gives a first mixture. Columns are then scaled so
that cells are round, cells are chosen anew, and their moments are released again, with most of the
budget: EM on these gives the mixture. Rows with missing cells take no part in the moments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from sfumato._accounting.budget import Account, Caps, Kind, Ledger, Share
from sfumato._base.types import Floats, Ints, Rng
from sfumato._core.curator import CellMoments, Curator
from sfumato._core.queries.counts import MAX_NUMBERS
from sfumato._core.queries.projection import Projection
from sfumato._core.queries.scatter import Scatter
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.kmeans import nearest, weighted_kmeans
from sfumato._synopsis.mixture import (
    CovarianceType,
    Mixture,
    Points,
    check_covariance_type,
    fit_mixture,
    of_type,
    points_of,
)
from sfumato.methods._auto import Auto
from sfumato.methods._auto.budget import is_tiny
from sfumato.methods._auto.refine import radius_around, whole
from sfumato.methods._base import (
    NUMBER,
    PlannedTask,
    Prediction,
    Task,
    directions_of,
    gaussian_is_smaller,
    nearest_to,
    projection_of,
    take,
    to_view,
)
from sfumato.methods.formulas import step_mse

# Parts of the budget: centres, the radius of the first cells, their moments; the rest is for the
# moments of the last cells.
_CENTERS = Fraction(1, 4)
_RADIUS = Fraction(3, 100)
_FIRST = Fraction(12, 100)
_MAX_EPSILON = Fraction(1000)

# Cells for each component: as many as noise allows that costs so many nats.
_FINER = (8, 5, 3, 2)
_NATS = 0.005
_BEGIN = 3

# The largest change of a line by one row, in squares of the radius.
_SQUARE = 1.25

# A radius leaves out such a part of the rows, or more if noise needs it.
_OUTSIDE = 0.04
_ROWS_PER_NOISE = 16
# Shorter radii have less noise, and clip more: what is held, if noise matters or not.
_HELD = {True: 0.93, False: 0.98}

# Points that EM is run on, and rows for each of them.
_POINTS = 8000
_ROWS_PER_POINT = 5

# The largest ratio of variances that is scaled away.
_FLATTEST = 1e-6


@dataclass(frozen=True)
class FoundMixture:
    """What the method returns: a mixture in lattice steps, and notes for the receipt."""

    mixture: Mixture
    notes: tuple[str, ...] = ()
    synopsis: Synopsis | None = None


@dataclass(frozen=True)
class NormalMixture:
    """EM on released moments of cells; covariances of a type as in scikit-learn."""

    covariance_type: CovarianceType = "full"

    def __post_init__(self) -> None:
        check_covariance_type(self.covariance_type)

    def caps(self, task: Task) -> Caps:
        """Pure ε; or for the moments Gaussian noise, where δ makes it smaller."""
        self._check(task)
        task = _bounded(task)
        centers = _for_centers(task)
        if is_tiny(centers):
            return Auto().caps(replace(task, delta=Fraction(0)))
        radius = task.epsilon * _RADIUS
        rest = task.epsilon - centers.epsilon - radius
        if gaussian_is_smaller(rest, task.delta, 2, (self._line(task) + 1, 1)):
            own = Auto().caps(centers)
            pure = own.pure + radius
            parts = (*own.parts, radius)
            return Caps(pure=pure, gaussian=(task.epsilon - pure, task.delta), parts=parts)
        own = Auto().caps(replace(centers, delta=Fraction(0)))
        return Caps(pure=task.epsilon, parts=(*own.parts, task.epsilon - own.pure))

    def predict(self, task: PlannedTask) -> Prediction:
        """The means, by the sums of the last moments, with components that fill the cube."""
        self._check(task)
        task = cast(PlannedTask, _bounded(task))
        first = cast(PlannedTask, _for_centers(task))
        if is_tiny(first):
            return Auto().predict(task)
        expected = Auto().predict(replace(first, k=task.k * _begin(task.n_features)))
        caps = self.caps(task)
        account = Ledger(caps.epsilon, caps.delta).reserve("plan", caps)
        d, k, budget = task.n_features, task.k, _Parts.of(account, task)
        # What was left over is for the last moments; a sum has √2 times the noise of a square.
        gone = _FIRST + _CENTERS if budget.gaussian else (_FIRST + _RADIUS) / (1 - _CENTERS)
        noise = math.sqrt(2) * _SQUARE * budget.noise(self._line(task))
        noise /= (1 - gone) ** (0.5 if budget.gaussian else 1)
        error = step_mse(task.n, k, 1.0, d * (noise * math.sqrt(d) * k ** (-1 / d)) ** 2)
        memory = expected.memory + NUMBER * _POINTS * (k + d * d)
        note = f"{expected.note.partition(',')[0]}, then moments twice; the means, an upper bound"
        passes = expected.passes + 3
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)

    def _check(self, task: Task) -> None:
        """Refuse, before any charge, what cannot run."""
        if task.levels:
            raise ValueError(
                "a normal distribution has no levels: a mixture takes no categories. Leave these "
                "columns out of the schema, or give them a weight of 0"
            )
        numbers = task.k * _FINER[0] * self._line(task)
        if numbers > MAX_NUMBERS or self._line(task) > 2**16:
            raise ValueError(
                f"{task.k:,} components in {task.n_features} columns have {numbers:,} moments, "
                "which is too many: take fewer columns, or covariance_type='diag'"
            )

    def _line(self, task: Task) -> int:
        """Numbers that are released of one cell."""
        d = task.n_features
        return (d + 1) * (d + 2) // 2 if self.covariance_type == "full" else 2 * d + 1

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> FoundMixture:
        """Find centres, then release moments twice."""
        task = _bounded(task)
        if is_tiny(_for_centers(task)):
            return _means_alone(curator, replace(task, delta=Fraction(0)), account, rng)
        budget = _Parts.of(account, task)
        first = replace(budget.centers, k=task.k * _begin(task.n_features))
        start = Auto()(curator, first, account=cast(Account, budget), rng=rng)
        n = max(float(start.sizes.sum()), 1.0)
        share = take(budget.own_pure(), task.epsilon * _RADIUS)
        per_row = float(share.amount) / task.max_rows_per_group
        outside = min(0.5, max(_OUTSIDE, _ROWS_PER_NOISE / (per_row * n)))
        radius = radius_around(curator, start.points, share, outside=outside, n=n)
        radii = np.full(len(start.points), radius)
        cells = Round(self, curator, task, rng)
        blobs = cells.blobs(start.points, radii, budget.moments(_FIRST))
        points = points_of(blobs, _how_many(n), rng)
        mixture = fit_mixture(points, task.k, self.covariance_type, rng)
        seen = cells.scaled(points, blobs, curator.box.step)
        found, number = seen.last(points, mixture, budget, n)
        noise = "Gaussian" if budget.gaussian else "pure"
        note = f"EM on the moments of {len(radii)} cells, then of {number}, with {noise} noise"
        return FoundMixture(found, (*start.notes, note))


@dataclass(frozen=True)
class Round:
    """One round of moments: of the rows as they are, or as a projection shows them."""

    method: NormalMixture
    curator: Curator
    task: Task
    rng: Rng
    view: Projection | None = None

    def blobs(self, centers: Floats, radii: Floats, share: Share) -> Mixture:
        """Release the moments of the cells of these centres (m, d), as blobs."""
        cells = nearest_to(centers)
        lengths = whole(radii, cells.n_features)
        full = self.method.covariance_type == "full"
        query = Scatter(cells, lengths, full, through=self.view)
        answer = self.curator.scatter(query, share=share)
        widths = np.array(lengths, dtype=np.float64)
        return blobs_of(answer, cells.centers, widths, self.method.covariance_type)

    def scaled(self, points: Points, blobs: Mixture, step: Floats) -> Round:
        """The rows in coordinates in which the blobs are round, as far as their type allows."""
        kind = self.method.covariance_type
        pooled = of_type(np.einsum("b,bij->ij", blobs.weights, blobs.covariances), kind)
        values, vectors = np.linalg.eigh(pooled)
        values = np.maximum(values, values.max() * _FLATTEST)
        directions = vectors @ np.diag(values**-0.5) @ vectors.T
        if kind != "full":
            # Zeros must be zeros: these coordinates are columns.
            directions = np.diag(np.diag(directions) if kind == "diag" else step / step.max())
        middle = np.average(points.places, axis=0, weights=points.weights)
        reach = np.abs((points.places - middle) @ directions.T).max()
        view = projection_of(directions, middle, REACH / (1.5 * max(reach, 1e-9)))
        return replace(self, view=view)

    def last(
        self, points: Points, mixture: Mixture, budget: _Parts, n: float
    ) -> tuple[Mixture, int]:
        """Cells of points and a mixture in the lattice, their moments, and EM on these.

        Returns the mixture in the lattice, and how many cells there were.
        """
        if self.view is None:
            raise ValueError("the last round looks through a projection")
        matrix, k, rng = directions_of(self.view), self.task.k, self.rng
        seen = Points(to_view(self.view, points.places), points.weights)
        mixture = mixture.moved(matrix, -matrix @ self.view.offset)
        finer = self._finer(n, budget)
        centers = mixture.means
        if finer > 1:
            centers, _ = weighted_kmeans(*seen, finer * k, rng, n_starts=1, patience=3)
        radii = _radii(seen, centers, _HELD[finer == 1])
        blobs = self.blobs(centers, radii, budget.moments(None))
        again = points_of(blobs, _how_many(n), rng)
        found = fit_mixture(again, k, self.method.covariance_type, rng, mixture)
        inverse: Floats = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        return found.moved(inverse, self.view.offset.astype(np.float64)), len(centers)

    def _finer(self, n: float, budget: _Parts) -> int:
        """Cells for each component, by what their noise will cost."""
        d, numbers = self.task.n_features, self.method._line(self.task)  # noqa: SLF001
        free = d * (d + 1) / 8 if self.method.covariance_type == "full" else d / 4
        square = 1.25 * (d + 3 * math.sqrt(d))
        noise = square * budget.noise(numbers) * self.task.k / n
        return next((f for f in _FINER if free * f * noise**2 <= _NATS), 1)


@dataclass(frozen=True)
class _Parts:
    """The account of a fit; what `auto` sees of it is the part for centres."""

    account: Account
    task: Task
    centers: Task
    caps: Caps

    @classmethod
    def of(cls, account: Account, task: Task) -> _Parts:
        centers = _for_centers(task)
        if not account.caps.gaussian[1]:
            centers = replace(centers, delta=Fraction(0))
        return cls(account, task, centers, Auto().caps(centers))

    @property
    def gaussian(self) -> bool:
        """Whether moments get Gaussian noise."""
        return bool(self.account.caps.gaussian[1])

    def rest(self, kind: Kind, part: int = 0) -> Share:
        """What is left for centres."""
        if kind == "pure":
            return self.account.rest(kind, part)
        whole_share = self.account.rest(kind)
        left = self.account.caps.mu2 * _CENTERS - self.account.spent(kind)[0]
        return take(whole_share, left)

    def spent(self, kind: Kind, part: int | None = None) -> tuple[Fraction, Fraction]:
        """What was spent for centres, as long as nothing else was."""
        return self.account.spent(kind, part)

    def own_pure(self) -> Share:
        """What is left of pure ε for the rest."""
        return self.account.rest("pure", len(self.caps.parts))

    def moments(self, part: Fraction | None) -> Share:
        """A share for moments: this part of the whole budget, or all that is left."""
        if not self.gaussian:
            share = self.own_pure()
            return share if part is None else take(share, self.task.epsilon * part)
        share = self.account.rest("gdp")
        return share if part is None else take(share, self.account.caps.mu2 * part)

    def noise(self, numbers: int) -> float:
        """The deviation of a square in the last moments, for rows of length 1."""
        share = self.moments(None)
        if self.gaussian:
            return self.task.max_rows_per_group / math.sqrt(share.amount)
        return self.task.max_rows_per_group * math.sqrt(numbers + 1) / float(share.amount)


def blobs_of(answer: CellMoments, centers: Ints, radii: Floats, kind: CovarianceType) -> Mixture:
    """Released moments as blobs: a weight above 0, a mean in the cell, a positive covariance.

    Cells whose count does not stand out from noise are left out, unless none does. Covariances are
    shrunk towards each other by as much as noise moves them.
    """
    clear = answer.counts > 8 * answer.noise_std / np.square(radii)
    clear = clear if clear.any() else np.ones(len(clear), dtype=np.bool_)
    noise, radii, centers = answer.noise_std[clear], radii[clear], centers[clear]
    rows = np.maximum(answer.counts[clear], 8 * noise / np.square(radii))
    means = answer.sums[clear] / rows[:, None]
    lengths = np.sqrt(np.square(means).sum(axis=1))
    means *= np.minimum(1, radii / np.maximum(lengths, 1e-300))[:, None]
    spread = answer.products[clear] / rows[:, None, None] - means[:, :, None] * means[:, None, :]
    spread = np.array([of_type(one, kind) for one in spread])
    spread = _shrunk(spread, rows / rows.sum(), noise / rows)
    d = centers.shape[1]
    floors = np.minimum(0.5 * math.sqrt(d) * noise / rows, 0.1 * np.square(radii) / d)
    # A row is rounded to whole steps: nothing is narrower than that.
    spread = np.array([_positive(*one) for one in zip(spread, floors + 1 / 12, radii, strict=True)])
    return Mixture(rows / rows.sum(), centers + means, spread)


def _positive(covariance: Floats, least: float, radius: float) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    values = np.clip(values, least, max(radius**2, least))
    found = (vectors * values) @ vectors.T
    fixed: Floats = (found + found.T) / 2
    return fixed


def _shrunk(covariances: Floats, weights: Floats, noise: Floats) -> Floats:
    """Covariances (b, d, d) shrunk to their mean: weights (b,), deviations (b,) of a variance."""
    d = covariances.shape[1]
    pooled = np.einsum("b,bij->ij", weights, covariances)
    moved = np.square(noise) * d * (d + 1) / 2
    apart = np.square(covariances - pooled).sum(axis=(1, 2))
    truly = max(0.0, float(weights @ (apart - moved)))
    kept = truly / np.maximum(truly + moved, 1e-300)
    shrunk: Floats = pooled + kept[:, None, None] * (covariances - pooled)
    return shrunk


def _radii(points: Points, centers: Floats, held: float) -> Floats:
    """Radii (m,) that hold a part `held` of the points around their centres (m, d)."""
    own, squares = nearest(points.places, centers)
    distances = np.sqrt(squares)
    everywhere = float(np.quantile(distances, held))
    radii = np.full(len(centers), everywhere)
    for j in np.unique(own):
        radii[j] = max(float(np.quantile(distances[own == j], held)), 0.2 * everywhere)
    found: Floats = np.maximum(radii, 2.0)
    return found


def _means_alone(curator: Curator, task: Task, account: Account, rng: Rng) -> FoundMixture:
    """Centres alone, with the variance of the whole cube: ε is too small for moments."""
    found = Auto()(curator, task, account=account, rng=rng)
    wide = np.tile(np.eye(task.n_features) * REACH**2 / 3, (task.k, 1, 1))
    note = "covariances are those of the cube: ε is too small to estimate any"
    even = np.full(task.k, 1 / task.k)
    return FoundMixture(Mixture(even, found.points, wide), (*found.notes, note))


def _bounded(task: Task) -> Task:
    """The same task with ε capped."""
    return replace(task, epsilon=min(task.epsilon, _MAX_EPSILON * task.max_rows_per_group))


def _for_centers(task: Task) -> Task:
    return replace(task, epsilon=task.epsilon * _CENTERS)


def _begin(n_features: int) -> int:
    """First cells for each component: fewer where each has many moments."""
    return _BEGIN if n_features <= 3 else 2 if n_features <= 6 else 1


def _how_many(n: float) -> int:
    return int(np.clip(n / _ROWS_PER_POINT, 200, _POINTS))
