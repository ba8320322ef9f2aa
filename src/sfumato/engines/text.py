"""Text files, plain or gzipped, read as a whole or from line to line."""

from __future__ import annotations

import gzip
import io
from itertools import pairwise
from typing import IO, Any, cast

from sfumato.engines.storage import Stored

Span = tuple[int, int]
"""Bytes of a file, from the first on, up to the other."""

_LINE = 65_536


def is_zipped(file: Stored) -> bool:
    """Whether the name says that the file is compressed."""
    return file.name.lower().endswith(".gz")


def reader(file: Stored, span: Span | None = None) -> IO[str]:
    """Open a file as text; bytes that are not UTF-8 become a mark that is no number."""
    # Only at the very start of a file is a byte-order mark no part of a cell.
    encoding = "utf-8" if span and span[0] else "utf-8-sig"
    raw = _binary(file)
    if span:
        raw.seek(span[0])
        raw = cast(IO[bytes], io.BufferedReader(_Few(raw, span[1] - span[0])))
    return io.TextIOWrapper(raw, encoding=encoding, errors="replace")


def refuse_utf16(file: Stored) -> None:
    """Refuse text in an encoding that would be read as garbage."""
    with _binary(file) as raw:
        if raw.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(f"{file} is UTF-16 text; save it as UTF-8")


def spans_of(file: Stored, step: int, head: int) -> list[Span]:
    """Cut a file into spans of about `step` bytes, each from the start of a line on.

    The first `head` lines are in one span.
    """
    size = file.size
    with file.open() as raw:
        for _ in range(head):
            _end_of_line(raw)
        after = raw.tell()
        starts = {0}
        for start in range(max(after + 1, step), size, step):
            # The line that the byte before belongs to ends here, or further on.
            raw.seek(start - 1)
            starts.add(_end_of_line(raw))
    return list(pairwise([*sorted(starts - {size}), size])) or [(0, 0)]


def _end_of_line(raw: IO[bytes]) -> int:
    """Go to the start of the next line, however long this one is."""
    while (piece := raw.readline(_LINE)) and not piece.endswith(b"\n"):
        pass
    return raw.tell()


def _binary(file: Stored) -> IO[bytes]:
    if not is_zipped(file):
        return file.open()
    return cast(IO[bytes], gzip.open(file.where if file.local else file.open()))


class _Few(io.RawIOBase):
    """The next bytes of a file, and no more of them than were asked for."""

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
