"""Hybrid: EUGkM, refined by one noisy Lloyd step where that is predicted to help.

Su, Cao, Li, Bertino, Jin. Differentially private k-means clustering. CODASPY 2016, §6. Departs from
it: the number of rows is bought unless declared, and the step has joint cube noise by default.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.budget import Account, Caps
from sfumato.curator.curator import Curator
from sfumato.methods.base import Centers, Task
from sfumato.methods.dplloyd import RHO, check_choice, lloyd_step
from sfumato.methods.eugkm import EUGkM, check_dimension
from sfumato.methods.formulas import hybrid_threshold
from sfumato.methods.population import size_and_rest
from sfumato.synopsis.choice import Criterion

StepNoise = Literal["cube", "laplace"]

# Outside, the noise of a step might be refused when the grid has been paid for.
_LEAST, _MOST = Fraction(1, 10**6), 10**4


@dataclass(frozen=True)
class Hybrid:
    """Half of the budget on EUGkM and half on a Lloyd step, if ε is above a public threshold."""

    rho: float = RHO
    theta: float = 10.0
    n_starts: int = 30
    noise: StepNoise = "cube"
    k_range: tuple[int, int] = (2, 20)
    k_by: Criterion = "elbow"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k_range", self.first.k_range)
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
        # Su et al. 2015, Eqs. 14 and 15.
        refines = task.epsilon >= threshold and _LEAST <= task.epsilon <= _MOST
        shares = rest.evenly(2) if refines else (rest,)
        found = self.first.on_grid(curator, task, n, shares[0], rng)
        chosen = "EUGkM, then one Lloyd step" if refines else "EUGkM alone"
        notes = (*found.notes, f"{chosen}: {_reason(task, n, threshold)}")
        if not refines:
            return replace(found, notes=notes)
        points, sizes = lloyd_step(curator, found.points, shares[1], self.noise)
        return replace(found, points=points, sizes=sizes, notes=notes)

    @property
    def first(self) -> EUGkM:
        """The first half: the same grid, starts and choice of k."""
        return EUGkM(self.theta, self.n_starts, self.k_range, self.k_by)


def _reason(task: Task, n: float, threshold: float) -> str:
    most = "at most " if task.choose_k else ""
    return (
        f"a step pays from ε = {max(threshold, float(_LEAST)):.3g} to {_MOST:.3g} for "
        f"{most}{task.k} clusters in about {n:,.0f} rows, and ε is {float(task.epsilon):.3g}"
    )
