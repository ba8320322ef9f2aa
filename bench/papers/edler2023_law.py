"""Tables 5.6 and 5.7 of Edler 2023: how often the better of two is chosen, as printed and here."""

from __future__ import annotations

import math

import numpy as np

from bench.papers.edler2023_numbers import Place, place
from bench.utility_data import Sample

GOOD, BAD = 4_000_000.0, 5_000_000.0
BEFORE = 4_500_000.0
SWAPS = 10
RANGE = 255.0
EPSILONS = (0.01, 0.1, 1.0, 2.0)
PARTS = ("table5.6", "table5.7")
_PROJECTIONS = 5


def weight(loss: float, epsilon: float) -> float:
    """The weight that lines 12 and 16 of Algorithm 4 give to a loss, as printed."""
    return math.exp(-epsilon * loss / (2 * (SWAPS + 1) * RANGE**2))


def printed(part: str) -> dict[Place, float]:
    """The table again, from the formula and the losses that the thesis gives."""
    found = {}
    for epsilon in EPSILONS:
        base = BEFORE if part == "table5.6" else 0.0
        good, bad = weight(GOOD - base, epsilon), weight(BAD - base, epsilon)
        numbers = {"good": good, "bad": bad, "share": good / (good + bad)}
        found |= {place(name, f"{epsilon:g}"): value for name, value in numbers.items()}
    return found


def corrected(gap: float) -> dict[Place, float]:
    """The share of the good one here, for a gap between both in squared diameters of the ball.

    Weights are exp(−ε₀·loss/Δ) with ε₀ = ε/(swaps + 1): losses are monotone, nothing is halved.
    """
    return {
        place("corrected", f"{epsilon:g}"): 1 / (1 + math.exp(-epsilon / (SWAPS + 1) * gap))
        for epsilon in EPSILONS
    }


def gap_of(data: Sample, k: int = 10) -> float:
    """The thesis's gap, two ninths of a loss, on these rows: the mean of several projections.

    The loss is that of k rows as centres, seen in ln(n)/2 random directions inside the ball that
    holds the whole cube, and counted in squared diameters of the ball.
    """
    n, d = data.cube.shape
    p = int(math.log(n) / 2)
    losses = []
    for seed in range(_PROJECTIONS):
        rng = np.random.default_rng([56, seed])
        low = data.cube @ rng.normal(0, 1 / math.sqrt(p), (d, p))
        chosen = low[rng.choice(n, k, replace=False)]
        squared = np.square(low[:, None] - chosen).sum(axis=2).min(axis=1)
        losses.append(float(squared.sum()) / (4 * d))
    return (BAD - GOOD) / BEFORE * float(np.mean(losses))
