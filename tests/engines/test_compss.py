"""COMPSs: every method to the same bits through its decorators, with a stand-in for the runtime."""

import sys
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato._core.queries.counts import Counts, Grid
from sfumato._core.queries.histograms import Histogram, LogBins
from sfumato.engines import _partitions as pieces
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartitionsMissing
from sfumato.engines._progress import watch
from sfumato.engines._rows import Partial
from sfumato.methods import METHODS
from tests.engines.same import check_same, run_of
from tests.laws.harness import BOX, blobs, curator_of, run

ROWS = blobs()
LABELS = np.arange(len(ROWS)) % 90
GRID = Counts(Grid(7, 2))


@pytest.fixture(params=["sequential", "deferred"])
def compss(request, monkeypatch):
    """The adapter on the stand-in, as it would be on the package itself."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "standin"))
    import pycompss
    from pycompss.api import future

    monkeypatch.setattr(pycompss, "mode", request.param)
    from sfumato.engines import _compss as compss

    compss.calls = future.calls
    yield compss
    future.calls.clear()
    future.pending.clear()
    for name in [n for n in sys.modules if n.partition(".")[0] == "pycompss"]:
        del sys.modules[name]
    del sys.modules["sfumato.engines._compss"]
    del sys.modules["sfumato.engines"]._compss


def write_parquet(folder, rng):
    for i, rows in enumerate(np.array_split(np.arange(len(ROWS)), int(rng.integers(2, 4)))):
        table = pa.table({"a": ROWS[rows, 0], "b": ROWS[rows, 1], "who": LABELS[rows]})
        size = int(rng.integers(9, 60))
        pq.write_table(table, folder / f"{i}.parquet", row_group_size=size)
    return folder


@pytest.fixture
def folder(request, tmp_path, monkeypatch):
    """Files of the rows, cut at random into some dozen pieces."""
    rng = np.random.default_rng(crc32(request.node.name.encode()))
    monkeypatch.setattr(pieces, "_PIECE_CELLS", int(rng.integers(20, 60)))
    return write_parquet(tmp_path, rng)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_bits(method, compss, folder):
    with compss.open_compss_files(folder, columns=["a", "b"]) as rows:
        assert rows._engine.n_parts > compss._ARITY
        check_same(run_of(ArrayRows(ROWS), method), run_of(rows, method))


@pytest.mark.parametrize("method", ["auto", "pgkm"])
def test_groups_that_lie_in_several_pieces(method, compss, folder):
    local = ArrayRows(ROWS, groups=LABELS, max_rows_per_group=2)
    with compss.open_compss_files(folder, groups="who", max_rows_per_group=2) as rows:
        assert rows.max_rows_per_group == 2
        check_same(run_of(local, method), run_of(rows, method))


def test_sizes_of_groups_and_another_number_of_rows(compss, folder):
    local = ArrayRows(ROWS, groups=LABELS)
    with compss.open_compss_files(folder, groups="who") as rows:
        np.testing.assert_array_equal(rows.group_sizes(9), local.group_sizes(9))
        assert rows.group_sizes(9).sum() == 90
        check_same(run_of(local.keeping(2), "dplloyd"), run_of(rows.keeping(2), "dplloyd"))


def test_sums_are_merged_in_a_tree_on_the_workers(compss, folder):
    heard = []
    with (
        compss.open_compss_files(folder, columns=["a", "b"]) as rows,
        watch(lambda *step: heard.append(step)),
    ):
        found = rows.fold(BOX, GRID)
    assert (found == ArrayRows(ROWS).fold(BOX, GRID)).all()
    n_parts = rows._engine.n_parts
    assert heard == [(1, done, n_parts) for done in range(n_parts + 1)]
    waited = list(rows._engine.run(compss.Fold(BOX, GRID)))
    assert len(waited) <= compss._ARITY
    assert sorted(part for partial in waited for part in partial.parts) == list(range(n_parts))
    if compss.calls:
        assert compss.calls.count("run_over") > 2 * n_parts
        assert compss.calls.count("add_up") >= 2 * n_parts // compss._ARITY


def test_binnings_and_blocks(compss, folder):
    local = ArrayRows(ROWS)
    with compss.open_compss_files(folder, columns=["a", "b"]) as rows:
        histogram = Histogram(LogBins(2))
        assert (rows.fold(LogBins(2), histogram) == local.fold(LogBins(2), histogram)).all()
        for ours, theirs in zip(rows.split(BOX, 5, 77), local.split(BOX, 5, 77), strict=True):
            assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs))


def test_a_runtime_that_loses_a_piece_releases_nothing_and_the_charge_stands(
    compss, folder, monkeypatch
):
    monkeypatch.setattr(compss, "add_up", lambda *partials: partials[0])
    with compss.open_compss_files(folder, columns=["a", "b"]) as rows:
        curator = curator_of(rows)
        with pytest.raises(PartitionsMissing, match="were not counted"):
            run(curator, "dplloyd")
    assert curator.ledger.spent[0] > 0
    assert not curator.transcript.released


def test_a_runtime_that_counts_a_piece_twice_is_found_out(compss, folder, monkeypatch):
    def twice(*partials):
        state = sum((p.state for p in partials), partials[0].state)
        return Partial((*partials[0].parts, *(q for p in partials for q in p.parts)), state)

    monkeypatch.setattr(compss, "add_up", lambda *ps: twice(*map(compss.compss_wait_on, ps)))
    with compss.open_compss_files(folder, columns=["a", "b"]) as rows:
        with pytest.raises(RuntimeError, match="one twice"):
            rows.fold(BOX, GRID)


@pytest.mark.parametrize("wish", [{"workers": 2}, {"scheduler": "host:1"}])
def test_numbers_of_workers_are_refused(compss, folder, wish):
    with (
        pytest.raises(ValueError, match="runcompss"),
        compss.open_compss_files(folder, **wish),
    ):
        raise AssertionError("opened all the same")
