"""How many rows lie near each point of a grid, exactly: docs/proofs/max_cover.md.

A grid is far too large to be written down, but only points near rows have rows near them. It is cut
into blocks of `width` points a side. A *pair* is a row and a block that it may reach; the points of
one block are counted in one dense array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import isqrt
from typing import Any

import numpy as np

from sfumato._base.types import Ints, Lattice, Mask
from sfumato._lattice.kernels.dispatch import compiled

# Points of a block: its counts stay in the cache.
_BLOCK_POINTS = 2**15

# Rows, and pairs, that NumPy widens at a time.
_ROWS = 2**13
_PAIRS = 2**9

# A pair reaches about so many points: what the compiled loops are worth is counted in these.
_REACHED = 2**8


@dataclass(frozen=True)
class Net:
    """The points side·b, each b_i from −half to half, and the squared distance that is near."""

    n_features: int
    side: int
    half: int
    limit: int

    @property
    def per_axis(self) -> int:
        """Points along one axis."""
        return 2 * self.half + 1

    @property
    def size(self) -> int:
        """Points of the whole grid; it may pass 2^64."""
        return int(self.per_axis**self.n_features)

    @property
    def width(self) -> int:
        """Points of a block along one axis."""
        return min(self.per_axis, max(2, int(_BLOCK_POINTS ** (1 / self.n_features) + 1e-9)))

    @property
    def cells(self) -> int:
        """Points of a block; some of a block at the end of an axis lie beyond the grid."""
        return int(self.width**self.n_features)

    @property
    def blocks(self) -> int:
        """Blocks along one axis."""
        return -(-self.per_axis // self.width)

    def points(self, numbers: Ints) -> Ints:
        """Lattice points of grid points given by numbers 0 … 2·half on each axis."""
        points: Ints = self.side * (numbers - self.half)
        return points


@dataclass(frozen=True, eq=False)
class Pairs:
    """Blocks in the order of the grid, and the rows that may reach each of them.

    Block i begins at the point `origins[i]`; its rows are `members[starts[i] : starts[i + 1]]`.
    """

    origins: Ints
    starts: Ints
    members: Ints

    def __len__(self) -> int:
        return len(self.origins)

    def counts(self) -> Ints:
        """How many rows may reach each block."""
        return np.diff(self.starts)


def near(rows: Lattice, point: Ints, limit: int) -> Mask:
    """Which rows lie within the squared distance of one lattice point."""
    inside: Mask = np.square(rows.astype(np.int64) - point).sum(axis=1) <= limit
    return inside


def pairs_of(rows: Lattice, net: Net) -> Pairs:
    """Find the blocks that rows may reach."""
    d = net.n_features
    found = [_reached(rows, net, a) for a in range(0, len(rows), _ROWS)]
    high, low, who = (
        np.concatenate([np.empty(0, dtype=np.int64), *part])
        for part in (zip(*found, strict=True) if found else ([], [], []))
    )
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    first = np.flatnonzero(new)
    coordinates = np.empty((len(first), d), dtype=np.int64)
    for key, axes in ((high[first], range(d // 2)), (low[first], range(d // 2, d))):
        for axis in reversed(axes):
            coordinates[:, axis], key = key % net.blocks, key // net.blocks
    starts = np.append(first, len(order))
    return Pairs(coordinates * net.width, starts, who[order])


def _reached(rows: Lattice, net: Net, start: int) -> tuple[Ints, Ints, Ints]:
    """Keys of blocks, first and second half of the axes, for some rows, and those rows."""
    block = rows[start : start + _ROWS].astype(np.int64)
    who = np.arange(len(block))
    keys = [np.zeros(len(block), dtype=np.int64) for _ in range(2)]
    spent = np.zeros(len(block), dtype=np.int64)
    reach, side, half, width = isqrt(net.limit), net.side, net.half, net.width
    for axis in range(net.n_features):
        x = block[who, axis]
        lowest = np.maximum(-((reach - x) // side), -half) + half
        highest = np.minimum((x + reach) // side, half) + half
        number = np.maximum(highest // width - lowest // width + 1, 0)
        back = np.repeat(np.cumsum(number) - number, number)
        turn = np.arange(len(back)) - back + np.repeat(lowest // width, number)
        x, spent, who = np.repeat(x, number), np.repeat(spent, number), np.repeat(who, number)
        ends = net.points(turn * width), net.points(np.minimum(turn * width + width - 1, 2 * half))
        spent = spent + np.square(np.maximum(np.maximum(ends[0] - x, x - ends[1]), 0))
        keys = [np.repeat(key, number) for key in keys]
        mine = int(axis >= net.n_features // 2)
        keys[mine] = keys[mine] * net.blocks + turn
        kept = spent <= net.limit
        who, spent, keys = who[kept], spent[kept], [key[kept] for key in keys]
    return keys[0], keys[1], who + start


def add_near(
    rows: Lattice, active: Mask, pairs: Pairs, which: Ints, net: Net, counts: Ints, sign: int
) -> None:
    """Add `sign` for every active row to the points near it, of each of some blocks.

    Line i of `counts` has the points of the block `which[i]`.
    """
    if _worth_compiling(pairs, which) and (loops := _compiled_loops()):
        loops.add_near(rows, active, *_arrays(pairs), which, _numbers(net), counts, sign)
    else:
        _add_near(rows, active, pairs, which, net, counts, sign)


def _add_near(
    rows: Lattice, active: Mask, pairs: Pairs, which: Ints, net: Net, counts: Ints, sign: int
) -> None:
    flat = counts.reshape(-1)
    for place, cell in _inside(rows, active, pairs, which, net):
        np.add.at(flat, place * net.cells + cell, sign)


def tally_near(
    rows: Lattice, active: Mask, pairs: Pairs, which: Ints, net: Net, many: Ints, sign: int
) -> None:
    """Count some blocks afresh; add `sign` to `many[s]` for each point with s ≥ 1 rows near it."""
    if _worth_compiling(pairs, which) and (loops := _compiled_loops()):
        loops.tally_near(rows, active, *_arrays(pairs), which, _numbers(net), many, sign)
    else:
        _tally_near(rows, active, pairs, which, net, many, sign)


def _tally_near(
    rows: Lattice, active: Mask, pairs: Pairs, which: Ints, net: Net, many: Ints, sign: int
) -> None:
    for i in range(len(which)):
        counts = np.zeros((1, net.cells), dtype=np.int64)
        _add_near(rows, active, pairs, which[i : i + 1], net, counts, 1)
        tally(counts, np.zeros(1, dtype=np.int64), many, sign)


@cache
def _compiled_loops() -> Any:  # noqa: ANN401
    """The compiled loops, if they agree with NumPy's on a fixed block of rows; otherwise None."""
    from sfumato._lattice.kernels import numba_cover as loops
    from sfumato._lattice.kernels.verify import accepted, fixed_rows, same

    rows, net = fixed_rows(29, 3), Net(3, 4000, 8, 9000**2)
    pairs, active = pairs_of(rows, net), np.arange(29) % 5 > 0
    which, fast = np.arange(len(pairs))[::2], (_arrays(pairs), _numbers(net))
    agreed = same(
        lambda counts: loops.add_near(rows, active, *fast[0], which, fast[1], counts, 1),
        lambda counts: _add_near(rows, active, pairs, which, net, counts, 1),
        outputs=[np.zeros((len(which), net.cells), dtype=np.int64)],
    ) and same(
        lambda many: loops.tally_near(rows, active, *fast[0], which, fast[1], many, 1),
        lambda many: _tally_near(rows, active, pairs, which, net, many, 1),
        outputs=[np.zeros(len(rows) + 1, dtype=np.int64)],
    )
    return loops if accepted(agreed) else None


def tally(counts: Ints, lines: Ints, many: Ints, sign: int) -> None:
    """Add `sign` to `many[s]` for each point of some lines with s ≥ 1 rows near it."""
    for line in lines:
        found = np.bincount(counts[line])
        many[1 : len(found)] += sign * found[1:]


def _inside(
    rows: Lattice, active: Mask, pairs: Pairs, which: Ints, net: Net
) -> Iterator[tuple[Ints, Ints]]:
    """Yield (place in `which`, number of a point in its block) of every row and point near it."""
    sizes = pairs.counts()[which]
    places = np.repeat(np.arange(len(which)), sizes)
    back = np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = pairs.members[np.arange(len(places)) - back + pairs.starts[which][places]]
    kept = active[members]
    places, members = places[kept], members[kept]
    steps = np.arange(net.width)
    for a in range(0, len(places), _PAIRS):
        place, who = places[a : a + _PAIRS], members[a : a + _PAIRS]
        origin, cell = pairs.origins[which[place]], np.zeros(len(place), dtype=np.int64)
        spent, pair = np.zeros(len(place), dtype=np.int64), np.arange(len(place))
        for axis in range(net.n_features):
            number = origin[pair, axis][:, np.newaxis] + steps
            gaps = net.points(number) - rows[who[pair], axis][:, np.newaxis]
            total = spent[:, np.newaxis] + np.square(gaps)
            kept, step = np.nonzero((total <= net.limit) & (number < net.per_axis))
            spent, pair = total[kept, step], pair[kept]
            cell = cell[kept] * net.width + step
        yield place[pair], cell


def _worth_compiling(pairs: Pairs, which: Ints) -> bool:
    size = int(pairs.counts()[which].sum()) * _REACHED
    # Only the size of this array is looked at, and it takes no memory.
    return compiled(np.broadcast_to(np.int16(0), (size, 1)))


def _arrays(pairs: Pairs) -> tuple[Ints, Ints, Ints]:
    return pairs.members, pairs.starts, pairs.origins


def _numbers(net: Net) -> Ints:
    return np.array([net.side, net.half, net.limit, net.width], dtype=np.int64)
