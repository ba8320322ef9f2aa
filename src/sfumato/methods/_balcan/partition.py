"""Candidates for centres: shifted cubes, cut in halves as long as noisy counts say it is worth it.

Edler 2023, Algorithms 2, 3, 9 and 10. Departs from them: under adding or removing a row one cube of
each depth changes, so that a depth costs a depth's part of ε and not twice that; the first cube
holds the whole ball whatever its shift; cubes that are found at the last depth are candidates too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Ints, Mask, Rng
from sfumato._core.curator import Answer, Curator
from sfumato._core.queries.counts import Cubes
from sfumato._lattice.box import REACH

# Cubes that are cut at one depth, and coordinates of their parts; of more the fullest.
_MAX_CUBES = 2**12
_MAX_NUMBERS = 2**22
# Coordinates of the parts of all cubes that are counted in one pass.
_MAX_TOGETHER = 2**24


def threshold(gamma: float, epsilon: float, n: float, failure: float) -> float:
    """Noisy rows from which a cube is cut: γ = factor·ln(n/failure)/ε′."""
    return gamma * math.log(max(n, 2.0) / failure) / epsilon


def shifted_cube(p: int, depths: int, rng: Rng) -> tuple[Ints, int]:
    """A cube that holds the ball of radius REACH, and its side, a multiple of 2^depths."""
    unit = 2**depths
    side = -(-4 * REACH // unit) * unit
    # Its lower corner is at most −REACH and its upper one at least REACH.
    return rng.integers(REACH - side, -REACH, (1, p), endpoint=True), side


@dataclass
class Cutting:
    """A cube while it is cut, as long as a noisy count of a part passes γ, in rows.

    corners: (m, p), lattice steps of the view, of the cubes to cut next. One share is charged for
    each depth. It ends when no part passes: what is left stays unspent. `levels` are the middles of
    cubes that were cut, depth by depth; `noise_std` is that of the last counts.
    """

    corners: Ints
    side: int
    shares: Sequence[Share]
    gamma: float

    def __post_init__(self) -> None:
        self.noise_std = 0.0
        self.levels = [_middles(self.corners, self.side)]
        self._found: list[tuple[Floats, Floats, int]] = []

    @property
    def goes_on(self) -> bool:
        """Whether there are cubes to cut, and a share for it."""
        return len(self.corners) > 0 and self._depth < len(self.shares)

    @property
    def _depth(self) -> int:
        return len(self._found)

    @property
    def share(self) -> Share:
        """The share of the next depth."""
        return self.shares[self._depth]

    def cut(self, cubes: Cubes, answer: Answer) -> None:
        """Go down one depth, to the halves whose noisy counts pass."""
        corners, side = cubes.children(), self.side // 2
        kept = _fullest(answer.values, self.gamma, corners.shape[1])
        last = self._depth == len(self.shares) - 1
        left = np.ones(len(kept), dtype=bool) if last else ~kept
        self._found.append((_middles(corners[left], side), answer.values[left], side))
        self.corners, self.side, self.noise_std = corners[kept], side, answer.noise_std
        if len(self.corners):
            self.levels.append(_middles(self.corners, side))

    @property
    def leaves(self) -> Floats:
        """The middles (m, p) of cubes that were counted and not cut."""
        return np.concatenate([middles for middles, _, _ in self._found])

    @property
    def counts(self) -> Floats:
        """The noisy counts (m,) of the leaves."""
        return np.concatenate([counts for _, counts, _ in self._found])

    @property
    def volumes(self) -> Floats:
        """The volumes (m,) of the leaves."""
        return np.concatenate([np.full(len(c), float(s) ** m.shape[1]) for m, c, s in self._found])

    def candidates(self, least: int | None) -> Floats:
        """All middles; or the deepest, depth by depth, until there are at least so many."""
        if least is None:
            return np.concatenate(self.levels)
        kept: list[Floats] = []
        for level in reversed(self.levels):
            kept.append(level)
            if sum(map(len, kept)) >= least:
                break
        return np.concatenate(kept)


def partition(view: Curator, cuttings: list[Cutting]) -> list[Cutting]:
    """Cut all cubes to the end. Each pass over the rows is a depth of as many as fit together."""
    p = view.box.n_features
    for start in range(0, len(cuttings), together(p)):
        active = cuttings[start : start + together(p)]
        while active := [cutting for cutting in active if cutting.goes_on]:
            cubes = [Cubes(cutting.corners, cutting.side) for cutting in active]
            answers = view.counts_of_each(cubes, share=[cutting.share for cutting in active])
            for cutting, asked, answer in zip(active, cubes, answers, strict=True):
                cutting.cut(asked, answer)
    return cuttings


def into_ball(points: Floats) -> Floats:
    """Whole points (m, p) of the ball of radius REACH: those outside come to its surface."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    inside: Floats = np.trunc(points * np.minimum(1.0, REACH / np.maximum(lengths, 1.0)))
    return inside


def _middles(corners: Ints, side: int) -> Floats:
    return corners.astype(np.float64) + side / 2


def max_cubes(p: int) -> int:
    """How many cubes are cut at one depth in p dimensions."""
    return max(1, min(_MAX_CUBES, _MAX_NUMBERS // (p << p)))


def together(p: int) -> int:
    """How many partitions in p dimensions are counted in one pass."""
    return max(1, _MAX_TOGETHER // (max_cubes(p) * p << p))


def _fullest(counts: Floats, gamma: float, p: int) -> Mask:
    """Which cubes with noisy counts (m,) are cut next: those above γ, of too many the fullest."""
    limit = max_cubes(p)
    kept = counts > gamma
    if kept.sum() > limit:
        kept = np.zeros(len(counts), dtype=bool)
        kept[np.argsort(-counts, kind="stable")[:limit]] = True
    return kept
