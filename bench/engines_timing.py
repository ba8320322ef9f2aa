"""Fits of several engines in turns, every one of them kept, and which of them can be judged."""

from __future__ import annotations

import hashlib
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from pathlib import Path

from bench.engines_serving import Server, Setup
from bench.growing_tables import append_row, read_rows, write_rows
from bench.speed import machine_efficiency, seconds

SETUP = ("engine", "processes", "tasks", "rows", "clusters")
NUMBERS = ("startup", "cpu", "machine")
SECONDS = "seconds"

# Two threads that share nothing must get so much of two cores, or one was not ours.
QUIET = 0.9


@dataclass(frozen=True)
class Timing:
    """One fit: CPU seconds of all processes, what the machine could give just then, and seconds.

    Those are a row: up to the first pass over the rows, then of each pass with what follows it.
    """

    setup: Setup
    startup: float
    cpu: float
    machine: float
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Best:
    """The best of all fits of a setup, part by part, and of the machine beside them."""

    setup: Setup
    fits: int
    startup: float
    seconds: float
    cpu: float
    machine: float

    @property
    def is_quiet(self) -> bool:
        """Whether there was a time when both cores were free."""
        return self.machine >= QUIET


def two_cores() -> float:
    """What two threads get of two cores: by their time beside one thread's, and by their CPU time.

    The first shows cores that slow each other down; the second, neighbours that slow both alike.
    """
    start = time.process_time()
    wall = seconds(lambda: _both(bytes(60_000_000)))
    return min(machine_efficiency(), (time.process_time() - start) / wall / 2)


def _both(data: bytes) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(hashlib.sha256, [data] * 2))


def read(path: Path) -> list[Timing]:
    """Every fit in a table."""
    found = []
    for line in read_rows(path):
        setup = Setup(line["engine"], *(int(line[name]) for name in SETUP[1:]))
        seconds = tuple(map(float, line[SECONDS].split()))
        found.append(Timing(setup, *(float(line[name]) for name in NUMBERS), seconds))
    return found


def best(timings: Sequence[Timing]) -> dict[Setup, Best]:
    """The least CPU time and start-up of every setup, and the least times of the parts of a fit.

    A neighbour's work can only make a part longer, so the least of several is the truest. Parts
    are shorter than fits: it takes fewer of them until none was disturbed.
    """
    found = {}
    for setup in dict.fromkeys(t.setup for t in timings):
        mine = [t for t in timings if t.setup == setup]
        found[setup] = Best(
            setup,
            len(mine),
            startup=min(t.startup for t in mine),
            seconds=sum(map(min, zip(*(t.seconds for t in mine), strict=True))),
            cpu=min(t.cpu for t in mine),
            machine=max(t.machine for t in mine),
        )
    return found


def complete(path: Path, setups: Sequence[Setup], rounds: int) -> None:
    """Let the setups fit in turns until each has so many fits in the table."""
    done = [t.setup for t in read(path)]
    left = rounds - min(done.count(setup) for setup in setups)
    engines = ", ".join(dict.fromkeys(setup.engine for setup in setups))
    print(f"{path.name}: {max(0, left)} of {rounds} rounds to do of {engines}", flush=True)
    if left <= 0:
        return
    with ExitStack() as stack:
        # Servers sleep between their fits: one that nobody wakes would sleep for ever.
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
        stack.callback(signal.signal, signal.SIGTERM, before)
        servers = {setup: stack.enter_context(Server(setup)) for setup in setups}
        for number in range(left):
            machine = two_cores()
            for setup, server in servers.items():
                found = server.fit()
                seconds = tuple(found["seconds"])
                _append(path, Timing(setup, server.startup, found["cpu"], machine, seconds))
            print(f"  {number + 1}/{left} machine {machine:.2f}", flush=True)


def forget(path: Path, setups: Sequence[Setup]) -> None:
    """Drop the fits of some setups."""
    kept = [t for t in read(path) if t.setup not in setups]
    if path.exists():
        write_rows(path, [*SETUP, *NUMBERS, SECONDS], map(_cells, kept))


def _append(path: Path, timing: Timing) -> None:
    append_row(path, [*SETUP, *NUMBERS, SECONDS], _cells(timing))


def _cells(timing: Timing) -> list[object]:
    numbers = (f"{getattr(timing, name):.4g}" for name in NUMBERS)
    seconds = " ".join(f"{part:.4g}" for part in timing.seconds)
    return [*astuple(timing.setup), *numbers, seconds]
