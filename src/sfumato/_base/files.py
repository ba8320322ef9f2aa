"""Atomic writes: a file is there completely or not at all; and arrays that files hold."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np


@contextmanager
def atomic_path(path: str | os.PathLike[str], mode: int = 0o644) -> Iterator[Path]:
    """A temporary path that is renamed to `path` when the block ends without an error.

    Until then only its owner can read it; `mode` says who can afterwards.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is not a regular file: choose another name")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def atomic_text(path: str | os.PathLike[str], mode: int = 0o644) -> Iterator[IO[str]]:
    """Open a text file that is renamed to `path` when the block ends without an error."""
    with atomic_path(path, mode) as place, place.open("w", encoding="utf-8", newline="") as file:
        yield file


def read_whole(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """Read a text file. A device may have no end, and is refused."""
    place = Path(path)
    if place.is_char_device() or place.is_block_device():
        raise ValueError(f"{place} is not a regular file: it may have no end")
    return place.read_text(encoding=encoding)


def write_whole(path: str | os.PathLike[str], text: str, mode: int = 0o644) -> None:
    """Write a text file, completely or not at all."""
    with atomic_text(path, mode) as file:
        file.write(text)


def array_in(values: Any, *shape: int | None, dtype: Any = np.float64) -> Any:  # noqa: ANN401
    """Values of a file as an array of a shape; refuses a file that somebody has changed."""
    try:
        found = np.array(values, dtype=dtype)
    except ValueError:
        found = np.array(0)
    wanted = [n if n is not None else m for n, m in zip(shape, found.shape, strict=False)]
    if found.shape != (*wanted,) or found.ndim != len(shape) or (not len(found) and shape[0] != 0):
        raise TypeError(f"numbers of shape {shape} are needed")
    if dtype is not object and not np.isfinite(found).all():
        raise TypeError("numbers must be finite")
    return found
