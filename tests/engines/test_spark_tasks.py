"""What travels to Spark's executors, run here: partitions cut, dealt, counted and put together."""

from collections import defaultdict
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.queries.counts import Counts, Grid, Nearest, Totals
from sfumato.engines import _spark_worker as spark_tasks
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartitionsMissing, PartitionSum
from sfumato.engines._rows import Fold, Pick
from sfumato.engines._spark_worker import (
    NUMBERS,
    add,
    encode,
    received,
    run_task,
    with_keys,
)
from tests.engines.same import random_cuts
from tests.laws.harness import BOX, CENTERS, blobs

ROWS = blobs()
LABELS = [None if i % 31 == 7 else f"p{i % 31}" for i in range(len(ROWS))]
WIDE = Counts(Grid(700, 2))
KERNELS = {"grid": Counts(Grid(7, 2)), "totals": Totals(Nearest(CENTERS)), "wide": WIDE}


class Context:
    """Stands for Spark's: says which partition is under way."""

    number = 0

    @classmethod
    def get(cls):
        return cls

    @classmethod
    def partitionId(cls):  # noqa: N802
        return cls.number


@pytest.fixture(scope="module", autouse=True)
def context():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_tasks, "TaskContext", Context)
        yield


def mapped(work, partitions):
    """Call a task on every partition, as Spark does; returns what each of them gives."""
    found = []
    for Context.number, batches in enumerate(partitions):
        found.append(list(work(iter(batches))))
    return found


def dealt(partitions, column, n_parts):
    """Move batches to the partition that a column says."""
    homes = defaultdict(list)
    for batch in (batch for batches in partitions for batch in batches):
        (home,) = batch.column(column).to_pylist()
        homes[home % n_parts].append(batch)
    return [homes[part] for part in range(n_parts)]


def batches_of(rows, rng, labels=None):
    """Some rows as batches of random lengths."""
    ends = np.cumsum(random_cuts(rng, len(rows), 3))
    table = pa.table({"a": pa.array(rows[:, 0], from_pandas=True), "b": rows[:, 1]})
    if labels is not None:
        table = table.append_column("who", pa.array(labels, pa.string()))
    cuts = zip([0, *ends[:-1]], ends, strict=True)
    return [batch for a, b in cuts for batch in table.slice(a, b - a).to_batches()]


def encoding(most, n_parts):
    return partial(encode, encoder=BOX, most=most, n_parts=n_parts)


def lattice_of(rng, n_parts):
    """The rows cut at random, on the lattice, dealt out to so many partitions."""
    cuts = random_cuts(rng, len(ROWS), int(rng.integers(1, 6)))
    ends = np.cumsum(cuts)
    pairs = zip(ends - cuts, ends, strict=True)
    partitions = [batches_of(ROWS[start:end], rng) for start, end in pairs]
    return dealt(mapped(encoding(None, n_parts), partitions), 0, n_parts)


def total(task, sent, n_parts):
    tally = PartitionSum(n_parts, task.kernel.empty())
    for part in received(task, (batch for batches in sent for batch in batches)):
        tally.take(part)
    return tally.total()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), n_parts=st.integers(1, 7), name=st.sampled_from([*KERNELS]))
@example(seed=0, n_parts=1, name="grid")
@example(seed=1, n_parts=4, name="totals")
@example(seed=2, n_parts=7, name="wide")
@example(seed=3, n_parts=3, name="grid")
def test_any_cut_and_any_number_of_parts_give_the_same_sums(seed, n_parts, name):
    rng = np.random.default_rng(seed)
    task = Fold(BOX, KERNELS[name])
    sent = mapped(partial(run_task, task=task), lattice_of(rng, n_parts))
    expected = ArrayRows(ROWS).fold(BOX, KERNELS[name])
    np.testing.assert_array_equal(total(task, sent, n_parts), expected)
    added = mapped(add, dealt(sent, 1, 3))
    np.testing.assert_array_equal(total(task, added, n_parts), expected)
    (whole,) = received(task, (batch for batches in added for batch in batches))
    assert whole.parts == tuple(range(n_parts))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), most=st.integers(1, 4))
@example(seed=0, most=1)
@example(seed=1, most=4)
def test_groups_in_one_partition(seed, most):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(ROWS))
    labels = [LABELS[i] for i in order]
    batches = batches_of(ROWS[order], rng, labels)
    task = Fold(BOX, KERNELS["grid"])
    lattice = mapped(encoding(most, 1), [batches])
    expected = ArrayRows(ROWS, groups=LABELS, max_rows_per_group=most).fold(BOX, task.kernel)
    found = total(task, mapped(partial(run_task, task=task), lattice), 1)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), n_parts=st.integers(1, 4))
@example(seed=0, n_parts=1)
@example(seed=1, n_parts=4)
def test_rows_of_blocks(seed, n_parts):
    task = Pick(BOX, 5, 1, 4, 77)
    sent = mapped(partial(run_task, task=task), lattice_of(np.random.default_rng(seed), n_parts))
    picked = list(received(task, (batch for batches in sent for batch in batches)))
    assert sorted(p.part for p in picked) == list(range(n_parts))
    blocks = list(ArrayRows(ROWS).split(BOX, 5, 77))
    for number in (1, 2, 3):
        found = np.concatenate([p.rows[p.numbers == number] for p in picked])
        assert sorted(map(tuple, found)) == sorted(map(tuple, blocks[number]))
    assert sum(len(p.rows) for p in picked) == sum(map(len, blocks[1:4]))


def test_a_partition_goes_to_one_place_whatever_the_order_of_its_rows():
    """Made again in another order after a failure, none of its rows turns up elsewhere."""
    rows = np.tile(ROWS, (400, 1))
    for order in (slice(None), slice(None, None, -1)):
        batches = batches_of(rows[order], np.random.default_rng(1))
        (sent,) = mapped(encoding(None, 4), [batches])
        assert len(sent) > 1
        assert {batch.column(0)[0].as_py() for batch in sent} == {0}


def sent_of_two():
    task = Fold(BOX, WIDE)
    assert WIDE.empty().size > 3 * NUMBERS
    return task, mapped(partial(run_task, task=task), lattice_of(np.random.default_rng(3), 2))


def test_a_lost_piece_of_a_sum_leaves_its_partition_out():
    task, sent = sent_of_two()
    del sent[1][2]
    with pytest.raises(PartitionsMissing, match="1 of 2"):
        total(task, sent, 2)


def test_a_lost_piece_is_found_out_after_adding_up():
    task, sent = sent_of_two()
    del sent[1][2]
    with pytest.raises(PartitionsMissing, match="2 of 2"):
        total(task, mapped(add, dealt(sent, 1, 3)), 2)


def test_what_comes_twice_is_counted_once_or_refused():
    task, sent = sent_of_two()
    expected = ArrayRows(ROWS).fold(BOX, WIDE)
    np.testing.assert_array_equal(total(task, [*sent, sent[0]], 2), expected)
    with pytest.raises(RuntimeError, match="counted twice"):
        mapped(add, dealt([*sent, sent[0]], 1, 3))


def test_labels_become_keys_before_rows_are_gathered():
    labels = pa.array(["7", "7.0", None, "NA", "", " x "])
    batch = pa.RecordBatch.from_arrays([pa.array(np.arange(6.0)), labels], ["c0", "c1"])
    (keyed,) = with_keys(iter([batch]), 1)
    assert keyed.column(1).to_pylist() == ["7", "7", "", "", "", "x"]
    assert keyed.column(0).equals(batch.column(0))
