"""The best private k-means known, in one method that chooses by public and released numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._core.curator import Curator
from sfumato._synopsis.choose_k import Criterion, check_criterion, check_range
from sfumato.methods._auto import fallback as guard
from sfumato.methods._auto.budget import (
    FIND_RADIUS,
    LOW,
    MIDDLE,
    FitBudget,
    RowCount,
    caps_of,
    exact,
    high_route,
    middle_route,
    open_wallet,
    tree_part,
)
from sfumato.methods._auto.high_dim import columns, deep, main_axes, own_columns
from sfumato.methods._auto.low_dim import low
from sfumato.methods._auto.predict import foresee
from sfumato.methods._auto.synopsis import Choice
from sfumato.methods._base import Centers, PlannedTask, Prediction, Task

# More ε than this, for each row of a group, leaves no noise that could be seen: what is above
# stays unspent.
_MOST = Fraction(1000)

# How many clipped steps a fit is planned for when it chooses its noise.
_STEPS = {True: 3, False: 2}


@dataclass(frozen=True)
class Auto:
    """A synopsis of the rows, denoised and clustered, then clipped steps from its centres.

    Up to 3 columns a grid, or a tree where rows lie in clumps; up to 24 a tree in the columns that
    vary most; beyond, a tree in the main axes of the rows, or in random directions. Where noise
    would drown k centres it returns as many as the budget carries.
    """

    k_range: tuple[int, int] = (2, 20)
    k_by: Criterion = "elbow"

    def __post_init__(self) -> None:
        check_criterion(self.k_by)
        object.__setattr__(self, "k_range", check_range(self.k_range))

    def caps(self, task: Task) -> Caps:
        """Pure ε in few columns and where δ is 0; elsewhere Gaussian noise for the steps."""
        task, d = _bounded(task), task.n_features
        if d <= LOW or guard.is_tiny(task):
            return Caps(pure=task.epsilon)
        tree = exact(tree_part(d, task.k, pure=False))
        return caps_of(task, tree, _STEPS[d <= MIDDLE])

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Buy the number of rows, decide by it, then ask."""
        task = _bounded(task)
        if guard.is_hopeless(task):
            return guard.middle_alone(curator, FitBudget(account, task, RowCount(0.0, 0.0)))
        wallet = open_wallet(curator, task, account)
        if guard.is_tiny(task):
            return guard.mean_alone(curator, wallet, "ε is too small for anything else")
        k = guard.affordable(wallet)
        if k <= 1 < task.k:
            return guard.mean_alone(curator, wallet, "ε is too small for more")
        found = self._branch(curator, replace(wallet, task=replace(task, k=k)), rng)
        return found if k == task.k else guard.padded(found, task, rng)

    def predict(self, task: PlannedTask) -> Prediction:
        """Follow the public rules with the expected rows."""
        seen = foresee(self, task, task.n)
        return Prediction.of(
            task, seen.error, memory=seen.memory, passes=seen.passes, note=seen.note
        )

    def _branch(self, curator: Curator, wallet: FitBudget, rng: np.random.Generator) -> Centers:
        task, n = wallet.task, wallet.n
        choice = Choice(task, n, self.k_range[0], self.k_by)
        if task.n_features <= LOW:
            return low(curator, wallet, choice, rng)
        if task.n_features <= MIDDLE:
            route = middle_route(wallet)
            axes = columns(curator, route, wallet.rows) if route.mean else own_columns(curator)
        else:
            route = high_route(wallet, task.k)
            if n * wallet.per_row(route.radii) <= FIND_RADIUS:
                return guard.mean_alone(curator, wallet, "noise would hide how far rows reach")
            axes = main_axes(curator, route, wallet.rows, task.k, rng)
        return deep(curator, axes, route, choice, rng)


def _bounded(task: Task) -> Task:
    """The same task with no more ε than is of any use, and than noise can be drawn for."""
    return replace(task, epsilon=min(task.epsilon, _MOST * task.max_rows_per_group))
