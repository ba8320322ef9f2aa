"""Groups: the labels of rows as numbers, and at most m rows of each group by a keyed hash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Lattice
from sfumato.engines._labels import keys_of

Hashes = NDArray[np.uint64]

KEY = 0x5F3A_70C1_9D24_E8B7
"""Ranks the rows of a group. Public: the choice is the same in every run, and no secret."""

_BLOCK_ROWS = 2**14


def labels_of(groups: Any, n_rows: int | None) -> Any:  # noqa: ANN401
    """Check that there is one label per row, of shape (n,), without looking at the labels."""
    if n_rows is None:
        raise ValueError("groups need a source whose number of rows is known")
    if isinstance(groups, str | bytes):
        raise TypeError("groups must hold one label per row, not the name of a column")
    if not hasattr(groups, "__len__"):
        raise TypeError(f"groups must hold one label per row, got {type(groups).__name__}")
    if len(getattr(groups, "shape", (0,))) != 1:
        raise ValueError("groups must be one-dimensional, one label per row")
    if len(groups) != n_rows:
        raise ValueError("groups must hold one label per row; their numbers differ")
    return groups


def codes_of(groups: Any) -> Ints:  # noqa: ANN401
    """Number the groups: labels with equal keys are one, and rows without a label are one."""
    if isinstance(groups, np.ma.MaskedArray):
        groups = groups.tolist()
    dtype = getattr(groups, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufSUmM":
        distinct, codes = np.unique(np.asarray(groups), return_inverse=True)
        if dtype.kind in "biu":
            return codes.astype(np.int64)
        # As a list, times in nanoseconds would be plain numbers.
        return numbered(keys_of(distinct if dtype.kind in "mM" else distinct.tolist()))[codes]
    return numbered(keys_of(groups.to_pylist() if hasattr(groups, "to_pylist") else groups))


def numbered(keys: Iterable[Any], codes: dict[Any, int] | None = None) -> Ints:
    """Number groups in the order in which their keys appear; `codes` holds those so far."""
    known = {} if codes is None else codes
    return np.fromiter((known.setdefault(key, len(known)) for key in keys), dtype=np.int64)


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
