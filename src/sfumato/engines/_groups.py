"""Groups: the labels of rows as keys and numbers, and at most m rows of each group.

Labels come from arrays, data frames, text and typed files, and from the partitions of a cluster;
they are compared by their keys (`_base/labels.py`), the same on every engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.labels import keys_of
from sfumato._base.types import Ints, Lattice, Mask

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
