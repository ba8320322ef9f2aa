"""Tables that grow as results come: a bench that was stopped goes on where it was."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

THREADS = ("SFUMATO_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Cells = Sequence[object]
_Task = TypeVar("_Task")
_Found = TypeVar("_Found")


def append_row(path: Path, columns: Sequence[str], cells: Cells) -> None:
    """Write one row at the end of a table; a new table gets its head."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if file.tell() == 0:
            writer.writerow(columns)
        writer.writerow(cells)


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Cells]) -> None:
    """Write a whole table in one step: whoever is interrupted keeps the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    copy = path.with_suffix(".tmp")
    with copy.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    copy.replace(path)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table by column; none if it is not there."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def in_processes(
    work: Callable[[_Task], _Found], tasks: Sequence[_Task], processes: int
) -> Iterator[_Found]:
    """Do all tasks, each in a process with one thread; results come as they end."""
    if not tasks:
        return
    os.environ |= dict.fromkeys(THREADS, "1")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(work, task) for task in tasks]):
            yield future.result()
