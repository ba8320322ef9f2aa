"""Clusters that the tests of one engine share."""

import pytest


@pytest.fixture(scope="session")
def dask_client():
    """A cluster of two processes on this machine, of one thread each."""
    from sfumato.engines.dask_cluster import connected

    with connected(workers=2) as client:
        yield client
