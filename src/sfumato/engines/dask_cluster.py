"""Clusters of Dask: found, connected to, or started here and ended here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask

from sfumato.engines.array import check_whole
from sfumato.engines.working import allowed_threads

_CRITICAL = 50

_SETTINGS = {
    # A worker that dies twice in a short time is started again nevertheless.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # Pages about the cluster would be open to every user of the machine.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # A new connection for each question, with keys of its own, would take as long as the answer.
    "distributed.scheduler.reuse-broadcast-comm": True,
    # What is measured for those pages takes a tenth of a processor, and a pass is short.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1 s",
    "distributed.admin.system-monitor.interval": "5 s",
    "distributed.worker.memory.monitor-interval": "500 ms",
}


def current_client() -> Any:  # noqa: ANN401
    """The client that Dask itself would use, or None."""
    try:
        from distributed import Client
    except ImportError:
        return None
    try:
        return Client.current()
    except ValueError:
        return None


@contextmanager
def connected(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start workers on this machine; end with both.

    A cluster of this machine has one process for each worker, of one thread each. What its
    processes tell each other is encrypted, so that other users of the machine cannot ask them.
    """
    from distributed import Client, LocalCluster

    if scheduler is not None:
        if workers is not None:
            raise ValueError("workers are started here, or there is a scheduler: not both")
        with Client(scheduler, set_as_default=False) as client:
            yield client
        return
    count = check_whole(allowed_threads() if workers is None else workers, "workers")
    with (
        dask.config.set(_SETTINGS),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            # A row's value may stand in the report of an error.
            silence_logs=_CRITICAL,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            security=True,
            preload=["sfumato.engines.dask_tasks"],
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
