"""DPLloyd and Sukpisit: k-means whose every step sees noisy counts and sums.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §4.1.1.
Departs from it: counts and sums get noise fitted to each, or one joint cube noise; with
noise="equal" it is the paper's, Laplace noise of one scale on all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.types import Floats, Rng
from sfumato._base.validation import check_whole
from sfumato._core.answers import CellTotals
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Nearest, NearestInProjection
from sfumato._lattice.box import REACH
from sfumato._synopsis.signed_kmeans import sphere_packing
from sfumato._uncertainty import Errors, Estimate, Law, NoisyCounts, of_ratio
from sfumato.methods._base import (
    NUMBER,
    Centers,
    PlannedTask,
    Prediction,
    Task,
    check_amount,
    gaussian_is_smaller,
    nearest_to,
)
from sfumato.methods.formulas import RHO, step_mse

NoiseChoice = Literal["auto", "cube", "laplace", "equal", "gaussian"]
Schedule = Literal["uniform", "halving", "increasing"]

MAX_STEPS = 1000
"""The most noisy steps of a fit: each is a pass over all rows."""


class _NoisyLloyd(ABC):
    """Noisy Lloyd steps from a start that looks at no data, until the centres hold still.

    `tol` is the largest move of a noisy centre, as a part of the box's half-width, that counts as
    standing still. What an early stop leaves unspent is not given back.
    """

    noise: NoiseChoice
    tol: float

    @abstractmethod
    def weights(self) -> list[int]:
        """How the iterations share the budget."""

    def caps(self, task: Task) -> Caps:
        """All of the budget in the one currency of the noise."""
        check_amount(task)
        if choose_noise(self.noise, len(self.weights()), task) == "gaussian":
            return Caps(gaussian=(task.epsilon, task.delta))
        return Caps(pure=task.epsilon)

    def predict(self, task: PlannedTask) -> Prediction:
        """The noise of the last step, if all are taken."""
        weights = self.weights()
        noise = choose_noise(self.noise, len(weights), task)
        part = weights[-1] / sum(weights)
        if noise == "gaussian":
            budget = math.sqrt(mu2_of(task.epsilon, task.delta) * part)
        else:
            budget = float(task.epsilon) * part
        error = step_mse(task.n, task.k, budget, noise_error(noise, task.n_features))
        up_to = "up to " if self.tol >= 0 else ""
        note = f"{up_to}{len(weights)} iterations with {noise} noise, from a data-independent start"
        memory, passes = totals_memory(task), len(weights)
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Step until the noisy centres hold still or the shares are used up."""
        step = Step(sphere_packing(task.k, task.n_features, rng), np.zeros(task.k), None)
        noise = noise_of(self.noise, account)
        shares, taken, still = account.rest(currency(noise)).split(*self.weights()), 0, False
        while taken < len(shares) and not still:
            moved = lloyd_step(curator, step.points, shares[taken], noise)
            still = bool(np.abs(moved.points - step.points).max() <= self.tol * REACH)
            step, taken = moved, taken + 1
        note = f"{taken} of {len(shares)} iterations, {noise} noise"
        return Centers(step.points, step.sizes, (note,), errors=step.errors)


@dataclass(frozen=True)
class DPLloyd(_NoisyLloyd):
    """A fixed number of noisy Lloyd steps from a start that looks at no data."""

    iterations: int = 5
    schedule: Schedule = "uniform"
    noise: NoiseChoice = "auto"
    # No step ends the search.
    tol = -1.0

    def __post_init__(self) -> None:
        check_whole(self.iterations, "iterations", most=MAX_STEPS)
        check_choice(self.schedule, Schedule, "schedule")
        check_choice(self.noise, NoiseChoice, "noise")

    def weights(self) -> list[int]:
        """How the iterations share the budget."""
        return weights(self.schedule, self.iterations)


@dataclass(frozen=True)
class Sukpisit(_NoisyLloyd):
    """Noisy Lloyd steps, each with half of what is left, until the centres hold still."""

    max_iter: int = 5
    tol: float = 1e-3
    noise: NoiseChoice = "auto"

    def __post_init__(self) -> None:
        check_whole(self.max_iter, "max_iter", most=MAX_STEPS)
        check_choice(self.noise, NoiseChoice, "noise")
        if not 0 <= self.tol < float("inf"):
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}")

    def weights(self) -> list[int]:
        """How the iterations share the budget."""
        return weights("halving", self.max_iter)


def check_choice(value: object, choices: object, name: str) -> None:
    """Refuse a word that is not one of the choices."""
    if value not in get_args(choices):
        raise ValueError(f"{name} must be one of {', '.join(get_args(choices))}, got {value!r}")


def weights(schedule: Schedule, iterations: int) -> list[int]:
    """How the iterations share the budget; the last halving step takes the remainder."""
    if schedule == "halving":
        return [2 ** max(iterations - 2 - i, 0) for i in range(iterations)]
    if schedule == "increasing":
        return list(range(1, iterations + 1))
    return [1] * iterations


def currency(noise: str) -> Literal["pure", "gdp"]:
    """The currency of a kind of noise."""
    return "gdp" if noise == "gaussian" else "pure"


def choose_noise(noise: NoiseChoice, iterations: int, task: Task) -> str:
    """Pick the noise with the smallest predicted error that the budget allows."""
    if noise == "gaussian" and not task.delta:
        raise ValueError(
            "noise='gaussian' needs delta > 0; with delta=0 use 'cube', 'laplace' or 'equal'"
        )
    if noise != "auto":
        return noise
    weights = noise_error("cube", task.n_features), noise_error("gaussian", task.n_features)
    smaller = gaussian_is_smaller(task.epsilon, task.delta, iterations, weights)
    return "gaussian" if smaller else "cube"


def noise_of(noise: NoiseChoice, account: Account) -> str:
    """The kind of noise that an account was opened for."""
    if account.caps.gaussian[1]:
        return "gaussian"
    return noise if noise in ("laplace", "equal") else "cube"


def noise_error(noise: str, n_features: int) -> float:
    """Expected squared error of a centre × count², for ε = 1 or μ = 1 in the cube [−1, 1]^d."""
    d, off_center = float(n_features), 4 * n_features * RHO**2
    if noise == "cube":
        return (d + off_center) * (d + 2) * (d + 3) / 3
    if noise == "gaussian":
        return (d + math.sqrt(off_center)) ** 2
    if noise == "equal":
        # Su et al. 2015, Eq. 7: Lap((d + 1)/ε) on the count and on every sum.
        return 2 * (d + off_center) * (d + 1) ** 2
    return 2 * (d + math.cbrt(off_center)) ** 3


def ratio_of_shares(noise: str, n_features: int) -> tuple[float, float]:
    """How the budget of a step is divided between counts and sums.

    With noise="equal" both get Laplace noise of scale (d + 1)/ε. Otherwise the ratio is the best
    one, a constant of d: it minimises a/x² + b/y², or a/x + b/y.
    """
    off_center = 4 * n_features * RHO**2
    for_counts = math.sqrt(off_center) if noise == "gaussian" else math.cbrt(off_center)
    return (1.0 if noise == "equal" else for_counts), float(n_features)


def totals_memory(task: Task) -> int:
    """Bytes of counts and sums: exact, their noise, and released."""
    return 3 * NUMBER * task.k * (task.n_features + 1)


class Step(NamedTuple):
    """Centres (k, d), lattice steps, noisy sizes (k,), and the error bars of both."""

    points: Floats
    sizes: Floats
    errors: Errors | None


def lloyd_step(curator: Curator, points: Floats, share: Share, noise: str) -> Step:
    """Move centres (k, d), lattice steps, to the noisy means."""
    return move_to_means(curator, nearest_to(points), points, share, noise)


def move_to_means(
    curator: Curator, cells: Nearest | NearestInProjection, points: Floats, share: Share, noise: str
) -> Step:
    """Move the point of every cell to the noisy mean of its rows.

    points: (k, d), lattice steps. Where a noisy count is below its noise_std the point stays.
    """
    if noise == "cube":
        totals = curator.sums(cells, share=share, joint=True)
    else:
        ratio = ratio_of_shares(noise, curator.box.n_features)
        count_share, sum_share = share.split(*ratio)
        totals = curator.sums(cells, share=sum_share, counts=count_share)
    sizes = totals.sizes.values
    enough = sizes > max(1.0, totals.sizes.noise_std)
    means = totals.sums.values / np.where(enough, sizes, 1.0)[:, None]
    moved = np.where(enough[:, None], np.clip(means, -REACH, REACH), points)
    return Step(moved, sizes, step_errors(totals, points, noise))


def step_errors(totals: CellTotals, points: Floats, noise: str) -> Errors:
    """Error bars of means and sizes of cells; where a count says nothing points (k, d) stay."""
    law: Law = "cube" if noise == "cube" else "gaussian" if noise == "gaussian" else "laplace"
    counts, d = NoisyCounts(totals.sizes.values, totals.sizes.noise_std), points.shape[1]
    values, stds = of_ratio(
        totals.sums.values, totals.sums.noise_std, counts, start=np.zeros(1), widest=2.0 * REACH
    )
    values = np.where(counts.known > 0, values, points)
    sizes = Estimate(counts.values, np.full(len(points), counts.std), law, d)
    return Errors(Estimate(values, stds, law, d), sizes)
