"""Text tables (.csv, .tsv, plain or gzipped), read in blocks. A record is a row.

`_records` defines where records end and what quotes mean; a file in which that is ambiguous is
refused when it is opened. After that no row can make reading fail: a record with too few fields has
missing cells at its end, fields beyond the last column are ignored, blank lines are no records, and
bytes that are no characters make their cell text. The values of a row depend on that row alone, on
both the fast and the careful path. Nothing about the table is guessed from a row: see `Declared`.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from sfumato._base.labels import MISSING
from sfumato._base.types import Floats
from sfumato._schema.cells import number, parsed
from sfumato.engines.formats import _records
from sfumato.engines.formats._records import BOM, QUOTE, Head
from sfumato.engines.formats._storage import StoredFile
from sfumato.engines.formats._table import Block, Bools, Table
from sfumato.engines.formats._text import UTF8, Span, TextFile, encoding_named, line_ends

Header = bool | Literal["guess"] | None
"""Whether the first record names the columns; None is not declared."""

_CHARACTERS = 4 * 2**20
_SEPARATORS = ",;\t|"

# A number with a decimal comma; and how all numbers of a text are turned into those with a point.
_COMMA = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_SWAPPED = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class Declared:
    """What is known about a text table without looking at a row of it.

    Without `header` the first record is taken for names only if all of `names` are in it. A table
    without names has `width` columns; at least so many where that is what its readers need.
    """

    header: Header = None
    separator: str | None = None
    names: frozenset[str] = frozenset()
    width: int | None = None
    at_least: bool = False
    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if not (self.header is None or isinstance(self.header, bool) or self.header == "guess"):
            raise ValueError(f"header must be True, False or None, got {self.header!r}")
        mark = self.separator
        if mark is not None and (
            not isinstance(mark, str)
            or len(mark) != 1
            or not mark.isascii()
            or mark.isalnum()
            or mark in "\"\r\n+-.'\0"
        ):
            raise ValueError(f"a separator is one character such as , ; | or a tab, got {mark!r}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"a decimal mark is a point or a comma, got {self.decimal!r}")
        if self.decimal == "," == mark:
            raise ValueError("a comma cannot separate fields and be the decimal mark as well")


@dataclass(frozen=True)
class Delimited(Table):
    """A text table: its separator and columns are known. See `Table`.

    A piece of it has the bytes of `span`; `line` is that of the first byte. With `at_least`,
    records may have more fields.
    """

    file: StoredFile
    delimiter: str
    names: tuple[str, ...]
    named: bool
    span: Span = (0, None)
    line: int = 1
    at_least: bool = False
    encoding: str = UTF8
    decimal: str = "."

    @classmethod
    def open(cls, file: StoredFile, declared: Declared) -> Delimited:
        """Find the columns, and refuse a file in which the ends of records are not clear."""
        text = TextFile(file, encoding_named(declared.encoding or UTF8))
        text.check_kind()
        head = _records.head_of(text)
        if head is None and declared.header is not False:
            raise ValueError(f"{file} is empty: it has no columns")
        table = (head and _named(text, head, declared)) or _unnamed(file, head, declared)
        _records.checked(text, table.delimiter)
        return replace(table, encoding=text.encoding, decimal=declared.decimal or ".")

    @property
    def text(self) -> TextFile:
        """The file with its encoding."""
        return TextFile(self.file, self.encoding)

    def about_rows(self) -> int:
        """Guess from the size of the file: eight characters in a cell, or two once compressed."""
        per_cell = 2 if self.text.zipped else 8
        return self.file.size // (per_cell * len(self.names))

    def pieces(self, rows: int) -> list[Delimited]:
        """Cut the file where records begin; one that is decompressed or decoded stays whole."""
        step = rows * 8 * len(self.names)
        spans = _records.spans_of(self.text, self.delimiter, self.span[0], step)
        return [replace(self, span=span) for span in spans]

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        for first, text in self._chunks():
            records, lines = _records.records_in(text, first)
            values = None if QUOTE in text else self._fast(records, positions)
            if values is not None:
                yield Block.clean(values, first)
            else:
                yield self._careful(records, lines, positions)

    def columns(self, positions: Sequence[int], numbers: Sequence[bool]) -> Iterator[list[Any]]:
        for first, text in self._chunks():
            records, _ = _records.records_in(text, first)
            plain = QUOTE not in text
            values = self._fast(records, positions) if plain and all(numbers) else None
            if values is None:
                yield self._columns(records, plain, positions, numbers)
            else:
                yield list(values.T)

    def texts(self, positions: Sequence[int], numbers: Sequence[bool]) -> Iterator[list[list[str]]]:
        """As `columns`, always as text."""
        for first, text in self._chunks():
            records, _ = _records.records_in(text, first)
            yield self._columns(records, QUOTE not in text, positions, numbers)

    def _columns(
        self, records: list[str], plain: bool, positions: Sequence[int], numbers: Sequence[bool]
    ) -> list[list[str]]:
        cells, width = (plain and self._even(records)) or self._fields(records)[0], len(self.names)
        pairs = zip(positions, numbers, strict=True)
        return [self._spelled(cells[i::width], is_number) for i, is_number in pairs]

    def _spelled(self, cells: list[str], is_number: bool) -> list[str]:
        """Cells with numbers as they are written with a point.

        Where a comma is the decimal mark, 1.5 in a column of numbers is none: it may be 15 or 1500.
        """
        if self.decimal == ".":
            return cells
        return _swapped(cells) if is_number else _pointed(cells)

    def cells(self, position: int) -> Iterator[list[str]]:
        same = replace(self, decimal=".")
        return ([cell.strip() for cell in block] for (block,) in same.texts([position], [False]))

    def labels(self, position: int) -> Iterator[list[str]]:
        return (self._spelled(cells, False) for cells in self.cells(position))

    def _chunks(self) -> Iterator[tuple[int, str]]:
        """Yield runs of whole records, each with the number of its first line."""
        with self.text.text(self.span) as file:
            number = self.line
            while text := file.read(_CHARACTERS):
                held = [text, file.readline()]
                quotes = sum(part.count(QUOTE) for part in held)
                while quotes % 2 and (line := file.readline()):
                    held.append(line)
                    quotes += line.count(QUOTE)
                text = "".join(held)
                yield number, text.replace(BOM, "") if BOM in text else text
                number += line_ends(text)

    def _fast(self, lines: list[str], positions: Sequence[int]) -> Floats | None:
        """Parse lines of which every cell asked for is a number or empty; None if one is not."""
        mark, marks = self.delimiter, len(self.names) - 1
        counts = [line.count(mark) for line in lines]
        if min(counts) < marks or (max(counts) > marks and not self.at_least):
            return None
        if marks == 0 and not all(map(str.strip, lines)):
            return None
        text = "\n".join(lines)
        filled = _fill(text.translate(_SWAPPED) if self.decimal == "," else text, mark).split("\n")
        try:
            return np.loadtxt(filled, delimiter=mark, comments=None, usecols=positions, ndmin=2)
        except ValueError:
            return None

    def _even(self, lines: list[str]) -> list[str] | None:
        """All cells, row by row, of lines without quotes; None if one has not all its fields."""
        mark, marks = self.delimiter, len(self.names) - 1
        if marks == 0 or any(line.count(mark) != marks for line in lines):
            return None
        return mark.join(lines).split(mark)

    def _fields(self, records: list[str]) -> tuple[list[str], list[int]]:
        """All cells, row by row, and how many fields each record had.

        Blank records are none. Cells that a record does not have are empty; those beyond the last
        column are left out.
        """
        kept = [record for record in records if not self._blank(record)]
        try:
            cells, counts = self._flat(csv.reader(kept, delimiter=self.delimiter))
            if len(counts) == len(kept):
                return cells, counts
        except csv.Error:
            # A field is longer than the module takes.
            pass
        return self._flat(fields(record, self.delimiter) for record in kept)

    def _flat(self, rows: Iterable[list[str]]) -> tuple[list[str], list[int]]:
        # In one list: a list for each record would keep the garbage collector busy.
        width = len(self.names)
        cells: list[str] = []
        counts: list[int] = []
        for row in rows:
            counts.append(len(row))
            cells += row if len(row) == width else [*row[:width], *[""] * (width - len(row))]
        return cells, counts

    def _careful(self, records: list[str], lines: Sequence[int], positions: Sequence[int]) -> Block:
        """Parse records cell by cell."""
        cells, counts = self._fields(records)
        width = len(self.names)
        values = np.empty((len(counts), len(positions)))
        text = np.zeros(values.shape, dtype=np.bool_)
        for j, position in enumerate(positions):
            values[:, j], text[:, j] = _numbers(self._spelled(cells[position::width], True))
        ragged = [count < width or (count > width and not self.at_least) for count in counts]
        pairs = zip(lines, records, strict=True)
        places = np.array([n for n, record in pairs if not self._blank(record)], dtype=np.int64)
        return Block(values, text, np.array(ragged, dtype=np.bool_), places)

    def _blank(self, record: str) -> bool:
        return not record.strip(" \t") and self.delimiter not in record


def _swapped(cells: list[str]) -> list[str]:
    """Cells with points for commas and commas for points, but for those that are missing."""
    return [c if c.strip().lower() in MISSING else c.translate(_SWAPPED) for c in cells]


def _pointed(cells: list[str]) -> list[str]:
    """Cells of which those that are numbers with a decimal comma have a point in its place."""
    return [cell.replace(",", ".") if _COMMA.fullmatch(cell) else cell for cell in cells]


def fields(record: str, delimiter: str) -> list[str]:
    """Split a record, in which quotes are as they should be, into its fields."""
    if QUOTE not in record:
        return record.split(delimiter)
    found, held, quotes = [], [], 0
    for part in record.split(delimiter):
        held.append(part)
        quotes += part.count(QUOTE)
        if quotes % 2 == 0:
            whole = delimiter.join(held)
            found.append(whole[1:-1].replace('""', QUOTE) if whole[:1] == QUOTE else whole)
            held, quotes = [], 0
    return found + held


def _named(text: TextFile, head: Head, declared: Declared) -> Delimited | None:
    """The table, if its first record names the columns."""
    if declared.header is False:
        return None
    file = text.file
    mark, found = _split_head(file, head, declared)
    like_names = _looks_like_names(_pointed(found) if declared.decimal == "," else found)
    if declared.header != "guess" or like_names:
        _check_names(text, head)
    absent = declared.names - set(found)
    if declared.header is None and (absent or not declared.names):
        raise ValueError(_undeclared(file, absent))
    if declared.header == "guess" and not like_names:
        return None
    names = tuple(name or f"column {i}" for i, name in enumerate(found))
    return Delimited(file, mark, names, True, (head.end, None), head.next_line)


def _check_names(text: TextFile, head: Head) -> None:
    """Refuse a first record with bytes that are no characters; none of it is shown."""
    if "\0" in head.text or _records.readable(head.text) != head.text:
        raise ValueError(
            f"{text}, line {head.line}: the line that names the columns is not {text.encoding}. "
            "Say how the file is encoded, as --encoding cp1252, latin-1 or utf-16; in Python "
            'TableFile(path, encoding="cp1252")'
        )


def _unnamed(file: StoredFile, head: Head | None, declared: Declared) -> Delimited:
    """The table, if its first record is a row: what it is like is declared."""
    mark, width = _separator(file, declared) or _usual(declared)[0], declared.width
    if declared.header == "guess" and head is not None:
        mark, found = _split_head(file, head, declared)
        width = len(found)
    if width is None:
        raise ValueError(
            f"{file} has no line that names its columns: say how many there are, with --columns N "
            "or bounds for each (--bounds 0=LOW,HIGH --bounds 1=LOW,HIGH …); in Python with "
            "TableFile(path, header=False, columns=N). They are not counted in a row"
        )
    names = tuple(map(str, range(width)))
    return Delimited(file, mark, names, False, at_least=declared.at_least)


def _split_head(file: StoredFile, head: Head, declared: Declared) -> tuple[str, list[str]]:
    """The first record in its fields: by the separator declared, or by one that it has."""
    mark = _separator(file, declared)
    if mark is None:
        unquoted = "".join(head.text.split(QUOTE)[::2])
        marks = [m for m in _usual(declared) if m in unquoted] or [_usual(declared)[0]]
        split = {m: {name.strip() for name in fields(head.text, m)} for m in marks}
        mark = min(marks, key=lambda m: len(declared.names - split[m]))
    return mark, [name.strip() for name in fields(head.text, mark)]


def _separator(file: StoredFile, declared: Declared) -> str | None:
    return declared.separator or ("\t" if ".tsv" in file.name.lower() else None)


def _usual(declared: Declared) -> str:
    """What may separate fields where it is not declared; the first is the usual one."""
    return _SEPARATORS[1:] if declared.decimal == "," else _SEPARATORS


def _undeclared(file: StoredFile, absent: Set[str]) -> str:
    lacks = f" There is no {', '.join(map(repr, sorted(absent)))} in it." if absent else ""
    return (
        f"does the first line of {file} name the columns, or is it a row?{lacks} Say so: "
        "--header, or --no-header --columns N; in Python TableFile(path, header=True), or "
        "TableFile(path, header=False, columns=N). Or name columns that are in it (--columns a,b, "
        "--bounds a=LOW,HIGH). It is not guessed: names are published with a model"
    )


def _looks_like_names(found: list[str]) -> bool:
    """Whether no field of the first record is a number. A guess, for the owner of the file only."""
    filled = [field for field in found if field.lower() not in MISSING]
    return bool(filled) and not any(math.isfinite(number(field)) for field in filled)


def _fill(text: str, mark: str) -> str:
    """Write nan into empty cells, which NumPy's parser does not take."""
    # Twice, because matches do not overlap: three delimiters in a row hold two empty cells.
    for _ in range(2):
        text = text.replace(mark * 2, f"{mark}nan{mark}")
    text = text.replace(f"{mark}\n", f"{mark}nan\n").replace(f"\n{mark}", f"\nnan{mark}")
    text = f"nan{text}" if text.startswith(mark) else text
    return f"{text}nan" if text.endswith(mark) else text


def _numbers(cells: list[str]) -> tuple[Floats, Bools]:
    """Parse a column; returns its numbers, and where it holds text."""
    values = parsed(cells)
    text = np.zeros(len(cells), dtype=np.bool_)
    for i in np.flatnonzero(np.isnan(values)):
        text[i] = cells[i].strip().lower() not in MISSING
    return values, text
