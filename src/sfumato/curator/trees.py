"""The verb that grows a tree of boxes: deep where many rows lie, at a price without the depth."""

from __future__ import annotations

import numpy as np

from sfumato.box import Ints
from sfumato.budget import Share
from sfumato.curator.answers import Answer, Tree
from sfumato.curator.growth import Growth
from sfumato.curator.mechanisms import independent
from sfumato.curator.parts import Part, in_rows
from sfumato.curator.questions import MAX_NUMBERS, Sensitivity
from sfumato.curator.splits import Bits, Splits
from sfumato.curator.tree_questions import Corners, Domain
from sfumato.curator.vault import Vault
from sfumato.engines.base import Rows

MAX_LEAVES = 2**20
"""The most leaves that a tree may be allowed."""

_Grown = tuple[Corners, Corners, Ints, Ints]


class Trees(Vault):
    """The curator's trees; see `Curator`.

    Guarantee: that of `grow`.
    """

    def grow(self, domain: Domain, *, share: Share, counts: Share, max_leaves: int = 2**17) -> Tree:
        """Release a tree of boxes over a domain, and how many rows lie in each of its leaves.

        Boxes with many rows are halved on their widest side again and again: `share` buys the bits
        that say which (see `Splits`), `counts` the noisy counts of the leaves. Nodes split level by
        level, from the left; once there are `max_leaves` leaves no more do.

        Sensitivity: a row lies in the boxes of one path from the root to one leaf. Every bit on
        that path has a count that moves by 1; the leaves are disjoint, so one count moves by 1.
        Guarantee: all bits together are ε-DP for `share`, whatever the depth of the tree; the
        counts of the leaves as in `counts`, for their own share. Both are charged at once.
        """
        self._check(share, counts)
        _check_tree(domain, max_leaves, self.box.n_features)
        splits = Splits.fitting(share, self._rows_per_neighbour)
        splits.check()
        leaves = _leaves_part(counts, self._rows_per_neighbour, max_leaves)
        leaves.mechanism.check(leaves.shape)

        def decide(exact: Ints, depth: int) -> Bits:
            return self._splits(splits, splits.biased(exact, depth))

        def read(rows: Rows) -> _Grown:
            growth = Growth(domain, max_leaves)
            while not growth.done:
                growth.settle(rows.fold(self.box, growth.question()), decide)
            lower, upper, depths, exact = growth.leaves()
            return lower, upper, depths, self._perturb(leaves.mechanism, exact[:, np.newaxis])

        shape = splits.entry(f"a tree of at most {max_leaves:,} boxes", share, max_leaves)
        lower, upper, depths, noisy = self._pay([shape, leaves.entry()], read)
        answer = Answer(noisy[:, 0].astype(np.float64), leaves.std)
        return Tree(lower.astype(np.int64), upper.astype(np.int64), depths, answer)


def _leaves_part(share: Share, rows: int, max_leaves: int) -> Part:
    mechanism = independent(share, Sensitivity(1, 1).times(rows))
    shape, std = (max_leaves, 1), mechanism.std
    name = "counts of the leaves of a tree"
    return Part(name, share, mechanism, slice(0, 1), shape, std, in_rows(std))


def _check_tree(domain: object, max_leaves: int, n_features: int) -> None:
    if type(domain) is not Domain:
        raise TypeError(f"a tree is grown over a Domain, got {type(domain).__name__}")
    if domain.n_features != n_features:
        raise ValueError(f"the domain has {domain.n_features} columns, the data has {n_features}")
    most = min(MAX_LEAVES, MAX_NUMBERS // n_features)
    if type(max_leaves) is not int or not 1 <= max_leaves <= most:
        raise ValueError(
            f"max_leaves must be a whole number from 1 to {most:,} for {n_features} columns, got "
            f"{max_leaves!r}"
        )
