"""Where results go: never over an input, and whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def check_output(target: Path, *inputs: Path) -> None:
    """Refuse a place that cannot be written to, before anything is spent or read."""
    for source in inputs:
        if target.resolve() == source.resolve() or (
            target.exists() and source.exists() and target.samefile(source)
        ):
            raise ValueError(f"{target} is an input: choose another file for --output")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a directory: choose a file for --output")
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is no regular file: choose another one for --output")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no such directory for --output: {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"the directory of --output cannot be written to: {target.parent}")


@contextmanager
def appearing(target: Path) -> Iterator[IO[str]]:
    """Open a text file that takes its name only when all of it has been written."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
