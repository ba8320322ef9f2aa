"""Spark: every method to the same bits on a real cluster, whatever the partitions."""

import os
import signal
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions

import sfumato
from sfumato import Curator
from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import Counts, Grid
from sfumato._core.queries.histograms import Histogram, LogBins
from sfumato.engines import _spark as spark_engine
from sfumato.engines import _spark_worker as spark_worker
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartitionsMissing
from sfumato.engines._progress import watch
from sfumato.engines._spark import open_spark, open_spark_files
from sfumato.methods import METHODS
from tests.engines import probes
from tests.engines.same import check_same, random_cuts, run_of
from tests.engines.spark_cluster import led
from tests.laws.harness import BOX, blobs, curator_of, run
from tests.laws.parted import VALUES, in_part, labels_for
from tests.no_noise import NoNoise

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

ROWS = blobs()
LABELS = np.arange(len(ROWS)) % 90
GRID = Counts(Grid(7, 2))


def frame_of(spark, table, cuts):
    """A frame whose partitions have these lengths."""
    homes = np.repeat(np.arange(len(cuts)), cuts).astype(np.int32)
    frame = spark.createDataFrame(table.append_column("home", pa.array(homes)))
    return frame.repartitionById(len(cuts), "home").drop("home")


def table_of(rows, **more):
    return pa.table({"a": rows[:, 0], "b": rows[:, 1], **more})


def write_parquet(folder, rng):
    for i, rows in enumerate(np.array_split(ROWS, 5)):
        size = int(rng.integers(20, 90))
        pq.write_table(table_of(rows), folder / f"{i}.parquet", row_group_size=size)
    return str(folder)


@pytest.fixture(scope="module")
def opened(spark, tmp_path_factory):
    """The rows in partitions cut at random, opened once for all methods."""
    rng = np.random.default_rng(int(os.environ.get("SFUMATO_SEED", "5")))
    path = write_parquet(tmp_path_factory.mktemp("parquet"), rng)
    with open_spark_files(path) as files:
        yield {
            "even": open_spark(frame_of(spark, table_of(ROWS), random_cuts(rng, len(ROWS), 2))),
            "cut": open_spark(frame_of(spark, table_of(ROWS), (0, 130, 0, 1, 269))),
            "parquet": open_spark(spark.read.parquet(path)),
            "files": files,
        }


@pytest.fixture(scope="module")
def local():
    """What every method finds in memory."""
    return {method: run_of(ArrayRows(ROWS), method) for method in METHODS}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinds", [("even", "cut"), ("parquet", "files")])
def test_every_method_gives_the_same_bits(method, kinds, opened, local):
    kind = kinds[crc32(method.encode()) % 2]
    check_same(local[method], run_of(opened[kind], method))


def test_executors_load_no_noise_and_hold_no_budget(spark, opened):
    run_of(opened["cut"], "auto")

    def look(batches):
        for _ in batches:
            pass
        yield pa.record_batch({"names": [probes.modules()]})

    found = spark_engine.mapped(spark.range(0, 4, 1, 4), look, "names array<string>").collect()
    loaded = {name for row in found for name in row.names}
    assert "sfumato.engines._spark_worker" in loaded
    assert "sfumato._core.queries.counts" in loaded
    forbidden = ("noise", "samplers", "stream", "budget", "mechanisms", "curator.curator")
    assert not [name for name in loaded if any(word in name for word in forbidden)]


def test_executors_hold_blas_to_one_thread(opened):
    assert opened["cut"].fold(BOX, probes.BlasThreads()).tolist() == [0, len(ROWS)]


def test_binnings_and_blocks(opened):
    rows, local = opened["cut"], ArrayRows(ROWS)
    histogram = Histogram(LogBins(2))
    assert (rows.fold(LogBins(2), histogram) == local.fold(LogBins(2), histogram)).all()
    for ours, theirs in zip(rows.split(BOX, 5, 77), local.split(BOX, 5, 77), strict=True):
        assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs))


def test_progress_counts_partitions(opened):
    heard = []
    with watch(lambda *step: heard.append(step)):
        for _ in range(2):
            opened["cut"].fold(BOX, GRID)
    for number in (1, 2):
        done = [step[1] for step in heard if step[0] == number]
        assert done == sorted(set(done))
        assert (done[0], done[-1]) == (0, 5)
    assert {total for _, _, total in heard} == {5}


def test_progress_is_heard_before_all_partitions_are_done(spark):
    frame = spark.range(6, numPartitions=6).selectExpr("id * 1.0 as a", "id * 1.0 as b")
    rows = open_spark(frame.mapInArrow(probes.slowly, frame.schema))
    heard = []
    with watch(lambda number, done, total: heard.append((time.monotonic(), done, total))):
        rows.fold(BOX, GRID)
    times, done, totals = zip(*heard, strict=True)
    assert set(totals) == {6}
    assert list(done) == sorted(set(done))
    assert done[-1] == 6
    assert times[-1] - times[1] > 0.5


def test_large_sums_are_added_up_on_the_way(opened, monkeypatch):
    monkeypatch.setattr(spark_engine, "_RECEIVED_BYTES", 2**20)
    grid = Counts(Grid(700, 2))
    seen = []
    received = spark_worker.received

    def looking(task, batches):
        seen.extend(found := list(received(task, batches)))
        return iter(found)

    monkeypatch.setattr(spark_worker, "received", looking)
    assert (opened["cut"].fold(BOX, grid) == ArrayRows(ROWS).fold(BOX, grid)).all()
    (whole,) = seen
    assert whole.parts == (0, 1, 2, 3, 4)


GROUPS = {
    "texts": [None if x == 7 else f"p{x}" for x in LABELS],
    "numbers": [None if x == 7 else float("nan") if x == 8 else 0.0 * (-1) ** x for x in LABELS],
    "decimals": [Decimal(int(x)) for x in LABELS],
}


@pytest.mark.parametrize("kind", GROUPS)
def test_groups_are_gathered_in_one_partition(kind, spark):
    labels = pa.array(GROUPS[kind])
    order = np.random.default_rng(1).permutation(len(ROWS))
    table = pa.table({"a": ROWS[:, 0], "who": labels, "b": ROWS[:, 1]}).take(order)
    far = open_spark(frame_of(spark, table, (100, 0, 200, 100)), "who", 2)
    assert far.max_rows_per_group == 2
    local = ArrayRows(ROWS, groups=labels, max_rows_per_group=2)
    assert (far.fold(BOX, GRID) == local.fold(BOX, GRID)).all()
    np.testing.assert_array_equal(far.group_sizes(5), local.group_sizes(5))
    if kind == "texts":
        check_same(run_of(local, "pgkm"), run_of(far, "pgkm"))
        other = far.keeping(3)
        assert (far.max_rows_per_group, other.max_rows_per_group) == (2, 3)
        assert (other.fold(BOX, GRID) == local.keeping(3).fold(BOX, GRID)).all()


def test_groups_of_files(spark, tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{a!r},p{who},{b!r}" for (a, b), who in zip(ROWS.tolist(), LABELS, strict=True)]
    path.write_text("\n".join(["a,who,b", *lines]))
    local = ArrayRows(ROWS, groups=LABELS, max_rows_per_group=2)
    with open_spark_files(path, groups="who", max_rows_per_group=2) as rows:
        check_same(run_of(local, "dplloyd"), run_of(rows, "dplloyd"))
        np.testing.assert_array_equal(rows.group_sizes(9), local.group_sizes(9))


def test_the_number_of_partitions_is_fixed_however_spark_cuts_the_files(spark, tmp_path):
    path = write_parquet(tmp_path, np.random.default_rng(2))
    # Every file by itself, and then all in one: as when executors come and go.
    setting = "spark.sql.files.openCostInBytes"
    before = spark.conf.get(setting)
    try:
        spark.conf.set(setting, str(2**27))
        rows = open_spark(spark.read.parquet(path), keep=False)
        assert rows._engine.n_parts == 5
        spark.conf.set(setting, "0")
        assert spark.read.parquet(path).rdd.getNumPartitions() < 5
        for _ in range(2):
            assert (rows.fold(BOX, GRID) == ArrayRows(ROWS).fold(BOX, GRID)).all()
        spark.conf.set("spark.sql.files.maxPartitionBytes", "500")
        assert spark.read.parquet(path).rdd.getNumPartitions() > 5
        assert (rows.fold(BOX, GRID) == ArrayRows(ROWS).fold(BOX, GRID)).all()
    finally:
        spark.conf.set(setting, before)
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


@pytest.mark.parametrize("groups", [None, "who"])
def test_no_rows_at_all(groups, spark):
    none = spark.createDataFrame([], "a double, b double, who string")
    wanted = ["a", "b"] if groups is None else ["a", "b", "who"]
    some = spark.createDataFrame(table_of(ROWS, who=pa.array(GROUPS["texts"])))
    for frame in (none, some.filter("a = 123456")):
        rows = open_spark(frame.select(wanted), groups)
        assert not rows.fold(BOX, GRID).any()


def test_every_number_counts_as_it_would_in_memory(spark):
    table = pa.table(
        {
            "a": pa.array([0, 1, None, 1, 0], pa.int8()),
            "b": pa.array([Decimal("1.5"), None, Decimal("-2.25"), Decimal(9), Decimal(0)]),
        }
    )
    odd = spark.createDataFrame(table).toDF("a.b", "a.b")
    assert (open_spark(odd).fold(BOX, GRID) == ArrayRows(table).fold(BOX, GRID)).all()
    truth = spark.createDataFrame([(True, 2.0), (False, 1.0)], "a boolean, b float")
    plain = np.array([[1.0, 2.0], [0.0, 1.0]])
    assert (open_spark(truth).fold(BOX, GRID) == ArrayRows(plain).fold(BOX, GRID)).all()


def test_what_cannot_be_read_stops_the_fit_and_says_nothing_of_rows(spark):
    def broken(batches):
        for _ in batches:
            pass
        raise ValueError("the salary of Mr. Nemo is 123456")
        yield

    good = spark.range(0, 9, 1, 3).select(
        functions.rand(1).alias("a"), functions.rand(2).alias("b")
    )
    rows = open_spark(good)
    rows._engine._frame = spark_engine.mapped(good, broken, "c0 double, c1 double")
    curator = curator_of(rows)
    with pytest.raises(PartitionsMissing, match="ValueError;") as caught:
        run(curator, "dplloyd")
    assert "Nemo" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert curator.ledger.spent[0] > 0
    assert not curator.transcript.released


def test_the_lattice_is_let_go(spark):
    rows = open_spark(frame_of(spark, table_of(ROWS), (200, 200)))
    rows.fold(BOX, GRID)
    (kept,) = rows._engine._kept
    assert kept.storageLevel.useMemory
    del rows
    deadline = time.monotonic() + 60
    while kept.storageLevel.useMemory:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_data_frame_is_recognised(spark):
    frame = frame_of(spark, table_of(ROWS), (200, 200))
    model = sfumato.PrivateKMeans(3, epsilon=1e6, bounds=(BOX.lower, BOX.upper), n_rows=400)
    model.fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.cluster_sizes_.sum() == pytest.approx(400, abs=1)


REFUSED = {
    "texts": ("a double, b string", None, TypeError, r"numbers; these do not: b \(string\)"),
    "arrays": ("a array<double>", None, TypeError, "array<double>"),
    "no column": ("who string", "who", ValueError, "no column to cluster"),
    "no such group": ("a double", "who", ValueError, "columns, which are"),
    "labels beside it": ("a double", [1], ValueError, "must name one of its columns"),
    "arrays as labels": ("a double, who array<int>", "who", TypeError, "labels of rows"),
}


@pytest.mark.parametrize(
    ("schema", "groups", "error", "said"), REFUSED.values(), ids=REFUSED.keys()
)
def test_what_cannot_be_clustered_is_refused_by_its_schema(spark, schema, groups, error, said):
    with pytest.raises(error, match=said):
        open_spark(spark.createDataFrame([], schema), groups)


def test_other_things_of_spark_are_refused(spark):
    with pytest.raises(TypeError, match="a Spark RDD was passed"):
        sfumato.PrivateKMeans(2, epsilon=1, bounds=(0, 1)).fit(spark.sparkContext.emptyRDD())
    stream = spark.readStream.format("rate").load().select("value")
    with pytest.raises(ValueError, match="no end"):
        open_spark(stream)
    with pytest.raises(ValueError, match="max_rows_per_group"):
        open_spark(spark.createDataFrame([], "a double, who int"), "who", 0)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"workers": 2}, "session is active"),
        ({"scheduler": "spark://here:1"}, "session is active"),
        ({"workers": 2, "scheduler": "spark://here:1"}, "not both"),
        ({"workers": 0}, "whole number"),
        ({"scheduler": "tcp://here:1"}, "spark://host:7077"),
    ],
)
def test_an_active_session_stays_as_it_is(spark, tmp_path, wish, said):
    path = write_parquet(tmp_path, np.random.default_rng(2))
    with pytest.raises(ValueError, match=said), open_spark_files(path, **wish):
        raise AssertionError("opened all the same")
    assert spark.range(3).count() == 3


@pytest.mark.engines
def test_the_command_line_joins_the_cluster_and_leaves_it(spark_master, tmp_path):
    path = write_parquet(tmp_path, np.random.default_rng(3))
    words = ["fit", path, "-k", "3", "--epsilon", "1e6", "--n-rows", "400", "--json"]
    words += ["--bounds", "a=0,1", "--bounds", "b=-3,3", "-o", str(tmp_path / "model.json")]
    words += ["--engine", "spark", "--scheduler", spark_master[0]]
    shown = subprocess.run(
        [sys.executable, "-c", "from sfumato.cli import app; app()", *words],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "model.json").exists()


TELLING = """
import sys
import time
from sfumato.cli import app
from sfumato.engines._progress import watch
with watch(lambda number, done, total: print("pass", number, file=sys.stderr, flush=True)):
    app(sys.argv[1:])
"""


@pytest.mark.engines
def test_an_interrupt_leaves_no_process_and_no_file(tmp_path):
    path = write_parquet(tmp_path, np.random.default_rng(3))
    before = sorted(tmp_path.iterdir())
    words = ["fit", path, "-k", "3", "--epsilon", "1", "--bounds", "0,1", "--method", "dplloyd"]
    words += ["-o", str(tmp_path / "model.json"), "--engine", "spark", "--workers", "2"]
    child = subprocess.Popen(
        [sys.executable, "-c", TELLING, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while child.stderr.readline() != "pass 2\n":
        assert child.poll() is None
    os.kill(child.pid, signal.SIGINT)
    out, said = child.communicate(timeout=120)
    assert child.returncode not in (0, None)
    assert out == ""
    assert "Traceback" not in said
    assert sorted(tmp_path.iterdir()) == before
    deadline = time.monotonic() + 60
    while led([child.pid], ""):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_parts_are_the_rows_of_one_label(spark):
    labels = labels_for(len(ROWS))
    table = pa.table({"a": ROWS[:, 0], "region": pa.array(labels, pa.string()), "b": ROWS[:, 1]})
    frame = frame_of(spark, table, (0, 130, 0, 1, 269))
    for value in VALUES:
        part = curator_of(frame).by("region", values=VALUES)[value]
        account, centers = run(part, "dplloyd", budget="approximate")
        alone = run_of(ArrayRows(ROWS[in_part(labels, value)]), "dplloyd")
        check_same(alone, (part.transcript, account.entries, centers))


def test_parts_of_numbers_are_found_by_value(spark):
    frame = spark.createDataFrame([(0.5, 7), (0.25, 8), (0.5, None)], "a double, year int")
    whole = Curator(frame, bounds=(0, 1), epsilon=10.0**6, noise=NoNoise())
    parts, caps = whole.by("year", values=["7", 8.0, 9]).values(), Caps(pure=Fraction(1))
    found = [p.counts(Grid(1, 1), share=p.reserve("t", caps).rest("pure")) for p in parts]
    assert [int(answer.values[0]) for answer in found] == [1, 1, 0]
