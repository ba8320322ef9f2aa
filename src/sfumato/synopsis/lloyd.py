"""Lloyd's steps on points with weights of at least 0: each looks only at what the last changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.box import Floats, Ints
from sfumato.synopsis.distances import Lifted, lift

WORTH = 1e-5
"""The part of the cost that a step must save."""

# Up to so many points × centres looking at all of them is cheaper than at the moved ones.
_SMALL = 2**16


@dataclass(frozen=True)
class Weighted:
    """Points and weights, and in the rows of a table the weights and w·x."""

    points: Floats
    weights: Floats
    lifted: Lifted
    table: Floats

    @classmethod
    def of(cls, points: Floats, weights: Floats) -> Weighted:
        """Prepare points for many steps."""
        return cls(points, weights, lift(points), np.vstack([weights, points.T * weights]))

    def __len__(self) -> int:
        return len(self.weights)


class State(NamedTuple):
    """Centres, the nearest of every point, its squared distance, and the table's sums by centre."""

    centers: Floats
    own: Ints
    first: Floats
    sums: Floats
    cost: float


def assign(mass: Weighted, centers: Floats) -> State:
    """Give every point to its nearest centre."""
    own, first = mass.lifted.nearest(centers)
    sums = _sums(own, mass.table, len(centers))
    return State(centers, own, first, sums, float(mass.weights @ first))


def settle(mass: Weighted, state: State, steps: int, goal: float = np.inf) -> State:
    """Take steps until they save nothing worth it, or a cost below `goal` is out of reach."""
    least = WORTH / (10 * len(state.centers))
    for step in range(steps):
        held = state.sums[0]
        means = np.divide(state.sums[1:], held, out=state.centers.T.copy(), where=held > 0)
        # To move a centre by s saves its weight × s².
        saved = held * np.square(means - state.centers.T).sum(axis=0)
        moved = np.flatnonzero(saved > least * state.cost)
        if not len(moved):
            break
        after = move(mass, state, moved, means.T[moved])
        pace = state.cost - after.cost
        worth = pace >= WORTH * state.cost
        state = after if pace > 0 else state
        if not worth or state.cost - pace * (steps - step) > goal:
            break
    return state


def move(mass: Weighted, state: State, moved: Ints, to: Floats) -> State:
    """Move some centres and look again at the points that this concerns."""
    centers = state.centers.copy()
    centers[moved] = to
    k = len(centers)
    if k * len(mass) <= _SMALL or 3 * len(moved) > k:
        return assign(mass, centers)
    own, first = state.own.copy(), state.first.copy()
    nearer, gaps = mass.lifted.nearest(to)
    closer = np.flatnonzero(gaps < first)
    own[closer], first[closer] = moved[nearer[closer]], gaps[closer]
    # Whoever was with a centre that moved may now be nearer to any other.
    gone = np.zeros(k, dtype=bool)
    gone[moved] = True
    left = np.flatnonzero(gone[state.own])
    own[left], first[left] = mass.lifted.take(left).nearest(centers)
    changed = np.flatnonzero(own != state.own)
    table = mass.table[:, changed]
    sums = state.sums + _sums(own[changed], table, k) - _sums(state.own[changed], table, k)
    return State(centers, own, first, sums, float(mass.weights @ first))


def _sums(own: Ints, table: Floats, k: int) -> Floats:
    sums = np.empty((len(table), k))
    for row, total in zip(table, sums, strict=True):
        total[:] = np.bincount(own, row, k)
    return sums
