"""What to return when the budget is too small for the centres that were asked for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato._base.types import Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato.methods._auto.budget import LOW, MIDDLE, FitBudget, step_error
from sfumato.methods._auto.refine import mean_of
from sfumato.methods._base import Centers, Task

# Below, the noise of some step might be refused after others were charged.
_MIN_EPSILON = Fraction(1, 10**4)

# Error of a centre, relative to its radius, above which it is noise.
_DROWNED = 0.6
_LOST = 0.5
_DROWNED_HIGH = {True: 0.2, False: 0.27}


def is_hopeless(task: Task) -> bool:
    """Whether even the noise of a mean could not be sampled."""
    return _per_row(task) < Fraction(task.n_features + 1, 2**26)


def is_tiny(task: Task) -> bool:
    """Whether ε is so small that only the simplest query can be asked."""
    return _per_row(task) < _MIN_EPSILON


def _per_row(task: Task) -> Fraction:
    """ε that noise is calibrated to, where the rows of a group are protected together."""
    return task.epsilon / task.max_rows_per_group


def affordable(budget: FitBudget) -> int:
    """How many centres stand out from noise: by public and released numbers only."""
    task = budget.task
    steps = budget.steps(0.0)
    one = step_error(steps, task.n_features, 1, budget.n)
    if task.n_features <= LOW:
        # In few columns even centres that noise has spread out say more than one mean.
        return task.k if one <= _LOST else 1
    if task.n_features > MIDDLE:
        return min(task.k, int(_DROWNED_HIGH[steps.pure] / one))
    return task.k if task.k * one <= _DROWNED else 1


def padded(found: Centers, task: Task, rng: Rng) -> Centers:
    """As many centres as were asked for, some of them twice."""
    k = len(found.points)
    again = np.append(np.arange(k), rng.integers(k, size=task.k - k))
    sizes = found.sizes[again] / np.bincount(again)[again]
    note = f"{k} different centres, repeated to make {task.k}: ε is too small for more"
    return replace(found, points=found.points[again], sizes=sizes, notes=(*found.notes, note))


def middle_alone(curator: Curator, budget: FitBudget) -> Centers:
    """The middle of the bounds, k times; all of ε is for the number of rows."""
    task = budget.task
    n = curator.counts(Grid(1, task.n_features), share=budget.rest("pure")).values[0]
    points = np.zeros((task.k, task.n_features))
    note = f"{_all(task)} the middle of the bounds: ε is too small for more than the number of rows"
    return Centers(points, np.full(task.k, n / task.k), (note,))


def mean_alone(curator: Curator, budget: FitBudget, why: str) -> Centers:
    """The noisy mean of all rows, k times, with all that is left."""
    task, rows = budget.task, budget.rows
    if budget.currency == "gdp":
        # Beside Gaussian noise, what is left of pure ε counts the rows once more.
        everything = Grid(1, task.n_features)
        rows = rows.and_by(curator.counts(everything, share=budget.rest("pure")))
    mean, rows = mean_of(curator, budget.rest(budget.currency), rows)
    points, sizes = np.tile(mean, (task.k, 1)), np.full(task.k, rows.n / task.k)
    return Centers(points, sizes, (f"{_all(task)} the noisy mean: {why}",))


def _all(task: Task) -> str:
    return f"All {task.k} centres are" if task.k > 1 else "The centre is"
