"""Small tables and a small kernel for the tests of rows in memory."""

from collections import Counter

import numpy as np

from sfumato._lattice.box import REACH, Box
from sfumato._lattice.kernels import dispatch as kernels
from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Blocks

BOX = Box((0.0, -3.0, 0.0), (1.0, 3.0, 10.0))
NAN = float("nan")


class Totals:
    """Counts and sums around the eight corners of the lattice's inner half."""

    def __init__(self, d=3):
        corners = np.indices((2,) * min(d, 3)).reshape(min(d, 3), -1).T
        self.centers = np.zeros((len(corners), d), dtype=np.int64)
        self.centers[:, : min(d, 3)] = (2 * corners - 1) * (REACH // 2)

    def empty(self):
        return np.zeros((len(self.centers), self.centers.shape[1] + 1), dtype=np.int64)

    def add(self, rows, state):
        kernels.nearest_totals(rows, self.centers, state)


def fold(source, box=BOX, **options):
    return ArrayRows(source, **options).fold(box, Totals(box.n_features))


def rows_in(source, box=BOX, **options):
    """The multiset of lattice rows that are counted."""
    (block,) = ArrayRows(source, **options).split(box, 1, 0)
    return Counter(map(tuple, block.tolist()))


def uniform(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform([-0.1, -4, -1], [1.1, 4, 11], (n, 3))[:, :d]


VALUES = uniform(200)
EXPECTED = fold(VALUES)


def blocks_of(values, *cuts):
    return Blocks(lambda: iter(np.split(values, cuts)), values.shape[1])
