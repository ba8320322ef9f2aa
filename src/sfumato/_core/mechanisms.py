"""Noise mechanisms with their scales: what turns an exact integer answer into a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt
from typing import Literal

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._accounting.gaussian_dp import root_above, root_below
from sfumato._base.types import Ints
from sfumato._core.queries.cells import Sensitivity
from sfumato._core.sampling.additive import (
    check_cube,
    check_scale,
    cube_slack,
    gaussian_slack,
    laplace_slack,
)
from sfumato._core.sampling.joint import ball_slack, check_ball, check_cylinder, cylinder_slack
from sfumato._core.sampling.source import Noise
from sfumato._lattice.box import REACH

Shape = tuple[int, ...]


def as_float(scale: Fraction) -> float:
    """A scale of noise for a deviation. One that no float holds is refused by `check`."""
    return float(min(scale, Fraction(2**500)))


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

    def loss(self, l2_squared: int | Fraction) -> Fraction:
        """ε for an answer of which lines move by √l2_squared in all; cut after 60 digits."""
        return root_below(Fraction(l2_squared) / self.scale**2)

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale or a dimension that cannot be drawn."""
        check_ball(self.scale, shape[-1])

    def std_in(self, dim: int) -> float:
        """Standard deviation of one of `dim` entries of a line, rounding included."""
        return sqrt((dim + 1) * as_float(self.scale) ** 2 + 1 / 12)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its distribution, for one answer."""
        return ball_slack(prod(shape[:-1]), shape[-1])

    def draw(self, noise: Noise, shape: Shape) -> Ints:
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

    def loss(self, radii: Sequence[int], rows: int) -> Fraction:
        """ε for `rows` rows that each move one line j by (1, radii[j])."""
        lines = [int(r) / scale for r, scale in zip(radii, self.scales, strict=True)]
        return rows * max(1 / self.height, *lines)

    @property
    def scale(self) -> Fraction:
        """The largest scale of the sums."""
        return max(self.scales)

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, scales or a dimension that cannot be drawn."""
        one_scale_per_line(self.scales, shape)
        check_cylinder(self.scales, self.height, shape[1] - 1)

    def std_in(self, dim: int) -> float:
        """Standard deviation of one of `dim` sums of the widest line, rounding included."""
        return sqrt((dim + 3) * as_float(self.scale) ** 2 + 1 / 12)

    def count_std_in(self, dim: int) -> float:
        """Standard deviation of the count beside `dim` sums, rounding included."""
        return sqrt((dim + 2) * (dim + 3) / 3 * as_float(self.height) ** 2 + 1 / 12)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its distribution, for one answer."""
        return cylinder_slack(shape[0], shape[1] - 1)

    def draw(self, noise: Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape."""
        return noise.cylinder(self.scales, self.height, shape[1] - 1)


def one_scale_per_line(scales: Sequence[Fraction], shape: Shape) -> None:
    """Refuse scales that don't match the lines of an answer."""
    if len(shape) != 2 or len(scales) != shape[0]:
        raise ValueError(f"{len(scales)} scales for an answer of shape {shape}: one per line")


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise on every integer.

    Guarantee: ε-DP for an answer that one neighbour moves by at most ε·scale in L1.
    """

    scale: Fraction

    @classmethod
    def fitting(cls, share: Share, sensitivity: Sensitivity) -> Laplace:
        """Calibrate to a pure share: scale = L1 sensitivity / ε."""
        return cls(Fraction(sensitivity.l1) / share.amount)

    def loss(self, sensitivity: Sensitivity) -> Fraction:
        """ε for an answer of this sensitivity."""
        return Fraction(sensitivity.l1) / self.scale

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale that cannot be drawn."""
        check_scale(self.scale)

    @property
    def std(self) -> float:
        """Standard deviation of one integer."""
        return sqrt(2.0) * as_float(self.scale)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its distribution, for one answer."""
        return laplace_slack(prod(shape))

    def draw(self, noise: Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape."""
        return noise.laplace(self.scale, prod(shape)).reshape(shape)


@dataclass(frozen=True)
class Gaussian:
    """Rounded Gaussian noise on every integer.

    Guarantee: μ-GDP for an answer that one neighbour moves by at most μ·scale in L2.
    """

    scale: Fraction

    @classmethod
    def fitting(cls, share: Share, sensitivity: Sensitivity) -> Gaussian:
        """Calibrate to a share of μ²: σ ≥ L2 sensitivity / μ, rounded up to a fraction."""
        return cls(root_above(sensitivity.l2_squared / share.amount))

    def loss(self, sensitivity: Sensitivity) -> Fraction:
        """μ² for an answer of this sensitivity."""
        return Fraction(sensitivity.l2_squared) / self.scale**2

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale that cannot be drawn."""
        check_scale(self.scale)

    @property
    def std(self) -> float:
        """Standard deviation of one integer, rounding included."""
        return sqrt(as_float(self.scale) ** 2 + 1 / 12)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its distribution, for one answer."""
        return gaussian_slack(prod(shape))

    def draw(self, noise: Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape."""
        return noise.gaussian(self.scale, prod(shape)).reshape(shape)


@dataclass(frozen=True)
class Cube:
    """Joint noise on every line of an answer: P(z) ∝ exp(−‖z‖∞ / scale).

    Guarantee: ε-DP for an answer of which one neighbour moves lines by at most ε·scale in all,
    each measured by its largest entry.
    """

    scale: Fraction

    @classmethod
    def fitting(cls, share: Share, rows: int) -> Cube:
        """Calibrate to a pure share: `rows` rows move (sums, REACH·count) by REACH each."""
        return cls(Fraction(REACH * rows) / share.amount)

    def loss(self, rows: int) -> Fraction:
        """ε for `rows` rows that each move (sums, REACH·count) by REACH."""
        return Fraction(REACH * rows) / self.scale

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale or a dimension that cannot be drawn."""
        check_cube(self.scale, shape[1])

    def std_in(self, dim: int) -> float:
        """Standard deviation of one of `dim` entries of a line."""
        return sqrt((dim + 1) * (dim + 2) / 3) * as_float(self.scale)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its distribution, for one answer."""
        return cube_slack(self.scale, *shape)

    def draw(self, noise: Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape."""
        return noise.cube(self.scale, *shape)


@dataclass(frozen=True)
class PerCellNoise:
    """Noise on every integer on its own, with a scale for each line of an answer.

    Guarantee: with Laplace noise, ε-DP for an answer of which one neighbour moves the lines by at
    most ε in all, line j measured by its L1 norm / scales[j]; with Gaussian noise, μ-GDP if the
    squares of L2 norm / scales[j] add up to at most μ².
    """

    law: Literal["laplace", "gaussian"]
    scales: tuple[Fraction, ...]

    @classmethod
    def fitting(cls, share: Share, sensitivities: Sequence[Sensitivity]) -> PerCellNoise:
        """Calibrate to a share, for neighbours that move one line j by sensitivities[j]."""
        scales = tuple(independent(share, one).scale for one in sensitivities)
        return cls("laplace" if share.kind == "pure" else "gaussian", scales)

    def loss(self, sensitivities: Sequence[Sensitivity]) -> Fraction:
        """ε, or μ², for neighbours that move one line j by sensitivities[j]."""
        pairs = zip(self.scales, sensitivities, strict=True)
        return max(self._alone(scale).loss(one) for scale, one in pairs)

    @property
    def scale(self) -> Fraction:
        """The largest scale."""
        return max(self.scales)

    @property
    def std(self) -> float:
        """Standard deviation of one integer of the widest line."""
        return self._alone(self.scale).std

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, scales that cannot be drawn."""
        one_scale_per_line(self.scales, shape)
        for scale in self._lines_by_scale():
            self._alone(scale).check(shape)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its distribution, for one answer."""
        return sum(
            self._alone(scale).slack((len(lines), *shape[1:]))
            for scale, lines in self._lines_by_scale().items()
        )

    def draw(self, noise: Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape."""
        drawn = np.empty(shape, np.int64)
        for scale, lines in self._lines_by_scale().items():
            drawn[lines] = self._alone(scale).draw(noise, (len(lines), *shape[1:]))
        return drawn

    def _alone(self, scale: Fraction) -> Laplace | Gaussian:
        return Laplace(scale) if self.law == "laplace" else Gaussian(scale)

    def _lines_by_scale(self) -> dict[Fraction, list[int]]:
        found: dict[Fraction, list[int]] = {}
        for line, scale in enumerate(self.scales):
            found.setdefault(scale, []).append(line)
        return found


Mechanism = Laplace | Gaussian | Cube | Ball | Cylinder | PerCellNoise


def independent(share: Share, sensitivity: Sensitivity) -> Laplace | Gaussian:
    """Noise on every integer on its own, by the currency of the share."""
    if share.kind == "pure":
        return Laplace.fitting(share, sensitivity)
    if share.kind == "gdp":
        return Gaussian.fitting(share, sensitivity)
    raise TypeError(f"counts and sums take a pure or a gdp share, got {share.kind!r}")
