"""The threads of a pass over the rows, with BLAS limited to one thread each."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

import threadpoolctl  # type: ignore[import-untyped, unused-ignore]

from sfumato._base.validation import check_whole

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")


def number_in(variable: str, least: int) -> int | None:
    """The whole number in a variable of the environment; None if it is not set."""
    text = os.environ.get(variable, "")
    if text and (not text.isdecimal() or int(text) < least):
        raise ValueError(f"{variable} must be a whole number of at least {least}, got {text!r}")
    return int(text) if text else None


_WANTED: ContextVar[int | None] = ContextVar("sfumato_threads", default=None)


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Let rows that are opened inside the block have so many threads; −1 means all processors."""
    if number is None or number == -1:
        yield
        return
    token = _WANTED.set(check_whole(number, "n_jobs"))
    try:
        yield
    finally:
        _WANTED.reset(token)


def allowed_threads() -> int:
    """As `threads` says, or SFUMATO_THREADS; otherwise the processors of this process."""
    if (wanted := _WANTED.get()) is not None:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return number_in("SFUMATO_THREADS", 1) or len(os.sched_getaffinity(0))
    return number_in("SFUMATO_THREADS", 1) or os.cpu_count() or 1


def share(
    work: Callable[[Iterator[_Piece]], _Result], pieces: deque[_Piece], threads: int
) -> list[_Result]:
    """Divide pieces among threads, each piece once; returns one result per thread.

    BLAS has one thread meanwhile.
    """
    others = min(threads, len(pieces)) - 1
    if others < 1:
        with _LIMIT:
            return [work(iter(pieces))]
    with _LIMIT, ThreadPoolExecutor(others) as pool:
        futures = [pool.submit(work, _taken(pieces)) for _ in range(others)]
        try:
            own = work(_taken(pieces))
        except BaseException:
            # The other threads stop after the piece that they are at.
            pieces.clear()
            raise
        return [own, *(future.result() for future in futures)]


def _taken(pieces: deque[_Piece]) -> Iterator[_Piece]:
    with suppress(IndexError):
        while True:
            yield pieces.popleft()


class _BlasLimit:
    """Limits BLAS to one thread while at least one pass is running.

    The number of BLAS threads belongs to the process. The first pass sets it and the last one
    restores it: passes that overlap would otherwise undo each other's setting.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._blas: Any = None
        self._limits: list[Any] = []

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                _clear_controlling_thread()
            blas = _blas(len(sys.modules))
            # In some libraries the number belongs to the thread, so every thread sets it.
            limit = blas.limit(limits=1)
            if not self._inside or blas is not self._blas:
                # Only the first limit of a library knows the number to restore.
                self._limits.append(limit)
                self._blas = blas
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _clear_controlling_thread()
                while self._limits:
                    self._limits.pop().restore_original_limits()
                _clear_controlling_thread()


_LIMIT = _BlasLimit()


def one_blas_thread() -> _BlasLimit:
    """Limit BLAS to one thread inside a `with` block."""
    return _LIMIT


def _clear_controlling_thread() -> None:
    # Newer versions obey only the thread that set the number first, which may have ended.
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread(force=True)


@lru_cache(maxsize=1)
def _blas(modules: int) -> Any:  # noqa: ANN401
    # Finding the libraries takes milliseconds, setting their threads microseconds. A library that
    # is loaded later comes with a module, hence the number of modules in the key.
    return threadpoolctl.ThreadpoolController().select(user_api="blas")
