"""The local model's own door: each row becomes a report on its own, before anyone else sees it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats
from sfumato._core.local.lattice import LocalLattice, Units
from sfumato._core.local.ndlaplace import LOCAL_LAWS, LocalLaw
from sfumato._core.sampling.source import Noise, SecureNoise
from sfumato._lattice.box import Box

Missing = Literal["center", "keep"]


class Randomizer:
    """Turns rows into reports, each row by itself and with noise of its own.

    There is no ledger: a report promises something about its own row, whatever the other rows are,
    and that promise (metric, or local) never adds to the differential privacy of a dataset. A row
    that is reported again is reported with new noise, and the promises of its reports add up.

    Guarantee: that of the law, for every row on its own. What becomes of a row depends on public
    settings, on that row and on its noise; with `missing="keep"` the report says which cells of
    its row are missing, and promises nothing about that.
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

    def perturb(self, rows: NDArray[Any], law: LocalLaw, *, clamp: bool = False) -> Floats:
        """Return a report for each row, in the user's units.

        With `clamp` a report outside the bounds is moved to the nearest point inside.

        Guarantee: that of the law; clamping and the way back to the user's units look at the report
        alone.
        """
        self.check(rows, law)
        out = np.empty(rows.shape)
        step = self.lattice.block_rows
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            out[block] = self._perturb(rows[block], law, clamp)
        return out

    def check(self, rows: NDArray[Any], law: LocalLaw) -> None:
        """Refuse, before anything is drawn, rows of another shape and laws from outside."""
        if type(law) not in LOCAL_LAWS:
            raise TypeError(f"{type(law).__name__} is not a law of the local model")
        if rows.ndim != 2 or rows.shape[1] != self.lattice.n_features:
            raise ValueError(f"blocks of {self.lattice.n_features} columns are needed")
        if rows.dtype.kind not in "biuf":
            raise TypeError(f"rows must be numbers, got {rows.dtype}")
        law.check(self.lattice)

    def _perturb(self, rows: NDArray[Any], law: LocalLaw, clamp: bool) -> Floats:
        snapped = self.lattice.to_lattice(rows)
        reports = law.draw(self.__noise, snapped)
        out = self.lattice.from_lattice(reports, clamp=clamp)
        if self._missing == "keep":
            out[~np.isfinite(rows)] = np.nan
        return out
