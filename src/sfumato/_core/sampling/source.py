"""Integer noise: the one secure source, and its stand-ins for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from typing import Protocol

import numpy as np

from sfumato._base.types import Ints
from sfumato._core.sampling import additive as samplers
from sfumato._core.sampling import joint as rounded
from sfumato._core.sampling.additive import MAX_DIM, MAX_SCALE, check_cube, check_scale
from sfumato._core.sampling.joint import MAX_ROUND_DIM, check_ball, check_cylinder
from sfumato._core.sampling.slack import (
    ball_slack,
    cube_slack,
    cylinder_slack,
    gaussian_slack,
    laplace_slack,
    selection_slack,
)
from sfumato._core.sampling.stream import Stream

__all__ = [
    "MAX_DIM",
    "MAX_ROUND_DIM",
    "MAX_SCALE",
    "NoNoise",
    "Noise",
    "ReplayedNoise",
    "SecureNoise",
    "ball_slack",
    "check_ball",
    "check_cube",
    "check_cylinder",
    "check_scale",
    "cube_slack",
    "cylinder_slack",
    "gaussian_slack",
    "laplace_slack",
    "selection_slack",
]


class Noise(Protocol):
    """Where the curator gets its noise from."""

    @property
    def replayable(self) -> bool:
        """Whether the draws can be repeated, which noise on real data must never be."""

    def stream(self) -> Stream | None:
        """Return new random bits for one mechanism call; None stands for no noise at all."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        """Draw integers with P(z) proportional to exp(-|z| / scale)."""

    def gaussian(self, sigma: Fraction, size: int) -> Ints:
        """Draw the nearest integers to N(0, sigma^2)."""

    def cube(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Draw rows of integers with P(z) proportional to exp(-max|z_i| / scale)."""

    def ball(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Draw rows of the nearest integers to a density exp(-|z|_2 / scale)."""

    def cylinder(self, scales: Sequence[Fraction], height: Fraction, dim: int) -> Ints:
        """Draw lines (b, a), nearest to a density exp(-max(|a|_2 / scales[j], |b| / height))."""


class _Drawn:
    """The five laws, each call on a stream of its own."""

    def stream(self) -> Stream:
        """Return new random bits for one mechanism call."""
        return Stream()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        """Draw integers with P(z) proportional to exp(-|z| / scale).

        Guarantee: `samplers.laplace`, within `laplace_slack(size)`.
        """
        return samplers.laplace(self.stream(), scale, size)

    def gaussian(self, sigma: Fraction, size: int) -> Ints:
        """Draw the nearest integers to N(0, sigma^2).

        Guarantee: `samplers.gaussian`, within `gaussian_slack(size)`.
        """
        return samplers.gaussian(self.stream(), sigma, size)

    def cube(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Draw rows of integers with P(z) proportional to exp(-max|z_i| / scale).

        Guarantee: `samplers.cube`, within `cube_slack(scale, rows, dim)`.
        """
        return samplers.cube(self.stream(), scale, rows, dim)

    def ball(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Draw rows of the nearest integers to a density exp(-|z|_2 / scale).

        Guarantee: `rounded.ball`, within `ball_slack(rows, dim)`.
        """
        return rounded.ball(self.stream(), scale, rows, dim)

    def cylinder(self, scales: Sequence[Fraction], height: Fraction, dim: int) -> Ints:
        """Draw lines (b, a), nearest to a density exp(-max(|a|_2 / scales[j], |b| / height)).

        Guarantee: `rounded.cylinder`, within `cylinder_slack(len(scales), dim)`.
        """
        return rounded.cylinder(self.stream(), scales, height, dim)


class SecureNoise(_Drawn):
    """Noise for real data: every call has a new key from the operating system.

    Guarantee: no key outlives a call, so none survives a fork, a copy or a pickle, and no two calls
    share a bit. How long a call takes depends on what it drew: never publish its timing.
    """

    replayable = False


class ReplayedNoise(_Drawn):
    """Noise for tests: the same key gives the same draws in the same order of calls.

    Guarantee: none. Whoever knows the key can take the noise off again.
    """

    replayable = True

    def __init__(self, key: bytes | int) -> None:
        self._key = key.to_bytes(32, "big") if isinstance(key, int) else key
        self._calls = count()

    def stream(self) -> Stream:
        """Return the random bits of the next call."""
        number = next(self._calls).to_bytes(8, "big")
        return Stream(hashlib.sha256(self._key + number).digest())


class NoNoise:
    """Zeros, so that tests can compare exact answers; a selection takes the first of the best.

    Guarantee: none. What comes out is as raw as what went in.
    """

    replayable = True

    def stream(self) -> None:
        """Return no random bits."""

    def laplace(self, scale: Fraction, size: int) -> Ints:
        """Return zeros for a scale that could be drawn."""
        check_scale(scale)
        return np.zeros(size, np.int64)

    def gaussian(self, sigma: Fraction, size: int) -> Ints:
        """Return zeros for a scale that could be drawn."""
        check_scale(sigma)
        return np.zeros(size, np.int64)

    def cube(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Return zeros for a scale and a dimension that could be drawn."""
        check_cube(scale, dim)
        return np.zeros((rows, dim), np.int64)

    def ball(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Return zeros for a scale and a dimension that could be drawn."""
        check_ball(scale, dim)
        return np.zeros((rows, dim), np.int64)

    def cylinder(self, scales: Sequence[Fraction], height: Fraction, dim: int) -> Ints:
        """Return zeros for scales and a dimension that could be drawn."""
        check_cylinder(scales, height, dim)
        return np.zeros((len(scales), dim + 1), np.int64)
