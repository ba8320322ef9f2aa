"""The loop over rows and cubes, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

from numba import int64

from sfumato.engines.kernels_cubes import count
from sfumato.engines.kernels_numba import _LABELS, _ROWS, _compiled

add = _compiled(_ROWS, _LABELS, int64, _LABELS, _LABELS, _LABELS, int64[::1])(count)
