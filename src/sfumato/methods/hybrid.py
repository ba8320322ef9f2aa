"""Hybrid: EUGkM, refined by one noisy Lloyd step where that is predicted to help.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §6. Departs from
it: the number of rows is bought unless declared, and the step has joint cube noise by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.budget import Account, Caps
from sfumato.curator.curator import Curator
from sfumato.methods.base import Centers, Task
from sfumato.methods.dplloyd import RHO, check_choice, lloyd_step
from sfumato.methods.eugkm import EUGkM, check_dimension
from sfumato.methods.formulas import hybrid_threshold
from sfumato.methods.population import size_and_rest

StepNoise = Literal["cube", "laplace"]


@dataclass(frozen=True)
class Hybrid:
    """Half of the budget on EUGkM and half on a Lloyd step, if ε is above a public threshold."""

    rho: float = RHO
    theta: float = 10.0
    n_starts: int = 30
    noise: StepNoise = "cube"

    def __post_init__(self) -> None:
        EUGkM(self.theta, self.n_starts)
        check_choice(self.noise, StepNoise, "noise")
        if not 0 <= self.rho <= 0.5:
            raise ValueError(f"rho must lie in [0, 0.5], got {self.rho!r}")

    def caps(self, task: Task) -> Caps:
        """All of the budget is pure."""
        check_dimension(task)
        return Caps(pure=task.epsilon)

    def __call__(
        self, curator: Curator, task: Task, *, account: Account, rng: np.random.Generator
    ) -> Centers:
        """Buy the number of rows, decide by it, then ask."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        threshold = hybrid_threshold(n, task.n_features, task.k, self.rho)
        grid = EUGkM(self.theta, self.n_starts)
        because = f"ε = {float(task.epsilon):.4g} against the threshold {threshold:.4g}"
        # Su et al. 2015, Eqs. 14 and 15.
        if task.epsilon < threshold:
            found = grid.on_grid(curator, task, n, rest, rng)
            return Centers(found.points, found.sizes, (*found.notes, f"EUGkM alone: {because}"))
        for_grid, for_step = rest.evenly(2)
        found = grid.on_grid(curator, task, n, for_grid, rng)
        points, sizes = lloyd_step(curator, found.points, for_step, self.noise)
        return Centers(points, sizes, (*found.notes, f"EUGkM and one Lloyd step: {because}"))
