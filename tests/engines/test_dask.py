"""Dask: every method to the same bits on a real cluster, whatever the partitions."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from decimal import Decimal
from zlib import crc32

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import wait

from sfumato._base.labels import key_of
from sfumato._core.queries.counts import Counts, Grid
from sfumato._core.queries.histograms import Histogram, LogBins
from sfumato._lattice.box import Box
from sfumato.engines._dask import DaskEngine, deal, files_on, open_dask
from sfumato.engines._dask_worker import home_of
from sfumato.engines._files import layout_of, open_file
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartedRows, PartitionsMissing
from sfumato.engines._progress import watch
from sfumato.methods import METHODS
from tests.engines import probes
from tests.engines.same import check_same, random_cuts, run_of
from tests.laws.harness import BOX, blobs, curator_of, run
from tests.laws.parted import VALUES, in_part, labels_for, pandas_of

pytestmark = pytest.mark.xdist_group("dask")

ROWS = blobs()
LABELS = np.arange(len(ROWS)) % 90


def array_of(rows, rng):
    chunks = random_cuts(rng, len(rows), int(rng.integers(2, 7)))
    return da.from_array(rows, chunks=(chunks, (1, 1)))


def frame_of(frame, rng):
    cuts = random_cuts(rng, len(frame), int(rng.integers(2, 7)))
    ends = np.cumsum(cuts)
    parts = [frame.iloc[end - cut : end] for cut, end in zip(cuts, ends, strict=True)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0])


def parquet_of(frame, folder, rng):
    for i, part in enumerate(np.array_split(np.arange(len(frame)), int(rng.integers(2, 4)))):
        size = int(rng.integers(20, 200))
        frame.iloc[part].to_parquet(folder / f"{i}.parquet", row_group_size=size, index=False)
    return layout_of(folder)


def open_as(kind, rng, client, folder):
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    if kind == "array":
        return open_dask(array_of(ROWS, rng), client=client)
    if kind == "frame":
        return open_dask(frame_of(frame, rng), client=client)
    return files_on(client, parquet_of(frame, folder, rng))


@pytest.mark.parametrize("kind", ["array", "frame", "parquet"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_bits(method, kind, dask_client, tmp_path):
    rng = np.random.default_rng(crc32(f"{method} {kind}".encode()))
    rows = open_as(kind, rng, dask_client, tmp_path)
    check_same(run_of(ArrayRows(ROWS), method), run_of(rows, method))


@pytest.mark.parametrize("method", ["auto", "dplloyd", "pgkm"])
@pytest.mark.parametrize("most", [1, 3])
def test_groups_are_gathered_in_one_partition(method, most, dask_client):
    labels = [None if x == 7 else float("nan") if x == 8 else f"p{x}" for x in LABELS]
    frame = pd.DataFrame({"a": ROWS[:, 0], "who": labels, "b": ROWS[:, 1]})
    local = ArrayRows(ROWS, groups=frame["who"], max_rows_per_group=most)
    cut = frame_of(frame.sample(frac=1, random_state=most), np.random.default_rng(most))
    far = open_dask(cut, groups="who", max_rows_per_group=most, client=dask_client)
    assert far.max_rows_per_group == most
    check_same(run_of(local, method), run_of(far, method))


@pytest.mark.parametrize("parts", [1, 6])
def test_sizes_of_groups_and_another_number_of_rows(parts, dask_client):
    """Rows of a group lie in several partitions, their labels in several types."""
    labels = [[None, "NA", 7, 7.0, "7", f"p{x}"][x % 6] for x in LABELS]
    frame = pd.DataFrame({"a": ROWS[:, 0], "who": pd.Series(labels, dtype=object), "b": ROWS[:, 1]})
    local = ArrayRows(ROWS, groups=labels)
    cut = dd.from_pandas(frame.sample(frac=1, random_state=1), npartitions=parts, sort=False)
    far = open_dask(cut, groups="who", client=dask_client)
    sizes = far.group_sizes(70)
    np.testing.assert_array_equal(sizes, local.group_sizes(70))
    # Those without a label and those of 7, which are more, and fifteen others.
    assert sizes.sum() == 17
    assert sizes[-1] == 2
    kept = far.keeping(3)
    assert (far.max_rows_per_group, kept.max_rows_per_group) == (1, 3)
    check_same(run_of(local.keeping(3), "dplloyd"), run_of(kept, "dplloyd"))
    np.testing.assert_array_equal(kept.group_sizes(70), sizes)


def test_labels_beside_an_array_and_in_files(dask_client, tmp_path):
    local = run_of(ArrayRows(ROWS, groups=LABELS, max_rows_per_group=2), "dplloyd")
    array = da.from_array(ROWS, chunks=(90, 2))
    beside = open_dask(array, groups=LABELS, max_rows_per_group=2, client=dask_client)
    check_same(local, run_of(beside, "dplloyd"))
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame(ROWS).assign(who=[f"p{x}" for x in LABELS])
    frame.to_csv(path, index=False, header=["a", "b", "who"])
    texts = files_on(dask_client, layout_of([path], groups="who"), 2)
    check_same(local, run_of(texts, "dplloyd"))
    for rows in (beside, texts):
        assert np.flatnonzero(rows.group_sizes(9)).tolist() == [3, 4]


def test_pieces_of_a_text_file(dask_client, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines._partitions._LEAST_CELLS", 100)
    monkeypatch.setattr("sfumato.engines.formats._records._GRAIN", 1)
    path = tmp_path / "rows.csv"
    pd.DataFrame(ROWS, columns=["a", "b"]).to_csv(path, index=False)
    rows = files_on(dask_client, layout_of(path, columns=["b", "a"]))
    assert rows._engine.n_parts > 3
    exact = open_file(path, columns=["b", "a"]).fold(BOX, Counts(Grid(7, 2)))
    assert (rows.fold(BOX, Counts(Grid(7, 2))) == exact).all()


def test_many_small_partitions_are_done_together(dask_client):
    rows = open_dask(da.from_array(ROWS, chunks=(20, 2)), client=dask_client)
    kernel = Counts(Grid(7, 2))
    exact = ArrayRows(ROWS).fold(BOX, kernel)
    heard = []
    with watch(lambda *step: heard.append(step)):
        for _ in range(2):
            assert (rows.fold(BOX, kernel) == exact).all()
    assert rows._engine.n_parts == 20
    assert len(rows._engine._dealt()) <= 4
    assert heard == [(p, done, 20) for p in (1, 2) for done in range(21)]


KERNEL = Counts(Grid(7, 2))


def kept_rows(client):
    """Rows that the workers have put on the lattice, the engine that knows, and their counts."""
    rows = open_dask(da.from_array(ROWS, chunks=(90, 2)), client=client)
    exact = ArrayRows(ROWS).fold(BOX, KERNEL)
    for _ in range(2):
        assert (rows.fold(BOX, KERNEL) == exact).all()
    return rows, rows._engine, exact


def refused(*_):
    raise AssertionError("this is not how such a pass is worked off")


def test_short_passes_ask_the_workers_themselves(dask_client, monkeypatch):
    rows, engine, exact = kept_rows(dask_client)
    monkeypatch.setattr(engine, "_on", refused)
    monkeypatch.setattr(engine, "_dealt", refused)
    assert (rows.fold(BOX, KERNEL) == exact).all()


def test_long_passes_are_tasks_of_the_scheduler(dask_client, monkeypatch):
    monkeypatch.setattr("sfumato.engines._dask._SHORT_BYTES", 10)
    monkeypatch.setattr(DaskEngine, "_asked", refused)
    kept_rows(dask_client)


@pytest.mark.parametrize("gone", ["worker", "rows"])
def test_who_has_no_such_rows_is_not_asked_again(gone, dask_client, monkeypatch):
    rows, engine, exact = kept_rows(dask_client)
    plain = dask_client.run

    def without(run_here, task, named, **settings):
        lost = {home: [(parts, ["?"]) for parts, _ in own] for home, own in named.items()}
        return plain(run_here, task, lost, **settings)

    with monkeypatch.context() as patch:
        if gone == "rows":
            patch.setattr(dask_client, "run", without)
        else:
            engine._homes = ["tls://127.0.0.1:1"] * len(engine._homes)
        assert (rows.fold(BOX, KERNEL) == exact).all()
    assert not engine._short
    assert (rows.fold(BOX, KERNEL) == exact).all()
    assert engine._short
    assert set(engine._homes) <= set(dask_client.nthreads())


def test_rows_that_the_scheduler_has_just_forgotten_are_asked_for_by_tasks(
    dask_client, monkeypatch
):
    rows, engine, exact = kept_rows(dask_client)
    engine._forget_homes()

    def forgotten(keys, summary):
        raise KeyError(keys[0])

    with monkeypatch.context() as patched:
        patched.setattr(dask_client, "nbytes", forgotten)
        assert (rows.fold(BOX, KERNEL) == exact).all()
        assert not engine._short
    assert (rows.fold(BOX, KERNEL) == exact).all()
    assert engine._short, "asked for again in the next pass"


def test_only_what_a_worker_does_not_answer_becomes_tasks(dask_client, monkeypatch):
    rows, engine, exact = kept_rows(dask_client)
    plain, on, silent, given = dask_client.run, engine._on, engine._homes[0], []

    def some(*words, **settings):
        answers = plain(*words, **settings)
        del answers[silent]
        return answers

    def told(task, batches):
        given.extend(part for batch in batches for part in batch)
        return on(task, batches)

    monkeypatch.setattr(dask_client, "run", some)
    monkeypatch.setattr(engine, "_on", told)
    assert (rows.fold(BOX, KERNEL) == exact).all()
    assert given == [part for part, home in enumerate(engine._homes) if home == silent]
    assert not engine._short


def test_binnings_and_blocks(dask_client):
    rows, local = (
        open_dask(da.from_array(ROWS, chunks=(90, 2)), client=dask_client),
        ArrayRows(ROWS),
    )
    histogram = Histogram(LogBins(2))
    assert (rows.fold(LogBins(2), histogram) == local.fold(LogBins(2), histogram)).all()
    blocks = [list(r.split(BOX, 5, 77)) for r in (rows, local)]
    for ours, theirs in zip(*blocks, strict=True):
        assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs))


@pytest.mark.parametrize("groups", [None, "who"])
def test_without_a_cluster_the_rows_are_read_here(groups):
    frame = pd.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1]})
    labels = None if groups is None else LABELS
    whole = frame if groups is None else frame.assign(who=LABELS)
    rows = open_dask(dd.from_pandas(whole, npartitions=3), groups=groups)
    assert isinstance(rows, ArrayRows)
    check_same(run_of(ArrayRows(frame, groups=labels), "dplloyd"), run_of(rows, "dplloyd"))


def test_a_block_of_another_type_than_declared_is_read_cell_by_cell(dask_client):
    declared = pd.DataFrame({"a": [0.5, 0.1], "b": [1.0, 2.0]})
    odd = pd.DataFrame({"a": ["0.25", "many"], "b": [None, 2]}, dtype=object)
    parts = [dask.delayed(declared), dask.delayed(odd)]
    frame = dd.from_delayed(parts, meta=declared.iloc[:0], verify_meta=False)
    plain = np.array([[0.5, 1.0], [0.1, 2.0], [0.25, np.nan], [np.nan, 2.0]])
    kernel = Counts(Grid(9, 2))
    found = open_dask(frame, client=dask_client).fold(BOX, kernel)
    assert (found == ArrayRows(plain).fold(BOX, kernel)).all()


def test_rows_with_missing_cells_are_left_out_where_that_is_asked_for(dask_client):
    box, kernel = Box(BOX.lower, BOX.upper, "drop"), Counts(Grid(7, 2))
    rows = open_dask(da.from_array(ROWS, chunks=(90, 2)), client=dask_client)
    found = [r.fold(box, kernel) for r in (rows, rows, ArrayRows(ROWS))]
    assert found[2].sum() == len(ROWS) - 1
    assert (found[0] == found[2]).all()
    assert (found[1] == found[2]).all()


def test_workers_load_no_noise_and_hold_no_budget(dask_client, tmp_path):
    rows = open_as("parquet", np.random.default_rng(3), dask_client, tmp_path)
    for method in METHODS:
        run_of(rows, method)
    for loaded in dask_client.run(probes.modules).values():
        assert "sfumato.engines._dask_worker" in loaded
        forbidden = ("noise", "samplers", "stream", "budget", "mechanisms", "curator.curator")
        assert not [name for name in loaded if any(word in name for word in forbidden)]


def test_workers_hold_blas_to_one_thread(dask_client):
    workers = list(dask_client.nthreads())
    dask_client.gather(dask_client.map(probes.blas_from_many, workers, workers=workers))
    rows = open_dask(da.from_array(ROWS, chunks=(90, 2)), client=dask_client)
    assert rows.fold(BOX, probes.BlasThreads()).tolist() == [0, len(ROWS)]


def test_what_cannot_be_read_stops_the_fit_and_says_nothing_of_rows(dask_client):
    data = da.from_array(ROWS, chunks=(90, 2)).map_blocks(probes.broken, meta=np.empty((0, 2)))
    curator = curator_of(open_dask(data, client=dask_client))
    with pytest.raises(PartitionsMissing, match="ValueError") as caught:
        run(curator, "dplloyd")
    assert "Nemo" not in str(caught.value)
    assert caught.value.__suppress_context__
    (account,) = curator.ledger._accounts
    assert [entry.released for entry in account.entries] == [False]


def test_an_engine_that_failed_starts_anew(dask_client, tmp_path):
    rows = open_as("parquet", np.random.default_rng(3), dask_client, tmp_path)
    hidden = tmp_path / "hidden"
    (tmp_path / "0.parquet").rename(hidden)
    with pytest.raises(PartitionsMissing, match=r"FileNotFoundError .*0\.parquet"):
        rows.fold(BOX, Counts(Grid(7, 2)))
    hidden.rename(tmp_path / "0.parquet")
    found = rows.fold(BOX, Counts(Grid(7, 2)))
    assert (found == ArrayRows(ROWS).fold(BOX, Counts(Grid(7, 2)))).all()


def test_a_file_that_has_changed_is_named(dask_client, tmp_path):
    rows = open_as("parquet", np.random.default_rng(3), dask_client, tmp_path)
    os.utime(tmp_path / "0.parquet", (1, 1))
    with pytest.raises(PartitionsMissing, match=r"FileChanged .*0\.parquet has changed"):
        rows.fold(BOX, Counts(Grid(7, 2)))


def scattered(client):
    return da.from_delayed(client.scatter(ROWS), ROWS.shape, ROWS.dtype)


WRAPS = {
    "itself": lambda x: x,
    "more": lambda x: x + 1,
    "kept": lambda x: (x + 1).persist(),
    "kept and waited for": lambda x: wait((x + 1).persist()) and (x + 1).persist(),
    "kept twice": lambda x: ((x + 1).persist() + 1).persist(),
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS.keys())
@pytest.mark.parametrize("held", [True, False], ids=["held", "let go"])
def test_scattered_data_is_refused(wrap, held, dask_client):
    with dask_client.as_current():
        source = scattered(dask_client)
        data = wrap(source)
        if not held:
            # The scheduler may forget what nobody holds as soon as it is not needed any more.
            del source
        with pytest.raises(ValueError, match="scattered from a client"):
            open_dask(data)


def test_a_future_in_a_call_is_seen_as_well(dask_client):
    value = dask.delayed(np.asarray)(dask_client.scatter(ROWS))
    with pytest.raises(ValueError, match="scattered from a client"):
        open_dask(da.from_delayed(value, ROWS.shape, ROWS.dtype), client=dask_client)


def test_data_that_the_workers_keep_by_recipe_is_taken(dask_client):
    with dask_client.as_current():
        kept = da.from_array(ROWS, chunks=(90, 2)).persist()
        frame = dd.from_pandas(pd.DataFrame(ROWS), npartitions=3).persist()
        # Only the last of three steps is held by anyone.
        twice = ((kept * 2).persist() / 2).persist()
        wait(twice)
        kernel = Counts(Grid(7, 2))
        for data in (kept, kept + 0, frame, twice):
            found = open_dask(data).fold(BOX, kernel)
            assert (found == ArrayRows(ROWS).fold(BOX, kernel)).all()


REFUSED = {
    "one dimension": (da.ones(3), None, ValueError, "2D"),
    "three dimensions": (da.ones((3, 3, 3)), None, ValueError, "2D"),
    "complex": (da.ones((3, 3), dtype=complex), None, ValueError, "Complex"),
    "no column": (da.ones((3, 0)), None, ValueError, "0 feature"),
    "objects": (da.ones((3, 3)).astype(object), None, TypeError, "object"),
    "delayed": (dask.delayed(3), None, TypeError, "Delayed"),
    "texts": (dd.from_pandas(pd.DataFrame({"a": ["x"]})), None, TypeError, "str"),
    "series": (dd.from_pandas(pd.Series([1.0])), None, ValueError, "2D"),
    "no such group": (dd.from_pandas(pd.DataFrame({"a": [1]})), "who", ValueError, "columns"),
    "labels of a frame": (dd.from_pandas(pd.DataFrame({"a": [1]})), [1], ValueError, "columns"),
    "name for an array": (da.ones((3, 3)), "who", ValueError, "one label per row"),
    "too few labels": (da.ones((3, 3)), np.ones(2), ValueError, "one label per row"),
}


@pytest.mark.parametrize(("data", "groups", "error", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_clustered_is_refused_before_any_row_is_read(data, groups, error, said):
    with pytest.raises(error, match=said):
        open_dask(data, groups=groups)


ALIKE = {
    "numbers": [1, 1.0, True, Decimal(1), np.int64(1), np.float32(1), "1", " 1.0 "],
    "missing": [None, float("nan"), pd.NA, np.nan, pd.NaT, "", "null"],
    "texts": ["p7", np.str_("p7")],
    "times": [np.datetime64("2024-05-06"), pd.Timestamp("2024-05-06"), "2024-05-06 00:00:00"],
    "others": [(1, 2), (1.0, 2)],
}


@pytest.mark.parametrize("labels", ALIKE.values(), ids=ALIKE.keys())
def test_equal_labels_have_one_home(labels):
    assert len({home_of(key_of(label), 1000) for label in labels}) == 1


HOMES = """
from sfumato.engines._dask_worker import home_of
print([home_of(f"p{i}", 7) for i in range(50)])
"""


def test_partitions_of_unlike_types_hold_one_person(dask_client):
    """Ids are whole in one partition, floating point in the next, text, times of two units."""
    week = np.arange("2024-01-01", "2024-01-08", dtype="M8[D]")
    pairs = [
        (pd.array(range(7), dtype="int64"), [0.0, 1, 2, 3, 4, 5, 6]),
        (pd.array([*range(6), None], dtype="Int64"), [0.0, 1, 2, 3, 4, 5, np.nan]),
        (
            pd.array([2**60 + i for i in range(7)], dtype="int64"),
            [str(2**60 + i) for i in range(7)],
        ),
        (week.astype("M8[ns]"), week.astype("M8[s]")),
        (["a", "", "NA", "b", "c", "d", "e"], ["a", None, np.nan, "b", "c", "d", "e"]),
        (pd.array([2**60 + i for i in range(7)], dtype="int64"), [np.nan] * 7),
    ]
    kernel = Counts(Grid(1, 2))
    for one, other in pairs:
        parts = [pd.DataFrame(ROWS[:7], columns=["a", "b"]).assign(who=x) for x in (one, other)]
        # Each partition several times: two alone would as likely as not be gathered in one place.
        numbers = [0, 1] * 4
        frame = dd.from_map(lambda i, parts=parts: parts[i], numbers, meta=parts[0].iloc[:0])
        groups = {"groups": "who", "max_rows_per_group": 1}
        people = ArrayRows(ROWS[:14], groups=[*one, *other], max_rows_per_group=1)
        expected = people.fold(BOX, kernel)
        assert expected.sum() in (6, 7, 8)
        for client in (dask_client, None):
            rows = open_dask(frame, **groups, client=client)
            assert (rows.fold(BOX, kernel) == expected).all()


def test_texts_have_one_home_in_every_process():
    # Processes that hash differently; workers of one cluster would all hash alike.
    homes = {
        subprocess.run(
            [sys.executable, "-c", HOMES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    (here,) = homes
    assert len(set(json.loads(here))) == 7


def test_partitions_are_dealt_once_each_to_those_who_hold_them():
    rng = np.random.default_rng(5)
    for _ in range(200):
        n, threads = int(rng.integers(1, 40)), int(rng.integers(1, 5))
        homes = [f"w{i}" for i in rng.integers(0, threads, n)]
        sizes = rng.integers(0, 2**27, n).tolist()
        batches = deal(homes, sizes, threads)
        assert sorted(part for batch in batches for part in batch) == list(range(n))
        assert all(len({homes[part] for part in batch}) == 1 for batch in batches)
    assert [len(b) for b in deal(["a", "b"] * 20, [1000] * 40, 2)] == [20] * 2


def test_no_partitions_at_all(dask_client):
    rows = PartedRows(DaskEngine(dask_client, [], 2))
    assert not rows.fold(BOX, Counts(Grid(7, 2))).any()


@pytest.mark.parametrize("where", ["workers", "here"])
@pytest.mark.parametrize("kind", ["frame", "array"])
def test_parts_are_the_rows_of_one_label(kind, where, dask_client):
    rng = np.random.default_rng(crc32(f"{kind} {where}".encode()))
    labels = labels_for(len(ROWS))
    if kind == "frame":
        table, column = frame_of(pandas_of(ROWS, labels), rng), "region"
    else:
        table, column = array_of(ROWS, rng), np.array(labels, dtype=object)
    with dask_client.as_current() if where == "workers" else nullcontext():
        for value in VALUES:
            part = curator_of(table).by(column, values=VALUES)[value]
            account, centers = run(part, "dplloyd", budget="approximate")
            alone = run_of(ArrayRows(ROWS[in_part(labels, value)]), "dplloyd")
            check_same(alone, (part.transcript, account.entries, centers))


def test_no_partition_is_computed_before_a_part_is_charged(dask_client):
    frame = pandas_of(ROWS, labels_for(len(ROWS)))
    table = dd.from_delayed([dask.delayed(pytest.fail)("read")], meta=frame.iloc[:0])
    for context in (dask_client.as_current(), nullcontext()):
        with context:
            part = curator_of(table).by("region", values=VALUES)["north"]
            assert part.names == ("a", "b")
