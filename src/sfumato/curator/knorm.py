"""Joint noise on whole lines of an answer, shaped like what one row can do to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

from sfumato.box import Ints
from sfumato.budget import Share
from sfumato.curator import noise as laws
from sfumato.gdp import root_above

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Ball:
    """Joint noise on every line of an answer: the nearest integers to exp(−‖z‖₂ / scale).

    Guarantee: ε-DP for an answer of which one neighbour moves lines by at most ε·scale in all,
    each measured in L2.
    """

    scale: Fraction

    @classmethod
    def fitting(cls, share: Share, l2_squared: int | Fraction) -> Ball:
        """Calibrate to a pure share: scale ≥ L2 sensitivity / ε, rounded up to a fraction."""
        return cls(root_above(Fraction(l2_squared) / share.amount**2))

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale or a dimension that cannot be drawn."""
        laws.check_ball(self.scale, shape[-1])

    def std_in(self, dim: int) -> float:
        """Standard deviation of one of `dim` entries of a line, rounding included."""
        return sqrt((dim + 1) * float(self.scale) ** 2 + 1 / 12)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its law, for one answer."""
        return laws.ball_slack(prod(shape[:-1]), shape[-1])

    def draw(self, noise: laws.Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape; the last axis is the line."""
        return noise.ball(self.scale, prod(shape[:-1]), shape[-1]).reshape(shape)


@dataclass(frozen=True)
class Cylinder:
    """Joint noise on lines (count b, sums a): exp(−max(‖a‖₂ / scales[j], |b| / height)), rounded.

    Guarantee: ε-DP for an answer of which one neighbour moves lines by at most ε in all, line j
    measured by the larger of ‖a‖₂ / scales[j] and |b| / height.
    """

    scales: tuple[Fraction, ...]
    height: Fraction

    @classmethod
    def fitting(cls, share: Share, radii: Sequence[int], rows: int) -> Cylinder:
        """Calibrate to a pure share: each of `rows` rows moves a line j by (1, radii[j])."""
        height = Fraction(rows) / share.amount
        return cls(tuple(height * int(radius) for radius in radii), height)

    @property
    def scale(self) -> Fraction:
        """The largest scale of the sums."""
        return max(self.scales)

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, scales or a dimension that cannot be drawn."""
        one_scale_per_line(self.scales, shape)
        laws.check_cylinder(self.scales, self.height, shape[1] - 1)

    def std_in(self, dim: int) -> float:
        """Standard deviation of one of `dim` sums of the widest line, rounding included."""
        return sqrt((dim + 3) * float(self.scale) ** 2 + 1 / 12)

    def count_std_in(self, dim: int) -> float:
        """Standard deviation of the count beside `dim` sums, rounding included."""
        return sqrt((dim + 2) * (dim + 3) / 3 * float(self.height) ** 2 + 1 / 12)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its law, for one answer."""
        return laws.cylinder_slack(shape[0], shape[1] - 1)

    def draw(self, noise: laws.Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape."""
        return noise.cylinder(self.scales, self.height, shape[1] - 1)


def one_scale_per_line(scales: Sequence[Fraction], shape: Shape) -> None:
    """Refuse scales that don't match the lines of an answer."""
    if len(shape) != 2 or len(scales) != shape[0]:
        raise ValueError(f"{len(scales)} scales for an answer of shape {shape}: one per line")
