"""What `auto` is expected to do, before any row is read."""

from __future__ import annotations

import math
from dataclasses import replace

from sfumato._accounting.budget import Ledger
from sfumato.methods._auto import fallback
from sfumato.methods._auto.budget import (
    LOW,
    MIDDLE,
    MIN_ROWS,
    FitBudget,
    RowCount,
    high_split,
    middle_split,
)
from sfumato.methods._auto.low_dim import FIRST, grid_of, looks_twice
from sfumato.methods._base import NUMBER, Method, PlannedTask, Prediction, Task
from sfumato.methods.formulas import RHO, eugkm_mse, step_mse

# Passes: rows are counted, or the mean is taken, and the counts that a branch is chosen by.
_TREE_PASSES = 8

# The most bytes that a tree keeps: nodes looked ahead, and their boxes.
_TREE = 2**26


def predict(method: Method, task: PlannedTask) -> Prediction:
    """Follow the public rules with the expected rows. The error is an upper bound.

    Clusters are taken to fill the cube, so that their radius is √d·k^(−1/d); the tighter they are,
    the smaller is the noise of a clipped step.
    """
    caps = method.caps(task)
    account = Ledger(caps.epsilon, caps.delta).open("plan", caps)
    budget = FitBudget(account, task, RowCount(max(task.n, MIN_ROWS), 0.0))
    k = 1 if fallback.is_tiny(task) else fallback.affordable(budget)
    if k < 1 or k <= 1 < task.k:
        return _mean(budget, task)
    budget = replace(budget, task=replace(task, k=k))
    branch = _low if task.n_features <= LOW else _deep
    error, memory, passes, note = branch(budget)
    if k < task.k:
        error, note = error + _apart(task), f"{note}; {k} centres: ε is too small for more"
    passes += task.count_passes
    return Prediction.of(task, error, memory=memory, passes=passes, note=note)


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
    twice = looks_twice(n, epsilon, k)
    first = epsilon * (FIRST if twice else 1)
    cells = grid_of(k, d, n, first).n_cells
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
    split = middle_split(budget) if d <= MIDDLE else high_split(budget, k)
    steps, full = split.steps, split.full
    noise = steps.noise(full[-1], d) * steps.size
    error = _step(d * noise**2, budget, steps.size)
    passes = _TREE_PASSES + len(split.inside) + len(split.span) + len(full)
    passes += 3 * bool(split.mean) + len(full) * split.asks_radius
    memory = _TREE + 3 * NUMBER * (k * (d + 1) + 256 * d * (d > MIDDLE))
    number = f"{len(split.inside)} + {len(full)} clipped steps"
    kind = "pure" if steps.pure else "Gaussian"
    return error, memory, passes, f"a tree, then {number} with {kind} noise; an upper bound"


def _step(weight: float, budget: FitBudget, epsilon: float) -> float:
    """The error of a clipped step with this ε or μ: `weight` for a radius and a count of 1."""
    d, k = budget.task.n_features, budget.task.k
    radius = math.sqrt(d) * k ** (-1 / d)
    return step_mse(budget.n, k, epsilon, weight * radius**2)
