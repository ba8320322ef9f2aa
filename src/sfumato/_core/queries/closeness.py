"""How close rows are to the centre of their cell, and to the next one: bounded sums of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Literal

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._core.queries.cells import Nearest, Parts, Sensitivity
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.dispatch import MAX_FEATURES, two_squares

STEPS = 1057
"""Steps of a score: the largest divisor of REACH for which 4·STEPS²·2^40 < 2^63."""

# Squared distances have 32 bits and those of the number of columns: 40 of them are kept.
_KEPT = 8


@dataclass(frozen=True)
class Closeness:
    """The count n, Σ(2u − STEPS) and Σ(2w − STEPS) of the rows of each cell: (cells, 3).

    With a ≤ b a row's distances to its nearest and to its next centre, over the columns it has, and
    the radius R of its cell: u is STEPS·(min(a, R)/R)^power, w is STEPS·a/b, both rounded to the
    nearest whole number. They are found in integers: u is the number of j in 1…STEPS with
    a² ≥ R²·((2j − 1)/(2·STEPS))^(2/power), w that of j with 4·STEPS²·⌊a²/2^s⌋ ≥
    (2j − 1)²·⌊b²/2^s⌋, where s is 0 up to 255 columns. With one centre w is STEPS. A row that has
    no column is in no cell.

    Released are (REACH·n, f·Σ(2u − STEPS), f·Σ(2w − STEPS)) with f = REACH/STEPS, a whole number.

    Sensitivity: a row lies in one cell or in none, and u and w are from 0 to STEPS whatever its
    values: what is released of its cell moves by REACH in the first entry and by at most
    f·STEPS = REACH in the others. So by REACH in the largest entry, 3·REACH in L1, and 3·REACH² in
    L2², reached by a row at its centre.
    """

    cells: Nearest
    radii: Sequence[int]
    power: Literal[1, 2] = 2

    def __post_init__(self) -> None:
        # A tuple of plain integers: equal queries stay equal, and can be hashed.
        radii = tuple(int(r) if isinstance(r, np.integer) else r for r in self.radii)
        object.__setattr__(self, "radii", radii)
        # Exact types: a subclass could keep the rows that it is shown.
        if type(self.cells) is not Nearest:
            raise TypeError(f"rows are close to Nearest cells, not to {type(self.cells).__name__}")
        if len(self.radii) != self.cells.n_cells:
            cells = self.cells.n_cells
            raise ValueError(f"{len(self.radii)} radii were given for {cells} cells: one for each")
        if self.cells.n_features > MAX_FEATURES:
            raise ValueError(f"closeness is over at most {MAX_FEATURES:,} columns")
        widest = widest_radius(self.cells.n_features)
        if not all(type(r) is int and 1 <= r <= widest for r in self.radii):
            raise ValueError(f"radii are whole numbers of lattice steps from 1 to {widest}")
        if type(self.power) is not int or self.power not in (1, 2):
            raise ValueError(f"power is 1 (distances) or 2 (their squares), got {self.power!r}")

    def __str__(self) -> str:
        return f"counts, costs and silhouettes of {self.cells}"

    @property
    def parts(self) -> Parts:
        """Its cells."""
        return ((self.cells, (Nearest,)),)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.cells.n_features

    @property
    def n_numbers(self) -> int:
        """Integers of the answer."""
        return 3 * self.cells.n_cells

    def sensitivity(self) -> Sensitivity:
        """What one row can change in what is released."""
        return Sensitivity(3 * REACH, 3 * REACH * REACH)

    def empty(self) -> Ints:
        """Zero for every number of every cell."""
        return np.zeros((self.cells.n_cells, 3), dtype=np.int64)

    def add(self, rows: Lattice, state: Ints) -> None:
        """Add one block of rows."""
        for labels, near, far in two_squares(rows, self.cells.centers):
            np.add.at(state[:, 0], labels, 1)
            np.add.at(state[:, 1], labels, 2 * self._costs(near, labels) - STEPS)
            np.add.at(state[:, 2], labels, 2 * self._ratios(near, far) - STEPS)

    @staticmethod
    def line(state: Ints) -> Ints:
        """Return the integers that get noise."""
        line: Ints = state * np.array([REACH, REACH // STEPS, REACH // STEPS])
        return line

    @cached_property
    def _edges(self) -> dict[int, Ints]:
        """For every radius the least square of a distance that has each score, in order."""
        return {radius: _edges(radius, self.power) for radius in set(self.radii)}

    def _costs(self, near: Ints, labels: Ints) -> Ints:
        """The scores u of squared distances, (n,)."""
        found = np.empty(len(near), dtype=np.int64)
        radii = np.array(self.radii, dtype=np.int64)[labels]
        for radius in set(radii.tolist()):
            there = radii == radius
            found[there] = np.searchsorted(self._edges[radius], near[there], side="right")
        return found

    def _ratios(self, near: Ints, far: Ints) -> Ints:
        """The scores w of two squared distances each, (n,)."""
        if self.cells.n_cells == 1:
            return np.full(len(near), STEPS, dtype=np.int64)
        shift = max(0, self.n_features.bit_length() - _KEPT)
        near, far = near >> shift, far >> shift
        # Two centres where the row is: neither is nearer.
        near, far = np.where(far == 0, 1, near), np.maximum(far, 1)
        # Below 2^53 the integer part of a root of float64 is exact.
        roots: Ints = np.sqrt(4 * STEPS * STEPS * near // far).astype(np.int64)
        return (roots + 1) // 2


def widest_radius(n_features: int) -> int:
    """The largest radius that can be asked for: no row is further from a centre."""
    return 2 * REACH * (isqrt(n_features) + 1)


def _edges(radius: int, power: int) -> Ints:
    """⌈R²·(2j − 1)/(2·STEPS)⌉ for power 2, ⌈(R·(2j − 1)/(2·STEPS))²⌉ for power 1, in integers."""
    whole = 2 * STEPS if power == 2 else (2 * STEPS) ** 2
    parts = (j if power == 2 else j * j for j in range(1, 2 * STEPS, 2))
    return np.array([-(-radius * radius * part // whole) for part in parts], dtype=np.int64)
