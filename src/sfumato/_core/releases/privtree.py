"""PrivTree: the release of a tree of boxes and of the counts of its leaves.

Everything here but the counts is a function of public numbers and of bits that were released. A
pass counts several levels below every open node; then the levels are decided one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from sfumato._accounting.budget import Entry, Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer, Tree
from sfumato._core.mechanisms import independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.cells import Sensitivity
from sfumato._core.queries.privtree import (
    Branches,
    Corners,
    Domain,
    cuts_below,
    halve,
)
from sfumato._core.releases.counts import Measurement, in_rows
from sfumato._core.sampling.additive import check_scale, laplace_slack
from sfumato._core.sampling.source import Noise
from sfumato._lattice.box import MAX_NUMBERS
from sfumato._lattice.kernels.numpy_loops import CLOSED, OPEN, Table
from sfumato.engines._rows import Rows

Bits = NDArray[np.bool_]

DEEPEST = 60
"""No node splits at this depth."""

LOG_2 = Fraction(69314718056, 10**11)
"""A little above ln 2."""

PER_PATH = Fraction(26067, 10**4)
"""A little above 1 + Σ 1/(2^k − 1), k = 1, 2, …: what one row can cost, in units of 1/scale."""


@dataclass(frozen=True)
class PrivTreeSplits:
    """PrivTree (Zhang, Xiao and Xie 2016) with integer counts, decay and noise.

    A node with c rows at depth h splits if max(−decay, c − h·decay) + noise > 0, where the noise is
    discrete Laplace. A row changes the counts of one path only; along it the biased counts fall by
    at least `decay` with every level, so that all but the last splits were nearly certain.

    Guarantee: all bits together are ε-DP for neighbours that differ by up to `rows` rows, if
    scale = PER_PATH · rows / ε and e^(−decay/scale) ≤ 1/2 (docs/proofs/privtree.md).
    """

    scale: Fraction
    decay: int
    max_leaves: int = 2**17

    @classmethod
    def fitting(cls, share: Share, rows: int, max_leaves: int = 2**17) -> PrivTreeSplits:
        """Calibrate to a pure share."""
        if share.kind != "pure":
            raise TypeError(f"the shape of a tree takes a pure share, got {share.kind!r}")
        scale = PER_PATH * rows / share.amount
        return cls(scale, ceil(scale * LOG_2), max_leaves)

    def check(self) -> None:
        """Refuse, before any charge, a scale that cannot be drawn."""
        check_scale(self.scale)

    def loss(self, rows: int) -> Fraction:
        """ε of all bits, for neighbours that differ by up to `rows` rows."""
        if self.decay < self.scale * LOG_2:
            raise RuntimeError("the decay of a tree is too small for its noise: a bug in sfumato")
        return PER_PATH * rows / self.scale

    def entry(self, share: Share, rows: int) -> Entry:
        """The line of the account for the shape of a tree."""
        name = f"PrivTree, at most {self.max_leaves:,} leaves"
        noise = f"± {2**0.5 * float(self.scale):.3g} rows per split"
        # A tree of so many leaves has fewer than twice as many nodes, with a draw each.
        slack = laplace_slack(2 * self.max_leaves)
        return Entry(name, share, "privtree", self.scale, noise, slack, self.loss(rows))

    def biased(self, counts: Ints, depth: int) -> Ints:
        """Take the decay of `depth` levels off counts, down to a floor."""
        biased: Ints = np.maximum(counts - depth * self.decay, -self.decay)
        return biased

    def draw(self, noise: Noise, biased: Ints) -> Bits:
        """Decide which nodes split."""
        bits: Bits = biased + noise.laplace(self.scale, len(biased)) > 0
        return bits


MAX_PASSES = 8
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

    def query(self) -> Branches:
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
        depths, passes = DEEPEST + 1 - self._depth, MAX_PASSES - self._passes
        needed = -(-depths // passes) - 1
        # A side of w points can be halved as often as w − 1 has digits.
        sides = np.frexp((self._upper - self._lower).astype(np.float64))[1]
        return min(max(fits, needed), DEEPEST - self._depth, int(sides.sum(axis=1).max()))

    def decide(self, counts: Ints, decide: Decide) -> None:
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
        axis, cut, self._lower, self._upper = halve(self._lower[which], self._upper[which])
        self._open = first + np.arange(2 * len(parents))
        self._nodes[parents] = np.column_stack((axis, cut, self._open[::2]))
        children = np.zeros((len(self._open), 3), dtype=np.int32)
        self._nodes = np.concatenate((self._nodes, children))


MAX_LEAVES = 2**20
"""The most leaves that a tree may be allowed."""

_Grown = tuple[Corners, Corners, Ints, Ints]


def release_tree(
    data: PrivateData, domain: Domain, share: Share, counts: Share, max_leaves: int
) -> Tree:
    """See `Curator.grow`."""
    data.admit(domain, (Domain,), share, counts)
    _check_leaves(max_leaves, domain.n_features)
    rows = data.rows_per_neighbour
    splits = PrivTreeSplits.fitting(share, rows, max_leaves)
    splits.check()
    leaves = _measure_leaves(counts, rows, max_leaves)
    leaves.mechanism.check(leaves.shape)

    def decide(exact: Ints, depth: int) -> Bits:
        return data.draw(splits, splits.biased(exact, depth))

    def read(rows: Rows) -> _Grown:
        growth = Growth(domain, max_leaves)
        while not growth.done:
            growth.decide(rows.fold(data.box, growth.query()), decide)
        lower, upper, depths, exact = growth.leaves()
        return lower, upper, depths, data.perturb(leaves.mechanism, exact[:, np.newaxis])

    lower, upper, depths, noisy = data.release([splits.entry(share, rows), leaves.entry()], read)
    answer = Answer(noisy[:, 0].astype(np.float64), leaves.std)
    return Tree(lower.astype(np.int64), upper.astype(np.int64), depths, answer)


def _measure_leaves(share: Share, rows: int, max_leaves: int) -> Measurement:
    most = Sensitivity(1, 1).times(rows)
    mechanism = independent(share, most)
    shape, std, loss = (max_leaves, 1), mechanism.std, mechanism.loss(most)
    name = "counts of the leaves of the tree"
    return Measurement(name, share, mechanism, shape, std, in_rows(std), loss)


def _check_leaves(max_leaves: int, n_features: int) -> None:
    limit = min(MAX_LEAVES, MAX_NUMBERS // n_features)
    if type(max_leaves) is not int or not 1 <= max_leaves <= limit:
        raise ValueError(
            f"max_leaves must be a whole number from 1 to {limit:,} for {n_features} columns, got "
            f"{max_leaves!r}"
        )
