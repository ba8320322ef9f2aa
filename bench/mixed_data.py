"""Tables of numbers and categories for the bench of mixed rows, made by a generator.

They have the shape of well-known tables: rows, numbers, and levels of every category. Rows come
from several latent classes. A class has a share of its own, a middle and a spread of every number,
and shares of levels that differ from those of all rows more in some columns than in others. Some
categories follow the one before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from sfumato._base.types import Floats, Ints, Rng
from sfumato._core.queries.breakdown import Levels
from sfumato._lattice.box import REACH

HIGH = round(REACH / sqrt(2))
"""Two levels are as far apart as the ends of a number."""

CLASSES = 7


@dataclass(frozen=True)
class Shape:
    """Rows, numbers, and the number of levels of each category."""

    rows: int
    numbers: int
    levels: tuple[int, ...]

    def title(self) -> str:
        """In words."""
        return f"{self.rows:,} rows, {self.numbers} numbers, {len(self.levels)} categories"


SHAPES = {
    "credit": Shape(1_000, 7, (4, 5, 10, 5, 5, 4, 3, 4, 3, 3, 4, 2, 2)),
    "mushrooms": Shape(
        8_124, 0, (6, 4, 10, 2, 9, 4, 3, 2, 12, 2, 5, 4, 4, 9, 9, 2, 4, 3, 5, 9, 6, 7)
    ),
    "adult": Shape(32_561, 6, (8, 16, 7, 14, 6, 5, 2, 41)),
}


@dataclass(frozen=True)
class Table:
    """Numbers (n, q) from 0 to 1, levels (n, c), and how many levels there are."""

    numbers: Floats
    codes: Ints
    levels: tuple[int, ...]


@lru_cache(maxsize=2)
def make(name: str, seed: int) -> Table:
    """Make a table; another seed gives other classes."""
    shape, rng = SHAPES[name], np.random.default_rng(seed)
    own = rng.choice(CLASSES, size=shape.rows, p=_skewed(CLASSES, 0.7, rng))
    numbers = _numbers(shape, own, rng)
    codes = np.empty((shape.rows, len(shape.levels)), dtype=np.int64)
    for column, levels in enumerate(shape.levels):
        shares = _skewed(levels, 1.2, rng)
        differ = rng.uniform(0.1, 0.95)
        of_class = rng.dirichlet(np.full(levels, 2.0 / levels), size=CLASSES)
        mixed = (1 - differ) * shares + differ * of_class
        for one in range(CLASSES):
            mine = own == one
            codes[mine, column] = rng.choice(levels, size=int(mine.sum()), p=mixed[one])
        if column % 3 == 2:
            follows = rng.random(shape.rows) < 0.5
            maps = rng.integers(levels, size=shape.levels[column - 1])
            codes[follows, column] = maps[codes[follows, column - 1]]
    return Table(numbers, codes, shape.levels)


def _skewed(size: int, power: float, rng: Rng) -> Floats:
    """Shares that fall like 1/rank^power, in any order."""
    shares: Floats = rng.permutation(np.arange(1, size + 1) ** -power)
    return shares / shares.sum()


def _numbers(shape: Shape, own: Ints, rng: Rng) -> Floats:
    middles = rng.uniform(0.15, 0.75, (CLASSES, shape.numbers))
    spreads = rng.uniform(0.05, 0.15, (CLASSES, shape.numbers))
    noise = rng.normal(size=(shape.rows, shape.numbers))
    # Every third number has a long tail, as incomes and amounts do.
    noise[:, ::3] = rng.exponential(1.0, (shape.rows, len(range(0, shape.numbers, 3)))) - 1
    return np.clip(middles[own] + spreads[own] * noise, 0, 1)


def encoded(table: Table) -> tuple[Floats, tuple[Levels, ...]]:
    """Rows as lattice coordinates: numbers first, then a block of ±HIGH for each category."""
    parts, columns = [np.rint((2 * table.numbers - 1) * REACH)], []
    start = table.numbers.shape[1]
    for codes, levels in zip(table.codes.T, table.levels, strict=True):
        parts.append(np.where(codes[:, None] == np.arange(levels), HIGH, -HIGH).astype(np.float64))
        columns.append(Levels(start, levels, HIGH))
        start += levels
    return np.hstack(parts), tuple(columns)
