"""The best private k-means known, in one method that chooses by public and released numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._core.curator import Curator
from sfumato._synopsis import Synopsis
from sfumato._synopsis.choose_k import Criterion, check_criterion, check_range
from sfumato.methods._auto import fallback
from sfumato.methods._auto.budget import (
    FIND_RADIUS,
    LOW,
    MIDDLE,
    FitBudget,
    RowCount,
    caps_of,
    exact,
    high_split,
    middle_split,
    open_budget,
    tree_part,
)
from sfumato.methods._auto.high_dim import columns, deep, main_axes, own_columns
from sfumato.methods._auto.low_dim import low
from sfumato.methods._auto.predict import predict
from sfumato.methods._base import Centers, PlannedTask, Prediction, Task, chosen_k

# ε is capped here, for each row of a group: what is above stays unspent.
_MAX_EPSILON = Fraction(1000)

# How many clipped steps a fit is planned for when it chooses its noise.
_STEPS = {True: 3, False: 2}


@dataclass(frozen=True)
class Auto:
    """A synopsis of the rows, denoised and clustered, then clipped steps from its centres.

    Up to 3 columns a grid, or a tree where rows lie in clumps; up to 24 a tree in the columns that
    vary most; beyond, a tree in the main axes of the rows, or in random directions. Where noise
    would hide k centres it returns fewer, repeated.
    """

    k_range: tuple[int, int] = (2, 20)
    k_by: Criterion = "elbow"

    def __post_init__(self) -> None:
        check_criterion(self.k_by)
        object.__setattr__(self, "k_range", check_range(self.k_range))

    def caps(self, task: Task) -> Caps:
        """Pure ε in few columns and where δ is 0; elsewhere Gaussian noise for the steps."""
        task, d = _bounded(task), task.n_features
        if d <= LOW or fallback.is_tiny(task):
            return Caps(pure=task.epsilon)
        tree = exact(tree_part(d, task.k, pure=False))
        return caps_of(task, tree, _STEPS[d <= MIDDLE])

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Estimate the number of rows, decide by it, then query."""
        task = _bounded(task)
        if fallback.is_hopeless(task):
            return fallback.middle_alone(curator, FitBudget(account, task, RowCount(0.0, 0.0)))
        budget = open_budget(curator, task, account)
        if fallback.is_tiny(task):
            return fallback.mean_alone(curator, budget, "ε is too small for anything else")
        k = fallback.affordable(budget)
        if k < 1 or k <= 1 < task.k:
            return fallback.mean_alone(curator, budget, "ε is too small for more")
        found = self._branch(curator, replace(budget, task=replace(task, k=k)), rng)
        return found if k == task.k else fallback.padded(found, task, rng)

    def predict(self, task: PlannedTask) -> Prediction:
        """Follow the public rules with the expected rows."""
        return predict(self, task)

    def _branch(self, curator: Curator, budget: FitBudget, rng: np.random.Generator) -> Centers:
        task, n = budget.task, budget.n

        def choose(synopsis: Synopsis, rng: np.random.Generator) -> tuple[int, tuple[str, ...]]:
            return chosen_k(task, synopsis, self.k_range[0], self.k_by, rng)

        if task.n_features <= LOW:
            return low(curator, budget, choose, rng)
        if task.n_features <= MIDDLE:
            split = middle_split(budget)
            axes = columns(curator, split, budget.rows) if split.mean else own_columns(curator)
        else:
            split = high_split(budget, task.k)
            if n * budget.per_row(split.radii) <= FIND_RADIUS:
                return fallback.mean_alone(curator, budget, "noise hides how far rows reach")
            axes = main_axes(curator, split, budget.rows, task.k, rng)
        return deep(curator, axes, split, choose, n, rng)


def _bounded(task: Task) -> Task:
    """The same task with ε capped."""
    return replace(task, epsilon=min(task.epsilon, _MAX_EPSILON * task.max_rows_per_group))
