"""What `auto` is expected to do, before any row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sfumato._accounting.budget import Ledger
from sfumato.methods._auto import fallback as guard
from sfumato.methods._auto.budget import (
    MIDDLE,
    BudgetSplit,
    FitBudget,
    RowCount,
    high_route,
    middle_route,
)
from sfumato.methods._auto.low_dim import FIRST, grid_of, looks_twice
from sfumato.methods._base import NUMBER, Method, Task
from sfumato.methods.formulas import RHO, eugkm_mse, step_mse

# Passes: rows are counted, or the mean is taken, and the counts that a branch is chosen by.
_TREE_PASSES = 8

# The most bytes that a tree keeps: nodes looked ahead, and their boxes.
_TREE = 2**26


@dataclass(frozen=True)
class FitPrediction:
    """The error of a centre in the cube [−1, 1]^d, bytes beside the rows, passes, the branch."""

    error: float
    memory: int
    passes: int
    note: str


def foresee(method: Method, task: Task, n: float) -> FitPrediction:
    """Follow the public rules with n rows. The error is an upper bound.

    Clusters are taken to fill the cube, so that their radius is √d·k^(−1/d); the tighter they are,
    the smaller is the noise of a clipped step.
    """
    caps = method.caps(task)
    account = Ledger(caps.epsilon, caps.delta).open("plan", caps)
    wallet = FitBudget(account, task, RowCount(max(n, 20.0), 0.0))
    k = 1 if guard.is_tiny(task) else guard.affordable(wallet)
    count = int(task.n_rows is None)
    if k <= 1 < task.k:
        return _mean(wallet, count + 1)
    wallet = replace(wallet, task=replace(task, k=k))
    found = _low(wallet, count) if task.n_features <= 3 else _deep(wallet, count)
    if k == task.k:
        return found
    fewer = f"{found.note}; {k} centres: ε is too small for more"
    return replace(found, error=found.error + _apart(task), note=fewer)


def _apart(task: Task) -> float:
    """How far a centre lies from the middle, squared: Su et al. 2015, Eq. 7."""
    return 4 * task.n_features * RHO**2


def _mean(wallet: FitBudget, passes: int) -> FitPrediction:
    d = wallet.task.n_features
    noise = d * (d + 2) * (d + 3) / 3
    epsilon = wallet.per_row(wallet.epsilon)
    error = _apart(wallet.task) + step_mse(wallet.n, 1, epsilon, noise)
    return FitPrediction(
        error, 3 * NUMBER * (d + 1), passes, "the noisy mean alone: ε is too small for more"
    )


def _low(wallet: FitBudget, count: int) -> FitPrediction:
    task, n = wallet.task, wallet.n
    d, k, epsilon = task.n_features, task.k, wallet.per_row(wallet.epsilon)
    twice = looks_twice(n, epsilon, k)
    first = epsilon * (FIRST if twice else 1)
    cells = grid_of(k, d, n, first).n_cells
    memory = max(NUMBER * (2 + 3 * d) * cells, _TREE)
    error = eugkm_mse(n, d, k, first, cells)
    note = f"{cells:,} cells, or a tree where rows lie in clumps; an upper bound"
    if twice:
        error = min(error, _step(d * (d + 3), wallet, epsilon - first))
        note = f"{cells:,} cells or a tree, then one clipped step; an upper bound"
    return FitPrediction(error, memory, count + 1 + _TREE_PASSES + twice, note)


def _deep(wallet: FitBudget, count: int) -> FitPrediction:
    task = wallet.task
    d = task.n_features
    route = middle_route(wallet) if d <= MIDDLE else high_route(wallet, task.k)
    steps, last = route.steps, route.full[-1]
    noise = steps.noise(last, d) * steps.size
    error = _step(d * noise**2, wallet, steps.size)
    passes = count + _TREE_PASSES + len(route.inside) + len(route.span) + len(route.full)
    passes += 3 * bool(route.mean) + len(route.full) * route.asks_radius
    memory = _TREE + 3 * NUMBER * (task.k * (d + 1) + 256 * d * (d > MIDDLE))
    law = "pure" if steps.pure else "Gaussian"
    note = f"a tree, then {_steps(route)} with {law} noise; an upper bound"
    return FitPrediction(error, memory, passes, note)


def _steps(route: BudgetSplit) -> str:
    return f"{len(route.inside)} + {len(route.full)} clipped steps"


def _step(weight: float, wallet: FitBudget, budget: float) -> float:
    """The error of a clipped step: `weight` for a radius, a count and a budget of 1."""
    d, k = wallet.task.n_features, wallet.task.k
    radius = math.sqrt(d) * k ** (-1 / d)
    return step_mse(wallet.n, k, budget, weight * radius**2)
