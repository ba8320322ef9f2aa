"""The lattice of the local model: rows as integers whose distances mean what the user measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.box import BLOCK_CELLS, REACH, Box, Floats, Ints

Units = Literal["data", "box"]

BLOCK_ROWS = 2**16
"""Most rows that are perturbed at a time."""

_FEW = 1024

HAIR = 1 + Fraction(1, 2**30)
"""What scales grow by to cover the roundings of float64 when a row is snapped."""


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
        """Snap rows to the nearest lattice points inside the bounds.

        A cell that is not a finite number goes to the centre of its column.
        """
        middle, steps, reach = self._per_cell(len(rows))
        # No value may raise a warning, which a caller could turn into an exception.
        with np.errstate(all="ignore"):
            values = np.ascontiguousarray(rows, dtype=np.float64)
            scaled = values - middle
            scaled /= steps
            np.clip(scaled, -reach, reach, out=scaled)
            np.rint(scaled, out=scaled)
        finite = np.isfinite(values)
        if not finite.all():
            scaled[~finite] = 0
        return scaled.astype(np.int64)

    def clamp(self, points: Ints) -> Ints:
        """Move lattice points outside the bounds to the nearest inside."""
        return np.clip(points, -self.reach, self.reach)

    def from_lattice(self, points: Ints, *, clip: bool) -> Floats:
        """Lattice points in the user's units; clipped, the roundings of float64 end as well."""
        middle, steps, _ = self._per_cell(len(points))
        values = points * steps
        values += middle
        return np.clip(values, self.box.lower, self.box.upper, out=values) if clip else values

    @property
    def block_rows(self) -> int:
        """Rows of a block: few enough that its arrays stay small."""
        return max(1, min(BLOCK_ROWS, BLOCK_CELLS // self.n_features))

    def _per_cell(self, rows: int) -> tuple[Floats, Floats, Floats]:
        if rows < _FEW or rows > self.block_rows:
            return self.box.middle, self.steps, self.reach.astype(np.float64)
        middle, steps, reach = self._tiled
        return middle[:rows], steps[:rows], reach[:rows]

    @cached_property
    def _tiled(self) -> tuple[Floats, Floats, Floats]:
        # One value per cell of a block: broadcasting over two or three columns is ten times slower.
        rows = self.block_rows
        middle, steps = np.tile(self.box.middle, (rows, 1)), np.tile(self.steps, (rows, 1))
        return middle, steps, np.tile(self.reach.astype(np.float64), (rows, 1))

    def __getstate__(self) -> dict[str, Any]:
        return {"box": self.box, "units": self.units}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
