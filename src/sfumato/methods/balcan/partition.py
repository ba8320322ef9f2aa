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
from numpy.typing import NDArray

from sfumato.box import REACH, Floats, Ints
from sfumato.budget import Share
from sfumato.curator.curator import Curator
from sfumato.curator.questions import Cubes

# The most cubes that are cut at one depth, and coordinates of their parts: the fullest are.
_MOST_CUBES = 2**12
_MOST_NUMBERS = 2**22


@dataclass(frozen=True)
class Cut:
    """One partition: middles of the cubes that were cut, depth by depth; and all other cubes.

    `leaves` are the middles of cubes that were counted and not cut, `volumes` in powers of two.
    """

    levels: list[Floats]
    leaves: Floats
    counts: Floats
    volumes: Floats
    noise_std: float

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


def threshold(gamma: float, epsilon: float, n: float, failure: float) -> float:
    """Noisy rows from which a cube is cut: γ = factor·ln(n/failure)/ε′."""
    return gamma * math.log(max(n, 2.0) / failure) / epsilon


def shifted_cube(p: int, depths: int, rng: np.random.Generator) -> tuple[Ints, int]:
    """A cube that holds the ball of radius REACH, and its side, a multiple of 2^depths."""
    unit = 2**depths
    side = -(-4 * REACH // unit) * unit
    # Its lower corner is at most −REACH and its upper one at least REACH.
    return rng.integers(REACH - side, -REACH, (1, p), endpoint=True), side


def partition(
    view: Curator, corners: Ints, side: int, shares: Sequence[Share], gamma: float
) -> Cut:
    """Cut the cube as long as a noisy count of a part passes γ; one share pays for each depth.

    It ends when no part passes: the shares that are left stay unspent.
    """
    levels, found = [_middles(corners, side)], []
    noise_std = 0.0
    for depth, share in enumerate(shares):
        cubes = Cubes(corners, side)
        answer = view.counts(cubes, share=share)
        corners, side, noise_std = cubes.children(), side // 2, answer.noise_std
        kept = _fullest(answer.values, gamma, corners.shape[1])
        last = depth == len(shares) - 1
        left = np.ones(len(kept), dtype=bool) if last else ~kept
        found.append((_middles(corners[left], side), answer.values[left], side))
        corners = corners[kept]
        if not len(corners):
            break
        levels.append(_middles(corners, side))
    return Cut(
        levels,
        np.concatenate([middles for middles, _, _ in found]),
        np.concatenate([counts for _, counts, _ in found]),
        np.concatenate([np.full(len(c), float(s) ** m.shape[1]) for m, c, s in found]),
        noise_std,
    )


def into_ball(points: Floats) -> Floats:
    """Whole points of the ball of radius REACH: those outside come to its surface."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    inside: Floats = np.trunc(points * np.minimum(1.0, REACH / np.maximum(lengths, 1.0)))
    return inside


def _middles(corners: Ints, side: int) -> Floats:
    return corners.astype(np.float64) + side / 2


def most_cubes(p: int) -> int:
    """How many cubes are cut at one depth in p dimensions."""
    return max(1, min(_MOST_CUBES, _MOST_NUMBERS // (p << p)))


def _fullest(counts: Floats, gamma: float, p: int) -> NDArray[np.bool_]:
    """Which cubes are cut next: those above γ, and of too many the fullest."""
    most = most_cubes(p)
    kept = counts > gamma
    if kept.sum() > most:
        kept = np.zeros(len(counts), dtype=bool)
        kept[np.argsort(-counts, kind="stable")[:most]] = True
    return kept
