"""Distances, sums and costs that every k-means on weighted points needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sfumato._base.types import Floats, Ints

# Distances computed at a time: they should stay in the cache.
_BLOCK = 2**16


class Lifted(NamedTuple):
    """Points with a column of ones, so that one product gives |c|² − 2x·c; and their |x|².

    rows: (n, d + 1), squares: (n,).
    """

    rows: Floats
    squares: Floats

    def take(self, indices: Ints) -> Lifted:
        """Some of the points, by indices (m,)."""
        return Lifted(self.rows[indices], self.squares[indices])

    def to(self, centers: Floats) -> Floats:
        """Squared distances, (k, n), to centres (k, d)."""
        gaps: Floats = _slopes(centers).T @ self.rows.T
        gaps += self.squares
        return np.maximum(gaps, 0, out=gaps)

    def nearest(self, centers: Floats) -> tuple[Ints, Floats]:
        """The index of the nearest of centres (k, d), and its squared distance: (n,) each."""
        own, first = np.empty(len(self.rows), dtype=np.int64), np.empty(len(self.rows))
        for part, scores, lines in self._blocks(centers):
            own[part] = scores.argmin(axis=1)
            first[part] = scores[lines, own[part]]
        first += self.squares
        return own, np.maximum(first, 0, out=first)

    def second(self, centers: Floats, own: Ints) -> Floats:
        """The squared distance of the nearest centre but `own`, (n,); infinite if k = 1."""
        second = np.empty(len(self.rows))
        for part, scores, lines in self._blocks(centers):
            scores[lines, own[part]] = np.inf
            second[part] = scores.min(axis=1)
        second += self.squares
        return np.maximum(second, 0, out=second)

    def _blocks(self, centers: Floats) -> Iterator[tuple[slice, Floats, Ints]]:
        """Yield |c|² − 2x·c, (m, k), of some points at a time, and the indices of its lines."""
        slopes, size = _slopes(centers), max(1, _BLOCK // len(centers))
        lines = np.arange(min(size, len(self.rows)))
        for start in range(0, len(self.rows), size):
            part = slice(start, start + size)
            scores = self.rows[part] @ slopes
            yield part, scores, lines[: len(scores)]


def lift(points: Floats) -> Lifted:
    """Prepare points (n, d) for many distances."""
    ones = np.ones((len(points), 1))
    return Lifted(np.hstack([points, ones]), np.square(points).sum(axis=1))


def nearest(points: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """The index of the nearest of centres (k, d) to points (n, d), and its squared distance."""
    return lift(points).nearest(centers)


def _slopes(centers: Floats) -> Floats:
    """−2c and |c|² of centres (k, d): (d + 1, k)."""
    slopes = np.empty((centers.shape[1] + 1, len(centers)))
    np.multiply(centers.T, -2, out=slopes[:-1])
    slopes[-1] = np.square(centers).sum(axis=1)
    return slopes


def sums_by_center(own: Ints, table: Floats, k: int) -> Floats:
    """Sum every row of a table (m, n) by centre: (m, k)."""
    sums = np.empty((len(table), k))
    for row, total in zip(table, sums, strict=True):
        total[:] = np.bincount(own, row, k)
    return sums


def swap_losses(
    weights: Floats, own: Ints, first: Floats, second: Floats, gaps: Floats, k: int
) -> Floats:
    """What it costs to drop each centre after a new one was added: (new ones, k).

    `first` and `second` are squared distances to the nearest two centres, (n,); `gaps` those to
    every new one, (new ones, n). The points of a dropped centre go to their second or to the new.
    """
    more = weights * (np.minimum(second, gaps) - np.minimum(first, gaps))
    bins = own + k * np.arange(len(gaps))[:, None]
    losses = np.bincount(bins.ravel(), more.ravel(), k * len(gaps))
    return losses.astype(np.float64).reshape(-1, k)
