"""The loop over rows and cubes, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

from numba import int64

from sfumato.engines.compiling import LABELS, ROWS, compiled_for
from sfumato.engines.kernels_cubes import count

add = compiled_for(ROWS, LABELS, int64, LABELS, LABELS, LABELS, int64[::1])(count)
