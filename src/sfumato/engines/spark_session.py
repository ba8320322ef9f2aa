"""Spark sessions: the active one, or one that is started here and ended here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from sfumato.engines.working import allowed_threads

# A row's value may stand in the report of an error; nobody opens the page.
_QUIET = {
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_HERE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def session(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Use the active session, or start one on a master or on this machine and end it.

    Executors run the Python that PYSPARK_PYTHON names; without it, one at the path of this one.
    """
    if workers is not None and scheduler is not None:
        raise ValueError("workers are started here, or there is a scheduler: not both")
    whole = isinstance(workers, int) and not isinstance(workers, bool)
    if workers is not None and (not whole or workers < 1):
        raise ValueError(f"workers must be a whole number from 1 on, got {workers!r}")
    if scheduler is not None and not scheduler.startswith(("spark://", "local")):
        raise ValueError(f"a Spark master has an address like spark://host:7077, got {scheduler!r}")
    active = SparkSession.getActiveSession()
    if active is not None:
        if workers is not None or scheduler is not None:
            raise ValueError("a Spark session is active: stop it, or name no workers or scheduler")
        yield active
        return
    spark = _started(scheduler or f"local[{workers or allowed_threads()}]")
    try:
        yield spark
    finally:
        spark.stop()


def _started(master: str) -> Any:  # noqa: ANN401
    settings = {**_QUIET, **(_HERE if master.startswith("local") else {})}
    builder = SparkSession.builder.master(master).appName("sfumato")
    for name, value in settings.items():
        builder = builder.config(name, value)
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = before or sys.executable
    try:
        return builder.getOrCreate()
    finally:
        if before is None:
            del os.environ["PYSPARK_PYTHON"]
