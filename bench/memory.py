"""How much memory this process has held at most."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak() -> int:
    """The most bytes held so far."""
    # What Linux counts for a process itself begins with the peak of the one that started it.
    if STATUS.exists():
        found = re.search(rb"VmHWM:\s*(\d+) kB", STATUS.read_bytes())
        if found:
            return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def forget_peak() -> None:
    """Let the peak begin anew at what is held now: making data takes more. Linux can."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5", encoding="ascii")
