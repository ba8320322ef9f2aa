"""Kinds of columns: what is public about each, and how a cell becomes coordinates of a cube.

A column takes `width` coordinates in [−1, 1]. Two cells of a column of weight 1 are at most 2
apart: the ends of a number, of an ordinal or of a date, two levels of a category, both values of a
flag, opposite points of a cycle. A weight w makes that 2·w. Every cell is encoded by itself.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields
from datetime import date
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from sfumato._base.types import Floats
from sfumato._lattice.box import REACH
from sfumato._schema import cells as read

Scale = Literal["linear", "log", "sqrt", "asinh"]

POLICIES = ("ignore", "drop", "center")
"""What becomes of a missing cell, beside a public value in its place."""


def is_plain(value: object) -> bool:
    """Whether a fact is a number that can be written down: no bool, no type of a library."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """Whether a bound is a number that fits a float64."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


# A lighter column may as well be left out; a centre divided by less would leave floating point.
_LIGHTEST = 1e-9


@dataclass(frozen=True, kw_only=True)
class Column(ABC):
    """What every kind of column has.

    `weight`, from 0 to 1, scales its distances; with 0 it takes no part in a fit, and clusters can
    still be explained by it. `missing` is "ignore", "drop", "center", or a public value that takes
    the place of missing cells. `source` is a sentence on where its bounds or levels come from.
    """

    weight: float = 1.0
    missing: Any = "ignore"
    source: str = ""
    kind: ClassVar[str] = ""

    def check(self, name: str) -> None:
        """Refuse what cannot be meant."""
        if not is_plain(self.weight) or not (self.weight == 0 or _LIGHTEST <= self.weight <= 1):
            raise ValueError(
                f"the weight of column {name!r} must lie between 0 and 1, and be 0 or at least "
                f"{_LIGHTEST:g}, got {self.weight!r}"
            )
        if not isinstance(self.source, str):
            raise TypeError(f"the source of column {name!r} must be a sentence")
        if self.missing not in POLICIES and math.isnan(self.code_of_missing()):
            raise ValueError(
                f"missing={self.missing!r} of column {name!r} must be one of "
                f"{', '.join(map(repr, POLICIES))}, or a value that the column can have"
            )

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return 1

    @abstractmethod
    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """One number for each cell, (n,); NaN where it is missing or cannot be read."""

    @abstractmethod
    def points(self, codes: Floats) -> Floats:
        """The coordinates of codes (n,) for a weight of 1, (n, width); NaN stays NaN."""

    @abstractmethod
    def decoded(self, points: Floats) -> Floats:
        """What coordinates (k, width), for a weight of 1, mean: numbers of shape (k, m)."""

    def in_words(self, numbers: Floats) -> Any:  # noqa: ANN401
        """What the numbers of one decoded point (m,) mean to a reader: by default its number."""
        return float(numbers[0])

    def middle(self) -> Floats:
        """The point (width,) that is as far from everything as can be, for a weight of 1."""
        return np.zeros(self.width)

    def code_of_missing(self) -> float:
        """The code of the public value that takes the place of missing cells."""
        return float(self.codes([self.missing])[0])

    def encoded(self, cells: Any) -> tuple[Floats, Floats]:  # noqa: ANN401
        """Codes (n,) of cells, and coordinates (n, width), after the policy for missing ones."""
        codes = self.codes(cells)
        if self.missing not in POLICIES:
            codes = np.where(np.isnan(codes), self.code_of_missing(), codes)
        points = self.points(codes)
        if self.missing == "center":
            points[np.isnan(codes)] = self.middle()
        return codes, points * self.weight

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        """A name for each coordinate."""
        return (name,)

    def number_names(self, name: str) -> tuple[str, ...]:
        """A name for each number of a decoded point."""
        return (name,)

    def cell(self, code: float) -> Any:  # noqa: ANN401
        """What a code means, as a cell of a table would have it."""
        return None if math.isnan(code) else float(code)

    def nearest_codes(self, points: Floats) -> Floats:
        """The codes (n,) of points (n, width), for a weight of 1: those of synthetic rows."""
        return self.decoded(points)[:, 0]

    def weighing(self, weight: float) -> Self:
        """The same column with another weight."""
        found = copy(self)
        object.__setattr__(found, "weight", weight)
        return found

    def public(self) -> str:
        """What is declared, in words."""
        return self.kind

    def to_dict(self) -> dict[str, Any]:
        """What is declared, as plain values; what is left at its default is left out."""
        found: dict[str, Any] = {"kind": self.kind}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = list(value) if isinstance(value, tuple) else value
        return found


_SCALES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "log": (np.log, np.exp),
    "log1p": (np.log1p, np.expm1),
    "sqrt": (np.sqrt, np.square),
    "asinh": (np.arcsinh, np.sinh),
}


class Linear(Column):
    """A column whose codes lie on a line from `ends[0]` to `ends[1]`."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest code."""
        raise AttributeError

    def points(self, codes: Floats) -> Floats:
        """The place between the ends, from −1 to 1; what lies outside is clipped."""
        low, high = self.ends
        place = (np.clip(codes, low, high) - low) / (high - low)
        return (2 * place - 1)[:, np.newaxis]

    def decoded(self, points: Floats) -> Floats:
        """The code at a place between the ends."""
        low, high = self.ends
        return np.clip(low + (np.clip(points, -1, 1) + 1) / 2 * (high - low), low, high)


_STEPS = 2 * REACH


@lru_cache(maxsize=64)
def _edges(scale: str, low: float, high: float) -> Floats:
    """Codes halfway between places on a scale, ascending: a code is compared, never transformed.

    A logarithm of an array may round differently from place to place in it. A row would then not
    be encoded by itself.
    """
    forward, back = _SCALES[scale]
    a, b = forward(low), forward(high)
    edges: Floats = back(a + (np.arange(_STEPS) + 0.5) / _STEPS * (b - a))
    return np.maximum.accumulate(edges)


@lru_cache(maxsize=1)
def _circle() -> Floats:
    """Points of the circle, equally far from one to the next, for the same reason."""
    angles = np.arange(_STEPS) * (2 * math.pi / _STEPS)
    return np.column_stack([np.cos(angles), np.sin(angles)])


@dataclass(frozen=True)
class Number(Linear):
    """A number with public bounds; what lies outside is clipped.

    Parameters
    ----------
    lower, upper : float
        Public bounds, known without looking at the data.
    scale : {"linear", "log", "sqrt", "asinh"}
        How distances are measured. "log" needs lower ≥ 0 (where lower is 0 it is log(1 + x)),
        "sqrt" too; "asinh" is a log on both sides of 0.
    weight, missing, source
        See `Column`.

    """

    lower: float
    upper: float
    scale: Scale = "linear"
    kind: ClassVar[str] = "number"

    def check(self, name: str) -> None:
        """Refuse bounds that are none, and scales that they do not allow."""
        ends = (self.lower, self.upper)
        if not all(is_finite(x) for x in ends):
            raise ValueError(f"the bounds of column {name!r} must be finite numbers, got {ends}")
        if self.lower >= self.upper:
            raise ValueError(
                f"the lower bound of column {name!r} must lie below its upper bound, got {ends}"
            )
        if self.scale not in get_args(Scale):
            raise ValueError(
                f"the scale of column {name!r} must be one of {', '.join(get_args(Scale))}, "
                f"got {self.scale!r}"
            )
        if self.scale in ("log", "sqrt") and self.lower < 0:
            raise ValueError(
                f"scale={self.scale!r} of column {name!r} needs a lower bound of at least 0, got "
                f"{self.lower}; 'asinh' takes negative numbers"
            )
        super().check(name)

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds."""
        return float(self.lower), float(self.upper)

    @property
    def _scale(self) -> str:
        return "log1p" if self.scale == "log" and self.lower <= 0 else self.scale

    def points(self, codes: Floats) -> Floats:
        """The place between the bounds on the scale, from −1 to 1."""
        if self.scale == "linear":
            return super().points(codes)
        place = np.searchsorted(_edges(self._scale, *self.ends), codes, side="right")
        return np.where(np.isnan(codes), np.nan, 2 * (place / _STEPS) - 1)[:, np.newaxis]

    def decoded(self, points: Floats) -> Floats:
        """The number at a place between the bounds on the scale."""
        if self.scale == "linear":
            return super().decoded(points)
        forward, back = _SCALES[self._scale]
        a, b = (forward(end) for end in self.ends)
        numbers: Floats = back(a + (np.clip(points, -1, 1) + 1) / 2 * (b - a))
        return np.clip(numbers, *self.ends)

    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """The number."""
        return read.numbers(cells)

    def public(self) -> str:
        """The bounds."""
        scale = "" if self.scale == "linear" else f", {self.scale} scale"
        return f"{self.lower:g} to {self.upper:g}{scale}"


@dataclass(frozen=True)
class Flag(Linear):
    """Yes or no: true, yes, y, t, 1 against false, no, n, f, 0, in any case."""

    kind: ClassVar[str] = "flag"

    @property
    def ends(self) -> tuple[float, float]:
        """No and yes."""
        return 0.0, 1.0

    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """1 for yes, 0 for no."""
        return read.flags(cells)

    def cell(self, code: float) -> bool | None:
        """Yes or no, whichever is nearer."""
        return None if math.isnan(code) else bool(code >= 0.5)

    def public(self) -> str:
        """Nothing is declared."""
        return "yes or no"


@dataclass(frozen=True)
class Date(Linear):
    """A date, or a time, between public ends, which are ISO dates such as "2020-01-01".

    `format` is how text is written, as in `datetime.strptime`; by default ISO 8601. Times with a
    zone are taken to UTC.
    """

    first: str
    last: str
    format: str = ""
    kind: ClassVar[str] = "date"

    def __post_init__(self) -> None:
        # Dates of Python and NumPy are kept as they are written: a file holds text.
        for name in ("first", "last", "missing"):
            end = getattr(self, name)
            if isinstance(end, date | np.datetime64):
                text = end.isoformat() if isinstance(end, date) else str(end)
                object.__setattr__(self, name, text)

    def check(self, name: str) -> None:
        """Refuse ends that are no dates, or in the wrong order."""
        ends = self.ends
        if not all(map(math.isfinite, ends)) or ends[0] >= ends[1]:
            raise ValueError(
                f"column {name!r} needs two ISO dates, the earlier one first, got "
                f"({self.first!r}, {self.last!r})"
            )
        super().check(name)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends, in days since 1970."""
        return read.day(str(self.first)), read.day(str(self.last))

    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """Days since 1970."""
        return read.days(cells, self.format or None)

    def code_of_missing(self) -> float:
        """The public value is written as the ends are, whatever the format of cells."""
        return read.day(self.missing)

    def in_words(self, numbers: Floats) -> str | None:
        """The day, as an ISO date."""
        return self.cell(numbers[0])

    def cell(self, code: float) -> str | None:
        """The day, as an ISO date."""
        if math.isnan(code):
            return None
        return str(np.datetime64(math.floor(code), "D"))

    def public(self) -> str:
        """The ends."""
        return f"{self.first} to {self.last}"


@dataclass(frozen=True)
class Cycle(Column):
    """A number that comes round again after a period: hours of a day (24), months (12), degrees.

    It takes two coordinates, a point on a circle: 23 is as near to 1 as 1 is to 3.
    """

    period: float
    kind: ClassVar[str] = "cycle"

    def check(self, name: str) -> None:
        """Refuse a period that is none."""
        if not isinstance(self.period, int | float) or not 0 < self.period < math.inf:
            raise ValueError(
                f"the period of column {name!r} must be a number above 0, got {self.period!r}"
            )
        super().check(name)

    @property
    def width(self) -> int:
        """A point on a circle."""
        return 2

    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """The number within the period."""
        with np.errstate(all="ignore"):
            return np.mod(read.numbers(cells), self.period)

    def points(self, codes: Floats) -> Floats:
        """The point on the circle."""
        present = ~np.isnan(codes)
        points = np.full((len(codes), 2), np.nan)
        step = np.floor(codes[present] / self.period * _STEPS).astype(np.int64)
        points[present] = _circle()[step % _STEPS]
        return points

    def decoded(self, points: Floats) -> Floats:
        """The number in whose direction a point lies."""
        angle = np.arctan2(points[:, 1], points[:, 0])
        return np.mod(angle * (self.period / (2 * math.pi)), self.period)[:, np.newaxis]

    def coordinate_names(self, name: str) -> tuple[str, ...]:
        """The cosine and the sine."""
        return f"{name} (cos)", f"{name} (sin)"

    def public(self) -> str:
        """The period."""
        return f"period {self.period:g}"
