"""Kinds of columns whose cells are one of some public levels."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato._base.labels import NO_LABEL, key_of
from sfumato._base.types import Floats
from sfumato._schema import cells as read
from sfumato._schema.kinds import Column, Linear

LEVEL = "level"
"""A policy of categories: missing is a level of its own."""

MISSING_LEVEL = "(missing)"
"""How that level is called."""


@dataclass(frozen=True, init=False)
class _Levelled(Column):
    """A column with a public list of levels."""

    levels: tuple[str, ...]

    def __init__(
        self,
        *levels: Any,  # noqa: ANN401
        weight: float = 1.0,
        missing: Any = "ignore",  # noqa: ANN401
        source: str = "",
    ) -> None:
        if len(levels) == 1 and isinstance(levels[0], list | tuple):
            levels = tuple(levels[0])
        object.__setattr__(self, "levels", tuple(map(str, levels)))
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "source", source)

    def check(self, name: str) -> None:
        """Refuse levels that cannot be told apart, or that read as missing."""
        if len(self.levels) < 2:
            raise ValueError(f"column {name!r} needs at least two levels, got {len(self.levels)}")
        keys = [key_of(level) for level in self.levels]
        listed = Counter(keys)
        for level, key in zip(self.levels, keys, strict=True):
            if key == NO_LABEL:
                raise ValueError(
                    f"level {level!r} of column {name!r} reads as a missing cell: leave it out, "
                    "and with missing='level' missing is a level of its own"
                )
            if listed[key] > 1:
                raise ValueError(f"level {level!r} of column {name!r} is listed twice")
        super().check(name)

    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """The place of a cell's level in the list; other cells count as missing."""
        return read.places(cells, {key_of(level): i for i, level in enumerate(self.levels)})

    def public(self) -> str:
        """The levels."""
        return ", ".join(self.levels)

    def to_dict(self) -> dict[str, Any]:
        """What is declared, the levels included."""
        return {**super().to_dict(), "levels": list(self.levels)}


@dataclass(frozen=True, init=False)
class Category(_Levelled):
    """One of some public levels; two are as far apart as the ends of a number.

    A cell that is none of the levels counts as missing; with `missing="level"` that is a level of
    its own. Levels are compared by value: 1, 1.0 and "1" are one.
    """

    kind: ClassVar[str] = "category"

    def check(self, name: str) -> None:
        """Refuse levels that cannot be told apart."""
        if self.missing == LEVEL:
            Category(*self.levels, weight=self.weight, source=self.source).check(name)
            return
        super().check(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The levels, and the one of missing cells if there is one."""
        return (*self.levels, *([MISSING_LEVEL] if self.missing == LEVEL else []))

    @property
    def width(self) -> int:
        """A coordinate for each level."""
        return len(self.names)

    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """The place of a cell's level in the list."""
        codes = super().codes(cells)
        return (
            np.where(np.isnan(codes), len(self.levels), codes) if self.missing == LEVEL else codes
        )

    def encoded(self, cells: Any) -> tuple[Floats, Floats]:  # noqa: ANN401
        """As for every column, but missing may be a level, which no cell is missing from."""
        if self.missing != LEVEL:
            return super().encoded(cells)
        codes = self.codes(cells)
        return codes, self.points(codes) * self.weight

    def points(self, codes: Floats) -> Floats:
        """Plus 1/√2 at the level, minus 1/√2 elsewhere: two levels are 2 apart."""
        points = np.full((len(codes), self.width), -math.sqrt(0.5))
        present = np.flatnonzero(~np.isnan(codes))
        points[present, codes[present].astype(np.int64)] = math.sqrt(0.5)
        points[np.isnan(codes)] = np.nan
        return points

    def middle(self) -> Floats:
        """All levels in equal shares."""
        return np.full(self.width, math.sqrt(0.5) * (2 / self.width - 1))

    def decoded(self, points: Floats) -> Floats:
        """The share of each level: the nearest distribution."""
        return on_simplex((points / math.sqrt(0.5) + 1) / 2)

    def nearest_codes(self, points: Floats) -> Floats:
        """The level with the largest coordinate; NaN for missing cells."""
        codes = points.argmax(axis=1).astype(np.float64)
        return np.where(codes < len(self.levels), codes, np.nan)

    def in_words(self, numbers: Floats) -> dict[str, Any]:
        """The leading level, and the share of each."""
        shares = {name: float(share) for name, share in zip(self.names, numbers, strict=True)}
        return {"leading": self.names[int(numbers.argmax())], "shares": shares}

    def cell(self, code: float) -> str | None:
        """The level."""
        return None if math.isnan(code) else self.levels[int(code)]

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        """One for each level."""
        return tuple(f"{name}={level}" for level in self.names)

    number_names = coordinate_names


@dataclass(frozen=True, init=False)
class Ordinal(_Levelled, Linear):
    """One of some public levels in order, equally far from one to the next."""

    kind: ClassVar[str] = "ordinal"

    @property
    def ends(self) -> tuple[float, float]:
        """The places of the first and the last level."""
        return 0.0, len(self.levels) - 1.0

    def in_words(self, numbers: Floats) -> dict[str, Any]:
        """The nearest level, and the place among them, from 0 on."""
        return {"level": self.cell(numbers[0]), "place": float(numbers[0])}

    def cell(self, code: float) -> str | None:
        """The nearest level."""
        return None if math.isnan(code) else self.levels[round(float(code))]


def on_simplex(points: Floats) -> Floats:
    """The nearest distributions to points (k, m): no share below 0, and 1 in all."""
    k, m = points.shape
    falling = -np.sort(-points, axis=1)
    beyond = (np.cumsum(falling, axis=1) - 1) / np.arange(1, m + 1)
    last = (falling > beyond).sum(axis=1) - 1
    shares: Floats = np.maximum(points - beyond[np.arange(k), last][:, np.newaxis], 0)
    return shares
