"""The best private k-means known, in one method that chooses by public and released numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

from sfumato._accounting.budget import Account, Caps, Ledger
from sfumato._base.types import Rng
from sfumato._core.curator import Curator
from sfumato._synopsis.curve import Criterion, check_criterion, check_range
from sfumato.methods._auto import branches
from sfumato.methods._auto.budget import (
    LOW,
    MIDDLE,
    MIN_ROWS,
    FitBudget,
    RowCount,
    affordable,
    caps_of,
    errors_of,
    high_split,
    is_hopeless,
    is_tiny,
    middle_split,
    open_budget,
)
from sfumato.methods._auto.refine import MEANS, Aim
from sfumato.methods._base import NUMBER, Centers, PlannedTask, Prediction, Task, chosen_k
from sfumato.methods.formulas import RHO, eugkm_mse, step_mse

# ε is capped here, for each row of a group: what is above stays unspent.
_MAX_EPSILON = Fraction(1000)

# Passes: rows are counted, or the mean is taken, and the counts that a branch is chosen by.
_TREE_PASSES = 8

# The most bytes that a tree keeps: nodes looked ahead, and their boxes.
_TREE = 2**26


@dataclass(frozen=True)
class Auto:
    """A synopsis of the rows, denoised and clustered, then clipped steps from its centres.

    Up to 3 columns a grid, or a tree where rows lie in clumps; up to 24 a tree in the columns that
    vary most; beyond, a tree in the main axes of the rows, or in random directions. Where noise
    would hide k centres it returns fewer, repeated.
    """

    k_range: tuple[int, int] = (2, 20)
    k_by: Criterion = "elbow"
    _aim: ClassVar[Aim] = MEANS

    def __post_init__(self) -> None:
        check_criterion(self.k_by)
        object.__setattr__(self, "k_range", check_range(self.k_range))

    def caps(self, task: Task) -> Caps:
        """Pure ε in few columns and where δ is 0; elsewhere Gaussian noise for the steps."""
        return caps_of(bounded(task))

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Estimate the number of rows, decide by it, then query."""
        task = bounded(task)
        if is_hopeless(task):
            return branches.middle_alone(curator, FitBudget(account, task, RowCount(0.0, 0.0)))
        budget = open_budget(curator, task, account)
        if is_tiny(task):
            return branches.mean_alone(curator, budget, "ε is too small for anything else")
        k = affordable(budget)
        if not k:
            return branches.mean_alone(curator, budget, "ε is too small for more")
        few = replace(task, k=k)
        choose = partial(chosen_k, few, self.k_range[0], self.k_by)
        found = branches.found_by(curator, replace(budget, task=few), choose, rng, self._aim)
        return found if k == task.k else branches.padded(found, task, rng)

    def predict(self, task: PlannedTask) -> Prediction:
        """Follow the public rules with the expected rows. The error is an upper bound.

        Clusters are taken to fill the cube, so that their radius is √d·k^(−1/d); the tighter they
        are, the smaller is the noise of a clipped step.
        """
        caps = self.caps(task)
        account = Ledger(caps.epsilon, caps.delta).reserve("plan", caps)
        budget = FitBudget(account, task, RowCount(max(task.n, MIN_ROWS), 0.0))
        k = 0 if is_tiny(task) else affordable(budget)
        if not k:
            return _mean(budget, task)
        budget = replace(budget, task=replace(task, k=k))
        branch = _low if task.n_features <= LOW else _deep
        error, memory, passes, note = branch(budget)
        if k < task.k:
            error, note = error + _apart(task), f"{note}; {k} centres: ε is too small for more"
        passes += task.count_passes
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)


def bounded(task: Task) -> Task:
    """The same task with ε capped."""
    return replace(task, epsilon=min(task.epsilon, _MAX_EPSILON * task.max_rows_per_group))


def _apart(task: Task) -> float:
    """How far a centre lies from the middle, squared: Su et al. 2015, Eq. 7."""
    return 4 * task.n_features * RHO**2


def _mean(budget: FitBudget, task: PlannedTask) -> Prediction:
    d = task.n_features
    noise = d * (d + 2) * (d + 3) / 3
    error = _apart(task) + step_mse(budget.n, 1, budget.per_row(budget.epsilon), noise)
    memory, passes = 3 * NUMBER * (d + 1), 1 + task.count_passes
    note = "the noisy mean alone: ε is too small for more"
    return Prediction.of(task, error, memory=memory, passes=passes, note=note)


def _low(budget: FitBudget) -> tuple[float, int, int, str]:
    """Error, memory, passes and a note, up to three columns."""
    d, k, n = budget.task.n_features, budget.task.k, budget.n
    epsilon = budget.per_row(budget.epsilon)
    twice = branches.looks_twice(n, epsilon, k)
    first = epsilon * (branches.FIRST if twice else 1)
    cells = branches.grid_of(k, d, n, first).n_cells
    memory = max(NUMBER * (2 + 3 * d) * cells, _TREE)
    error = eugkm_mse(n, d, k, first, cells)
    note = f"{cells:,} cells, or a tree where rows lie in clumps; an upper bound"
    if twice:
        error = min(error, _step(d * (d + 3), budget, epsilon - first))
        note = f"{cells:,} cells or a tree, then one clipped step; an upper bound"
    return error, memory, 1 + _TREE_PASSES + twice, note


def _deep(budget: FitBudget) -> tuple[float, int, int, str]:
    """The same, in more columns."""
    d, k = budget.task.n_features, budget.task.k
    split = middle_split(budget) if d <= MIDDLE else high_split(budget)
    steps, full = split.steps, split.full
    if budget.task.levels:
        error = _mixed(budget, full[-1], steps.size, pure=steps.pure)
    else:
        noise = steps.noise(full[-1], d) * steps.size
        error = _step(d * noise**2, budget, steps.size)
    passes = _TREE_PASSES + len(split.inside) + len(split.span) + len(full)
    passes += 3 * bool(split.mean) + len(full) * split.asks_radius
    memory = _TREE + 3 * NUMBER * (k * (d + 1) + 256 * d * (d > MIDDLE))
    number = f"{len(split.inside)} + {len(full)} clipped steps"
    kind = "pure" if steps.pure else "Gaussian"
    return error, memory, passes, f"a tree, then {number} with {kind} noise; an upper bound"


def _mixed(budget: FitBudget, part: float, size: float, *, pure: bool) -> float:
    """The error of a last step of mixed rows with this part of what steps have."""
    errors = errors_of(budget.task, pure=pure)
    weight = min(errors.whole, errors.counted) / part ** (2 if pure else 1)
    return step_mse(budget.n, budget.task.k, size, weight)


def _step(weight: float, budget: FitBudget, epsilon: float) -> float:
    """The error of a clipped step with this ε or μ: `weight` for a radius and a count of 1."""
    d, k = budget.task.n_features, budget.task.k
    radius = math.sqrt(d) * k ** (-1 / d)
    return step_mse(budget.n, k, epsilon, weight * radius**2)
