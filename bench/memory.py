"""How much memory this process has held at most."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak() -> int:
    """The most bytes held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak() -> None:
    """Let the peak begin anew at what is held now: making data takes more. Linux can."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5", encoding="ascii")
