"""Parallel DPLloyd with halving shares and a stop on noisy movement.

Sukpisit, Skrbic, Jakovetic. Parallel differentially private k-means implementation using COMPSs
framework. 2019.
Departs from it: iteration i spends ε·2^-i on counts and sums together, so that the sum is ε; the
start looks at no data; noise is added once, after the partitions are merged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.box import REACH
from sfumato.budget import Account, Caps
from sfumato.curator.curator import Curator
from sfumato.methods.base import Centers, Task
from sfumato.methods.dplloyd import (
    NoiseChoice,
    check_choice,
    choose_noise,
    currency,
    law_of,
    lloyd_step,
    one_currency,
    weights,
)
from sfumato.methods.starts import sphere_packing
from sfumato.parameters import check_whole


@dataclass(frozen=True)
class Sukpisit:
    """Noisy Lloyd steps, each with half of what is left, until the centres hold still.

    `tol` is the largest move of a noisy centre, as a part of the box's half-width, that counts as
    standing still. What an early stop leaves unspent is not given back.
    """

    max_iter: int = 5
    tol: float = 1e-3
    noise: NoiseChoice = "auto"

    def __post_init__(self) -> None:
        check_whole(self.max_iter, "max_iter")
        check_choice(self.noise, NoiseChoice, "noise")
        if not 0 <= self.tol < float("inf"):
            raise ValueError(f"tol must be a number of at least 0, got {self.tol!r}")

    def caps(self, task: Task) -> Caps:
        """All of the budget in the one currency of the noise."""
        return one_currency(choose_noise(self.noise, self.max_iter, task), task)

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Step until the noisy centres hold still or the shares are used up."""
        points = sphere_packing(task.k, task.n_features, rng)
        law = law_of(self.noise, account)
        shares = account.rest(currency(law)).split(*weights("halving", self.max_iter))
        taken, still = 0, False
        while taken < len(shares) and not still:
            moved, sizes = lloyd_step(curator, points, shares[taken], law)
            still = bool(np.abs(moved - points).max() <= self.tol * REACH)
            points, taken = moved, taken + 1
        return Centers(points, sizes, (f"{taken} of {self.max_iter} iterations, {law} noise",))
