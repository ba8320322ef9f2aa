"""How far the samplers can be from their laws: upper bounds, in statistical distance, per call.

A mechanism that is epsilon-DP with its exact law is (epsilon, delta)-DP with the sampler, where
delta is at most (1 + e^epsilon) times the slack: `guarantee.finite_precision_delta`, which receipts
state. Derivations: docs/proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sfumato._core.sampling.additive import digit_probabilities

_GEOMETRIC = 2.0**-127
_UNSETTLED = 2.0**-800


def _counter_mode(blocks: float) -> float:
    """Distance of that many blocks of one random permutation from fair coin flips."""
    return blocks**2 * 2.0**-129


def laplace_slack(size: int) -> float:
    """Bound the distance of `size` draws of discrete Laplace noise from their law."""
    # A geometric per proposal and at most two proposals per draw on average. A proposal reads at
    # most 8 blocks; the root mean square of the proposals for n draws is at most n sqrt(6).
    return 2.0 * size * _GEOMETRIC + _counter_mode(20.0 * size)


def gaussian_slack(size: int) -> float:
    """Bound the distance of `size` draws of rounded Gaussian noise from their law."""
    # A pair of draws reads one block in order and, where it is settled, two for each uniform.
    return size * _UNSETTLED + _counter_mode(4.0 * (size + 1))


def cube_slack(scale: Fraction, rows: int, dim: int) -> float:
    """Bound the distance of `rows` rows of cube noise from their law."""
    tries = math.exp(dim / (2 * float(scale)))
    digits = len(digit_probabilities(scale))
    per_proposal = (dim + 1) * (digits + 1) / 8 + 3
    blocks = 3 * rows * tries * per_proposal + rows * (3 * dim + 1)
    return rows * (dim + 1) * tries * _GEOMETRIC + rows * dim * _UNSETTLED + _counter_mode(blocks)


def ball_slack(rows: int, dim: int) -> float:
    """Bound the distance of `rows` rows of rounded ball noise from their law."""
    # A row takes at most 2 dim + 3 uniform numbers: half a block each in order and, where it is
    # settled, two more.
    return rows * _UNSETTLED + _counter_mode(3.0 * rows * (2 * dim + 3))


def cylinder_slack(lines: int, dim: int) -> float:
    """Bound the distance of `lines` lines of a count and `dim` sums from their law."""
    return lines * _UNSETTLED + _counter_mode(3.0 * lines * (2 * dim + 5))


def selection_slack(candidates: int) -> float:
    """Bound the distance of one selection among `candidates` from its law."""
    return (candidates + 1) * _UNSETTLED + _counter_mode(3.0 * (candidates + 1))


def pieces_slack(cells: int) -> float:
    """Bound the distance of local reports of so many cells from their law."""
    # A cell takes at most seven uniform numbers: half a block each in order and, where it is
    # settled, three more. A cell of Duchi's takes one, and few bits for signs.
    return 7.0 * cells * _UNSETTLED + _counter_mode(25.0 * cells)


def staircase_slack(size: int) -> float:
    """Bound the distance of `size` draws of staircase noise from their law."""
    # Two geometric numbers, a coin whose chance is rounded to 2^-256, a uniform number.
    return 2.0 * size * (_GEOMETRIC + 2.0**-256) + _counter_mode(24.0 * size)
