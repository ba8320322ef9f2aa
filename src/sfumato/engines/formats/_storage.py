"""Files by their path, or by an address such as s3://bucket/rows.parquet, read through pyarrow."""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from typing import IO, Any, cast

from sfumato._base import extra

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""One path, pattern, folder or address, or several of them."""

Stamp = tuple[int, int]
"""Size and time of the last change: another stamp means that the file has changed."""

_MAGIC = frozenset("*?[")


@dataclass(frozen=True)
class StoredFile:
    """A file: `shown` as the user wrote it, `where` it is found from any working directory."""

    shown: str
    where: str

    @classmethod
    def at(cls, path: str) -> StoredFile:
        """Find a file by what a user wrote."""
        return cls(path, path if _is_address(path) else os.path.abspath(path))

    def __str__(self) -> str:
        return self.shown

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.where.replace(os.sep, "/").rpartition("/")[2]

    @property
    def local(self) -> bool:
        """Whether the file is opened by its path."""
        return not _is_address(self.where)

    def open(self) -> IO[bytes]:
        """Open the file for reading, from any place in it."""
        if self.local:
            return open(self.where, "rb")
        system, path = _system(self.where)
        return cast(IO[bytes], io.BufferedReader(system.open_input_file(path)))

    def stamp(self) -> Stamp:
        """Tell this state of the file from others."""
        if self.local:
            status = os.stat(self.where)
            return status.st_size, status.st_mtime_ns
        system, path = _system(self.where)
        (info,) = system.get_file_info([path])
        return info.size or 0, info.mtime_ns or 0

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.stamp()[0]


def stored(paths: Paths, endings: tuple[str, ...]) -> list[StoredFile]:
    """Find all files of some paths: of a folder those with these endings, in order of names."""
    wanted = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not wanted:
        raise ValueError("no file was given; at least one is needed")
    found = [file for path in wanted for file in _found(os.fspath(path), endings)]
    twice = next((file for file in found if found.count(file) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} was given twice: its rows would be counted twice")
    return found


def _found(path: str, endings: tuple[str, ...]) -> list[StoredFile]:
    if _is_address(path):
        names, folder = _far(path)
    elif os.path.isdir(path):
        names, folder = [entry.path for entry in os.scandir(path) if entry.is_file()], True
    elif os.path.exists(path) or not _MAGIC & set(path):
        names, folder = [_one(path)], False
    else:
        names, folder = glob.glob(path, recursive=True), False
        names = [name for name in names if os.path.isfile(name)]
    found = [StoredFile.at(name) for name in sorted(names)]
    if folder:
        # Other files of writers are left out, such as _SUCCESS and .part-0.parquet.crc.
        data = [file for file in found if not file.name.startswith(("_", "."))]
        found = [file for file in data if file.name.lower().endswith(endings)]
        if not found:
            raise IsADirectoryError(
                f"{path} is a directory without a data file; names of data files end in "
                f"{', '.join(endings)}"
            )
    if not found:
        raise FileNotFoundError(f"no file matches {path}")
    return found


def _one(path: str) -> str:
    """A path that is no folder and no pattern; refused if there is no file."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"no such file: {path}")
    if not os.path.isfile(path):
        raise ValueError(
            f"{path} is a pipe or a device, not a file: rows are read more than once. Write them "
            "into a file"
        )
    return path


def _far(address: str) -> tuple[list[str], bool]:
    """The files at an address, and whether it is that of a folder."""
    head, _, last = address.rstrip("/").rpartition("/")
    pattern = bool(_MAGIC & set(last))
    if _MAGIC & set(head):
        raise ValueError(f"in an address only the last part may be a pattern, got {address}")
    arrow = _fs()
    system, path = _system(head if pattern else address)
    (info,) = system.get_file_info([path])
    if info.type == arrow.FileType.NotFound:
        raise FileNotFoundError(f"no such file: {address}")
    if info.type == arrow.FileType.File:
        return [address], False
    inside = system.get_file_info(arrow.FileSelector(path))
    names = [file.base_name for file in inside if file.type == arrow.FileType.File]
    if pattern:
        return [f"{head}/{name}" for name in names if fnmatch(name, last)], False
    return [f"{address.rstrip('/')}/{name}" for name in names], True


def _is_address(path: str) -> bool:
    return "://" in path


def _fs() -> Any:  # noqa: ANN401
    try:
        import pyarrow.fs
    except ImportError:
        raise ImportError(f"addresses need pyarrow: {extra('parquet')}") from None
    return pyarrow.fs


@cache
def _system(address: str) -> tuple[Any, str]:
    try:
        system, path = _fs().FileSystem.from_uri(address)
    except ValueError as error:
        raise ValueError(f"{address} is no address of a file: {error}") from None
    return system, path
