"""Rows counted in the halves of public cubes, or summed in cells that are known, exactly.

See docs/proofs/cubes.md.

All cubes lie on one grid. Their places on it form a tree with one level for each axis, and a row
walks down from the first axis to the last: from node number `node` it goes to where the level's
ascending keys hold node·SPAN + its place on that axis, or leaves the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._lattice.kernels import gaps
from sfumato._lattice.kernels.dispatch import blocks, by_nearest, compiled, loops_for
from sfumato._lattice.kernels.numpy_loops import SPAN

_BLOCK_ROWS = 2**14


@dataclass(frozen=True, eq=False)
class Index:
    """Where the cubes are: what the loops need to find the cube of a row.

    Level i of the tree is keys[starts[i] : starts[i + 1]]; `numbers` are the cubes of the last one.
    """

    low: Ints
    side: int
    keys: Ints
    starts: Ints
    numbers: Ints

    @classmethod
    def of(cls, corners: Ints, side: int) -> Index:
        """Prepare to look for cubes of one grid, no two of them the same."""
        low: Ints = corners.min(axis=0)
        nodes = np.zeros(len(corners), dtype=np.int64)
        levels = []
        for places in ((corners - low) // side).T:
            keys, nodes = np.unique(nodes * SPAN + places, return_inverse=True)
            levels.append(keys)
        starts = np.cumsum([0, *(len(keys) for keys in levels)], dtype=np.int64)
        return cls(low, side, np.concatenate(levels), starts, np.argsort(nodes))


def child_counts(rows: Lattice, index: Index, state: Ints) -> None:
    """Count the rows of every half of every cube into `state`, of shape (cubes·2^axes,).

    A row with a gap lies in none.
    """
    add = _compiled_add() if compiled(rows) else _add
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = np.ascontiguousarray(gaps.complete(rows[start : start + _BLOCK_ROWS]))
        add(block, index.low, index.side, index.keys, index.starts, index.numbers, state)


@cache
def _compiled_add() -> Callable[[Lattice, Ints, int, Ints, Ints, Ints, Ints], None]:
    from sfumato._lattice.kernels.verify import halves_loop

    side = 2**13
    places = np.array([[0, 0], [1, 0], [-2, 3], [3, -4], [-4, -4]])
    index = Index.of(places * side, side)
    return halves_loop(_add, index.low, side, index.keys, index.starts, index.numbers)


def _add(
    rows: Lattice, low: Ints, side: int, keys: Ints, starts: Ints, numbers: Ints, state: Ints
) -> None:
    who = np.arange(len(rows))
    node, child = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    for axis in range(len(low)):
        level = keys[starts[axis] : starts[axis + 1]]
        place, rest = np.divmod(rows[who, axis] - low[axis], side)
        # A negative place, below all cubes, makes the key of one far above all cubes.
        key = node * SPAN + place
        found = np.minimum(np.searchsorted(level, key), len(level) - 1)
        inside = level[found] == key
        child += (rest >= side // 2).astype(np.int64) << axis
        who, node, child = who[inside], found[inside], child[inside]
    np.add.at(state, (numbers[node] << len(low)) + child, 1)


def cells_of_nearest(rows: Lattice, centers: Ints) -> Ints:
    """Number of the nearest centre of each row; of equally near ones the first."""
    labels = [labels.copy() for _, labels in by_nearest(loops_for(rows), rows, centers)]
    return np.concatenate([np.empty(0, dtype=np.int64), *labels])


def labelled_totals(rows: Lattice, labels: Ints, state: Ints) -> None:
    """Count (column 0) and sum (columns 1 to d) rows whose cells are known."""
    loops, start = loops_for(rows), 0
    for block in blocks(rows, 1):
        loops.add_totals(block, labels[start : start + len(block)], state)
        start += len(block)
