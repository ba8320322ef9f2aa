"""k-prototypes with noise: Lloyd steps on rows of numbers and categories, the plain way.

Huang. Extensions to the k-means algorithm for clustering large data sets with categorical values.
Data Mining and Knowledge Discovery 2, 1998. Noise as in DPLloyd (Su et al. 2016, §4.1.1).
Departs from it: a centre has shares of all levels of a category, not the most frequent one alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.types import Floats, Rng
from sfumato._base.validation import check_whole
from sfumato._core.curator import Answer, Curator
from sfumato._core.queries.breakdown import Breakdown
from sfumato._lattice.box import REACH
from sfumato._synopsis.signed_kmeans import sphere_packing
from sfumato._uncertainty import Errors, Estimate, Law, NoisyCounts, of_ratio
from sfumato.methods._auto.budget import exact
from sfumato.methods._auto.levels import (
    Division,
    coordinates_of,
    distributions,
    n_numbers,
    unclipped,
)
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
from sfumato.methods._dplloyd import MAX_STEPS, Step, currency, lloyd_step, noise_error
from sfumato.methods.formulas import step_mse


@dataclass(frozen=True)
class KPrototypes:
    """A fixed number of noisy Lloyd steps: sums of numbers, counts of the levels of categories.

    The start looks at no data. Without categories counts are those of the clusters.
    """

    iterations: int = 5

    def __post_init__(self) -> None:
        check_whole(self.iterations, "iterations", most=MAX_STEPS)

    def caps(self, task: Task) -> Caps:
        """All of the budget for Laplace noise, or for Gaussian noise where δ makes it smaller."""
        check_amount(task)
        if self._noise(task) == "gaussian":
            return Caps(gaussian=(task.epsilon, task.delta))
        return Caps(pure=task.epsilon)

    def _noise(self, task: Task) -> str:
        errors = _error(task, "laplace"), _error(task, "gaussian")
        smaller = gaussian_is_smaller(task.epsilon, task.delta, self.iterations, errors)
        return "gaussian" if smaller else "laplace"

    def predict(self, task: PlannedTask) -> Prediction:
        """The noise of the last step."""
        noise = self._noise(task)
        if noise == "gaussian":
            budget = math.sqrt(mu2_of(task.epsilon, task.delta) / self.iterations)
        else:
            budget = float(task.epsilon) / self.iterations
        error = step_mse(task.n, task.k, budget, _error(task, noise))
        note = f"{self.iterations} iterations with {noise} noise, from a data-independent start"
        memory = 3 * NUMBER * task.k * (task.n_features + 1)
        passes = self.iterations * (2 if task.levels and n_numbers(task) else 1)
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Centers:
        """Step until the shares are used up."""
        noise = "gaussian" if account.caps.gaussian[1] else "laplace"
        points = distributions(sphere_packing(task.k, task.n_features, rng), task.levels)
        step = Step(points, np.zeros(task.k), None)
        for share in account.rest(currency(noise)).evenly(self.iterations):
            if task.levels:
                step = _mixed_step(curator, step.points, share, task, noise)
            else:
                step = lloyd_step(curator, step.points, share, noise)
        note = f"{self.iterations} iterations, {noise} noise"
        return Centers(step.points, step.sizes, (note,), errors=step.errors)


def _error(task: Task, noise: str) -> float:
    """Expected squared error of a centre × count², for ε = 1 or μ = 1, in half widths."""
    if not task.levels:
        return noise_error(noise, task.n_features)
    return unclipped(task, pure=noise == "laplace").error


def _mixed_step(curator: Curator, points: Floats, share: Share, task: Task, noise: str) -> Step:
    """Move centres (k, d) to the noisy means of numbers and shares of levels, where rows are."""
    q, cells = n_numbers(task), nearest_to(points)
    numbers = Answer(np.empty((task.k, 0)), 0.0)
    if q:
        division: Division = unclipped(task, pure=noise == "laplace")
        part = exact(division.first)
        for_sums, share = share.split(part, 1 - part)
        numbers = curator.sums(cells, share=for_sums, columns=q).sums
    counts = curator.breakdown(Breakdown(cells, task.levels), share=share)
    sizes = _sizes(counts)
    enough = sizes.values > max(1.0, sizes.noise_std)
    rows = np.where(enough, sizes.values, 1.0)[:, None]
    moved = np.empty_like(points)
    moved[:, :q] = np.clip(numbers.values / rows, -REACH, REACH)
    for one, answer in zip(task.levels, counts, strict=True):
        held = np.maximum(answer.values, 0.0)
        total = held.sum(axis=1, keepdims=True)
        # Where noise left nothing of a category, all of its levels are alike.
        shares = np.where(total > 0, held / np.where(total > 0, total, 1), 1 / one.width)
        moved[:, one.start : one.end] = coordinates_of(shares, one)
    errors = _errors(numbers, counts, points, task, noise)
    return Step(np.where(enough[:, None], moved, points), sizes.values, errors)


def _errors(
    numbers: Answer, counts: list[Answer], points: Floats, task: Task, noise: str
) -> Errors:
    """Error bars of a step; shares of a category are over the rows that have it."""
    law: Law = "gaussian" if noise == "gaussian" else "laplace"
    sizes, zero = _sizes(counts), np.zeros((1, 1))
    rows = NoisyCounts(sizes.values, sizes.noise_std)
    found = [of_ratio(numbers.values, numbers.noise_std, rows, start=zero, widest=2.0 * REACH)]
    for one, answer in zip(task.levels, counts, strict=True):
        held = NoisyCounts(answer.values.sum(axis=1), answer.noise_std * math.sqrt(one.width))
        part, stds = of_ratio(answer.values, answer.noise_std, held, start=zero, widest=1.0)
        found.append((coordinates_of(part, one), 2 * one.high * stds))
    values, stds = (np.hstack([each[i] for each in found]) for i in (0, 1))
    # Where a count says nothing, centres stay where they were.
    values = np.where(rows.known > 0, values, points)
    size_bars = Estimate(sizes.values, np.full(len(points), sizes.noise_std), "gaussian")
    return Errors(Estimate(values, stds, law), size_bars)


def _sizes(counts: list[Answer]) -> Answer:
    """Rows of every cell by the category with the fewest levels, whose sum has the least noise."""
    fewest = min(counts, key=lambda answer: answer.values.shape[1]).values
    return Answer(fewest.sum(axis=1), counts[0].noise_std * math.sqrt(fewest.shape[1]))
