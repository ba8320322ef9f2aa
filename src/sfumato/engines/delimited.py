"""Text tables (.csv, .tsv, plain or gzipped), read in blocks. No row can make reading fail.

A line is a row: a quoted field does not reach over the end of its line, so that one broken row
never swallows its neighbours. A row with too few fields has missing cells at its end; fields
beyond the last column are ignored; blank lines are no rows. Bytes that are not UTF-8 make their
cell text. What becomes of a row looks at that row alone, whatever path its block takes.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from sfumato.box import Floats
from sfumato.engines.storage import Stored
from sfumato.engines.tables import Block, Bools
from sfumato.engines.text import Span, is_zipped, reader, refuse_utf16, spans_of

Header = bool | Literal["auto"]

_CHARACTERS = 4 * 2**20
_MISSING = frozenset(("", "na", "n/a", "nan", "+nan", "-nan", "null", "none"))


@dataclass(frozen=True)
class Delimited:
    """A text table after a look at its first line. `start` counts the lines before the data.

    A piece of a table has the bytes from the first of `span` on, up to the other.
    """

    file: Stored
    delimiter: str
    names: tuple[str, ...]
    named: bool
    start: int
    span: Span | None = None

    @classmethod
    def open(cls, path: Stored, header: Header) -> Delimited:
        """Look at the first line: how fields are delimited, and whether it names the columns."""
        refuse_utf16(path)
        with reader(path) as file:
            number, line = next(
                ((i, text) for i, text in enumerate(file, 1) if text.strip()), (0, "")
            )
        if not number:
            raise ValueError(f"{path} is empty: it has no columns")
        line = line.rstrip("\n")
        delimiter = "\t" if ".tsv" in path.name.lower() else _delimiter(line)
        fields = [field.strip() for field in _fields(line, delimiter)]
        if header is False or (header == "auto" and not _names_columns(fields, path)):
            return cls(path, delimiter, tuple(map(str, range(len(fields)))), False, number - 1)
        names = tuple(field or f"column {i}" for i, field in enumerate(fields))
        return cls(path, delimiter, names, True, number)

    @cached_property
    def usual(self) -> tuple[int, ...]:
        """All columns."""
        return tuple(range(len(self.names)))

    @property
    def files(self) -> tuple[Stored, ...]:
        """The file."""
        return (self.file,)

    def about_rows(self) -> int:
        """Guess from the size of the file: eight characters in a cell, or two once compressed."""
        per_cell = 2 if is_zipped(self.file) else 8
        return self.file.size // (per_cell * len(self.names))

    def pieces(self, rows: int) -> list[Delimited]:
        """Cut the file at ends of lines; one that is compressed stays whole."""
        if is_zipped(self.file):
            return [self]
        spans = spans_of(self.file, rows * 8 * len(self.names), self.start)
        return [replace(self, span=span, start=0 if span[0] else self.start) for span in spans]

    def check(self, positions: Sequence[int]) -> None:
        """Text declares no types: nothing to refuse."""

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        """Read these columns, in this order, from the first row to the last."""
        for first, text in self._chunks():
            lines = text.split("\n")
            if (values := self._fast(text, lines, positions)) is not None:
                yield Block.clean(values, first)
            else:
                yield self._careful(lines, positions, first)

    def labels(self, position: int) -> Iterator[list[str]]:
        """Read one column as text."""
        for _, text in self._chunks():
            lines = [line for line in text.split("\n") if not self._blank(line)]
            rows = _split(lines, self.delimiter)
            yield [row[position].strip() if position < len(row) else "" for row in rows]

    def _chunks(self) -> Iterator[tuple[int, str]]:
        """Yield runs of whole lines, each with the number of its first."""
        with reader(self.file, self.span) as file:
            for _ in range(self.start):
                file.readline()
            number = self.start + 1
            while text := file.read(_CHARACTERS):
                text = (text + file.readline()).removesuffix("\n")
                yield number, text
                number += text.count("\n") + 1

    def _fast(self, text: str, lines: list[str], positions: Sequence[int]) -> Floats | None:
        """Parse lines of which every cell asked for is a number or empty; None if one is not."""
        mark, width = self.delimiter, len(self.names)
        if '"' in text or any(line.count(mark) != width - 1 for line in lines):
            return None
        if width == 1 and not all(map(str.strip, lines)):
            return None
        filled = _fill(text, mark).split("\n")
        try:
            return np.loadtxt(filled, delimiter=mark, comments=None, usecols=positions, ndmin=2)
        except ValueError:
            return None

    def _careful(self, lines: list[str], positions: Sequence[int], first: int) -> Block:
        """Parse lines cell by cell."""
        kept = [i for i, line in enumerate(lines) if not self._blank(line)]
        rows = _split([lines[i] for i in kept], self.delimiter)
        values = np.empty((len(rows), len(positions)))
        text = np.zeros(values.shape, dtype=np.bool_)
        for j, position in enumerate(positions):
            cells = [row[position] if position < len(row) else "" for row in rows]
            values[:, j], text[:, j] = _numbers(cells)
        ragged = np.array([len(row) != len(self.names) for row in rows], dtype=np.bool_)
        return Block(values, text, ragged, np.array(kept, dtype=np.int64) + first)

    def _blank(self, line: str) -> bool:
        return not line.strip() and self.delimiter not in line


def _delimiter(line: str) -> str:
    """A comma, unless the first line has none outside quotes, but semicolons or tabs."""
    unquoted = "".join(line.split('"')[::2])
    return next((mark for mark in ",;\t" if mark in unquoted), ",")


def _names_columns(fields: list[str], path: Stored) -> bool:
    """Whether a first line is a header: not a number among its fields.

    Names are published with a model, so a line that could be either is not guessed at.
    """
    filled = [field for field in fields if field.lower() not in _MISSING]
    numbers = sum(math.isfinite(_number(field)) for field in filled)
    if 0 < numbers < len(filled):
        raise ValueError(
            f"the first line of {path} has both numbers and words: say whether it names the "
            "columns with header=True (--header) or header=False (--no-header)"
        )
    return numbers < len(filled)


def _split(lines: list[str], delimiter: str) -> list[list[str]]:
    """Split every line into its fields, each by itself."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        rows = []
    # As many rows as lines: no quoted field has reached over the end of its line.
    return rows if len(rows) == len(lines) else [_fields(line, delimiter) for line in lines]


def _fields(line: str, delimiter: str) -> list[str]:
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader((line,), delimiter=delimiter))
    except csv.Error:
        # Only a field beyond the length limit of the csv module: the row has no readable cell.
        return []


def _fill(text: str, mark: str) -> str:
    """Write nan into empty cells, which NumPy's parser does not take."""
    # Twice, because matches do not overlap: three delimiters in a row hold two empty cells.
    for _ in range(2):
        text = text.replace(mark * 2, f"{mark}nan{mark}")
    text = text.replace(f"{mark}\n", f"{mark}nan\n").replace(f"\n{mark}", f"\nnan{mark}")
    text = f"nan{text}" if text.startswith(mark) else text
    return f"{text}nan" if text.endswith(mark) else text


def _number(cell: str) -> float:
    # float() alone would take 1_000 and digits of other scripts, which NumPy's parser refuses.
    cell = cell.strip()
    if "_" in cell or not cell.isascii():
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _numbers(cells: list[str]) -> tuple[Floats, Bools]:
    """Parse a column; returns its numbers, and where it holds text."""
    text = np.zeros(len(cells), dtype=np.bool_)
    joined = "".join(cells)
    if joined.isascii() and "_" not in joined:
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells)), text
        except ValueError:
            pass
    values = np.fromiter(map(_number, cells), np.float64, len(cells))
    for i in np.flatnonzero(np.isnan(values)):
        text[i] = cells[i].strip().lower() not in _MISSING
    return values, text
