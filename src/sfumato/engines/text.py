"""Text files, plain or gzipped, read as a whole or from one byte to another."""

from __future__ import annotations

import gzip
import io
from typing import IO, Any, cast

from sfumato.engines.storage import Stored

Span = tuple[int, int | None]
"""Bytes of a file, decompressed, from the first on, up to the other; None is the end."""

BOM = "\ufeff"
"""The byte-order mark. It is no part of any cell, wherever it stands: a row may be moved."""


def is_zipped(file: Stored) -> bool:
    """Whether the name says that the file is compressed."""
    return file.name.lower().endswith(".gz")


def reader(file: Stored, span: Span = (0, None)) -> IO[str]:
    """Open a file as text with its line ends as they are.

    Bytes that are not UTF-8 become lone surrogates: they are no number, and stay apart.
    """
    start, stop = span
    raw = binary(file)
    if start:
        raw.seek(start)
    if stop is not None:
        raw = cast(IO[bytes], io.BufferedReader(_Few(raw, stop - start)))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="")


def readable(text: str) -> str:
    """Text that can be printed: a mark in place of bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def refuse_utf16(file: Stored) -> None:
    """Refuse text in an encoding that would be read as garbage."""
    with binary(file) as raw:
        if raw.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise ValueError(f"{file} is UTF-16 text; save it as UTF-8")


def binary(file: Stored) -> IO[bytes]:
    """Open a file as bytes, decompressed."""
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
