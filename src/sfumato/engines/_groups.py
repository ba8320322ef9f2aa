"""At most m rows of each group, chosen by a keyed hash of the group's own rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sfumato._base.types import Ints, Lattice
from sfumato._lattice.kernels.dispatch import Hashes, hash_rows
from sfumato.engines._labels import keys_of

# Public: the choice has to be the same in every run, it need not be secret.
_KEY = 0x5F3A_70C1_9D24_E8B7


def labels_of(groups: Any, n_rows: int) -> Any:  # noqa: ANN401
    """Check that there is one label per row, without looking at the labels."""
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
        return numbered([keys_of(distinct if dtype.kind in "mM" else distinct.tolist())])[codes]
    return numbered([keys_of(groups.to_pylist() if hasattr(groups, "to_pylist") else groups)])


def numbered(keys: Iterable[list[Any]], codes: dict[Any, int] | None = None) -> Ints:
    """Number groups in the order in which their keys appear; `codes` holds those so far."""
    known = {} if codes is None else codes
    numbers = (known.setdefault(key, len(known)) for block in keys for key in block)
    return np.fromiter(numbers, dtype=np.int64)


def hashes_of(lattice: Lattice) -> Hashes:
    """What the rows of a group are ranked by."""
    return hash_rows(lattice, _KEY)


def few_of_each(lattice: Lattice, rows: Ints, codes: Ints, most: int) -> Ints:
    """Pick at most `most` of the given row numbers in each group: those with the least hashes."""
    hashes = hashes_of(lattice)[rows]
    order = np.lexsort((hashes, codes[rows]))
    sorted_codes = codes[rows][order]
    first = np.flatnonzero(np.diff(sorted_codes, prepend=sorted_codes[:1] - 1))
    sizes = np.diff(first, append=len(order))
    rank = np.arange(len(order)) - np.repeat(first, sizes)
    return np.sort(rows[order[rank < most]])
