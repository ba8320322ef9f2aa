"""How far Spark has come with a pass, as far as it says before it sends anything back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

from pyspark import inheritable_thread_target

from sfumato.engines.progress import Pass, latest

# Seconds between two looks.
_PAUSE = 0.2


@contextmanager
def followed(session: Any, stages: int) -> Iterator[None]:  # noqa: ANN401
    """Move the bar of the pass that has begun with the tasks of Spark's next stages, so many.

    Nobody watches: nothing is done. Spark Connect does not tell.
    """
    watched = latest()
    if watched is None:
        yield
        return
    ready, over = Event(), Event()
    follow = inheritable_thread_target(session)(_follow)
    Thread(target=follow, args=(session, stages, watched, ready, over), daemon=True).start()
    ready.wait()
    try:
        yield
    finally:
        over.set()


def _follow(session: Any, stages: int, watched: Pass, ready: Event, over: Event) -> None:  # noqa: ANN401
    # No bar is worth an error: the session may end meanwhile.
    with suppress(Exception):
        try:
            tracker = session.sparkContext.statusTracker()
            earlier = set(tracker.getActiveStageIds())
        finally:
            ready.set()
        ours: set[int] = set()
        while not over.wait(_PAUSE):
            ours |= set(tracker.getActiveStageIds()) - earlier
            watched.reach(_done(map(tracker.getStageInfo, ours)) / stages)


def _done(stages: Iterable[Any]) -> float:
    known = (stage for stage in stages if stage is not None and stage.numTasks)
    return float(sum(stage.numCompletedTasks / stage.numTasks for stage in known))
