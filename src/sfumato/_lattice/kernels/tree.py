"""Rows descend a tree of boxes and are counted several levels below its open nodes.

A tree is a table of nodes with three numbers each: the axis on which it is cut, the cut, and its
left child, which the right child follows; a row turns right if it lies above the cut. Where there
are no children, the third number says CLOSED, or OPEN − i for the open node number i. Below every
open node hangs a full binary tree of cuts (axis, cut), level by level from the left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice

Table = NDArray[np.int32]

CLOSED = -1
OPEN = -2

_GROUP = 256

SPAN = 2**22
"""Four times as many as there are places of cubes on an axis, or of rows below them."""


def add_branches(rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
    """Count the rows of each place below each open node; `state` has shape (open, 2^levels)."""
    who, top = _descend(rows, nodes)
    width = state.shape[1]
    # Places are numbered as in a heap: the top is 1, the children of i are 2i and 2i + 1.
    place = np.ones(len(who), dtype=np.int64)
    for _ in range(width.bit_length() - 1):
        axis, cut = cuts[top, place - 1].T
        place = 2 * place + (rows[who, axis] > cut)
    np.add.at(state.reshape(-1), top * width + place - width, 1)


def _descend(rows: Lattice, nodes: Table) -> tuple[Ints, Ints]:
    """Find the rows that reach an open node, and the number of that node."""
    who, at = np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)
    found, tops = [], []
    while who.size:
        axis, cut, child = nodes[at].T
        found.append(who[child <= OPEN])
        tops.append(OPEN - child[child <= OPEN].astype(np.int64))
        inner = child >= 0
        who = who[inner]
        at = child[inner].astype(np.int64) + (rows[who, axis[inner]] > cut[inner])
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *found]), np.concatenate([none, *tops])


def count_branches(rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
    """Count the same as `add_branches`, row by row: the loop that is compiled."""
    # Rows of a group take each step together, so that no step waits for the one before.
    who, at = np.empty(_GROUP, np.int64), np.empty(_GROUP, np.int64)
    found, place = np.empty(_GROUP, np.int64), np.empty(_GROUP, np.int64)
    top, width = np.empty(_GROUP, np.int64), state.shape[1]
    for start in range(0, len(rows), _GROUP):
        going, met, level = min(_GROUP, len(rows) - start), 0, 1
        who[:going], at[:going], place[:going] = np.arange(start, start + going), 0, 1
        while going > 0:
            left = 0
            for i in range(going):
                row, node = who[i], at[i]
                axis, cut, child = nodes[node, 0], nodes[node, 1], np.int64(nodes[node, 2])
                who[left], at[left] = row, child + (rows[row, axis] > cut)
                left += int(child >= 0)
                if child <= OPEN:
                    found[met], top[met] = row, OPEN - child
                    met += 1
            going = left
        while level < width:
            for i in range(met):
                line = cuts[top[i], place[i] - 1]
                place[i] = 2 * place[i] + (rows[found[i], line[0]] > line[1])
            level *= 2
        for i in range(met):
            state[top[i], place[i] - width] += 1


def count_cubes(
    rows: Lattice, low: Ints, side: int, keys: Ints, starts: Ints, numbers: Ints, state: Ints
) -> None:
    """Count the rows of every half of every cube row by row: the loop that is compiled."""
    half, axes = side // 2, len(low)
    for i in range(len(rows)):
        node, child, axis = np.int64(0), np.int64(0), 0
        while axis < axes:
            above = rows[i, axis] - low[axis]
            place = above // side
            key = node * SPAN + place
            first, last = starts[axis], starts[axis + 1]
            while first < last:
                middle = (first + last) // 2
                if keys[middle] < key:
                    first = middle + 1
                else:
                    last = middle
            if first == starts[axis + 1] or keys[first] != key:
                break
            node = first - starts[axis]
            child += np.int64(above - place * side >= half) << axis
            axis += 1
        if axis == axes:
            state[(numbers[node] << axes) + child] += 1
