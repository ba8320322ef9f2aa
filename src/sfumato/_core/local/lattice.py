"""The lattice of the local model, with the user's distances between rows, and nD-Laplace on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sfumato._accounting.guarantee import Guarantee
from sfumato._base.types import Floats, Ints
from sfumato._core.sampling.joint import ball_slack, check_ball
from sfumato._core.sampling.source import Noise
from sfumato._lattice.box import BLOCK_CELLS, REACH, Box

Units = Literal["data", "box"]

BLOCK_ROWS = 2**16
"""Most rows that are perturbed at a time."""

_LARGEST = float(np.finfo(np.float64).max)

ROUNDING = 1 + Fraction(1, 2**30)
"""Factor of all scales, which covers the roundings of float64 when a row is snapped."""


@dataclass(frozen=True)
class LocalLattice:
    """Bounds with a lattice of steps that are equally long in every column.

    With `units="data"` distances are Euclidean in the user's units: the step is the largest width /
    65534, for all columns. With `units="box"` they are those of the cube [−1, 1]^d that the bounds
    span, for columns of unlike kind: every column has steps of its own width / 65534.
    """

    box: Box
    units: Units = "data"

    def __post_init__(self) -> None:
        if self.units not in get_args(Units):
            raise ValueError(f"units must be 'data' or 'box', got {self.units!r}")
        for column, reach in enumerate(self.reach.tolist()):
            if reach == 0:
                raise ValueError(
                    f"the bounds of column {column} are narrower than one step of a lattice that "
                    "fits the widest column; units='box' measures each column by its own bounds"
                )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.box.n_features

    @cached_property
    def steps(self) -> Floats:
        """Width of one step in every column, in the user's units."""
        own = self.box.step
        return own if self.units == "box" else np.full_like(own, own.max())

    @cached_property
    def reach(self) -> Ints:
        """Steps from the centre of each column to its bounds; REACH for the widest."""
        return np.rint(self.box.step / self.steps * REACH).astype(np.int64)

    @property
    def step(self) -> Fraction:
        """Length of a step as distances are measured: exact."""
        return Fraction(1, REACH) if self.units == "box" else Fraction(float(self.steps[0]))

    @property
    def snap(self) -> float:
        """What snapping may add to the distance of two rows: one step in every column."""
        return math.sqrt(self.n_features) * float(self.step)

    @property
    def diameter(self) -> float:
        """The largest distance of two snapped rows."""
        return 2 * math.sqrt(sum(int(reach) ** 2 for reach in self.reach)) * float(self.step)

    @property
    def unit_name(self) -> str:
        """How distances are measured, in words."""
        if self.units == "data":
            return "in the units of the data"
        return "in half-widths of the columns"

    def to_lattice(self, rows: NDArray[Any]) -> Ints:
        """Snap rows, (n, d) in the user's units, to the nearest lattice points in the bounds.

        A cell that is not a finite number goes to the centre of its column.
        """
        # No value may raise a warning, which a caller could turn into an exception.
        with np.errstate(all="ignore"):
            # Column by column: with few columns, row by row is ten times slower.
            values = np.asfortranarray(rows, dtype=np.float64)
            scaled = (values - self.box.middle) / self.steps
            scaled = np.rint(np.clip(scaled, -self.reach, self.reach))
        scaled[~np.isfinite(values)] = 0
        return scaled.astype(np.int64, order="C")

    def from_lattice(self, points: Ints, *, clamp: bool) -> Floats:
        """Points, (n, d) lattice steps, in the user's units; moved into the bounds with `clamp`."""
        values: Floats = np.asfortranarray(points, dtype=np.float64)
        if clamp:
            values = np.clip(values, -self.reach, self.reach)
        # Far outside of wide bounds a report may be larger than any float64: it is the largest.
        with np.errstate(over="ignore"):
            values = np.clip(values * self.steps + self.box.middle, -_LARGEST, _LARGEST)
        # Again: roundings of float64 may pass a bound.
        return np.clip(values, self.box.lower, self.box.upper) if clamp else values

    @property
    def block_rows(self) -> int:
        """Rows of a block: few enough that its arrays stay small."""
        return max(1, min(BLOCK_ROWS, BLOCK_CELLS // self.n_features))


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
