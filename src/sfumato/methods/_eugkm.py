"""EUGkM: k-means on the noisy counts of a uniform grid.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.2.1. Departs
from it: the number of rows is estimated unless declared, and the solver also tries swaps, unless
solver="lloyd".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sfumato._accounting.budget import Account, Share
from sfumato._base.types import Rng
from sfumato._base.validation import check_whole
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import MAX_NUMBERS, Grid
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells
from sfumato._synopsis.curve import Criterion, check_criterion, check_range
from sfumato._synopsis.spread import synopsis_errors
from sfumato.methods._base import (
    ENOUGH,
    NUMBER,
    Centers,
    PlannedTask,
    Prediction,
    PureMethod,
    Task,
    chosen_k,
    size_and_rest,
)
from sfumato.methods._dplloyd import check_choice, lloyd_step, noise_error, totals_memory
from sfumato.methods.formulas import RHO, eug_cells, eugkm_mse, hybrid_threshold, step_mse

_KEPT = 2**24
"""Up to so many coordinates of cells are kept at once, as in `_synopsis.cells`."""


_MAX_STARTS = 10_000

Solver = Literal["swaps", "lloyd"]


class _OnGrid(PureMethod):
    def check(self, task: Task) -> None:
        """Refuse, before any charge, dimensions in which even two slices an axis are too many."""
        if 2**task.n_features > MAX_NUMBERS:
            raise ValueError(
                f"a grid with 2 cells on each of d = {task.n_features} axes has M = "
                f"2^{task.n_features} cells; at most {MAX_NUMBERS:,} fit: use method='dplloyd'"
            )


@dataclass(frozen=True)
class EUGkM(_OnGrid):
    """Counts of about (nε/θ)^(2d/(2+d)) cells, then k-means on them with many starts.

    Where the number of clusters is asked for, it is chosen from `k_range` by `k_by` on the released
    counts, at no further cost. The solver "lloyd" is the paper's: Lloyd steps from every start.
    """

    theta: float = 10.0
    n_starts: int = 30
    k_range: tuple[int, int] = (2, 20)
    k_by: Criterion = "elbow"
    solver: Solver = "swaps"

    def __post_init__(self) -> None:
        check_whole(self.n_starts, "n_starts", most=_MAX_STARTS)
        check_criterion(self.k_by)
        check_choice(self.solver, Solver, "solver")
        object.__setattr__(self, "k_range", check_range(self.k_range))
        if not 0 < self.theta < float("inf"):
            raise ValueError(f"theta must be a positive number, got {self.theta!r}")

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Estimate the number of rows, then the counts of the grid; the rest is post-processing."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        return self.on_grid(curator, task, n, rest, rng)

    def predict(self, task: PlannedTask) -> Prediction:
        """Eqs. 9 and 10 for the grid that is laid."""
        return self.predict_grid(task, task.after_count, "an upper bound")

    def predict_grid(self, task: PlannedTask, epsilon: float, remark: str) -> Prediction:
        """What is expected of the grid with this ε."""
        d = task.n_features
        cells = self.grid(task.n, d, epsilon).n_cells
        error = eugkm_mse(task.n, d, task.k, epsilon, cells)
        # Four numbers a cell while it is counted; then its middle, worked out in three steps.
        numbers = max(4, 2 + 3 * d) if cells * d <= _KEPT else 4
        memory, passes = NUMBER * numbers * cells, 1 + task.count_passes
        note = f"{cells:,} cells, {remark}"
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)

    def on_grid(self, curator: Curator, task: Task, n: float, share: Share, rng: Rng) -> Centers:
        """Release the counts of a grid with this share and cluster its cells."""
        epsilon = float(share.amount)
        grid = self.grid(n, task.n_features, epsilon)
        counts = curator.counts(grid, share=share)
        layout = GridCells((grid.per_axis,) * grid.n_features)
        synopsis = Synopsis(curator.box, layout, counts.values, counts.noise_std)
        notes = [f"{grid} for about {n:,.0f} rows"]
        wanted = eug_cells(n, task.n_features, epsilon, self.theta)
        if wanted > 2 * grid.n_cells:
            notes.append(f"as many cells as fit, where {wanted:.3g} were wanted")
        k, how = chosen_k(task, self.k_range[0], self.k_by, synopsis, rng)
        swaps = self.solver == "swaps"
        found = synopsis.kmeans(k, n_starts=self.n_starts, swaps=swaps, random_state=rng)
        points = curator.box.to_cube(found.centers) * REACH
        errors = synopsis_errors(synopsis, points)
        return Centers(points, found.sizes, (*notes, *how), synopsis, errors)

    def grid(self, n: float, n_features: int, epsilon: float) -> Grid:
        """Round the number of cells to whole slices, at least 2 and at most what fits."""
        limit = min(int(MAX_NUMBERS ** (1 / n_features)), 2 * REACH + 1)
        wanted = eug_cells(n, n_features, min(epsilon, ENOUGH), self.theta) ** (1 / n_features)
        return Grid(max(2, round(min(wanted, limit))), n_features)


StepNoise = Literal["cube", "laplace", "equal"]
Refine = Literal["auto", "always"]

# Outside, the noise of a step might be refused after the grid was charged.
_MIN_EPSILON, _MAX_EPSILON = Fraction(1, 10**6), 10**4


@dataclass(frozen=True)
class Hybrid(_OnGrid):
    """Half of the budget on EUGkM and half on a Lloyd step, if ε is above a public threshold.

    With refine="always" the step is taken at every ε.
    """

    rho: float = RHO
    theta: float = 10.0
    n_starts: int = 30
    noise: StepNoise = "cube"
    k_range: tuple[int, int] = (2, 20)
    k_by: Criterion = "elbow"
    refine: Refine = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k_range", self.first.k_range)
        check_choice(self.noise, StepNoise, "noise")
        check_choice(self.refine, Refine, "refine")
        if not 0 <= self.rho <= 0.5:
            raise ValueError(f"rho must lie in [0, 0.5], got {self.rho!r}")

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Estimate the number of rows, decide by it, then query."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        threshold = self.threshold(n, task.n_features, task.k)
        refines = task.epsilon >= threshold and _MIN_EPSILON <= task.epsilon <= _MAX_EPSILON
        shares = rest.evenly(2) if refines else (rest,)
        found = self.first.on_grid(curator, task, n, shares[0], rng)
        chosen = "EUGkM, then one Lloyd step" if refines else "EUGkM alone"
        notes = (*found.notes, f"{chosen}: {_reason(task, n, threshold)}")
        if not refines:
            return replace(found, notes=notes)
        step = lloyd_step(curator, found.points, shares[1], self.noise)
        return replace(found, points=step.points, sizes=step.sizes, notes=notes, errors=step.errors)

    def predict(self, task: PlannedTask) -> Prediction:
        """The grid alone, or the noise of the step where ε is above the threshold."""
        epsilon, d = task.after_count, task.n_features
        if task.epsilon < self.threshold(task.n, d, task.k):
            remark = "an upper bound; too little ε for a step"
            return self.first.predict_grid(task, epsilon, remark)
        remark = f"then one step with {self.noise} noise"
        start = self.first.predict_grid(task, epsilon / 2, remark)
        error = step_mse(task.n, task.k, epsilon / 2, noise_error(self.noise, d))
        memory, passes = start.memory + totals_memory(task), start.passes + 1
        return Prediction.of(task, error, memory=memory, passes=passes, note=start.note)

    def threshold(self, n: float, n_features: int, k: int) -> float:
        """The ε from which a step is taken (Su et al. 2015, Eqs. 14 and 15)."""
        if self.refine == "always":
            return 0.0
        return hybrid_threshold(n, n_features, k, self.rho)

    @property
    def first(self) -> EUGkM:
        """The first half: the same grid, starts and choice of k."""
        return EUGkM(self.theta, self.n_starts, self.k_range, self.k_by)


def _reason(task: Task, n: float, threshold: float) -> str:
    at_most = "at most " if task.choose_k else ""
    return (
        f"a step helps from ε = {max(threshold, float(_MIN_EPSILON)):.3g} to {_MAX_EPSILON:.3g} "
        f"for {at_most}{task.k} clusters in about {n:,.0f} rows, and ε is {float(task.epsilon):.3g}"
    )
