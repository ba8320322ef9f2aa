"""Counts, sums and second moments of cells about their centres: one query, one sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._core.queries.cells import Nearest, Parts, Sensitivity
from sfumato._core.queries.moments import DIAGONAL, UPPER
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels import dispatch as kernels
from sfumato._lattice.kernels.gaps import complete

FINEST = 12
"""With 2^FINEST steps to a radius the sums of 2^31 rows stay within int64."""

COARSEST = 1

# Rows that are mapped at a time.
_BLOCK_ROWS = 2**14


@dataclass(frozen=True)
class Scatter:
    """Σ z·zᵀ of each cell, where z = (h, y) holds its rows as seen from its centre.

    With v = row − centre, S = Σv², M = 2^bits and the radius R of the cell, y_i is
    sign(v_i)·⌊|v_i|·M / max(R, ⌈√S⌉)⌋, and h = M/2. So h·h counts rows, h·y sums them, and y·yᵀ are
    their second moments, in steps of R/M. Without `full` only the squares y_i² are kept of these.
    It gets its noise as a line of integers for each cell: 70·Σ z_a² and 99·Σ z_a·z_b (a < b). A row
    with a gap is in no cell. With `through` rows without gaps are seen through that projection, and
    cells are those of what it shows.

    Sensitivity: a row, or what a projection shows of it, lies in one cell or none.
    ‖y‖₂ ≤ ‖v‖₂·M/max(R, ⌈√S⌉) ≤ M, because rounding is towards zero, so ‖z‖₂² ≤ N = M² + h². It
    adds a line with ‖·‖² ≤ 4900·Σ z_a⁴ + 9801·Σ_{a<b} z_a²·z_b² ≤ (9801/2)·N², an integer: L2² is
    the integer part; fewer numbers of the line have no larger norm. L1 ≤ √D·L2 with D
    numbers (Cauchy–Schwarz).
    """

    cells: Nearest
    radii: Sequence[int]
    full: bool = True
    bits: int = FINEST
    through: Projection | None = None

    def __post_init__(self) -> None:
        # A tuple of plain integers: equal queries stay equal, and can be hashed.
        object.__setattr__(self, "radii", tuple(self.radii))
        widest = 2 * REACH * (isqrt(self.cells.n_features) + 1)
        if len(self.radii) != self.cells.n_cells:
            cells = self.cells.n_cells
            raise ValueError(f"{len(self.radii)} radii were given for {cells} cells: one for each")
        if not all(type(r) is int and 1 <= r <= widest for r in self.radii):
            raise ValueError(
                f"radii are whole numbers of lattice steps from 1 to {widest}, got {self.radii}"
            )
        if type(self.full) is not bool:
            raise TypeError(f"full must be True or False, got {self.full!r}")
        if type(self.bits) is not int or not COARSEST <= self.bits <= FINEST:
            raise ValueError(f"bits is a whole number from {COARSEST} to {FINEST}, got {self.bits}")

        self._check_through()

    def _check_through(self) -> None:
        # Exact types: a subclass could keep the rows that it is shown.
        if type(self.cells) is not Nearest or type(self.through) not in (Projection, type(None)):
            raise TypeError(
                "moments are those of Nearest cells, of rows or through a Projection, not of "
                f"{type(self.cells).__name__} through {type(self.through).__name__}"
            )
        if self.through is not None and self.through.n_out != self.cells.n_features:
            raise ValueError(
                f"the cells have {self.cells.n_features} columns, "
                f"the projection shows {self.through.n_out}"
            )

    def __str__(self) -> str:
        kind = "second moments" if self.full else "squares"
        seen = "" if self.through is None else f", {self.through}"
        return f"counts, sums and {kind} of {self.cells}{seen}"

    @property
    def parts(self) -> Parts:
        """Its cells, or what they are seen through."""
        if self.through is not None:
            return ((self.through, (Projection,)),)
        return ((self.cells, (Nearest,)),)

    @property
    def n_features(self) -> int:
        """Number of columns of the rows themselves."""
        return (self.cells if self.through is None else self.through).n_features

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """The places (a, b) in z of the numbers of a line: two arrays of length D."""
        first, second = np.triu_indices(self.cells.n_features + 1)
        kept = (first == 0) | (first == second) | self.full
        return first[kept], second[kept]

    @property
    def n_in_line(self) -> int:
        """Numbers of one cell."""
        d = self.cells.n_features
        return (d + 1) * (d + 2) // 2 if self.full else 2 * d + 1

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return self.cells.n_cells * self.n_in_line

    def sensitivity(self) -> Sensitivity:
        """What one row can change."""
        most = (1 << 2 * self.bits) + (1 << 2 * self.bits - 2)
        l2_squared = UPPER * UPPER * most * most // 2
        return Sensitivity(isqrt(self.n_in_line * l2_squared), l2_squared)

    def empty(self) -> Ints:
        """Zero for every number of every cell."""
        return np.zeros((self.cells.n_cells, self.n_in_line), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add one block of rows."""
        radii, pairs = np.array(self.radii, dtype=np.int64), self.pairs
        for start in range(0, len(rows), _BLOCK_ROWS):
            seen = complete(rows[start : start + _BLOCK_ROWS])
            seen = seen if self.through is None else self.through.see(seen)
            kernels.nearest_products(seen, self.cells.centers, radii, self.bits, pairs, state)

    def line(self, state: Ints) -> Ints:
        """Return the integers that get noise."""
        return state * self._weights()

    def products(self, line: Ints) -> Floats:
        """Return the noisy matrices of z·zᵀ, (cells, d + 1, d + 1), mirrored; what is not asked, 0.

        Counts are in rows, sums and second moments in radii of the cell.
        """
        a, b = self.pairs
        width = self.cells.n_features + 1
        found = np.zeros((self.cells.n_cells, width, width))
        units = np.where(a == 0, 2, 1) * np.where(b == 0, 2, 1) / (1 << 2 * self.bits)
        found[:, a, b] = found[:, b, a] = line / self._weights() * units
        return found

    def deviation(self, std: float) -> float:
        """Return that of a square, in squared radii, given that of an integer of the line."""
        return std / DIAGONAL / (1 << 2 * self.bits)

    def _weights(self) -> Ints:
        a, b = self.pairs
        return np.where(a == b, DIAGONAL, UPPER)
