"""Noise laws with their scales: what turns an exact integer answer into a release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

from sfumato.box import REACH, Ints
from sfumato.budget import Share
from sfumato.curator import noise as laws
from sfumato.curator.questions import Sensitivity
from sfumato.gdp import root_above

Shape = tuple[int, ...]


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

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale that cannot be drawn."""
        laws.check_scale(self.scale)

    @property
    def std(self) -> float:
        """Standard deviation of one integer."""
        q = float(self.scale)
        return sqrt(2.0) * q

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its law, for one answer."""
        return laws.laplace_slack(prod(shape))

    def draw(self, noise: laws.Noise, shape: Shape) -> Ints:
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

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale that cannot be drawn."""
        laws.check_scale(self.scale)

    @property
    def std(self) -> float:
        """Standard deviation of one integer, rounding included."""
        return sqrt(float(self.scale) ** 2 + 1 / 12)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its law, for one answer."""
        return laws.gaussian_slack(prod(shape))

    def draw(self, noise: laws.Noise, shape: Shape) -> Ints:
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

    def check(self, shape: Shape) -> None:
        """Refuse, before any charge, a scale or a dimension that cannot be drawn."""
        laws.check_scale(self.scale)
        laws.check_cube(self.scale, shape[1])

    def std_in(self, dim: int) -> float:
        """Standard deviation of one of `dim` entries of a line."""
        return sqrt((dim + 1) * (dim + 2) / 3) * float(self.scale)

    def slack(self, shape: Shape) -> float:
        """Proven distance of the sampler to its law, for one answer."""
        return laws.cube_slack(self.scale, *shape)

    def draw(self, noise: laws.Noise, shape: Shape) -> Ints:
        """Draw noise for an answer of this shape."""
        return noise.cube(self.scale, *shape)


Mechanism = Laplace | Gaussian | Cube


def independent(share: Share, sensitivity: Sensitivity) -> Laplace | Gaussian:
    """Noise on every integer on its own, by the currency of the share."""
    if share.kind == "pure":
        return Laplace.fitting(share, sensitivity)
    if share.kind == "gdp":
        return Gaussian.fitting(share, sensitivity)
    raise TypeError(f"counts and sums are bought with a pure or a gdp share, got {share.kind!r}")
