"""Rows near the points of blocks of a grid, compiled by numba: the same integers as NumPy's."""

from __future__ import annotations

import numpy as np
from numba import boolean, int64, types

from sfumato._base.types import Ints, Lattice, Mask
from sfumato._lattice.kernels.numba_loops import LABELS, POINTS, ROWS, compiled_for

_MASK = types.Array(boolean, 1, "C", readonly=True)
_ROW = types.Array(types.int16, 1, "C", readonly=True)
_WHERE = (ROWS, _MASK, LABELS, LABELS, POINTS, LABELS, LABELS)

# Lines of a block that rows came to: how many, then which; nothing where nobody asks.
_LINES = (int64[::1], boolean[::1])


@compiled_for(_ROW, LABELS, LABELS, int64[:, ::1], int64[::1])
def _squares(row: Lattice, origin: Ints, net: Ints, squares: Ints, rest: Ints) -> None:
    """Squared distances along each axis, and the least that the axes from j on add up to."""
    side, half, limit, width = net[0], net[1], net[2], net[3]
    rest[len(row)] = 0
    for j in range(len(row) - 1, -1, -1):
        least = limit + 1
        for c in range(width):
            number = origin[j] + c
            gap = side * (number - half) - row[j]
            # Points beyond the end of an axis are near to no row.
            squares[j, c] = gap * gap if number <= 2 * half else limit + 1
            least = min(least, squares[j, c])
        rest[j] = rest[j + 1] + least


@compiled_for(int64, int64, int64[:, ::1], int64, int64[::1], int64, *_LINES)
def _plane(
    room: int, base: int, squares: Ints, least: int, cells: Ints, sign: int, lines: Ints, seen: Mask
) -> None:
    """Add `sign` to the points of a plane, or of a line, that are near."""
    d, width = squares.shape
    for step in range(width if d > 1 else 1):
        left = room - (squares[d - 2, step] if d > 1 else 0)
        if left < least:
            continue
        line = base + step
        for c in range(width):
            cells[line * width + c] += sign if squares[d - 1, c] <= left else 0
        if len(seen) and not seen[line]:
            seen[line] = True
            lines[0] += 1
            lines[lines[0]] = line


@compiled_for(int64, int64[:, ::1], int64[:, ::1], int64[::1], int64, *_LINES)
def _spread(
    limit: int, squares: Ints, odometer: Ints, cells: Ints, sign: int, lines: Ints, seen: Mask
) -> None:
    """Add `sign` to the points of one block that are near one row."""
    d, width = squares.shape
    turn, spent, base, rest = odometer[0], odometer[1], odometer[2], odometer[3]
    # The last two axes are a plane.
    walked = max(d - 2, 0)
    level, turn[0], spent[0], base[0] = 0, -1, 0, 0
    while level >= 0:
        if level == walked:
            left = limit - spent[level]
            _plane(left, base[level], squares, rest[d - 1], cells, sign, lines, seen)
            level -= 1
            continue
        turn[level] += 1
        if turn[level] == width:
            level -= 1
            continue
        total = spent[level] + squares[level, turn[level]]
        if total + rest[level + 1] <= limit:
            base[level + 1] = (base[level] + turn[level]) * width
            level += 1
            spent[level], turn[level] = total, -1


@compiled_for(*_WHERE, int64[:, ::1], int64)
def add_near(
    rows: Lattice,
    active: Mask,
    members: Ints,
    starts: Ints,
    origins: Ints,
    which: Ints,
    net: Ints,
    counts: Ints,
    sign: int,
) -> None:
    """Add `sign` for every active row to the points near it, of each of some blocks."""
    d = rows.shape[1]
    squares, odometer = np.empty((d, net[3]), np.int64), np.empty((4, d + 1), np.int64)
    lines, seen = np.empty(0, np.int64), np.empty(0, np.bool_)
    for i in range(len(which)):
        block = which[i]
        for m in range(starts[block], starts[block + 1]):
            who = members[m]
            if active[who]:
                _squares(rows[who], origins[block], net, squares, odometer[3])
                _spread(net[2], squares, odometer, counts[i], sign, lines, seen)


@compiled_for(*_WHERE, int64[::1], int64)
def tally_near(
    rows: Lattice,
    active: Mask,
    members: Ints,
    starts: Ints,
    origins: Ints,
    blocks: Ints,
    net: Ints,
    many: Ints,
    sign: int,
) -> None:
    """Count some blocks afresh; add `sign` to `many[s]` for each point with s ≥ 1 rows near it."""
    d, width = rows.shape[1], net[3]
    squares, odometer = np.empty((d, width), np.int64), np.empty((4, d + 1), np.int64)
    cells, all_lines = np.zeros(width**d, np.int64), width ** (d - 1)
    lines, seen = np.zeros(all_lines + 1, np.int64), np.zeros(all_lines, np.bool_)
    for block in blocks:
        for m in range(starts[block], starts[block + 1]):
            who = members[m]
            if active[who]:
                _squares(rows[who], origins[block], net, squares, odometer[3])
                _spread(net[2], squares, odometer, cells, 1, lines, seen)
        # Only the lines that rows came to are looked at: of most blocks that is a small part.
        for line in lines[1 : lines[0] + 1]:
            seen[line] = False
            for c in range(line * width, line * width + width):
                if cells[c] > 0:
                    many[cells[c]] += sign
                    cells[c] = 0
        lines[0] = 0
