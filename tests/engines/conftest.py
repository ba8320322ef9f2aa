"""Clusters that the tests of one engine share."""

import sys
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Mark what needs a cluster: tests that share one run in one group."""
    for item in items:
        if item.get_closest_marker("xdist_group"):
            item.add_marker("clusters")


@pytest.fixture(scope="session")
def dask_client():
    """A cluster of two processes on this machine, of one thread each."""
    from sfumato.engines._dask import connected

    with connected(workers=2) as client:
        yield client


@pytest.fixture(scope="session")
def spark_master(tmp_path_factory):
    """A Spark standalone master and two workers: its address, and their processes."""
    from tests.engines.spark_cluster import cluster

    with cluster(tmp_path_factory.mktemp("spark")) as master:
        yield master


@pytest.fixture(scope="session")
def spark(spark_master):
    """A session with two executors, one on each worker."""
    from tests.engines.spark_cluster import session

    with session(spark_master[0]) as opened:
        yield opened


@pytest.fixture
def compss_files(monkeypatch):
    """COMPSs' adapter on a stand-in for its runtime."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "standin"))
    import pycompss

    monkeypatch.setattr(pycompss, "mode", "sequential")
    from sfumato.engines import _compss as compss

    yield compss.open_compss_files
    for name in [n for n in sys.modules if n.partition(".")[0] == "pycompss"]:
        del sys.modules[name]
    del sys.modules["sfumato.engines._compss"]
    del sys.modules["sfumato.engines"]._compss
