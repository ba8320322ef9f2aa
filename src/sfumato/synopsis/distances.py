"""Squared distances of points to centres, and which centre is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sfumato.box import Floats, Ints

# Distances worked out at a time: they should stay in the cache.
_BLOCK = 2**16


class Lifted(NamedTuple):
    """Points with a column of ones, so that one product gives |c|² − 2x·c; and their |x|²."""

    rows: Floats
    squares: Floats

    def take(self, numbers: Ints) -> Lifted:
        """Some of the points, by their numbers."""
        return Lifted(self.rows[numbers], self.squares[numbers])

    def to(self, centers: Floats) -> Floats:
        """Squared distances: (centers, points)."""
        gaps: Floats = _slopes(centers).T @ self.rows.T
        gaps += self.squares
        return np.maximum(gaps, 0, out=gaps)

    def nearest(self, centers: Floats) -> tuple[Ints, Floats]:
        """The nearest centre of every point, and its squared distance."""
        own, first = np.empty(len(self.rows), dtype=np.int64), np.empty(len(self.rows))
        for part, scores, lines in self._blocks(centers):
            own[part] = scores.argmin(axis=1)
            first[part] = scores[lines, own[part]]
        first += self.squares
        return own, np.maximum(first, 0, out=first)

    def second(self, centers: Floats, own: Ints) -> Floats:
        """The squared distance of the nearest centre but `own`; of one alone it is infinite."""
        second = np.empty(len(self.rows))
        for part, scores, lines in self._blocks(centers):
            scores[lines, own[part]] = np.inf
            second[part] = scores.min(axis=1)
        second += self.squares
        return np.maximum(second, 0, out=second)

    def _blocks(self, centers: Floats) -> Iterator[tuple[slice, Floats, Ints]]:
        """Yield |c|² − 2x·c of some points at a time, and the numbers of its lines."""
        slopes, size = _slopes(centers), max(1, _BLOCK // len(centers))
        lines = np.arange(min(size, len(self.rows)))
        for start in range(0, len(self.rows), size):
            part = slice(start, start + size)
            scores = self.rows[part] @ slopes
            yield part, scores, lines[: len(scores)]


def lift(points: Floats) -> Lifted:
    """Prepare points for many questions about their distances."""
    ones = np.ones((len(points), 1))
    return Lifted(np.hstack([points, ones]), np.square(points).sum(axis=1))


def nearest(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """The nearest centre of every point, and its squared distance."""
    return lift(points).nearest(centers)


def _slopes(centers: Floats) -> Floats:
    slopes = np.empty((centers.shape[1] + 1, len(centers)))
    np.multiply(centers.T, -2, out=slopes[:-1])
    slopes[-1] = np.square(centers).sum(axis=1)
    return slopes
