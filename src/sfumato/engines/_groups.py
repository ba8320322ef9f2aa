"""Groups: the labels of rows as keys and numbers, and at most m rows of each group.

Labels come from arrays, data frames, text and typed files, and from the partitions of a cluster. A
file may hold `7` where another holds `7.0`, because a missing id made the writer store floating
point. So every engine gives labels one canonical form: two are the same person if their keys are
equal:

- missing (None, NaN, NaT, NA, "", "null", …, infinite) is one key, the empty text;
- numbers equal as numbers have one key, whatever type or text they are written in;
- dates and times equal as instants have one key, whatever unit;
- other text is itself, without blanks around it.

A floating-point number beyond 2^53 may stand for several integers: it counts as missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice, Mask

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


Hashes = NDArray[np.uint64]

KEY = 0x5F3A_70C1_9D24_E8B7
"""Ranks the rows of a group. Public: the choice is the same in every run, and no secret."""

_BLOCK_ROWS = 2**14


def labels_of(groups: Any, n_rows: int | None, name: str = "groups") -> Any:  # noqa: ANN401
    """Check that there is one label per row, of shape (n,), without looking at the labels."""
    if n_rows is None:
        raise ValueError(f"{name} need a source whose number of rows is known")
    if isinstance(groups, str | bytes):
        raise TypeError(f"{name} must hold one label per row, not the name of a column")
    if not hasattr(groups, "__len__"):
        raise TypeError(f"{name} must hold one label per row, got {type(groups).__name__}")
    if len(getattr(groups, "shape", (0,))) != 1:
        raise ValueError(f"{name} must be one-dimensional, one label per row")
    if len(groups) != n_rows:
        raise ValueError(f"{name} must hold one label per row; their numbers differ")
    return groups


def codes_of(groups: Any) -> Ints:  # noqa: ANN401
    """Number the groups: labels with equal keys are one, and rows without a label are one."""
    labels, codes = _distinct(groups)
    if codes is None:
        return numbered(keys_of(labels))
    if groups.dtype.kind in "biu":
        return codes
    return numbered(keys_of(labels))[codes]


def _distinct(labels: Any) -> tuple[Iterable[Any], Ints | None]:  # noqa: ANN401
    """Distinct labels, and the place of each row's own among them; or all labels, and None."""
    if isinstance(labels, np.ma.MaskedArray):
        labels = labels.tolist()
    dtype = getattr(labels, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufSUmM":
        distinct, codes = np.unique(np.asarray(labels), return_inverse=True)
        # As a list, times in nanoseconds would be plain numbers.
        return (distinct if dtype.kind in "mM" else distinct.tolist()), codes.astype(np.int64)
    return (labels.to_pylist() if hasattr(labels, "to_pylist") else labels), None


def numbered(keys: Iterable[Any], codes: dict[Any, int] | None = None) -> Ints:
    """Number groups in the order in which their keys appear; `codes` holds those so far."""
    known = {} if codes is None else codes
    return np.fromiter((known.setdefault(key, len(known)) for key in keys), dtype=np.int64)


@dataclass(frozen=True, repr=False)
class Part:
    """The rows whose label has one key, which is text: a row is in by its own label alone."""

    labels: Any
    key: str

    def mask(self) -> Mask:
        """Which rows are in, of shape (n,). Looks at the labels."""
        labels, codes = _distinct(self.labels)
        found = has_key(keys_of(labels), self.key)
        return found if codes is None else found[codes]


def has_key(keys: Iterable[Any], key: str) -> Mask:
    """Which of some keys are this one. Objects that are no text are none: they may not compare."""
    return np.fromiter((type(own) is str and own == key for own in keys), dtype=np.bool_)


def hash_rows(rows: Lattice, key: int) -> Hashes:
    """Hash each row by its own values and a key; equal rows have equal hashes.

    rows: (n, d), lattice steps. Returns 64-bit hashes of shape (n,).
    """
    n, d = rows.shape
    hashes = np.full(n, key % 2**64, dtype=np.uint64)
    _mix(hashes)
    for start in range(0, n, _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        padded = np.zeros((len(block), -(-d // 4) * 4), dtype="<i2")
        padded[:, :d] = block
        mixed = hashes[start : start + _BLOCK_ROWS]
        for word in padded.view("<u8").T:
            mixed ^= word
            _mix(mixed)
    return hashes


def _mix(hashes: Hashes) -> None:
    # The finaliser of splitmix64 (Steele, Lea and Flood 2014): a bijection on 64 bits.
    hashes += np.uint64(0x9E3779B97F4A7C15)
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)


def few_of_each(lattice: Lattice, rows: Ints, codes: Ints, most: int) -> Ints:
    """Bottom-k sample per group: the `most` row numbers with the smallest hashes, ascending.

    lattice: (n, d), lattice steps. rows: numbers of the rows to pick from. codes: (n,), groups.
    """
    hashes = hash_rows(lattice, KEY)[rows]
    order = np.lexsort((hashes, codes[rows]))
    sorted_codes = codes[rows][order]
    first = np.flatnonzero(np.diff(sorted_codes, prepend=sorted_codes[:1] - 1))
    sizes = np.diff(first, append=len(order))
    rank = np.arange(len(order)) - np.repeat(first, sizes)
    return np.sort(rows[order[rank < most]])


def sizes_of(parts: Iterable[NDArray[Any]], most: int) -> Ints:
    """How many groups have 1, 2, …, `most` rows or more, of shape (most,).

    parts: the numbers of the groups of all rows, partition by partition. The rows of a group are
    added up over all of them before it is counted, once.
    """
    rows = np.zeros(0, dtype=np.int64)
    for codes in parts:
        own = np.bincount(codes, minlength=len(rows))
        own[: len(rows)] += rows
        rows = own
    capped = np.minimum(rows[rows > 0], most)
    return np.bincount(capped, minlength=most + 1)[1:].astype(np.int64)
