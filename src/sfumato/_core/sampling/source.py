"""Integer noise: the one secure source."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sfumato._base.types import Ints
from sfumato._core.sampling import additive, joint
from sfumato._core.sampling.stream import Stream


class Noise:
    """Where the curator gets its noise from: five distributions, each call on its own stream."""

    replayable: bool
    """Whether the draws can be repeated, which noise on real data must never be."""

    def stream(self) -> Stream:
        """Return new random bits for one mechanism call."""
        return Stream()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        """Draw integers with P(z) proportional to exp(-|z| / scale).

        Guarantee: `additive.laplace`, within `laplace_slack(size)`.
        """
        return additive.laplace(self.stream(), scale, size)

    def gaussian(self, sigma: Fraction, size: int) -> Ints:
        """Draw the nearest integers to N(0, sigma^2).

        Guarantee: `additive.gaussian`, within `gaussian_slack(size)`.
        """
        return additive.gaussian(self.stream(), sigma, size)

    def cube(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Draw rows of integers with P(z) proportional to exp(-max|z_i| / scale).

        Guarantee: `additive.cube`, within `cube_slack(scale, rows, dim)`.
        """
        return additive.cube(self.stream(), scale, rows, dim)

    def ball(self, scale: Fraction, rows: int, dim: int) -> Ints:
        """Draw rows of the nearest integers to a density exp(-|z|_2 / scale).

        Guarantee: `joint.ball`, within `ball_slack(rows, dim)`.
        """
        return joint.ball(self.stream(), scale, rows, dim)

    def cylinder(self, scales: Sequence[Fraction], height: Fraction, dim: int) -> Ints:
        """Draw lines (b, a), nearest to a density exp(-max(|a|_2 / scales[j], |b| / height)).

        Guarantee: `joint.cylinder`, within `cylinder_slack(len(scales), dim)`.
        """
        return joint.cylinder(self.stream(), scales, height, dim)


class SecureNoise(Noise):
    """Noise for real data: every call has a new key from the operating system.

    Guarantee: no key outlives a call, so none survives a fork, a copy or a pickle, and no two calls
    share a bit. How long a call takes depends on what it drew: never publish its timing.
    """

    replayable = False
