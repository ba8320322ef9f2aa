"""The lattice of the local model: rows as integers, with the user's distances between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints
from sfumato._lattice.box import BLOCK_CELLS, REACH, Box

Units = Literal["data", "box"]

BLOCK_ROWS = 2**16
"""Most rows that are perturbed at a time."""

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
        values = values * self.steps + self.box.middle
        # Again: roundings of float64 may pass a bound.
        return np.clip(values, self.box.lower, self.box.upper) if clamp else values

    @property
    def block_rows(self) -> int:
        """Rows of a block: few enough that its arrays stay small."""
        return max(1, min(BLOCK_ROWS, BLOCK_CELLS // self.n_features))
