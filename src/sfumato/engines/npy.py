"""NumPy files (.npy), memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.engines.tables import Block

_ROWS = 65_536


@dataclass(frozen=True)
class Npy:
    """A two-dimensional array on disk."""

    path: Path
    width: int
    named: bool = False

    @classmethod
    def open(cls, path: Path) -> Npy:
        """Read the shape and the type, and refuse what is not a table of numbers."""
        array = _array(path)
        if array.ndim != 2 or not array.shape[1]:
            raise ValueError(
                f"{path} must hold rows and columns, an array of two dimensions, got shape "
                f"{array.shape}"
            )
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{path} must hold numbers, got an array of type {array.dtype}")
        return cls(path, array.shape[1])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The positions: an array names no columns."""
        return tuple(map(str, range(self.width)))

    @cached_property
    def usual(self) -> tuple[int, ...]:
        """All columns."""
        return tuple(range(self.width))

    def check(self, positions: Sequence[int]) -> None:
        """All columns have one type, which was checked at opening."""

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        """Read these columns, in this order, from the first row to the last."""
        array = _array(self.path)
        for start in range(0, len(array), _ROWS):
            chosen = array[start : start + _ROWS, list(positions)]
            # No value may raise a warning, which a caller could turn into an exception.
            with np.errstate(all="ignore"):
                values = chosen.astype(np.float64)
            yield Block.clean(values, start + 1)

    def labels(self, position: int) -> Iterator[list[str]]:
        """Read one column as text."""
        array = _array(self.path)
        for start in range(0, len(array), _ROWS):
            yield [str(value) for value in array[start : start + _ROWS, position].tolist()]


def _array(path: Path) -> np.ndarray[Any, Any]:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except (ValueError, EOFError):
        raise ValueError(f"{path} is not an array of numbers in NumPy's .npy format") from None
