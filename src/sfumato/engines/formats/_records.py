r"""Where the records of a text table begin and end. Found before any budget is spent.

A record ends at a line end (\n, \r\n or \r) that is not inside quotes. A field is quoted as a
whole, and a quote inside it is written twice (RFC 4180). Any other use of quotes has no
unambiguous meaning: the file is refused, with the number of the line.
"""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import IO

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.formats._storage import Stamp
from sfumato.engines.formats._text import Span, TextFile, line_ends

BOM = "\ufeff"
"""The byte-order mark. It is removed wherever it is: rows may have been moved."""


def readable(text: str) -> str:
    """Text that can be printed: a mark in place of bytes that are no text."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


QUOTE = '"'

# Bytes that are looked at together, and between two places where a file may be cut.
_CHUNK = 2**20
_GRAIN = 2**16

# Bytes of a record, and characters of the first. One that is longer is refused, so that what is
# held is bounded, also of a small file that is large when it is decompressed.
_LONGEST = 2**24

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_MARK = BOM.encode()


@dataclass(frozen=True)
class Head:
    """The first record that is not blank, its line, and the byte and the line after it."""

    text: str
    line: int
    end: int
    next_line: int


def head_of(file: TextFile) -> Head | None:
    """Read the first record that is not blank; None if there is none."""
    with file.text() as text:
        line, end = 1, 0
        while record := _next_record(text, file):
            end += file.length(record)
            after = line + line_ends(record)
            record = record.replace(BOM, "")
            if record.strip():
                return Head(without_end(record), line, end, after)
            line = after
    return None


def _next_record(text: IO[str], file: TextFile) -> str:
    held: list[str] = []
    quotes = length = 0
    while line := text.readline(_LONGEST):
        held.append(line)
        quotes += line.count(QUOTE)
        length += len(line)
        if length >= _LONGEST:
            raise ValueError(
                f"{file}: the first record is longer than {_LONGEST:,} characters; it seems that "
                "a quote is never closed"
            )
        if quotes % 2 == 0:
            break
    return "".join(held)


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


def spans_of(file: TextFile, delimiter: str, start: int, step: int) -> list[Span]:
    """Cut the records from byte `start` on into spans of about `step` bytes.

    A file that is decompressed or decoded first stays whole. Ambiguous quotes are refused.
    """
    found = checked(file, delimiter)
    if not file.can_be_cut:
        return [(start, None)]
    cuts, place = [start], start + step
    while (i := bisect_left(found, place)) < len(found):
        cuts.append(found[i])
        place = found[i] + step
    return [*pairwise(cuts), (cuts[-1], None)]


def checked(file: TextFile, delimiter: str) -> tuple[int, ...]:
    """Look at every quote of a file; returns some of the bytes where a record begins."""
    return _checked(file, file.file.stamp(), delimiter, _GRAIN, _LONGEST)


@lru_cache(maxsize=256)
def _checked(file: TextFile, _: Stamp, delimiter: str, grain: int, longest: int) -> tuple[int, ...]:
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
        if scan.longest > longest:
            raise ValueError(
                f"{file}, line {_line_of(file, scan.long)}: a record is longer than {longest:,} "
                "bytes. It seems that line ends are missing, or that this is no text table"
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
    record: int = 0
    longest: int = 0
    long: int = 0

    def look(self, offset: int, window: bytes) -> int | None:
        """Look at the bytes between the first and the last; returns where a quote is wrong."""
        body = memoryview(window)[1:-1]
        if not self.inside and QUOTE.encode() not in window[1:-1]:
            data = np.frombuffer(body, np.uint8)
            ends = np.flatnonzero(data == _NEWLINE)
            self._note(offset, ends)
            self._measure(offset, len(data), _with_returns(ends, data))
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
        every = _with_returns(ends, data[1:-1])
        outside = (np.searchsorted(quotes, every) + self.inside) % 2 == 0
        self._measure(offset, len(body), every[outside])
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

    def _measure(self, offset: int, size: int, ends: NDArray[np.intp]) -> None:
        """Measure the records that end here, and what there is of the next one."""
        places = np.concatenate(([self.record], ends + offset + 1, [offset + size]))
        lengths = np.diff(places)
        longest = int(np.argmax(lengths))
        if lengths[longest] > self.longest:
            self.longest, self.long = int(lengths[longest]), int(places[longest])
        self.record = int(places[-2])


def _with_returns(ends: NDArray[np.intp], data: NDArray[np.uint8]) -> NDArray[np.intp]:
    r"""Line ends of every kind, of which those with a \n are known."""
    returns = data == _RETURN
    return np.flatnonzero(returns | (data == _NEWLINE)) if returns.any() else ends


def _windows(file: TextFile) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file in order, each time with one byte before and one after them."""
    with file.binary(strict=True) as raw:
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


def _line_of(file: TextFile, place: int) -> int:
    """The number of the line that a byte is in, counted from 1."""
    ends, before = 0, b""
    with file.binary() as raw:
        while place > 0 and (chunk := raw.read(min(_CHUNK, place))):
            place -= len(chunk)
            text = before + chunk
            ends += chunk.count(b"\n") + chunk.count(b"\r") - text.count(b"\r\n")
            before = b"\r" if chunk.endswith(b"\r") else b""
    return ends + 1
