"""Max cover: few grid points that cover the projected rows, clustered, averaged in all columns.

Nguyen, Chaturvedi, Xu. Differentially private k-means via exponential mechanism and max cover. AAAI
2021, Algorithms 1 and 2. Departs from it: all picks together cost what docs/proofs/max_cover.md
proves, the number of rows and the last Lloyd round are charged, averages are noisy sums over noisy
counts, and the smallest radius is a public number instead of 1/n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.types import Floats, Ints, Rng
from sfumato._base.validation import check_whole
from sfumato._core.curator import Answer, Curator
from sfumato._core.queries.counts import Nearest
from sfumato._core.queries.max_cover import MAX_AXES, Grids
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato._synopsis.kmeans import weighted_kmeans
from sfumato.methods._balcan.run import recovered
from sfumato.methods._base import (
    AUTO,
    NUMBER,
    Centers,
    NeedsDelta,
    PlannedTask,
    Prediction,
    Task,
    check_amount,
    check_clusters,
    projection_of,
    size_and_rest,
)
from sfumato.methods._dplloyd import noise_error
from sfumato.methods.formulas import step_mse

MAX_WORK = 1e11
"""Rows × grid points near each × radii that are counted by default."""

_MOST = 1000
"""The most clusters: each pick looks at all points that are left."""

_COVERED = 2**26
"""Counts that a cover keeps, as in `_lattice.kernels.cover`."""

_REACHED = 60
"""Numbers that a cover keeps for each row: three for each of about twenty blocks."""

_PARTS = ("rows", "cover", "counts", "averages", "final")


@dataclass(frozen=True)
class MaxCover:
    """Grid points that cover many rows, at radii from `r_min` to 2 that grow by 1 + `alpha`.

    `dimensions` of the projection, ⌊ln(n)/2⌋ if None. Radii are parts of the ball that holds the
    projected rows; `r_min="1/n"` is the paper's. `picks` for each radius, k·max(1, ⌈log₂(1/α)⌉) if
    None. `budget` weighs the parts of ε: the number of rows (unless it is declared), the cover, the
    counts of the picked points, the averages, the last Lloyd round; `delta_cover` is the part of δ
    that the cover takes. More than `work` rows × grid points × radii are refused.
    """

    needs_delta: ClassVar[bool] = True

    alpha: float = 1.0
    dimensions: int | None = None
    r_min: float | Literal["1/n"] = 0.05
    picks: int | None = None
    budget: tuple[float, ...] = (0.02, 0.38, 0.1, 0.2, 0.3)
    delta_cover: float = 0.5
    work: float = MAX_WORK

    def __post_init__(self) -> None:
        for name in ("dimensions", "picks"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_whole(getattr(self, name), name))
        if self.dimensions is not None and self.dimensions > MAX_AXES:
            raise ValueError(f"dimensions must be at most {MAX_AXES}, got {self.dimensions}")
        for name, limit in (("alpha", math.inf), ("delta_cover", 1), ("work", math.inf)):
            _check_between(getattr(self, name), name, limit)
        if self.r_min != "1/n":
            _check_between(self.r_min, "r_min (or '1/n')", 2)
        object.__setattr__(self, "budget", tuple(self.budget))
        if len(self.budget) != len(_PARTS) or not all(0 < w < math.inf for w in self.budget):
            raise ValueError(
                f"budget needs a positive weight for each of {', '.join(_PARTS)}, got {self.budget}"
            )

    def caps(self, task: Task) -> Caps:
        """(ε, δ) for the cover, Gaussian noise for the averages, pure ε for counts."""
        if not task.delta:
            raise NeedsDelta(
                "max cover needs delta > 0: its picks together are (ε, δ)-DP and it has no pure "
                "mode; with delta=0 use method='balcan' or 'auto'"
            )
        check_amount(task)
        check_clusters(task.k, _MOST, "max cover", AUTO)
        if task.n_rows is not None:
            self.grids(task, max(1.0, float(task.n_rows)))
        parts = self.parts(task)
        pure = task.epsilon * (parts["rows"] + parts["counts"])
        cover = (task.epsilon * parts["cover"], task.delta * Fraction(self.delta_cover))
        rest = (task.epsilon - pure - cover[0], task.delta - cover[1])
        return Caps(pure=pure, approximate=cover, gaussian=rest)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Estimate the number of rows, cover them in a projection, cluster the picks, average."""
        parts = self.parts(task)
        part = parts["rows"] / (parts["rows"] + parts["counts"])
        n, for_counts = size_and_rest(curator, task, account.rest("pure"), part)
        grids = self.grids(task, n)
        p, picks = grids.n_features, self.picks_for(task.k)
        projection = orthogonal_projection(task.n_features, p, self.alpha, rng)
        seen = curator.view(projection)
        picked = seen.cover(grids, share=account.rest("approximate"), picks=picks)
        points = np.unique([one.point for one in picked], axis=0)
        counts = seen.counts(Nearest(points), share=for_counts)
        found = _clustered(points, counts, task.k, rng)
        shares = account.rest("gdp").split(parts["averages"], parts["final"])
        step = recovered(curator, projection, found, shares, "gaussian")
        notes = (
            f"{picks} picks at each of {len(grids.radii)} radii in {p} dimensions for about "
            f"{n:,.0f} rows, {len(points)} different points",
        )
        return Centers(step.points, step.sizes, notes, errors=step.errors)

    def predict(self, task: PlannedTask) -> Prediction:
        """The noise of the last Lloyd round."""
        parts, grids = self.parts(task), self.grids(task, task.n)
        last = float(parts["final"] / (parts["averages"] + parts["final"]))
        budget = math.sqrt(mu2_of(*self.caps(task).gaussian) * last)
        error = step_mse(task.n, task.k, budget, noise_error("gaussian", task.n_features))
        # Counts of points near rows, and the rows that each block of points is near to.
        points = min(_COVERED, grids.work(task.n)) + _REACHED * task.n
        note = (
            f"{self.picks_for(task.k)} picks at each of {len(grids.radii)} radii in "
            f"{grids.n_features} dimensions; without the error of the cover"
        )
        memory, passes = int(NUMBER * points), 4 + task.count_passes
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)

    def parts(self, task: Task) -> dict[str, Fraction]:
        """The parts of ε by name; a declared number of rows costs nothing."""
        weights = [Fraction(w) for w in self.budget]
        if task.n_rows is not None:
            weights[0] = Fraction(0)
        return {name: w / sum(weights) for name, w in zip(_PARTS, weights, strict=True)}

    def picks_for(self, k: int) -> int:
        """Points that are picked at each radius."""
        return self.picks or k * max(1, math.ceil(math.log2(1 / self.alpha)))

    def dimensions_for(self, n: float, n_features: int) -> int:
        """Dimensions of the projection: the paper's experiments take ⌊ln(n)/2⌋."""
        return min(n_features, self.dimensions or max(1, int(math.log(n) / 2)))

    def grids(self, task: Task, n: float) -> Grids:
        """The grids for about n rows; more work than allowed is refused, with the numbers."""
        p = self.dimensions_for(n, task.n_features)
        r_min = 1 / n if self.r_min == "1/n" else float(self.r_min)
        grids = Grids.of(p, alpha=self.alpha, r_min=min(r_min, 1.0))
        if grids.work(n) > self.work:
            near = max(grids.near(i) for i in range(len(grids.radii)))
            raise ValueError(
                f"max cover would count about {grids.work(n):.3g} points: {n:,.0f} rows × up to "
                f"{near:,.0f} grid points near each × {len(grids.radii)} radii (alpha = "
                f"{self.alpha:g}, {p} dimensions); at most {self.work:.3g} are allowed: take a "
                "larger alpha, fewer dimensions, a larger r_min, or allow more work"
            )
        return grids


def _check_between(value: object, name: str, limit: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < limit:
        raise ValueError(f"{name} must be a number between 0 and {limit:g}, got {value!r}")


def orthogonal_projection(d: int, p: int, alpha: float, rng: Rng) -> Projection:
    """Random directions at right angles, scaled so that the ball of radius 1 + α holds the box.

    The average row keeps its length (Johnson and Lindenstrauss); α is the paper's margin for those
    that are stretched. In as many dimensions as columns nothing is.
    """
    if p == d:
        return projection_of(np.eye(d), np.zeros(d), 1 / math.sqrt(d), ball=True)
    directions = np.linalg.qr(rng.normal(size=(d, p)))[0].T
    return projection_of(directions, np.zeros(d), 1 / ((1 + alpha) * math.sqrt(p)), ball=True)


def _clustered(points: Ints, counts: Answer, k: int, rng: Rng) -> Floats:
    """k-means on the picked points (m, p) by noisy counts: (k, p), lattice steps of the view.

    Many points were picked from the whole grid when nothing was left to cover. Of these few have a
    noisy count above ln(points)/ε, and together they would outweigh the clusters.
    """
    edge = counts.noise_std / math.sqrt(2) * math.log(len(points))
    weights = np.where(counts.values > edge, counts.values, 0.0)
    if np.count_nonzero(weights) < k:
        weights = np.maximum(counts.values, 0.0)
    found, _ = weighted_kmeans(points.astype(np.float64), weights, k, rng)
    return np.clip(np.rint(found), -REACH, REACH)
