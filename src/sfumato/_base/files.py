"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def appearing_as(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a place to write to that takes its name only when all of it has been written."""
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is no regular file: choose another name")
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
def appearing(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a text file that takes its name only when all of it has been written."""
    with appearing_as(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        yield file


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in one piece."""
    with appearing(path) as file:
        file.write(text)
