"""Clusters that are started for files: they read by themselves, and nothing is left of them."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest
from distributed import Client, LocalCluster

from sfumato._core.queries.counts import Counts, Grid
from sfumato.engines._dask import open_dask_files
from sfumato.engines._memory import ArrayRows
from tests.engines.same import check_same, run_of
from tests.laws.harness import BOX, blobs

pytestmark = pytest.mark.xdist_group("dask")

ROWS = blobs()


@pytest.fixture
def folder(tmp_path):
    for i, part in enumerate(np.array_split(ROWS, 3)):
        frame = pd.DataFrame(part, columns=["a", "b"])
        frame.to_parquet(tmp_path / f"{i}.parquet", row_group_size=50, index=False)
    return tmp_path


def children():
    return {process.pid for process in psutil.Process().children(recursive=True)}


def test_workers_read_the_files_and_end_with_the_block(folder):
    before = children()
    with open_dask_files(folder / "*.parquet", columns=["a", "b"], workers=2) as rows:
        assert len(children() - before) >= 2
        check_same(run_of(ArrayRows(ROWS), "dplloyd"), run_of(rows, "dplloyd"))
    # A process that watches over shared memory stays as long as Python itself.
    left = [psutil.Process(pid).cmdline() for pid in children() - before]
    assert not [line for line in left if "resource_tracker" not in " ".join(line)]


def test_a_scheduler_that_was_there_before_stays(folder):
    settings = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, **settings) as cluster:
        kernel = Counts(Grid(7, 2))
        with open_dask_files(folder, scheduler=cluster.scheduler_address) as rows:
            assert (rows.fold(BOX, kernel) == ArrayRows(ROWS).fold(BOX, kernel)).all()
        with Client(cluster, set_as_default=False) as client:
            assert client.submit(len, "here").result() == 4


def test_what_is_wrong_is_said_before_anything_is_started(folder):
    before = children()
    for settings, said in (
        ({"columns": ["c"]}, "no column 'c'"),
        ({"workers": 0}, "workers"),
        ({"workers": True}, "workers"),
        ({"workers": 2, "scheduler": "tcp://127.0.0.1:1"}, "not both"),
        ({"max_rows_per_group": 0, "groups": "a"}, "max_rows_per_group"),
    ):
        wrong = pytest.raises((TypeError, ValueError), match=said)
        with wrong, open_dask_files(folder, **settings):
            pass
    assert children() == before


FITS = """
import sys
from sfumato._core.queries.counts import Counts, Grid
from sfumato._lattice.box import Box
from sfumato.engines._dask import open_dask_files
with open_dask_files(sys.argv[1], workers=2) as rows:
    while True:
        rows.fold(Box((0.0, -3.0), (1.0, 3.0)), Counts(Grid(7, 2)))
        print("pass", flush=True)
"""


def group_of(leader):
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == leader and process.status() != "zombie":
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            pass
    return found


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_no_process_is_left_behind(how, folder):
    command = [sys.executable, "-c", FITS, str(folder)]
    fits = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert [fits.stdout.readline() for _ in range(3)] == ["pass\n"] * 3
        assert len(group_of(fits.pid)) >= 3
        if how == "interrupted":
            # As a terminal does it: everybody hears.
            os.killpg(fits.pid, signal.SIGINT)
            _, said = fits.communicate(timeout=60)
            assert fits.returncode == -signal.SIGINT
            assert said.count("Traceback") == 1
        else:
            fits.kill()
            fits.wait()
        deadline = time.monotonic() + 60
        while group_of(fits.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not group_of(fits.pid)
    finally:
        for process in group_of(fits.pid):
            process.kill()
        fits.stdout.close()
        fits.stderr.close()
        fits.wait()
