"""Where results go: never over an input."""

from __future__ import annotations

import os
from pathlib import Path


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
