"""Labels in one canonical form, their key: two cells mean the same if their keys are equal.

A file may hold `7` where another holds `7.0`, because a missing id made the writer store floating
point. So groups, parts and levels of categories are compared by keys, on every engine:

- missing (None, NaN, NaT, NA, "", "null", …, infinite) is one key, the empty text;
- numbers equal as numbers have one key, whatever type or text they are written in;
- dates and times equal as instants have one key, whatever unit;
- other text is itself, without blanks around it.

A floating-point number beyond 2^53 may stand for several integers: it counts as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np

MISSING = frozenset(
    "|na|n/a|nan|+nan|-nan|null|none|nat|<na>|nil"
    "|#n/a|#n/a n/a|#na|1.#ind|-1.#ind|1.#qnan|-1.#qnan".split("|")
)
"""How text tables write a missing cell, in lower case."""

NO_LABEL = ""
"""The key of every row without a label."""

_EXACT = 2.0**53
_MOST_DIGITS = 1000

# An exponent needs its sign, as every writer of numbers gives it: 12e5 may be a hexadecimal id.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]\d+)?", re.ASCII)
_FIRST = frozenset("0123456789+-.")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?", re.ASCII)


def keys_of(labels: Iterable[Any]) -> list[Any]:
    """The canonical form of each label; see `key_of`."""
    return [key_of(label) for label in labels]


def key_of(label: Any) -> Any:  # noqa: ANN401
    """The canonical form of one label: text; an object of another kind stays as it is.

    Never raises: an object that cannot be compared or hashed is no label.
    """
    kind = type(label)
    if kind is str:
        return _of_text(label)
    if kind is float:
        return _of_float(label)
    try:
        if kind is int:
            return str(label)
        if isinstance(label, str):
            return _of_text(str(label))
        if label is None or label != label:
            return NO_LABEL
        return _of_value(label)
    except Exception:
        return NO_LABEL


@lru_cache(maxsize=2**16)
def _of_text(text: str) -> str:
    text = text.replace("\ufeff", "").strip()
    if text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS:
        return str(int(text))
    if text.lower() in MISSING:
        return NO_LABEL
    if text[0] in _FIRST:
        if _NUMBER.fullmatch(text):
            return _of_digits(text)
        if _INSTANT.fullmatch(text):
            return _trimmed(text.replace(" ", "T"))
    if text.isascii():
        return text
    # Bytes that are no text stay distinct, and become text that can be encoded.
    return text.encode("utf-8", "backslashreplace").decode()


def _of_digits(text: str) -> str:
    if _WHOLE.fullmatch(text):
        return str(int(text)) if len(text) <= _MOST_DIGITS else text
    return _of_float(float(text))


def _of_float(value: float) -> str:
    if not isfinite(value) or abs(value) > _EXACT:
        return NO_LABEL
    return str(int(value)) if value.is_integer() else repr(value)


def _of_value(label: Any) -> Any:  # noqa: ANN401
    if isinstance(label, bytes | bytearray):
        return _of_text(bytes(label).decode("utf-8", "surrogateescape"))
    # Before the integers: NumPy counts a timedelta64 among them.
    if isinstance(label, np.timedelta64 | timedelta):
        return _of_duration(label)
    if isinstance(label, Integral | np.bool_):
        return str(int(label))
    if isinstance(label, Decimal) and label == label.to_integral_value():
        return str(int(label)) if label.adjusted() < _MOST_DIGITS else NO_LABEL
    if isinstance(label, Decimal | Real):
        return _of_float(float(label))
    if isinstance(label, np.datetime64 | date):
        return _of_instant(label)
    if isinstance(label, UUID | time):
        return str(label)
    hash(label)
    return label


def _of_instant(label: Any) -> str:  # noqa: ANN401
    if isinstance(label, datetime) and label.tzinfo is not None:
        label = label.astimezone(UTC).replace(tzinfo=None)
    if hasattr(label, "to_datetime64"):
        # A time of pandas has nanoseconds, which a datetime would lose.
        label = label.to_datetime64()
    instant = np.datetime64(label)
    if np.datetime_data(instant.dtype)[0] in ("Y", "M", "W", "D", "h", "m"):
        instant = instant.astype("datetime64[s]")
    return _trimmed(str(instant))


def _trimmed(instant: str) -> str:
    """Leave out what is zero at the end of a time of day."""
    if "." in instant:
        instant = instant.rstrip("0").rstrip(".")
    if len(instant) == len("0000-00-00T00:00"):
        instant += ":00"
    return instant.removesuffix("T00:00:00")


def _of_duration(label: Any) -> str:  # noqa: ANN401
    """A length of time as a number of its unit, the coarsest in which it is whole."""
    length = label.to_timedelta64() if hasattr(label, "to_timedelta64") else np.timedelta64(label)
    unit, step = np.datetime_data(length.dtype)
    count = int(length.astype(np.int64)) * step
    for finer, coarser, ratio in _UNITS:
        if unit == finer and count % ratio == 0:
            unit, count = coarser, count // ratio
    return f"{count} {unit}"


_UNITS = (
    *(("as", "fs", 1000), ("fs", "ps", 1000), ("ps", "ns", 1000), ("ns", "us", 1000)),
    *(("us", "ms", 1000), ("ms", "s", 1000), ("s", "m", 60), ("m", "h", 60)),
    *(("h", "D", 24), ("D", "W", 7), ("M", "Y", 12)),
)
