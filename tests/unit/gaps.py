"""What every query makes of one row with gaps, in plain Python: the definitions of missing.md."""

from math import isqrt

import numpy as np

from sfumato._lattice.box import ABSENT, REACH


def present(row):
    """The columns that a row has."""
    return [i for i, x in enumerate(row) if x != ABSENT]


def whole(row):
    """Whether a row has all its columns."""
    return len(present(row)) == len(row)


def square(row, center):
    """The squared distance to a point, over the columns that the row has."""
    return sum((row[i] - int(center[i])) ** 2 for i in present(row))


def nearest(row, centers):
    """The number of the first of the nearest centres, or None for a row without a column."""
    squares = [square(row, center) for center in centers]
    return squares.index(min(squares)) if present(row) else None


def by_nearest(row, centers, radii=None):
    """Count and sums of each cell; with radii, of differences shortened to them."""
    state = np.zeros((len(centers), len(row) + 1), dtype=np.int64)
    cell = nearest(row, centers)
    if cell is None:
        return state
    center = [int(c) for c in centers[cell]]
    inside = [x if x != ABSENT else c for x, c in zip(row, center, strict=True)]
    if radii is not None:
        apart = [x - c for x, c in zip(inside, center, strict=True)]
        inside = shortened(apart, radii[cell])
    state[cell] = [1, *inside]
    return state


def shortened(values, most):
    """Whole numbers of a length of at most `most`, cut off towards zero."""
    total = sum(v * v for v in values)
    if total <= most * most:
        return values
    length = isqrt(total - 1) + 1
    return [abs(v) * most // length * (1 if v > 0 else -1) for v in values]


def beyond(row, centers, edges):
    """One row, by how many edges it lies beyond."""
    state = np.zeros(len(edges) + 1, dtype=np.int64)
    cell = nearest(row, centers)
    if cell is not None:
        state[sum(e * e < square(row, centers[cell]) for e in edges)] = 1
    return state


def beyond_each(row, centers, edges):
    """The same, in the line of its own cell."""
    lines = np.zeros((len(centers), len(edges) + 1), dtype=np.int64)
    cell = nearest(row, centers)
    if cell is not None:
        lines[cell] = beyond(row, centers, edges)
    return lines


def on_grid(row, per_axis):
    """Count and sums of each cell of a grid."""
    state = np.zeros((per_axis ** len(row), len(row) + 1), dtype=np.int64)
    if per_axis == 1:
        state[0] = [1, *(x if x != ABSENT else 0 for x in row)]
    elif whole(row):
        cell = 0
        for x in row:
            cell = cell * per_axis + (x + REACH) * per_axis // (2 * REACH + 1)
        state[cell] = [1, *row]
    return state


def in_cubes(row, corners, side):
    """Count of each half of each cube."""
    state = np.zeros(len(corners) << len(row), dtype=np.int64)
    for number, corner in enumerate(corners if whole(row) else []):
        above = [x - int(c) for x, c in zip(row, corner, strict=True)]
        if all(0 <= a < side for a in above):
            child = sum((a >= side // 2) << i for i, a in enumerate(above))
            state[(number << len(row)) + child] = 1
    return state


def projected(row, by):
    """The row as a projection shows it."""
    lines = []
    for line in by.matrix.tolist():
        total = sum(line[i] * (row[i] - int(by.offset[i])) for i in present(row))
        cut = abs(total) >> by.shift
        lines.append(cut if total > 0 else -cut)
    if by.ball:
        lines = shortened(lines, REACH)
    lines = [max(-REACH, min(REACH, y)) for y in lines]
    return with_unseen(lines, row, by.matrix)


def with_unseen(lines, row, matrix):
    """Coordinates of a projected row; absent are those that look at absent columns alone."""
    used = [{i for i, entry in enumerate(line) if entry} for line in matrix.tolist()]
    seen = [not columns or bool(columns & set(present(row))) for columns in used]
    return [y if shown else ABSENT for y, shown in zip(lines, seen, strict=True)]


def squares(row, shift):
    """Σ y² of each column."""
    return np.array([coarse(x, shift) ** 2 for x in row])


def products(row, shift):
    """Σ y·yᵀ."""
    values = [coarse(x, shift) for x in row]
    return np.outer(values, values)


def coarse(x, shift):
    """A coordinate in steps of 2^shift, towards zero; 0 if it is absent."""
    return 0 if x == ABSENT else (abs(x) >> shift) * (1 if x > 0 else -1)


def cost(row, sets):
    """The squared distance to the nearest point of each set."""
    return [min(square(row, point) for point in points) for points in sets]


def swapped(centers, candidates):
    """The sets of centres after every swap, in the order of the choices."""
    return [
        [c if j != i else candidate for j, c in enumerate(centers)]
        for i in range(len(centers))
        for candidate in candidates
    ]
