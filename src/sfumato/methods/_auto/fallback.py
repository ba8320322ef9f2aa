"""What to answer when the budget cannot carry the centres that were asked for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato.methods._auto.budget import LOW, MIDDLE, FitBudget, step_error
from sfumato.methods._auto.refine import mean_of
from sfumato.methods._base import Centers, Task

# Below, the noise of some step might be refused when others have been paid for.
_LEAST = Fraction(1, 10**4)

# Error of a centre, relative to its radius, from which it says nothing.
_DROWNED = 0.6
_LOST = 0.5
_DROWNED_HIGH = {True: 0.2, False: 0.27}


def is_hopeless(task: Task) -> bool:
    """Whether even the noise of a mean could not be drawn."""
    return _per_row(task) < Fraction(task.n_features + 1, 2**26)


def is_tiny(task: Task) -> bool:
    """Whether ε is so small that only the simplest query can be asked."""
    return _per_row(task) < _LEAST


def _per_row(task: Task) -> Fraction:
    """ε that noise is fitted to, where the rows of a group are hidden together."""
    return task.epsilon / task.max_rows_per_group


def affordable(wallet: FitBudget) -> int:
    """How many centres the budget carries: public and released numbers only."""
    task = wallet.task
    steps = wallet.steps(0.0)
    one = step_error(steps, task.n_features, 1, wallet.n)
    if task.n_features <= LOW:
        # In few columns even centres that noise has spread out say more than one mean.
        return task.k if one <= _LOST else 1
    if task.n_features > MIDDLE:
        return min(task.k, int(_DROWNED_HIGH[steps.pure] / one))
    return task.k if task.k * one <= _DROWNED else 1


def padded(found: Centers, task: Task, rng: np.random.Generator) -> Centers:
    """As many centres as were asked for, some of them twice."""
    k = len(found.points)
    again = np.append(np.arange(k), rng.integers(k, size=task.k - k))
    sizes = found.sizes[again] / np.bincount(again)[again]
    note = f"{k} centres instead of {task.k}, the others repeat them: ε is too small for more"
    return replace(found, points=found.points[again], sizes=sizes, notes=(*found.notes, note))


def middle_alone(curator: Curator, wallet: FitBudget) -> Centers:
    """The middle of the bounds, as often as centres were asked for; ε buys the number of rows."""
    task = wallet.task
    n = curator.counts(Grid(1, task.n_features), share=wallet.rest("pure")).values[0]
    points = np.zeros((task.k, task.n_features))
    note = "the middle of the bounds: ε is too small for more than the number of rows"
    return Centers(points, np.full(task.k, n / task.k), (note,))


def mean_alone(curator: Curator, wallet: FitBudget, why: str) -> Centers:
    """The mean of all rows, as often as centres were asked for, with all that is left."""
    task, rows = wallet.task, wallet.rows
    if wallet.currency == "gdp":
        # Beside Gaussian noise, what is left of pure ε counts the rows once more.
        everything = Grid(1, task.n_features)
        rows = rows.and_by(curator.counts(everything, share=wallet.rest("pure")))
    mean, rows = mean_of(curator, wallet.rest(wallet.currency), rows)
    points, sizes = np.tile(mean, (task.k, 1)), np.full(task.k, rows.n / task.k)
    return Centers(points, sizes, (f"all {task.k} centres are the noisy mean of all rows: {why}",))
