"""Power cuts: no charge that was acknowledged is lost; and the simulation can lose some."""

import random
import shutil
import sys
from pathlib import Path

import pytest

from tests.ledger.powercut import SECTOR, Disk, File, logged, simulated

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None,
    reason="calls are logged by a library for Linux, compiled by gcc",
)


def test_no_acknowledged_charge_is_lost(tmp_path):
    files, log = logged(tmp_path, 9)
    result = simulated(files, log, 100, seed=1)
    assert result["wrong"] == []
    assert result["promises"] > 1000


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_a_store_that_does_not_sync_loses_charges(tmp_path, synchronous):
    files, log = logged(tmp_path, 3, synchronous)
    lost = simulated(files, log, 20, seed=1)["wrong"]
    assert len(lost) > 5


def test_what_was_synced_is_there_and_the_rest_is_torn_by_sectors():
    file = File()
    file.pending.append((0, b"a" * 3 * SECTOR))
    file.sync()
    file.pending.append((0, b"b" * 3 * SECTOR))
    seen = {file.torn(random.Random(seed)) for seed in range(100)}
    parts = {tuple(data[i : i + SECTOR] for i in range(0, 3 * SECTOR, SECTOR)) for data in seen}
    assert len(parts) == 8
    assert {part for found in parts for part in found} == {b"a" * SECTOR, b"b" * SECTOR}


def test_names_are_kept_in_order_and_surely_if_their_folder_was_synced(tmp_path):
    def left(seed):
        disk = Disk("/f")
        disk.do(1, 3, 0, b"/f")
        disk.do(1, 4, 0, b"/f/a")
        disk.do(5, 3, 0, b"")
        disk.do(6, 0, 0, b"/f/a\n/f/b")
        disk.do(1, 5, 0, b"/f/c")
        target = tmp_path / str(seed)
        target.mkdir()
        disk.cut(Path(target), random.Random(seed))
        return frozenset(path.name for path in target.iterdir())

    assert {left(seed) for seed in range(50)} == {
        frozenset("a"),
        frozenset("b"),
        frozenset("bc"),
    }
