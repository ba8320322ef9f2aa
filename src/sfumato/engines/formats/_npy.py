"""NumPy files (.npy), read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sfumato._schema.schema import Schema
from sfumato._schema.types import Declared, check_types, family_of
from sfumato.engines.formats._storage import StoredFile
from sfumato.engines.formats._table import Block, Table, rows_at_once


@dataclass(frozen=True)
class Npy(Table):
    """An array on disk, of shape (n, d). A piece of it has the rows of `span`; see `Table`."""

    file: StoredFile
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    by_columns: bool
    offset: int
    span: tuple[int, int]
    named: bool = False

    @classmethod
    def open(cls, file: StoredFile) -> Npy:
        """Read the shape and the type, and refuse what is not a table of numbers."""
        with file.open() as raw:
            shape, by_columns, dtype = _header(raw, file)
            offset = raw.tell()
        if len(shape) != 2 or not shape[1]:
            raise ValueError(
                f"{file} must hold rows and columns, an array of two dimensions, got shape {shape}"
            )
        if dtype.kind not in "biufUSM" or not dtype.itemsize:
            raise ValueError(f"{file} must hold numbers, got an array of type {dtype}")
        if file.size < offset + prod(shape) * dtype.itemsize:
            raise ValueError(f"{file} is not an array of numbers in NumPy's .npy format: it is cut")
        return cls(file, (shape[0], shape[1]), dtype, by_columns, offset, (0, shape[0]))

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(map(str, range(self.shape[1])))

    def about_rows(self) -> int:
        return self.span[1] - self.span[0]

    def pieces(self, rows: int) -> list[Npy]:
        start, stop = self.span
        starts = range(start, stop, rows)
        return [replace(self, span=(i, min(i + rows, stop))) for i in starts] or [self]

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        for first, chosen in self._arrays(positions):
            # No value may raise a warning, which a caller could turn into an exception.
            with np.errstate(all="ignore"):
                values = chosen.astype(np.float64)
            yield Block.clean(values, first + 1)

    def columns(self, positions: Sequence[int], numbers: Sequence[bool]) -> Iterator[list[Any]]:
        for _, chosen in self._arrays(positions):
            yield list(chosen.T)

    def cells(self, position: int) -> Iterator[list[Any]]:
        # As a list, times in nanoseconds would be plain numbers.
        whole = list if self.dtype.kind == "M" else np.ndarray.tolist
        return map(whole, super().cells(position))

    def check(
        self, positions: Sequence[int], owner: int | None, schema: Schema | None = None
    ) -> None:
        kind, shown = self.dtype.kind, str(self.dtype)
        if schema is not None:
            check_types(schema, [Declared(n, family_of(kind), shown) for n in schema.inputs])
        elif kind not in "biuf":
            raise ValueError(
                f"{self.file} must hold numbers, got an array of type {shown}: declare its columns "
                "in a schema"
            )

    def _arrays(self, positions: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield blocks of these columns, each with the number of its first row."""
        # Read, not mapped into memory: pages of a mapped file would count as ours.
        start, stop = self.span
        step = rows_at_once(self.shape[1])
        with self.file.open() as raw:
            for first in range(start, stop, step):
                count = min(step, stop - first)
                if self.by_columns:
                    starts = [i * self.shape[0] + first for i in positions]
                    columns = [self._cells(raw, start, count) for start in starts]
                    yield first, np.stack(columns, axis=1)
                else:
                    cells = self._cells(raw, first * self.shape[1], count * self.shape[1])
                    yield first, cells.reshape(count, -1)[:, list(positions)]

    def _cells(self, raw: IO[bytes], first: int, count: int) -> NDArray[Any]:
        raw.seek(self.offset + first * self.dtype.itemsize)
        return np.frombuffer(raw.read(count * self.dtype.itemsize), dtype=self.dtype)


def _header(raw: IO[bytes], file: StoredFile) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    try:
        version = npy.read_magic(raw)
        read = npy.read_array_header_1_0 if version[0] == 1 else npy.read_array_header_2_0
        shape, by_columns, dtype = read(raw)
    except (ValueError, EOFError):
        raise ValueError(f"{file} is not an array of numbers in NumPy's .npy format") from None
    return shape, by_columns, dtype
