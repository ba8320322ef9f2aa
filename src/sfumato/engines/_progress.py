"""Progress of passes over the rows, for the owner of the rows. No part of a result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

Callback = Callable[[int, int, int], None]
"""Called with the number of the pass, from 1 on, the parts that are done, and all its parts."""


@dataclass
class _Watch:
    callback: Callback
    passes: int = 0
    latest: Pass | None = None


watched: ContextVar[_Watch | None] = ContextVar("sfumato_watch", default=None)
"""Who watches, if anybody does."""


@contextmanager
def watch(callback: Callback) -> Iterator[None]:
    """Call `callback` on every pass over rows that begins inside the block."""
    token = watched.set(_Watch(callback))
    try:
        yield
    finally:
        watched.reset(token)


@contextmanager
def shown(verbose: int) -> Iterator[None]:
    """Print a line to the standard error for every pass inside the block, if that is wanted."""
    if not verbose:
        yield
        return

    def line(number: int, done: int, total: int) -> None:
        if done == total:
            sys.stderr.write(f"[sfumato] pass {number} over the rows: done\n")

    with watch(line):
        yield


class Pass:
    """One pass over rows, of `total` parts. `step` and `reach` may be called from any thread."""

    def __init__(self, total: int) -> None:
        self._watch = watched.get()
        self._lock, self._done, self._shown, self._total = Lock(), 0, -1, total
        if self._watch is not None:
            self._watch.passes += 1
            self._watch.latest, self._number = self, self._watch.passes
        self._show(0)

    def step(self) -> None:
        """One more part is done."""
        with self._lock:
            self._done += 1
            self._show(self._done)

    def reach(self, share: float) -> None:
        """The engine reports that at least this share of the work, from 0 to 1, is done."""
        with self._lock:
            self._show(int(min(1.0, share) * self._total))

    def _show(self, done: int) -> None:
        if self._watch is not None and done > self._shown:
            self._shown = done
            self._watch.callback(self._number, done, self._total)


def latest() -> Pass | None:
    """The pass that began last, if one is watched."""
    watching = watched.get()
    return None if watching is None else watching.latest
