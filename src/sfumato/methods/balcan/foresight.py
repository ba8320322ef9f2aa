"""What Balcan et al. is expected to do, before any row is read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.gdp import mu2_of
from sfumato.methods.auto.foresight import Foresight
from sfumato.methods.balcan.partition import most_cubes, together
from sfumato.methods.base import Task
from sfumato.methods.dplloyd import noise_error
from sfumato.methods.formulas import step_mse
from sfumato.methods.population import SLICE

if TYPE_CHECKING:
    from sfumato.methods.balcan import Balcan

_NUMBER = 8


def foresee(method: Balcan, task: Task, n: float) -> Foresight:
    """Follow the public rules with n rows, to the noise of the last average.

    What partitions leave unspent makes that noise smaller, and passes fewer.
    """
    caps, sizes, parts = method.division(task), method.sizes(task, n), method.parts()
    counted = task.n_rows is None
    last = parts.steps(sizes.rounds)[-1] / sizes.runs
    if caps.delta:
        law, budget = "gaussian", math.sqrt(mu2_of(*caps.gaussian) * last / parts.averages)
    else:
        law = "laplace" if method.noise == "laplace" else "cube"
        budget = float(task.epsilon * last * (1 - SLICE) ** counted)
    error = step_mse(n, task.k, budget, noise_error(law, task.n_features))
    cut = min(sizes.partitions, together(sizes.dimensions)) * most_cubes(sizes.dimensions)
    children = cut << sizes.dimensions
    numbers = task.k * (task.n_features + 1) + children * (sizes.dimensions + 2)
    memory = 3 * _NUMBER * numbers
    note = (
        f"up to {sizes.passes:,} passes in {sizes.dimensions} dimensions, then averages with "
        f"{law} noise; without the error of the search"
    )
    return Foresight(error, memory, sizes.passes + counted, note)
