"""Who wants to know how far a pass has come: for the owner's eyes, never part of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

Callback = Callable[[int, int, int], None]
"""Hears the number of the pass, from 1 on, and how many of its parts are done, of how many."""


class _Watch:
    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        self.passes = 0
        self.latest: Pass | None = None


_watch: ContextVar[_Watch | None] = ContextVar("sfumato_watch", default=None)


@contextmanager
def watch(callback: Callback) -> Iterator[None]:
    """Let `callback` hear about every pass over rows that begins inside the block."""
    token = _watch.set(_Watch(callback))
    try:
        yield
    finally:
        _watch.reset(token)


class Pass:
    """One pass over rows, of `total` parts. `step` and `reach` may be called from any thread."""

    def __init__(self, total: int) -> None:
        self._watch = _watch.get()
        self._lock = Lock()
        self._done, self._shown, self._total = 0, 0, total
        if self._watch is not None:
            self._watch.passes += 1
            self._number = self._watch.passes
            self._watch.latest = self
            self._watch.callback(self._number, 0, total)

    def step(self) -> None:
        """One more part is done."""
        with self._lock:
            self._done += 1
            self._show(self._done)

    def reach(self, share: float) -> None:
        """Such a share of the work is done at least, says the engine, though nothing came back."""
        with self._lock:
            self._show(int(min(1.0, share) * self._total))

    def _show(self, done: int) -> None:
        if self._watch is not None and done > self._shown:
            self._shown = done
            self._watch.callback(self._number, done, self._total)


def latest() -> Pass | None:
    """The pass that began last, if anybody watches."""
    watching = _watch.get()
    return None if watching is None else watching.latest
