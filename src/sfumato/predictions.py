"""What each method is expected to yield and to need, from public numbers: docs/planner.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.gdp import mu2_of
from sfumato.methods import (
    Auto,
    Balcan,
    DPLloyd,
    EUGkM,
    GkM,
    GkM3K,
    Hybrid,
    MaxCover,
    PGkM,
    Sukpisit,
    Task,
)
from sfumato.methods import formulas as f
from sfumato.methods.auto.foresight import foresee
from sfumato.methods.balcan.foresight import foresee as foresee_balcan
from sfumato.methods.dplloyd import RHO, choose_noise, noise_error, weights
from sfumato.methods.population import SLICE

_NUMBER = 8
"""Bytes of an int64 or a float64."""

_KEPT = 2**24
"""Up to so many coordinates of cells are kept at once, as in `synopsis.cells`."""

_COVERED = 2**26
"""Counts that a cover keeps, as in `curator.cover_state`."""

_REACHED = 60
"""Numbers that a cover keeps for each row: three for each of about twenty blocks."""


@dataclass(frozen=True)
class Outlook(Task):
    """A task whose rows are still to come: `n` are expected, `n_rows` is what will be declared."""

    n: int = 0


@dataclass(frozen=True)
class Prediction:
    """What a method is expected to do.

    `error` is the mean squared distance, in the cube [−1, 1]^d, between a centre and the one that
    the same method would find without noise; `noise` the deviation of one of its coordinates;
    `memory` the bytes of the method's arrays beside the rows; `passes` go over all rows.
    """

    error: float
    noise: float
    memory: int
    passes: int
    note: str


def _dplloyd(task: Outlook) -> Prediction:
    method = DPLloyd()
    parts = weights(method.schedule, method.iterations)
    law = choose_noise(method.noise, len(parts), task)
    note = f"{len(parts)} iterations with {law} noise, from a blind start"
    return _prediction(task, _step(task, law, parts), _totals(task), len(parts), note)


def _sukpisit(task: Outlook) -> Prediction:
    method = Sukpisit()
    parts = weights("halving", method.max_iter)
    law = choose_noise(method.noise, len(parts), task)
    note = f"up to {len(parts)} iterations with {law} noise, from a blind start"
    return _prediction(task, _step(task, law, parts), _totals(task), len(parts), note)


def _eugkm(task: Outlook) -> Prediction:
    return _grid(task, EUGkM(), _after_count(task), "an upper bound")


def _hybrid(task: Outlook) -> Prediction:
    method, epsilon, d = Hybrid(), _after_count(task), task.n_features
    grid = EUGkM(method.theta, method.n_starts)
    if task.epsilon < f.hybrid_threshold(task.n, d, task.k, method.rho):
        return _grid(task, grid, epsilon, "an upper bound; too little ε for a step")
    start = _grid(task, grid, epsilon / 2, f"then one step with {method.noise} noise")
    error = f.step_mse(task.n, task.k, epsilon / 2, noise_error(method.noise, d))
    return _prediction(task, error, start.memory + _totals(task), start.passes + 1, start.note)


def _grid(task: Outlook, method: EUGkM, epsilon: float, remark: str) -> Prediction:
    """Eqs. 9 and 10 for the grid that is laid."""
    d = task.n_features
    cells = method.grid(task.n, d, epsilon).n_cells
    error = f.eugkm_mse(task.n, d, task.k, epsilon, cells)
    # Four numbers a cell while it is counted; then its middle, worked out in three steps.
    numbers = max(4, 2 + 3 * d) if cells * d <= _KEPT else 4
    memory = _NUMBER * numbers * cells
    note = f"{cells:,} cells, {remark}"
    return _prediction(task, error, memory, 1 + _count_passes(task), note)


def _gkm(task: Outlook) -> Prediction:
    return _blocks(task, task.n ** GkM().exponent)


def _gkm3k(task: Outlook) -> Prediction:
    return _blocks(task, task.n / (GkM3K().rows_per_center * task.k))


def _blocks(task: Outlook, wanted: float) -> Prediction:
    blocks = max(1, int(wanted))
    d, k, n = task.n_features, task.k, task.n
    # Eq. 3 halves ε: the other half buys the range, here the full width.
    error = f.gkm_noise(n, d, k, _after_sizes(task), blocks)
    # The hash, the block and the order of the rows; the centres of all blocks, ranked and clipped.
    memory = 3 * _NUMBER * (n + blocks * k * d)
    note = f"{blocks:,} blocks; without the error of averaging them"
    return _prediction(task, error, memory, 2 + _count_passes(task), note)


def _pgkm(task: Outlook) -> Prediction:
    method, d = PGkM(), task.n_features
    rounds = method.rounds(task.n, float(task.epsilon))
    picks = (rounds - 1) * method.parents + 1
    # A row costs at most 4d: the exponential mechanism lies 4d·ln(candidates)/ε₀ above the best.
    # Moving a centre by z costs each of its rows |z|² more, so cost per row is squared distance.
    error = 4 * d * math.log(method.candidates) * picks / (task.n * _after_sizes(task))
    memory = 2 * _NUMBER * method.candidates * task.k * d
    note = f"{picks:,} picks in {rounds:,} rounds; without the error of the search"
    return _prediction(task, error, memory, rounds + 1 + _count_passes(task), note)


def _auto(task: Outlook) -> Prediction:
    seen = foresee(Auto(), task, task.n)
    return _prediction(task, seen.error, seen.memory, seen.passes, seen.note)


def _balcan(task: Outlook) -> Prediction:
    seen = foresee_balcan(Balcan(), task, task.n)
    return _prediction(task, seen.error, seen.memory, seen.passes, seen.note)


def _maxcover(task: Outlook) -> Prediction:
    method = MaxCover()
    caps, parts, grids = method.caps(task), method.parts(task), method.grids(task, task.n)
    last = float(parts["final"] / (parts["averages"] + parts["final"]))
    budget = math.sqrt(mu2_of(*caps.gaussian) * last)
    error = f.step_mse(task.n, task.k, budget, noise_error("gaussian", task.n_features))
    # Counts of points near rows, and the rows that each block of points is near to.
    points = min(_COVERED, grids.work(task.n)) + _REACHED * task.n
    note = (
        f"{method.picks_for(task.k)} picks at each of {len(grids.radii)} radii in "
        f"{grids.n_features} dimensions; without the error of the cover"
    )
    return _prediction(task, error, int(_NUMBER * points), 4 + _count_passes(task), note)


PREDICTIONS: dict[str, Callable[[Outlook], Prediction]] = {
    "auto": _auto,
    "dplloyd": _dplloyd,
    "sukpisit": _sukpisit,
    "eugkm": _eugkm,
    "hybrid": _hybrid,
    "gkm": _gkm,
    "gkm3k": _gkm3k,
    "pgkm": _pgkm,
    "balcan": _balcan,
    "maxcover": _maxcover,
}


def _prediction(task: Task, error: float, memory: int, passes: int, note: str) -> Prediction:
    # Centres are clipped into the cube: noise without end leaves one of its corners.
    per_axis = min(error / task.n_features, 1 + (2 * RHO) ** 2)
    return Prediction(per_axis * task.n_features, math.sqrt(per_axis), memory, passes, note)


def _step(task: Outlook, law: str, parts: list[int]) -> float:
    """The error of the last of several noisy Lloyd steps that share the budget."""
    part = parts[-1] / sum(parts)
    if law == "gaussian":
        budget = math.sqrt(mu2_of(task.epsilon, task.delta) * part)
    else:
        budget = float(task.epsilon) * part
    return f.step_mse(task.n, task.k, budget, noise_error(law, task.n_features))


def _totals(task: Task) -> int:
    """Bytes of counts and sums: exact, their noise, and released."""
    return 3 * _NUMBER * task.k * (task.n_features + 1)


def _count_passes(task: Task) -> int:
    """A pass for the number of rows, unless it is declared."""
    return int(task.n_rows is None)


def _after_count(task: Task) -> float:
    """What is left of ε when the number of rows is bought, unless it is declared."""
    return float(task.epsilon * (1 - SLICE) ** _count_passes(task))


def _after_sizes(task: Task) -> float:
    """What is left of ε when the sizes of the final clusters are bought as well."""
    return _after_count(task) * float(1 - SLICE)
