"""Engines: `python -m bench engines memory`, `… growth`, `… costs`; one part or several."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
PARTS = [
    name
    for name in ("memory", "growth", "costs", "kills")
    if (HERE / f"engines_{name}.py").exists()
]


def main(argv: list[str]) -> None:
    names = [word for word in argv if not word.startswith("-")]
    options = [word for word in argv if word.startswith("-")]
    if not names or not set(names) <= set(PARTS):
        sys.exit(f"usage: python -m bench engines PART… [options]; parts: {', '.join(PARTS)}")
    for name in names:
        import_module(f"bench.engines_{name}").main(options)
