"""A tree of boxes while it grows: which nodes are open, and how far a pass looks below them.

Everything here but the counts is a function of public numbers and of bits that were released. A
pass counts several levels below every open node; then the levels are decided one after the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.box import Ints
from sfumato.curator.splits import DEEPEST, Bits
from sfumato.curator.tree_questions import (
    Branches,
    Corners,
    Domain,
    cut_widest,
    cuts_below,
    halves_of,
)
from sfumato.engines.kernels_tree import CLOSED, OPEN, Table

MOST_PASSES = 8
"""Passes over the rows in which every tree is finished."""

# Boxes that a pass counts, unless that would take too many passes.
_BOXES = 2**18

# Numbers in the corners of boxes that are cut ahead at a time.
_CORNERS = 2**22

Decide = Callable[[Ints, int], Bits]


class Growth:
    """Open nodes, all of one depth, and the leaves that were closed before."""

    def __init__(self, domain: Domain, max_leaves: int) -> None:
        self._room = max_leaves - 1
        self._nodes: Table = np.array([[0, 0, OPEN]], dtype=np.int32)
        self._open: Ints = np.zeros(1, dtype=np.int64)
        self._lower: Corners = np.array([domain.lower], dtype=np.int32)
        self._upper: Corners = np.array([domain.upper], dtype=np.int32)
        self._leaves: list[tuple[Corners, Corners, Ints, Ints]] = []
        self._depth = 0
        self._passes = 0

    @property
    def done(self) -> bool:
        """Whether every node is closed."""
        return len(self._open) == 0

    def leaves(self) -> tuple[Corners, Corners, Ints, Ints]:
        """Lower and upper corners, depths and exact counts of all leaves, shallow ones first."""
        lower, upper, depths, counts = (np.concatenate(x) for x in zip(*self._leaves, strict=True))
        return lower, upper, depths, counts

    def question(self) -> Branches:
        """What the next pass counts."""
        levels = self._levels()
        self._passes += 1
        step = max(1, _CORNERS // (self._lower.shape[1] << levels))
        cuts = np.empty((len(self._open), 2**levels - 1, 2), dtype=np.int32)
        for a in range(0, len(cuts), step):
            span = slice(a, a + step)
            cuts[span] = cuts_below(self._lower[span], self._upper[span], levels)
        self._nodes[self._open, 2] = OPEN - np.arange(len(self._open))
        return Branches(self._nodes.copy(), cuts)

    def _levels(self) -> int:
        """Levels to count below the open nodes: what fits, and enough to finish in time."""
        fits = (_BOXES // len(self._open)).bit_length() - 1
        depths, passes = DEEPEST + 1 - self._depth, MOST_PASSES - self._passes
        needed = -(-depths // passes) - 1
        # A side of w points can be halved as often as w − 1 has digits.
        sides = np.frexp((self._upper - self._lower).astype(np.float64))[1]
        return min(max(fits, needed), DEEPEST - self._depth, int(sides.sum(axis=1).max()))

    def settle(self, counts: Ints, decide: Decide) -> None:
        """Decide the levels that were counted; what splits on the last of them stays open."""
        levels = [counts]
        while levels[-1].shape[1] > 1:
            levels.append(levels[-1][:, ::2] + levels[-1][:, 1::2])
        top, place = np.arange(len(counts)), np.zeros(len(counts), dtype=np.int64)
        for exact in reversed(levels):
            if self.done:
                return
            split = self._split(exact[top, place], decide)
            top = np.repeat(top[split], 2)
            place = np.repeat(2 * place[split], 2)
            place[1::2] += 1

    def _split(self, exact: Ints, decide: Decide) -> Bits:
        """Decide one level, close what does not split and open the children of what does."""
        able = (self._upper > self._lower).any(axis=1)
        able &= self._depth < DEEPEST and self._room > 0
        split = np.zeros(len(exact), dtype=np.bool_)
        split[able] = decide(exact[able], self._depth)
        split &= split.cumsum() <= self._room
        self._room -= int(split.sum())
        self._close(~split, exact[~split])
        self._descend(split)
        self._depth += 1
        return split

    def _close(self, which: Bits, exact: Ints) -> None:
        self._nodes[self._open[which], 2] = CLOSED
        depths = np.full(len(exact), self._depth)
        self._leaves.append((self._lower[which], self._upper[which], depths, exact))

    def _descend(self, which: Bits) -> None:
        parents, first = self._open[which], len(self._nodes)
        axis, cut = cut_widest(self._lower[which], self._upper[which])
        self._lower, self._upper = halves_of(self._lower[which], self._upper[which], axis, cut)
        self._open = first + np.arange(2 * len(parents))
        self._nodes[parents] = np.column_stack((axis, cut, self._open[::2]))
        children = np.zeros((len(self._open), 3), dtype=np.int32)
        self._nodes = np.concatenate((self._nodes, children))
