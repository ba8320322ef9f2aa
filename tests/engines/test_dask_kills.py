"""Dask workers that are killed in the middle of a fit: the same bits, one charge, or an error."""

import os
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from sfumato.engines._dask import DaskEngine, files_on, open_dask
from sfumato.engines._files import layout_of
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartedRows, PartitionsMissing
from sfumato.engines._progress import watch
from tests.engines.probes import Deadly
from tests.engines.same import check_same, run_of
from tests.laws.harness import BOX, blobs, curator_of, run

pytestmark = pytest.mark.xdist_group("dask")

KILLS = 20
ROWS = blobs(20_000)
LABELS = [f"p{i}" for i in np.arange(len(ROWS)) % 3000]
KINDS = ("parquet", "groups", "array")


@pytest.fixture(scope="module")
def expected():
    """What undisturbed fits give, on the rows in memory."""
    plain = run_of(ArrayRows(ROWS), "dplloyd")
    grouped = run_of(ArrayRows(ROWS, groups=LABELS, max_rows_per_group=2), "dplloyd")
    return {"parquet": plain, "array": plain, "groups": grouped}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    for i, part in enumerate(np.array_split(ROWS, 8)):
        frame = pd.DataFrame(part, columns=["a", "b"])
        frame.to_parquet(path / f"{i}.parquet", index=False)
    return path


def rows_of(kind, client, folder):
    if kind == "parquet":
        return files_on(client, layout_of(folder))
    if kind == "array":
        return open_dask(da.from_array(ROWS, chunks=(2500, 2)), client=client)
    frame = pd.DataFrame(ROWS, columns=["a", "b"]).assign(who=LABELS)
    cut = dd.from_pandas(frame, npartitions=4)
    return open_dask(cut, groups="who", max_rows_per_group=2, client=client)


class Killer:
    """Kills one worker when a pass has come so far."""

    def __init__(self, client, at, victim):
        client.wait_for_workers(2, timeout=60)
        self.pids = sorted(client.run(os.getpid).values())
        self.at, self.victim = at, victim
        self.passes, self.killed = 0, False

    def __call__(self, number, done, total):
        self.passes = number
        if not self.killed and number == self.at[0] and done >= min(self.at[1], total - 1):
            os.kill(self.pids[self.victim], signal.SIGKILL)
            self.killed = True


def check_killed(client, kind, folder, expected, rng):
    rows = rows_of(kind, client, folder)
    killer = Killer(client, (int(rng.integers(1, 5)), int(rng.integers(0, 7))), rng.integers(2))
    with watch(killer):
        found = run_of(rows, "dplloyd")
    assert killer.killed
    assert killer.passes == 5
    check_same(expected[kind], found)


def test_a_worker_is_killed(dask_client, folder, expected):
    check_killed(dask_client, "parquet", folder, expected, np.random.default_rng(1))


@pytest.mark.engines
@pytest.mark.parametrize("number", range(KILLS))
def test_workers_are_killed_again_and_again(number, dask_client, folder, expected):
    rng = np.random.default_rng(100 + number)
    check_killed(dask_client, KINDS[number % len(KINDS)], folder, expected, rng)


def test_a_worker_is_killed_while_it_is_asked(dask_client, tmp_path):
    dask_client.wait_for_workers(2, timeout=60)
    rows = open_dask(da.from_array(ROWS, chunks=(2500, 2)), client=dask_client)
    deadly = tmp_path / "deadly"
    kernel = Deadly(str(deadly))
    for number in range(5):
        if number in (2, 4):
            deadly.touch()
        assert rows.fold(BOX, kernel).tolist() == [len(ROWS)]
        assert not deadly.exists()


@pytest.mark.engines
def test_both_workers_are_killed(dask_client, folder, expected):
    rows = rows_of("parquet", dask_client, folder)
    killers = [Killer(dask_client, (3, victim), victim) for victim in (0, 1)]
    with watch(lambda *step: [killer(*step) for killer in killers]):
        check_same(expected["parquet"], run_of(rows, "dplloyd"))
    assert all(killer.killed for killer in killers)


def test_data_without_a_recipe_is_gone_and_the_charge_stands(dask_client):
    """Why scattered data is refused: here it is let in by the back door."""
    dask_client.wait_for_workers(2, timeout=60)
    pids = dask_client.run(os.getpid)
    first = sorted(pids, key=pids.get)[0]
    (held,) = dask_client.scatter([ROWS], workers=[first])
    curator = curator_of(PartedRows(DaskEngine(dask_client, [held], 2)))
    killer = Killer(dask_client, (2, 0), 0)
    with watch(killer), pytest.raises(PartitionsMissing, match="FutureCancelledError"):
        run(curator, "dplloyd")
    assert killer.passes == 2
    (account,) = curator.ledger._accounts
    assert [entry.released for entry in account.entries] == [True, False]
