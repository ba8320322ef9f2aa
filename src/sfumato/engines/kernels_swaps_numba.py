"""The sums over rows and candidates, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

from numba import float64

from sfumato.box import Floats, Ints
from sfumato.engines.kernels_numba import _LABELS, _MATRIX, _VECTOR, _compiled


@_compiled(_MATRIX, _VECTOR, _VECTOR, _LABELS, float64[::1], float64[:, ::1])
def sums(
    scores: Floats, first: Floats, second: Floats, line: Ints, kept: Floats, moved: Floats
) -> None:
    """Add min(score, first) into `kept`, and what min(score, second) is more into its line."""
    for i in range(len(scores)):
        row, more, one, two = scores[i], moved[line[i]], first[i], second[i]
        for j in range(len(row)):
            near = row[j] if row[j] < one else one
            kept[j] += near
            more[j] += (row[j] if row[j] < two else two) - near
