"""The law of a tree's shape: which nodes split, at a price that no depth can raise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from sfumato.box import Ints
from sfumato.budget import Entry, Share
from sfumato.curator import noise as laws

Bits = NDArray[np.bool_]

DEEPEST = 60
"""No node splits at this depth."""

LOG_2 = Fraction(69314718056, 10**11)
"""A little above ln 2."""

PER_PATH = Fraction(26067, 10**4)
"""A little above 1 + Σ 1/(2^k − 1), k = 1, 2, …: what one row can cost, in units of 1/scale."""


@dataclass(frozen=True)
class Splits:
    """PrivTree (Zhang, Xiao and Xie 2016) with integer counts, decay and noise.

    A node with c rows at depth h splits if max(−decay, c − h·decay) + noise > 0, where the noise is
    discrete Laplace. A row changes the counts of one path only; along it the biased counts fall by
    at least `decay` with every level, so that all but the last splits were nearly certain.

    Guarantee: all bits together are ε-DP for neighbours that differ by up to `rows` rows, if
    scale = PER_PATH · rows / ε and e^(−decay/scale) ≤ 1/2 (docs/proofs/priv-tree.md).
    """

    scale: Fraction
    decay: int

    @classmethod
    def fitting(cls, share: Share, rows: int) -> Splits:
        """Calibrate to a pure share."""
        if share.kind != "pure":
            raise TypeError(f"the shape of a tree is bought with a pure share, got {share.kind!r}")
        scale = PER_PATH * rows / share.amount
        return cls(scale, ceil(scale * LOG_2))

    def check(self) -> None:
        """Refuse, before any charge, a scale that cannot be drawn."""
        laws.check_scale(self.scale)

    def entry(self, question: str, share: Share, max_leaves: int) -> Entry:
        """The line of the account that pays for the shape of a tree."""
        return Entry(
            question=question,
            share=share,
            law="privtree",
            scale=self.scale,
            noise=f"± {2**0.5 * float(self.scale):.3g} rows per split",
            # A tree of so many leaves has fewer than twice as many nodes, with a draw each.
            slack=laws.laplace_slack(2 * max_leaves),
        )

    def biased(self, counts: Ints, depth: int) -> Ints:
        """Take the decay of `depth` levels off counts, down to a floor."""
        biased: Ints = np.maximum(counts - depth * self.decay, -self.decay)
        return biased

    def draw(self, noise: laws.Noise, biased: Ints) -> Bits:
        """Decide which nodes split."""
        bits: Bits = biased + noise.laplace(self.scale, len(biased)) > 0
        return bits
