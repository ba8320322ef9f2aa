"""Predicted errors of the methods of Su et al. 2015, before any row is read.

Everything is in the cube [−1, 1]^d (r = 1), for k clusters of n/k rows each. An error is the mean
squared distance between a private centre and the one it stands for. No rows, or no budget, is the
limit: an infinite error, no cells.
"""

from __future__ import annotations

import math

# Su et al. 2015, Eq. 7: a centre lies about 2·ρ·r from the middle in each dimension.
RHO = 0.225

THETA = 10.0
"""Eq. 4's constant: what a cell's noise weighs against its width."""


def eug_cells(n: float, d: int, epsilon: float, theta: float = THETA) -> float:
    """Eq. 4: the number of grid cells, (nε/θ)^(2d/(2+d)), before rounding."""
    return _power(max(n, 0) * epsilon / theta, 2 * d / (2 + d))


def dplloyd_mse(
    n: float, d: int, k: int, epsilon: float, iterations: int = 5, rho: float = RHO
) -> float:
    """Eqs. 7 and 11: the error of a centre of DPLloyd after its last iteration.

    2d(1 + (2ρ)²)·(k·t·(d + 1)/(nε))²: the same Laplace noise on the count and on every sum.
    """
    return step_mse(n, k, epsilon / iterations, 2 * d * (1 + (2 * rho) ** 2) * (d + 1) ** 2)


def step_mse(n: float, k: int, budget: float, weight: float) -> float:
    """The error of a centre after one noisy step with this `budget`, an ε or a μ.

    `weight` is the error × count² at a budget of 1: `_dplloyd.noise_error`, or Eq. 7's constants.
    """
    return weight * _power(_over(k, n, budget), 2)


def eugkm_variance(n: float, d: int, k: int, epsilon: float, cells: float) -> float:
    """Eq. 9: the error that the noise on `cells` counts brings, 2dM·k^((d−2)/d)/(3n²ε²)."""
    spread = _power(_over(math.sqrt(max(cells, 0)), n, epsilon), 2)
    return 2 * d * _power(k, (d - 2) / d) * spread / 3


def eugkm_bias(d: int, cells: float) -> float:
    """Eq. 10: the most that moving rows to the middle of their cell can bring, d/M^(2/d)."""
    return _power(_over(math.sqrt(d), _power(max(cells, 0), 1 / d)), 2)


def eugkm_mse(n: float, d: int, k: int, epsilon: float, cells: float | None = None) -> float:
    """Eqs. 9 and 10 together: an upper bound on the error of EUGkM.

    Without `cells` the grid is Eq. 4's, and the first term is Eq. 12.
    """
    cells = eug_cells(n, d, epsilon) if cells is None else cells
    return eugkm_variance(n, d, k, epsilon, cells) + eugkm_bias(d, cells)


def hybrid_mse(n: float, d: int, k: int, epsilon: float, rho: float = RHO) -> float:
    """Eq. 13: the error of Hybrid where it refines, one DPLloyd iteration with ε/2."""
    return dplloyd_mse(n, d, k, epsilon / 2, 1, rho)


def hybrid_threshold(n: float, d: int, k: int, rho: float = RHO) -> float:
    """Eq. 15: the ε from which Hybrid refines, (X/Y)^((2+d)/(2d)).

    There Eq. 13 has come down to Eq. 12. It is a constant of d and k, divided by n.
    """
    x = hybrid_mse(1, d, k, 1, rho)
    y = eugkm_variance(1, d, k, 1, eug_cells(1, d, 1))
    return _over(_power(x / y, (2 + d) / (2 * d)), n)


def gkm_noise(n: float, d: int, k: int, epsilon: float, blocks: float | None = None) -> float:
    """Eq. 3: the squared error of a centre that the noise of GkM brings, 2d·(2·2·k·d/(ℓε))².

    The range of the block outputs is taken as the full width 2. Without `blocks` ℓ is n^0.4. What
    averaging the centres of blocks brings is not included.
    """
    blocks = _power(max(n, 0), 0.4) if blocks is None else blocks
    return 2 * d * _power(_over(4 * k * d, blocks, epsilon), 2)


def _over(number: float, *parts: float) -> float:
    """Divide by parts that are not negative; by nothing at all it is infinite."""
    for part in parts:
        number = number / part if part > 0 else math.inf
    return number


def _power(base: float, exponent: float) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf
