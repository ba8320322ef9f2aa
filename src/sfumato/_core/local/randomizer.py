"""The local model: each row becomes a report on its own, before anyone else sees it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats
from sfumato._core.local.lattice import LatticeNDLaplace, LocalLattice, Units
from sfumato._core.local.ldp import (
    LatticeColumns,
    LatticeDuchi,
    LatticeLaplace,
    LatticeLDP,
    LatticeStaircase,
)
from sfumato._core.sampling.source import Noise, SecureNoise
from sfumato._lattice.box import Box

LATTICE_MECHANISMS: tuple[type, ...] = (
    LatticeNDLaplace,
    LatticeLaplace,
    LatticeStaircase,
    LatticeColumns,
    LatticeDuchi,
)
"""The closed set of mechanisms that the randomizer takes."""

LatticeMechanism = LatticeNDLaplace | LatticeLDP
"""How a row becomes its report: a frozen dataclass in lattice steps.

What it draws for a row depends on that row, on public settings and on its noise alone.
"""

Missing = Literal["center", "keep"]


class Randomizer:
    """Turns rows into reports, each row by itself and with noise of its own.

    There is no ledger: the guarantee of a report (metric, or local) is about its own row, whatever
    the other rows are, and never adds to the differential privacy of a dataset. A row that is
    reported again gets new noise, and the guarantees of its reports add up.

    Guarantee: that of the mechanism, for every row on its own. A report depends on public settings,
    on its row and on its noise; with `missing="keep"` it also says which cells of its row are
    missing, and promises nothing about that.
    """

    def __init__(
        self,
        box: Box,
        *,
        units: Units = "box",
        missing: Missing = "center",
        noise: Noise | None = None,
    ) -> None:
        if missing not in get_args(Missing):
            raise ValueError(f"missing cells can be 'center' or 'keep', got {missing!r}")
        self.lattice = LocalLattice(box, units)
        self._missing = missing
        self.__noise: Noise = noise or SecureNoise()

    def perturb(
        self, rows: NDArray[Any], mechanism: LatticeMechanism, *, clamp: bool = False
    ) -> Floats:
        """Return a report for each row. rows, reports: (n, d), the user's units.

        With `clamp` a report outside the bounds is moved to the nearest point inside.

        Guarantee: that of the mechanism; clamping and the way back to the user's units depend on
        the report alone.
        """
        self.check(rows, mechanism)
        out = np.empty(rows.shape)
        step = self.lattice.block_rows
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            reports = mechanism.draw(self.__noise, self.lattice.to_lattice(rows[block]))
            out[block] = self.lattice.from_lattice(reports, clamp=clamp)
        if self._missing == "keep":
            out[~np.isfinite(rows)] = np.nan
        return out

    def check(self, rows: NDArray[Any], mechanism: LatticeMechanism) -> None:
        """Refuse rows that are not (n, d) numbers, and mechanisms of other types."""
        if type(mechanism) not in LATTICE_MECHANISMS:
            raise TypeError(f"{type(mechanism).__name__} is not a mechanism of the local model")
        if rows.ndim != 2 or rows.shape[1] != self.lattice.n_features:
            raise ValueError(f"blocks of {self.lattice.n_features} columns are needed")
        if rows.dtype.kind not in "biuf":
            raise TypeError(f"rows must be numbers, got {rows.dtype}")
        mechanism.check(self.lattice)
