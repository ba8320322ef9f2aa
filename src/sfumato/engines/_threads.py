"""How a pass is worked off: threads that take pieces, and BLAS held to one thread each."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from queue import Queue
from threading import Lock, Thread
from typing import Any, TypeVar

import threadpoolctl  # type: ignore[import-untyped, unused-ignore]

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")


def allowed_threads() -> int:
    """Read SFUMATO_THREADS; without it, as many threads as there are processors for this one."""
    wanted = os.environ.get("SFUMATO_THREADS", "")
    if not wanted:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not wanted.isdecimal() or int(wanted) < 1:
        raise ValueError(f"SFUMATO_THREADS must be a whole number from 1 on, got {wanted!r}")
    return int(wanted)


def share(
    work: Callable[[Iterator[_Piece]], _Result], pieces: deque[_Piece], threads: int
) -> list[_Result]:
    """Let threads take pieces, each once, until none is left."""
    futures: list[Future[_Result]] = [Future() for _ in range(min(threads, len(pieces)) - 1)]
    # A thread each: a pool takes longer to start and to end than a short pass to run.
    for future in futures:
        Thread(target=_settle, args=(future, work, _taken(pieces))).start()
    try:
        own = work(_taken(pieces))
    except BaseException:
        # Nobody waits for what is left.
        pieces.clear()
        raise
    finally:
        wait(futures)
    return [own, *(future.result() for future in futures)]


def _taken(pieces: deque[_Piece]) -> Iterator[_Piece]:
    while True:
        try:
            piece = pieces.popleft()
        except IndexError:
            return
        yield piece


def _settle(
    future: Future[_Result], work: Callable[[Iterator[_Piece]], _Result], pieces: Iterator[_Piece]
) -> None:
    try:
        future.set_result(work(pieces))
    except BaseException as error:
        future.set_exception(error)


def as_done(
    work: Callable[[_Piece], _Result], pieces: Iterable[_Piece], threads: int
) -> Iterator[_Result]:
    """Yield what threads make of pieces, as it comes, holding few results at a time.

    Whoever stops listening waits for the pieces under way, and for no other.
    """
    left = deque(pieces)
    done: Queue[_Result | _End] = Queue(threads)
    running = min(threads, len(left))
    for _ in range(running):
        Thread(target=_feed, args=(done, work, left)).start()
    try:
        while running:
            result = done.get()
            if not isinstance(result, _End):
                yield result
                continue
            running -= 1
            if result.error is not None:
                raise result.error
    finally:
        left.clear()
        while running:
            running -= isinstance(done.get(), _End)


def _feed(
    done: Queue[_Result | _End], work: Callable[[_Piece], _Result], left: deque[_Piece]
) -> None:
    error = None
    try:
        for piece in _taken(left):
            done.put(work(piece))
    except BaseException as reason:
        error = reason
    done.put(_End(error))


@dataclass(frozen=True)
class _End:
    """A thread has ended, and why."""

    error: BaseException | None


class _Hold:
    """The number of BLAS threads belongs to the process: the first sets it, the last sets it back.

    Passes that overlap and each set it for themselves would undo each other's setting.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._blas: Any = None
        self._limits: list[Any] = []

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                _let_go()
            blas = _blas(len(sys.modules))
            # In some libraries the number belongs to the thread, so every thread sets it.
            limit = blas.limit(limits=1)
            if not self._inside or blas is not self._blas:
                # Only who finds a library as it was knows what to set it back to.
                self._limits.append(limit)
                self._blas = blas
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _let_go()
                while self._limits:
                    self._limits.pop().restore_original_limits()
                _let_go()


def _let_go() -> None:
    # Newer versions obey only the thread that set the number first: it may be another's, or gone.
    let_go = getattr(
        getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None
    )
    if let_go is not None:
        let_go(force=True)


_hold = _Hold()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: the threads of a pass are ours."""
    _hold.enter()
    try:
        yield
    finally:
        _hold.leave()


@lru_cache(maxsize=1)
def _blas(modules: int) -> Any:  # noqa: ANN401
    # Looking for the libraries takes milliseconds, setting their threads microseconds. One that is
    # loaded later comes with a module.
    return threadpoolctl.ThreadpoolController().select(user_api="blas")
