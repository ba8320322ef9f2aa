"""The bytes of text tables: decompressed, and in the encoding that is declared.

Where every byte below 128 is the character of ASCII, and no part of another, records are found in
the bytes as they are. Text in any other encoding is turned into UTF-8 first, as a stream.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import IO, Any, cast

from sfumato.engines.formats._storage import StoredFile

Span = tuple[int, int | None]
"""Bytes of a file, as they are looked at, from the first on, up to the other; None is the end."""

UTF8 = "utf-8"

# Bytes that are decompressed or decoded together.
_BLOCK = 2**18

# Without a state: a line end ends whatever was before it. Others, such as utf-7, are refused.
_DECODED = frozenset(
    "utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be big5 big5hkscs cp932 cp949 cp950 euc_jp "
    "euc_jis_2004 euc_jisx0213 euc_kr gb2312 gbk gb18030 johab shift_jis shift_jis_2004 "
    "shift_jisx0213".split()
)

# In place of bytes that are no character: text of these encodings has no lone surrogates.
_WRONG = "\udc80"
codecs.register_error("sfumato.wrong", lambda error: (_WRONG, getattr(error, "end")))  # noqa: B009

_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", UTF8),
)
_NO_TEXT = {
    rb"PK(\x03\x04|\x05\x06)": "a zip archive, as workbooks of Excel are",
    rb"\xd0\xcf\x11\xe0": "a workbook of Excel",
    rb"\x1f\x8b": "compressed with gzip: its name must end in .gz once",
    rb"\xfd7zXZ\0": "compressed with xz",
    rb"\x28\xb5\x2f\xfd": "compressed with zstd",
    rb"BZh[1-9]1AY&SY": "compressed with bzip2",
    rb"7z\xbc\xaf": "a 7z archive",
    rb"PAR1\x15": "a Parquet file: its name must end in .parquet",
    rb"\x93NUMPY": "an array of NumPy: its name must end in .npy",
    rb"SQLite format 3\0": "a database of SQLite",
}


def encoding_named(name: str) -> str:
    """The name that Python has for an encoding; refuses one in which records cannot be found."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"there is no encoding {name!r}; usual ones are {_USUAL}") from None
    if found.removesuffix("-sig") == UTF8:
        return UTF8
    if _is_single(found) or found in _DECODED:
        return found
    raise ValueError(
        f"in the encoding {name} it is not certain where a record ends: save the file as UTF-8"
    )


_USUAL = "utf-8, latin-1, cp1252 and utf-16"


@cache
def _is_single(name: str) -> bool:
    """Whether each byte is a character by itself, and those below 128 are ASCII."""
    if name == "ascii":
        return True
    try:
        table = import_module(f"encodings.{name.replace('-', '_')}").decoding_table
    except (ImportError, AttributeError):
        return False
    ascii_first = table[:128] == bytes(range(128)).decode("ascii")
    return ascii_first and not any(character.isascii() for character in table[128:])


def line_ends(text: str) -> int:
    """How many line ends there are in a text, inside quotes or not."""
    if "\r" not in text:
        return text.count("\n")
    return text.count("\n") + text.count("\r") - text.count("\r\n")


@dataclass(frozen=True)
class TextFile:
    """A file of text, and its encoding by the name that Python has for it."""

    file: StoredFile
    encoding: str = UTF8

    def __str__(self) -> str:
        return str(self.file)

    @property
    def zipped(self) -> bool:
        """Whether the name says that the file is compressed."""
        return self.file.name.lower().endswith(".gz")

    @property
    def can_be_cut(self) -> bool:
        """Whether reading may begin at any byte where a record begins."""
        return not self.zipped and self.encoding not in _DECODED

    def binary(self, *, strict: bool = False) -> IO[bytes]:
        """Open the file as the bytes in which records are found.

        With `strict`, bytes that are no character are refused, where a record may end in them.
        """
        raw = self._unzipped()
        if self.encoding in _DECODED:
            raw = cast(IO[bytes], io.BufferedReader(_Recoded(raw, self, strict)))
        return raw

    def _unzipped(self) -> IO[bytes]:
        raw = self.file.open()
        return cast(IO[bytes], io.BufferedReader(_Unzipped(raw, self))) if self.zipped else raw

    def text(self, span: Span = (0, None)) -> IO[str]:
        """Open the file as text with its line ends as they are.

        Bytes that are no character become lone surrogates: they are no number, and stay apart.
        """
        start, stop = span
        raw = self.binary()
        if start and self.can_be_cut:
            raw.seek(start)
        while start and not self.can_be_cut:
            start -= len(raw.read(min(start, _BLOCK))) or start
        if stop is not None:
            raw = cast(IO[bytes], io.BufferedReader(_Limited(raw, stop - span[0])))
        name = UTF8 if self.encoding in _DECODED else self.encoding
        return io.TextIOWrapper(raw, encoding=name, errors="surrogateescape", newline="")

    def length(self, text: str) -> int:
        """The number of bytes, as they are looked at, that a text was read from."""
        if _is_single(self.encoding):
            return len(text)
        return len(text.encode(UTF8, "surrogateescape"))

    def check_kind(self) -> None:
        """Refuse a file that is no text by its first bytes, or text in another encoding."""
        with self._unzipped() as raw:
            first = raw.read(16)
        kind = next((kind for magic, kind in _NO_TEXT.items() if re.match(magic, first)), None)
        if kind is not None:
            raise ValueError(f"{self} is no text table: it is {kind}")
        marks = [name for mark, name in _MARKS if first.startswith(mark)]
        if marks and not self.encoding.startswith(tuple(marks)):
            found = marks[0]
            raise ValueError(
                f"{self} is {found.upper()} text, not {self.encoding}: say --encoding {found}; in "
                f'Python TableFile(path, encoding="{found}")'
            )
        if first and not marks and self.encoding in ("utf-16", "utf-32"):
            raise ValueError(
                f"{self} has no byte-order mark, which --encoding {self.encoding} needs: say "
                f"{self.encoding}-le or {self.encoding}-be, or how else the file is encoded"
            )


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


class _Turned(io.RawIOBase, ABC):
    """Bytes that are made of those of another file, block by block."""

    def __init__(self, raw: IO[bytes], file: TextFile) -> None:
        self._raw, self._file = raw, file
        self._held = memoryview(b"")

    @abstractmethod
    def _next(self) -> bytes | None:
        """The next bytes; None at the end."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401
        while not self._held:
            found = self._next()
            if found is None:
                return 0
            self._held = memoryview(found)
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Unzipped(_Turned):
    """The bytes that a file of gzip holds, in one member or several."""

    def __init__(self, raw: IO[bytes], file: TextFile) -> None:
        super().__init__(raw, file)
        self._packed = gzip.GzipFile(fileobj=raw, mode="rb")

    def _next(self) -> bytes | None:
        try:
            return self._packed.read(_BLOCK) or None
        except (gzip.BadGzipFile, EOFError, zlib.error):
            # The messages of these errors show bytes of the file.
            raise ValueError(
                f"{self._file} is damaged or incomplete, or it is no gzip file, as its name says"
            ) from None


class _Recoded(_Turned):
    """Text in another encoding as UTF-8."""

    def __init__(self, raw: IO[bytes], file: TextFile, strict: bool) -> None:
        super().__init__(raw, file)
        self._decoder = codecs.getincrementaldecoder(file.encoding)("sfumato.wrong")
        self._strict, self._line, self._before = strict, 1, ""
        self._ended = False

    def _next(self) -> bytes | None:
        if self._ended:
            return None
        data = self._raw.read(_BLOCK)
        self._ended = not data
        text = self._decoder.decode(data, final=self._ended)
        if self._strict:
            self._check(text)
        return text.encode(UTF8, "surrogateescape")

    def _check(self, text: str) -> None:
        good, wrong, _ = text.partition(_WRONG)
        both = self._before + good
        self._line += line_ends(both) - line_ends(self._before)
        self._before = both[-1:]
        if wrong:
            raise ValueError(
                f"{self._file}, line {self._line}: this is not {self._file.encoding}, so that it "
                "is not certain where records end. Say how the file is encoded (--encoding), or "
                "save it as UTF-8"
            )
