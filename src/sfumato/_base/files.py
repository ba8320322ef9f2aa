"""Atomic writes: a file is there completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path that is renamed to `path` when the block ends without an error."""
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is not a regular file: choose another name")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def atomic_text(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file that is renamed to `path` when the block ends without an error."""
    with atomic_path(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        yield file


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, completely or not at all."""
    with atomic_text(path) as file:
        file.write(text)
