"""Kernels that look around where they run. Workers load this file, so it imports no noise."""

import os
import signal
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_info


@dataclass(frozen=True)
class BlasThreads:
    """Counts the rows that were seen by more than one thread of BLAS, and all rows."""

    def empty(self):
        return np.zeros(2, dtype=np.int64)

    def add(self, rows, state):
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        state += [len(rows) * (max(threads) > 1), len(rows)]


@dataclass(frozen=True)
class Deadly:
    """Counts the rows, and ends the process that finds this file, once: it takes the file along."""

    path: str

    def empty(self):
        return np.zeros(1, dtype=np.int64)

    def add(self, rows, state):
        try:
            os.remove(self.path)
        except FileNotFoundError:
            state += len(rows)
        else:
            os.kill(os.getpid(), signal.SIGKILL)


def broken(block):
    """What a recipe does that meets a row it cannot read."""
    raise ValueError("the salary of Mr. Nemo is 123456")


def modules():
    """What this process has loaded of the package."""
    import sys

    return sorted(name for name in sys.modules if name.startswith("sfumato"))


def blas_from_many(_):
    """Leave BLAS with two threads, as a user's own tasks may."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(2, user_api="blas")


def slowly(batches):
    """Batches as they are, each after a while."""
    for batch in batches:
        time.sleep(0.7)
        yield batch
