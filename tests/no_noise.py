"""No noise at all, so that tests can compare exact answers."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato._base.types import Ints
from sfumato._core.sampling.additive import check_cube, check_scale
from sfumato._core.sampling.joint import check_ball, check_cylinder
from sfumato._core.sampling.source import Noise


class NoNoise(Noise):
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
