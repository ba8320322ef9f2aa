"""The two nearest centres and the sums, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from sfumato.box import Floats, Ints
from sfumato.engines.compiling import LABELS, MATRIX, VECTOR, compiled_for


@compiled_for(MATRIX, int64[::1], float64[::1], float64[::1])
def two_nearest(scores: Floats, labels: Ints, first: Floats, second: Floats) -> None:
    """Write the nearest centre of each row, its score and the next one's."""
    for i in range(len(scores)):
        one = two = np.inf
        nearest = 0
        for c in range(scores.shape[1]):
            score = scores[i, c]
            if score < one:
                one, two, nearest = score, one, c
            elif score < two:
                two = score
        labels[i], first[i], second[i] = nearest, one, two


@compiled_for(MATRIX, VECTOR, VECTOR, LABELS, float64[::1], float64[:, ::1])
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
