"""nD-Laplace on the lattice of the local model: ε per unit of distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from sfumato._accounting.guarantee import Guarantee
from sfumato._base.types import Ints
from sfumato._core.local.lattice import ROUNDING, LocalLattice
from sfumato._core.sampling.joint import ball_slack, check_ball
from sfumato._core.sampling.source import Noise

LEAST_ACCEPTED = 2.0**-16
"""Resampling is refused where a report may need more draws than 1 / this on average."""

UNFINISHED = 2.0**-100
"""Probability that resampling a row ends by clamping."""

_PROPOSALS = 4096


@dataclass(frozen=True)
class LatticeNDLaplace:
    """Reports with density ∝ exp(−‖z − x‖₂ / scale), rounded to the nearest lattice point.

    Guarantee: ε per unit of distance. The density of x + Z changes by a factor of at most
    exp(‖x − x′‖ / scale) between two lattice rows, and rounding is post-processing, for rows are
    whole numbers. Snapping moves two rows at most one step per column further apart. The proof,
    with that of `resample`: docs/proofs/local-nd-laplace.md.
    """

    lattice: LocalLattice
    epsilon: Fraction
    resample: bool = False

    @property
    def scale(self) -> Fraction:
        """1 / ε in lattice steps; twice as much where reports are drawn until one is inside."""
        return ROUNDING * (2 if self.resample else 1) / (self.epsilon * self.lattice.step)

    @property
    def guarantee(self) -> Guarantee:
        """ε per unit of distance."""
        lattice = self.lattice
        return Guarantee("metric", self.epsilon, neighbours=lattice.unit_name, snap=lattice.snap)

    @property
    def words(self) -> str:
        """The mechanism and its scale, for the receipt."""
        drawn = float(self.epsilon) / (2 if self.resample else 1)
        return f"nD-Laplace, density ∝ exp(−{drawn:.6g}·distance)"

    def check(self, lattice: LocalLattice) -> None:
        """Refuse a scale that cannot be drawn, or reports that would be drawn too often."""
        if lattice != self.lattice:
            raise ValueError("the mechanism was made for another lattice")
        check_ball(self.scale, lattice.n_features)
        if self.resample and self.accepted < LEAST_ACCEPTED:
            raise ValueError(
                f"truncation='resample' could need more than {1 / LEAST_ACCEPTED:,.0f} draws for a "
                "row: the noise is too wide for these bounds; a larger epsilon, fewer columns or "
                "truncation='clamp' would work"
            )

    def slack(self, lattice: LocalLattice) -> float:
        """Proven statistical distance of the sampler to its distribution, for one block of rows."""
        rows, dim = lattice.block_rows, lattice.n_features
        if not self.resample:
            return ball_slack(rows, dim)
        return rows * UNFINISHED + self._tries * ball_slack(max(rows, _PROPOSALS), dim)

    def draw(self, noise: Noise, rows: Ints) -> Ints:
        """Draw a report for each row. rows, reports: (n, d), lattice steps."""
        reports = rows + noise.ball(self.scale, *rows.shape)
        return self._inside(noise, rows, reports) if self.resample else reports

    @property
    def accepted(self) -> float:
        """A lower bound of the probability that a draw is inside, for a row in a corner."""
        # From a corner a draw is inside if it goes inwards in every column, 2^-d by symmetry, and
        # in none further than to the other side. Rows in corners have the least probability.
        sides, scale = 2.0 * self.lattice.reach, float(self.scale)
        d = len(sides)
        ball = float(special.gammainc(d, sides.min() / scale))
        unit = d * math.log(math.pi) / 2 - math.lgamma(d / 2 + 1) + math.lgamma(d + 1)
        farthest = math.sqrt(float((sides**2).sum())) / scale
        cuboid = math.exp(float(np.log(2 * sides / scale).sum()) - unit - farthest)
        return math.ldexp((1 - 1e-9) * max(ball, cuboid), -d)

    @property
    def _tries(self) -> int:
        """So many draws are all outside with probability UNFINISHED at most."""
        return math.ceil(math.log(UNFINISHED) / math.log1p(-self.accepted))

    def _inside(self, noise: Noise, rows: Ints, reports: Ints) -> Ints:
        """Draw reports outside again, clamp those left after `_tries`. Both: (n, d), steps."""
        reach, tries = self.lattice.reach, 1
        left = np.flatnonzero((np.abs(reports) > reach).any(axis=1))
        while len(left) and tries < self._tries:
            # The fewer are left, the more draws each gets at once; the first inside counts.
            each = max(1, _PROPOSALS // len(left))
            drawn = noise.ball(self.scale, each * len(left), rows.shape[1])
            proposals = rows[left, None] + drawn.reshape(len(left), each, -1)
            inside = (np.abs(proposals) <= reach).all(axis=2)
            first = inside.argmax(axis=1)
            reports[left] = proposals[np.arange(len(left)), first]
            left, tries = left[~inside.any(axis=1)], tries + each
        return np.clip(reports, -reach, reach)
