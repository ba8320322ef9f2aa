"""Columns as an explanation counts them: public bins, by what is declared about each column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato._base.types import Floats
from sfumato._core.queries.breakdown import (
    Bins,
    BinsOfValues,
    Directions,
    Levels,
    OrMissing,
    Slices,
)
from sfumato._lattice.box import REACH
from sfumato._schema.kinds import Column, Cycle, Date, Flag, Linear
from sfumato._schema.levels import Category, Ordinal

MOST_SLICES, MOST_DIRECTIONS, FEWEST = 16, 12, 4

CENTRED = "(put at the centre)"
"""How the bin of flags is called that missing cells were put into."""


@dataclass(frozen=True)
class Binned:
    """One column with its public bins.

    `labels` name the bins of values; where missing cells have a bin of their own it is the last
    one, after these. `sliced` bins are equal slices of a number or a date, on the column's scale.
    """

    name: str
    column: Column
    bins: Bins
    labels: tuple[str, ...]
    sliced: bool = False

    @property
    def with_missing(self) -> bool:
        """Whether missing cells have a bin of their own."""
        return isinstance(self.bins, OrMissing)

    @property
    def ordered(self) -> bool:
        """Whether the column has a median."""
        return isinstance(self.column, Linear) and not isinstance(self.column, Flag)

    def quantile(self, shares: Floats, part: float) -> float:
        """The code below which a part of the values lies, by shares (bins,) that add up to 1.

        Values are taken to be spread evenly on the column's scale within a bin.
        """
        place = self._place(shares, part)
        if not self.sliced:
            return float(place)
        before = float(shares[:place].sum())
        within = (part - before) / shares[place] if shares[place] else 0.5
        return self._code(place + min(max(within, 0.0), 1.0))

    def grain(self, shares: Floats) -> float:
        """An eighth of the bin that the median lies in; 0 where bins are levels."""
        if not self.sliced:
            return 0.0
        place = self._place(shares, 0.5)
        return (self._code(place + 1) - self._code(place)) / 8

    @staticmethod
    def _place(shares: Floats, part: float) -> int:
        return min(int(np.searchsorted(np.cumsum(shares), part)), len(shares) - 1)

    def _code(self, place: float) -> float:
        """The code at a place among equal bins, the first of which begins at 0."""
        point = 2 * place / len(self.labels) - 1
        return float(self.column.decoded(np.array([[point]]))[0, 0])

    def said(self, code: float) -> str:
        """A code as a reader would write it."""
        if isinstance(self.column, Date | Ordinal):
            return str(self.column.cell(code))
        return number(code)


def binned(name: str, column: Column, start: int, *, gaps: bool, slices: int) -> Binned:
    """The bins of a column whose coordinates begin at `start`: `slices` of a number at most.

    `gaps` says whether missing cells are absent from rows, rather than replaced.
    """
    if isinstance(column, Category):
        high = round(math.sqrt(0.5) * column.weight * REACH)
        return _found(name, column, Levels(start, column.width, max(1, high)), column.names, gaps)
    if isinstance(column, Cycle):
        return _circle(name, column, start, min(slices, MOST_DIRECTIONS), gaps)
    if isinstance(column, Flag):
        return _flag(name, column, start, gaps)
    if isinstance(column, Ordinal):
        places = np.arange(1, len(column.levels)) * 2 - 1
        edges = _on_lattice(places / (len(column.levels) - 1) - 1, column.weight)
        if len(set(edges)) < len(edges):
            raise ValueError(f"the weight of column {name!r} is too small to tell its levels apart")
        return _found(name, column, Slices(start, edges), column.levels, gaps)
    return _line(name, column, start, slices, gaps)


def number(value: float) -> str:
    """A number in four digits at most, without an exponent where that is short."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    shown = f"{value:,.{min(digits, 12)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _found(
    name: str, column: Column, bins: BinsOfValues, labels: tuple[str, ...], gaps: bool
) -> Binned:
    return Binned(name, column, OrMissing(bins) if gaps else bins, labels)


def _on_lattice(places: Floats, weight: float) -> list[int]:
    return [int(x) for x in np.rint(places * weight * REACH)]


def _flag(name: str, column: Flag, start: int, gaps: bool) -> Binned:
    if column.missing == "center":
        edges = _on_lattice(np.array([-0.5, 0.5]), column.weight)
        return _found(name, column, Slices(start, edges), ("no", CENTRED, "yes"), gaps)
    return _found(name, column, Slices(start, [0]), ("no", "yes"), gaps)


def _line(name: str, column: Column, start: int, slices: int, gaps: bool) -> Binned:
    """Equal slices between the ends, on the column's scale."""
    slices = max(1, min(slices, 2 * math.floor(column.weight * REACH)))
    edges = np.linspace(-1, 1, slices + 1)
    bins = Slices(start, _on_lattice(edges[1:-1], column.weight))
    codes = column.decoded(edges[:, np.newaxis])[:, 0]
    shown = [str(column.cell(c)) if isinstance(column, Date) else number(c) for c in codes]
    labels = tuple(f"{a} to {b}" for a, b in pairwise(shown))
    return Binned(name, column, OrMissing(bins) if gaps else bins, labels, sliced=True)


def _circle(name: str, column: Cycle, start: int, parts: int, gaps: bool) -> Binned:
    """Equal parts of the period, from 0 on."""
    angles = (np.arange(parts) + 0.5) * (2 * math.pi / parts)
    vectors = np.rint(REACH * np.column_stack([np.cos(angles), np.sin(angles)])).astype(np.int64)
    ends = [number(column.period * i / parts) for i in range(parts + 1)]
    labels = tuple(f"{a} to {b}" for a, b in pairwise(ends))
    return _found(name, column, Directions(start, vectors), labels, gaps)
