"""Grids of points that may cover rows, one for each radius: public whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import isqrt

from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.cover import Net

MAX_AXES = 16
"""More axes than this have more points near a row than any machine counts."""

MAX_RADII = 256

MAX_NEAR = 2**31
"""The most points of one grid that may lie near one row."""

_MAX_KEY = 2**62


@dataclass(frozen=True)
class Grids:
    """For each radius r the points t·b of the lattice, b whole, t the side; they are *tried* by r.

    A point covers the rows within r + t·√p of it, in p columns. Radii and sides are in lattice
    steps; the radii ascend.

    Sensitivity: a row that is still uncovered adds 1 to the score of every grid point that covers
    it and nothing to the others. It leaves when one of these is picked, for good: so over all
    picks, at all radii, it raises scores up to the first pick that covers it, and none after. A
    row with a gap is covered by no point.
    """

    n_features: int
    radii: tuple[int, ...]
    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        if type(self.n_features) is not int or not 1 <= self.n_features <= MAX_AXES:
            raise ValueError(
                f"grids are laid in 1 to {MAX_AXES} columns, got {self.n_features!r}: "
                "project to fewer dimensions"
            )
        for name, values in (("radii", self.radii), ("sides", self.sides)):
            if type(values) is not tuple or not all(type(v) is int and v >= 1 for v in values):
                raise ValueError(f"{name} must be a tuple of whole numbers from 1 on, got {values}")
        if not 1 <= len(self.radii) == len(self.sides) <= MAX_RADII:
            raise ValueError(
                f"one side for each of 1 to {MAX_RADII} radii, "
                f"got {len(self.sides)} and {len(self.radii)}"
            )
        if any(a >= b for a, b in zip(self.radii, self.radii[1:], strict=False)):
            raise ValueError(f"radii must ascend, got {self.radii}")
        for i, net in enumerate(self.nets()):
            if self.near(i) > MAX_NEAR or net.blocks ** -(-self.n_features // 2) > _MAX_KEY:
                raise ValueError(
                    f"{self.near(i):.3g} points of a grid of side {net.side} lie near each row; "
                    f"at most {MAX_NEAR:.3g} can be counted: take a larger alpha or fewer columns"
                )

    @classmethod
    def of(cls, n_features: int, *, alpha: float, r_min: float) -> Grids:
        """Radii from r_min·REACH, each 1 + α times the last, below 2·REACH; t = α·r/√p.

        Nguyen, Chaturvedi and Xu 2021, Algorithm 1, in a ball of radius REACH. Radii below one
        lattice step are one step.
        """
        if not (0 < alpha < math.inf and 0 < r_min < 2):
            raise ValueError(f"alpha must be positive and 0 < r_min < 2, got {alpha} and {r_min}")
        tiers = math.ceil(math.log(2 / r_min) / math.log1p(alpha) - 1e-9)
        if tiers > 64 * MAX_RADII:
            raise ValueError(f"alpha = {alpha} makes {tiers:,} radii from {r_min}: take a larger")
        wanted = {max(1, round(r_min * (1 + alpha) ** i * REACH)) for i in range(tiers)}
        radii = tuple(sorted(wanted))
        sides = tuple(max(1, int(alpha * r / math.sqrt(n_features))) for r in radii)
        return cls(n_features, radii, sides)

    def __str__(self) -> str:
        return f"grid points at each of {len(self.radii)} radii in {self.n_features} columns"

    def nets(self) -> list[Net]:
        """The grid of each radius, as the loops see it."""
        d, widest = self.n_features, self.n_features * (2 * REACH) ** 2
        # (r + t√d)² = r² + t²d + √(4r²t²d): whole numbers are compared, nothing is rounded.
        return [
            Net(d, t, REACH // t, min(r * r + t * t * d + isqrt(4 * r * r * t * t * d), widest))
            for r, t in zip(self.radii, self.sides, strict=True)
        ]

    def near(self, i: int) -> float:
        """Points of grid i that lie near a row, on average: the volume of the ball in sides."""
        d, ratio = self.n_features, self.radii[i] / self.sides[i]
        log_volume = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)
        points = log_volume + d * math.log(ratio + math.sqrt(d))
        return math.exp(min(points, d * math.log(2 * (REACH // self.sides[i]) + 1)))

    def work(self, rows: float) -> float:
        """Rows × grid points near each × radii: how much there is to count, at most."""
        return rows * sum(self.near(i) for i in range(len(self.radii)))
