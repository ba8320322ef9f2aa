r"""Where the records of a text table begin and end. Found before any budget is spent.

A record ends at a line end (\n, \r\n or \r) that is not inside quotes. A field is quoted as a
whole, and a quote inside it is written twice (RFC 4180). Any other use of quotes has no
unambiguous meaning: the file is refused, with the number of the line.
"""

from __future__ import annotations

import gzip
import io
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.formats._storage import Stamp, StoredFile

Span = tuple[int, int | None]
"""Bytes of a file, decompressed, from the first on, up to the other; None is the end."""

BOM = "\ufeff"
"""The byte-order mark. It is removed wherever it is: rows may have been moved."""


def is_zipped(file: StoredFile) -> bool:
    """Whether the name says that the file is compressed."""
    return file.name.lower().endswith(".gz")


def reader(file: StoredFile, span: Span = (0, None)) -> IO[str]:
    """Open a file as text with its line ends as they are.

    Bytes that are not UTF-8 become lone surrogates: they are no number, and stay apart.
    """
    start, stop = span
    raw = binary(file)
    if start:
        raw.seek(start)
    if stop is not None:
        raw = cast(IO[bytes], io.BufferedReader(_Limited(raw, stop - start)))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="")


def readable(text: str) -> str:
    """Text that can be printed: a mark in place of bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def refuse_utf16(file: StoredFile) -> None:
    """Refuse text in an encoding that would be read as garbage."""
    with binary(file) as raw:
        if raw.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(f"{file} is UTF-16 text; save it as UTF-8")


def binary(file: StoredFile) -> IO[bytes]:
    """Open a file as bytes, decompressed."""
    if not is_zipped(file):
        return file.open()
    return cast(IO[bytes], gzip.open(file.where if file.local else file.open()))


class _Limited(io.RawIOBase):
    """The next bytes of a file, at most so many."""

    def __init__(self, raw: IO[bytes], left: int) -> None:
        self._raw, self._left = raw, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        found = self._raw.read(min(len(buffer), self._left))
        buffer[: len(found)] = found
        self._left -= len(found)
        return len(found)

    def close(self) -> None:
        self._raw.close()
        super().close()


QUOTE = '"'

# Bytes that are looked at together, and between two places where a file may be cut.
_CHUNK = 2**20
_GRAIN = 2**16

# Characters of a first record. One that is longer has lost the quote at its end.
_LONGEST_HEAD = 2**22

_QUOTE, _NEWLINE = b'"\n'
_MARK = BOM.encode()


@dataclass(frozen=True)
class Head:
    """The first record that is not blank, its line, and the byte and the line after it."""

    text: str
    line: int
    end: int
    next_line: int


def head_of(file: StoredFile) -> Head | None:
    """Read the first record that is not blank; None if there is none."""
    with reader(file) as text:
        line, end = 1, 0
        while record := _next_record(text, file):
            end += len(record.encode("utf-8", "surrogateescape"))
            after = line + line_ends(record)
            record = record.replace(BOM, "")
            if record.strip():
                return Head(without_end(record), line, end, after)
            line = after
    return None


def _next_record(text: IO[str], file: StoredFile) -> str:
    held: list[str] = []
    quotes = length = 0
    while line := text.readline(_LONGEST_HEAD):
        held.append(line)
        quotes += line.count(QUOTE)
        length += len(line)
        if length >= _LONGEST_HEAD:
            raise ValueError(
                f"{file}: the first record is longer than {_LONGEST_HEAD:,} characters; it seems "
                "that a quote is never closed"
            )
        if quotes % 2 == 0:
            break
    return "".join(held)


def line_ends(text: str) -> int:
    """How many line ends there are in a text, inside quotes or not."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def without_end(record: str) -> str:
    """A record without its line end."""
    return record[:-2] if record.endswith("\r\n") else record.removesuffix("\n").removesuffix("\r")


def records_in(text: str, first: int) -> tuple[list[str], Sequence[int]]:
    """Cut a text, which begins and ends with a record, into records, each with its line."""
    if not any("\n" in inside or "\r" in inside for inside in text.split(QUOTE)[1::2]):
        plain = lines_of(text)
        return plain, range(first, first + len(plain))
    records: list[str] = []
    lines: list[int] = []
    held: list[str] = []
    quotes, number, start = 0, first, first
    # Text in this mode is cut at every kind of line end, and left as it is.
    for line in io.StringIO(text, newline=""):
        held.append(line)
        quotes += line.count(QUOTE)
        number += 1
        if quotes % 2 == 0:
            records.append(without_end("".join(held)))
            lines.append(start)
            held, start = [], number
    if held:
        records.append("".join(held))
        lines.append(start)
    return records, lines


def lines_of(text: str) -> list[str]:
    """Cut a text at its line ends: its records, if none is inside quotes."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return without_end(text).split("\n")


def spans_of(file: StoredFile, delimiter: str, start: int, step: int) -> list[Span]:
    """Cut the records from byte `start` on into spans of about `step` bytes.

    A compressed file stays whole. Ambiguous quotes are refused.
    """
    found = checked(file, delimiter)
    if is_zipped(file):
        return [(start, None)]
    cuts, place = [start], start + step
    while (i := bisect_left(found, place)) < len(found):
        cuts.append(found[i])
        place = found[i] + step
    return [*pairwise(cuts), (cuts[-1], None)]


def checked(file: StoredFile, delimiter: str) -> tuple[int, ...]:
    """Look at every quote of a file; returns some of the bytes where a record begins."""
    return _checked(file, file.stamp(), delimiter, _GRAIN)


@lru_cache(maxsize=256)
def _checked(file: StoredFile, _: Stamp, delimiter: str, grain: int) -> tuple[int, ...]:
    scan = _Scan(np.frombuffer(f'{delimiter}\n\r"'.encode(), dtype=np.uint8), grain)
    for offset, window in _windows(file):
        wrong = scan.look(offset, window)
        if wrong is not None:
            raise ValueError(
                f"{file}, line {_line_of(file, wrong)}: a quote is inside a field that is not "
                "quoted as a whole, or something follows the quote that ends a field. Which rows "
                "are meant is not guessed. Write such a field in quotes, with the quotes inside it "
                'doubled ("say ""so""")'
            )
    if scan.inside:
        raise ValueError(
            f"{file}, line {_line_of(file, scan.opened)}: the quote that begins a field here is "
            "never closed"
        )
    return tuple(scan.starts)


@dataclass
class _Scan:
    """Follows quotes through the windows of a file."""

    around: NDArray[np.uint8]
    grain: int
    inside: bool = False
    opened: int = 0
    starts: list[int] = field(default_factory=list)
    place: int = 0

    def look(self, offset: int, window: bytes) -> int | None:
        """Look at the bytes between the first and the last; returns where a quote is wrong."""
        body = memoryview(window)[1:-1]
        if not self.inside and QUOTE.encode() not in window[1:-1]:
            self._note(offset, np.flatnonzero(np.frombuffer(body, np.uint8) == _NEWLINE))
            return None
        data = np.frombuffer(window, dtype=np.uint8)
        quotes = np.flatnonzero(data[1:-1] == _QUOTE)
        opening = (np.arange(len(quotes)) + self.inside) % 2 == 0
        # The byte before a quote that opens, and the one after a quote that closes.
        beside = np.where(opening, data[quotes], data[quotes + 2])
        wrong = ~np.isin(beside, self.around)
        if wrong.any():
            return offset + int(quotes[np.argmax(wrong)])
        ends = np.flatnonzero(data[1:-1] == _NEWLINE)
        outside = (np.searchsorted(quotes, ends) + self.inside) % 2 == 0
        self._note(offset, ends[outside])
        fresh = quotes[opening & (data[quotes] != _QUOTE)]
        if len(fresh):
            self.opened = offset + int(fresh[-1])
        self.inside = bool((len(quotes) + self.inside) % 2)
        return None

    def _note(self, offset: int, ends: NDArray[np.intp]) -> None:
        """Note some of the beginnings of records after these line ends."""
        i = int(np.searchsorted(ends, self.place - offset))
        while i < len(ends):
            start = offset + int(ends[i]) + 1
            self.starts.append(start)
            self.place = start + self.grain
            i = int(np.searchsorted(ends, self.place - offset))


def _windows(file: StoredFile) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file in order, each time with one byte before and one after them."""
    with binary(file) as raw:
        head = raw.read(len(_MARK))
        offset = len(_MARK) if head == _MARK else 0
        held = b"\n" + head[offset:]
        while chunk := raw.read(_CHUNK):
            held += chunk
            if len(held) > 2:
                yield offset, held
                offset += len(held) - 2
                held = held[-2:]
        yield offset, held + b"\n"


def _line_of(file: StoredFile, place: int) -> int:
    """The number of the line that a byte is in, counted from 1."""
    ends, before = 0, b""
    with binary(file) as raw:
        while place > 0 and (chunk := raw.read(min(_CHUNK, place))):
            place -= len(chunk)
            text = before + chunk
            ends += chunk.count(b"\n") + chunk.count(b"\r") - text.count(b"\r\n")
            before = b"\r" if chunk.endswith(b"\r") else b""
    return ends + 1
