"""Squared distances of points to centres, and which centre is nearest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.box import Floats, Ints

# Distances worked out at a time: they should stay in the cache.
_BLOCK = 2**16


class Lifted(NamedTuple):
    """Points with a column of ones, so that one product gives |c|² − 2x·c; and their |x|²."""

    rows: Floats
    squares: Floats

    def to(self, centers: Floats) -> Floats:
        """Squared distances: (centers, points)."""
        gaps: Floats = _slopes(centers).T @ self.rows.T
        gaps += self.squares
        return np.maximum(gaps, 0, out=gaps)

    def nearest(self, centers: Floats) -> tuple[Ints, Floats]:
        """The nearest centre of every point, and its squared distance."""
        slopes, n = _slopes(centers), len(self.rows)
        own, first = np.empty(n, dtype=np.int64), np.empty(n)
        size = max(1, _BLOCK // len(centers))
        lines = np.arange(min(size, n))
        for start in range(0, n, size):
            part = slice(start, start + size)
            scores = self.rows[part] @ slopes
            own[part] = scores.argmin(axis=1)
            first[part] = scores[lines[: len(scores)], own[part]]
        first += self.squares
        return own, np.maximum(first, 0, out=first)


def lift(points: Floats) -> Lifted:
    """Prepare points for many questions about their distances."""
    ones = np.ones((len(points), 1))
    return Lifted(np.hstack([points, ones]), np.square(points).sum(axis=1))


def nearest(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """The nearest centre of every point, and its squared distance."""
    return lift(points).nearest(centers)


def two_nearest(points: Floats, centers: Floats) -> tuple[Ints, Floats, Floats]:
    """The nearest centre of every point, its squared distance, and that of the second nearest."""
    gaps = squared(points, centers)
    own = gaps.argmin(axis=1)
    rows = np.arange(len(points))
    first = gaps[rows, own]
    gaps[rows, own] = np.inf
    return own, first, gaps.min(axis=1)


def squared(points: Floats, centers: Floats) -> Floats:
    """All squared distances: (points, centers)."""
    gaps = -2 * points @ centers.T
    gaps += np.square(centers).sum(axis=1)
    gaps += np.square(points).sum(axis=1)[:, None]
    return np.maximum(gaps, 0)


def _slopes(centers: Floats) -> Floats:
    return np.vstack([-2 * centers.T, np.square(centers).sum(axis=1)])
