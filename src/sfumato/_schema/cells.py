"""Cells of any type as one number each, every cell by itself; NaN where a cell is missing.

No cell raises an error: one that cannot be read counts as missing. Cells come as text from text
tables, as values of any type from data frames and typed files, or as NumPy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from sfumato._base.labels import NO_LABEL, key_of
from sfumato._base.types import Floats

MICROSECONDS = 86_400 * 10**6
"""Of a day."""

_WORDS = {word: 1.0 for word in ("1", "true", "yes", "y", "t")} | {
    word: 0.0 for word in ("0", "false", "no", "n", "f")
}


def numbers(cells: Any) -> Floats:  # noqa: ANN401
    """Finite numbers; text is read as in a text table: 1e3 is a number, 1_000 and 1,000 are not."""
    kind = _kind(cells)
    if kind and kind in "biuf":
        with np.errstate(all="ignore"):
            found: Floats = np.asarray(cells).astype(np.float64)
    else:
        found = parsed(cells)
    return np.where(np.isfinite(found), found, np.nan)


def parsed(cells: Sequence[Any]) -> Floats:
    """Numbers, infinite ones too; NaN where a cell is none. The same by every path."""
    joined = _joined(cells)
    if joined is not None and joined.isascii() and "_" not in joined:
        with suppress(ValueError):
            return _each(float, [cell or "nan" for cell in cells])
    return _each(number, cells)


def days(cells: Any, pattern: str | None = None) -> Floats:  # noqa: ANN401
    """Dates and times as days since 1970, in UTC; text by ISO 8601, or by a pattern of strptime."""
    kind = _kind(cells)
    if kind == "M":
        with np.errstate(all="ignore"):
            times = np.asarray(cells).astype("datetime64[us]")
        # Whole days and the rest of one, as for a single time: another order rounds otherwise.
        whole, rest = np.divmod(times.astype(np.int64), MICROSECONDS)
        found: Floats = np.where(np.isnat(times), np.nan, whole + rest / MICROSECONDS)
        return found
    if kind and kind in "biuf":
        return _each_distinct(lambda cell: day(cell, pattern), cells)
    return _each(lambda cell: day(cell, pattern), cells)


def flags(cells: Any) -> Floats:  # noqa: ANN401
    """1 for true, yes, y, t or 1, and 0 for false, no, n, f or 0, in any case."""
    return _by_key(cells, lambda key: _WORDS.get(key.lower(), math.nan))


def places(cells: Any, levels: Mapping[str, int]) -> Floats:  # noqa: ANN401
    """The place of each cell's key among levels, given as keys."""
    return _by_key(cells, lambda key: float(levels.get(key, math.nan)))


def number(cell: Any) -> float:  # noqa: ANN401
    """One cell as a number; NaN where it is none."""
    try:
        if isinstance(cell, str | bytes | bytearray):
            # float() alone would take 1_000 and digits of other scripts, which NumPy refuses.
            cell = _text(cell)
            return float(cell) if cell.isascii() and "_" not in cell else math.nan
        # Of other types some warn when they become a number, and a warning would tell of a row.
        if isinstance(cell, np.timedelta64) or not isinstance(cell, Real | Decimal | np.bool_):
            return math.nan
        return float(cell)
    except Exception:
        return math.nan


def day(cell: Any, pattern: str | None = None) -> float:  # noqa: ANN401
    """One cell as days since 1970; NaN where it is no date."""
    try:
        if isinstance(cell, str | bytes | bytearray):
            return _day_of_text(_text(cell), pattern)
        if isinstance(cell, np.datetime64):
            return float(days(np.array([cell]))[0])
        if isinstance(cell, datetime):
            return _day_of_time(cell)
        if isinstance(cell, date):
            return float((cell - date(1970, 1, 1)).days)
        if digits_are_dates(pattern):
            return _day_of_text(key_of(cell), pattern)
    except Exception:
        return math.nan
    return math.nan


def digits_are_dates(pattern: str | None) -> bool:
    """Whether a number can be read as a date: by its digits, of which the year comes first.

    Where a day or a month comes first, a number has lost the zero in front of it.
    """
    return bool(pattern) and str(pattern).startswith("%Y")


def _text(cell: str | bytes | bytearray) -> str:
    """Text without blanks around it, and without byte-order marks."""
    text = cell if isinstance(cell, str) else bytes(cell).decode("utf-8", "surrogateescape")
    return text.replace("\ufeff", "").strip()


@lru_cache(maxsize=2**16)
def _day_of_text(text: str, pattern: str | None) -> float:
    return _day_of_time(datetime.strptime(text, pattern) if pattern else _iso(text))


def _iso(text: str) -> datetime:
    # Digits alone are a number, not a date.
    if text.isdecimal():
        raise ValueError
    return datetime.fromisoformat(text)


def _day_of_time(time: datetime) -> float:
    own = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    since = own - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days + (since.seconds * 10**6 + since.microseconds) / MICROSECONDS


def _kind(cells: Any) -> str:  # noqa: ANN401
    """The kind of an array, as NumPy abbreviates it; of anything else the empty text."""
    return cells.dtype.kind if type(cells) is np.ndarray else ""


def _joined(cells: Any) -> str | None:  # noqa: ANN401
    """All cells as one text; None if one of them is none."""
    with suppress(TypeError):
        return "".join(cells)
    return None


def _each(read: Callable[[Any], float], cells: Any) -> Floats:  # noqa: ANN401
    return np.fromiter(map(read, cells), np.float64, len(cells))


def _each_distinct(read: Callable[[Any], float], cells: Any) -> Floats:  # noqa: ANN401
    """As `_each`, of an array of numbers: equal ones are read once."""
    distinct, codes = np.unique(cells, return_inverse=True)
    return _each(read, distinct.tolist())[codes.reshape(len(cells))]


def _by_key(cells: Any, of_key: Callable[[str], float]) -> Floats:  # noqa: ANN401
    """A number for each cell by its key."""

    def read(cell: Any) -> float:  # noqa: ANN401
        key = key_of(cell)
        return of_key(key) if type(key) is str and key != NO_LABEL else math.nan

    kind = _kind(cells)
    if kind and kind in "biuf":
        return _each_distinct(read, cells)
    if _joined(cells) is None:
        # Each by itself: 2.0**60 equals 2**60, and has another key.
        return _each(read, cells)
    known = {cell: read(cell) for cell in set(cells)}
    return _each(known.__getitem__, cells)
