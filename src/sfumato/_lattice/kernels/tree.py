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
