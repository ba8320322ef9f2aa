"""Partitions: pure tasks, sums that count each partition once, and blocks that fit into memory."""

import math
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_limits

from sfumato._accounting.budget import Caps
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Nearest
from sfumato._lattice.box import Box
from sfumato.engines import _partitions as parts
from sfumato.engines import _rows as tasks
from sfumato.engines._files import as_done
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartedRows, PartitionsMissing, PartitionSum
from sfumato.engines._progress import watch
from sfumato.engines._rows import Fold, Partial, Pick, merge
from sfumato.engines._threads import allowed_threads, one_blas_thread, share
from tests.unit.cuts import cuts
from tests.unit.recorded import blobs, every_task
from tests.unit.rows import BOX, NAN, VALUES, Totals, fold, uniform


class Cut:
    """An engine that runs tasks here, in any order, again and again, as they come off the wire."""

    max_rows_per_group = None
    n_features = 3

    def __init__(self, values, n_parts=4, order=None, seed=0, labels=None, most=None):
        self.pieces = np.split(values, cuts(len(values), n_parts, seed))
        self.n_parts = n_parts
        self.order = range(n_parts) if order is None else order
        self.labels = [None] * n_parts
        if labels is not None:
            self.labels = np.split(labels, cuts(len(values), n_parts, seed))
            self.max_rows_per_group = most

    def run(self, task):
        for part in self.order:
            blocks = np.array_split(self.pieces[part], 2)
            yield pickle.loads(pickle.dumps(task)).over(part, blocks, self.labels[part])


def folded(values, box=BOX, **options):
    return PartedRows(Cut(values, **options)).fold(box, Totals())


policies = st.sampled_from(["ignore", "center", "drop"])
orders = st.permutations(range(4)).flatmap(
    lambda order: st.lists(st.sampled_from(order), max_size=4).map(lambda more: [*order, *more])
)


@settings(max_examples=40)
@given(orders, st.integers(0, 99), policies, st.integers(0, 40))
@example([3, 1, 0, 2, 1, 1, 3], 1, "ignore", 40)
@example([3, 1, 0, 2, 1, 1, 3], 1, "center", 40)
@example([0, 1, 2, 3], 2, "drop", 33)
@example([2, 0, 3, 1, 0], 3, "drop", 0)
def test_any_order_any_cut_and_any_repetition_count_each_row_once(order, seed, nan, n):
    values = uniform(n, seed=seed)
    values[::5, 1] = NAN
    box = Box(BOX.lower, BOX.upper, nan)
    expected = ArrayRows(values).fold(box, Totals())
    np.testing.assert_array_equal(folded(values, box, order=order, seed=seed), expected)


@pytest.mark.parametrize("order", [[], [0], [0, 1, 2], [0, 1, 2, 2], [3, 3, 3, 3]])
def test_a_missing_partition_is_an_error(order):
    missing = 4 - len(set(order))
    with pytest.raises(PartitionsMissing, match=f"{missing} of 4 partitions were not counted"):
        folded(VALUES, order=order)
    with pytest.raises(PartitionsMissing, match="not counted"):
        list(PartedRows(Cut(VALUES, order=order)).split(BOX, 3, 1))


def test_a_missing_partition_fails_closed_and_the_charge_stands():
    rows = PartedRows(Cut(VALUES, order=[0, 1, 3]))
    curator = Curator(rows, bounds=(BOX.lower, BOX.upper), epsilon=1.0)
    account = curator.reserve("test", Caps(pure=Fraction(1)))
    with pytest.raises(PartitionsMissing):
        curator.counts(Nearest(np.zeros((1, 3), dtype=np.int64)), share=account.rest("pure"))
    (entry,) = account.entries
    assert entry.share.amount == 1
    assert not entry.released


def state(*numbers):
    return np.array(numbers, dtype=np.int64)


def test_merging_adds_disjoint_sets_and_refuses_others():
    both = merge(Partial((0, 2), state(1, 2)), Partial((1,), state(10, 20)))
    assert both.parts == (0, 2, 1)
    assert both.state.tolist() == [11, 22]
    with pytest.raises(ValueError, match=r"\[2\] would be counted twice"):
        merge(both, Partial((2, 3), state(0, 0)))
    with pytest.raises(ValueError, match="unlike queries"):
        merge(both, Partial((3,), state(0)))


@settings(max_examples=30)
@given(
    st.permutations(range(6)), st.integers(1, 6), st.lists(st.booleans(), min_size=12, max_size=12)
)
@example([5, 0, 3, 1, 4, 2], 2, [True, False, True] * 4)
@example([0, 1, 2, 3, 4, 5], 6, [False, True, True] * 4)
@example([1, 0, 5, 4, 2, 3], 1, [True] * 12)
def test_merging_in_any_order_is_the_same_tally(order, groups, flips):
    flips = iter(flips)
    partials = [Partial((i,), state(1 << i, 1)) for i in order]
    piles = [partials[i::groups] for i in range(groups)]
    tally = PartitionSum(6, state(0, 0))
    for pile in filter(None, piles):
        merged = pile[0]
        for other in pile[1:]:
            merged = merge(merged, other) if next(flips) else merge(other, merged)
        for _ in range(1 + next(flips)):
            tally.take(merged)
    assert tally.total().tolist() == [63, 6]


def test_a_tally_refuses_what_it_cannot_tell_apart():
    tally = PartitionSum(3, state(0))
    tally.take(Partial((0,), state(1)))
    with pytest.raises(RuntimeError, match="together with others counted before"):
        tally.take(Partial((0, 1), state(5)))
    for wrong in ((3,), (-1,), (1, 1)):
        with pytest.raises(RuntimeError, match="not there, or one twice"):
            tally.take(Partial(wrong, state(5)))
    for other in (state(5, 5), state(5).reshape(1, 1), state()):
        with pytest.raises(RuntimeError, match="another query"):
            tally.take(Partial((1,), other))


def test_a_tally_of_nothing_is_empty():
    assert PartitionSum(0, state(0)).total().tolist() == [0]


def test_a_tally_leaves_the_states_it_was_given_alone():
    first = Partial((0,), state(1))
    tally = PartitionSum(2, state(0))
    tally.take(first)
    tally.take(Partial((1,), state(2)))
    assert tally.total().tolist() == [3]
    assert first.state.tolist() == [1]


def test_foreign_results_are_refused():
    class Confused(Cut):
        def run(self, task):
            yield "done"

    with pytest.raises(TypeError, match="did not run the task"):
        PartedRows(Confused(VALUES)).fold(BOX, Totals())
    sized = Cut(VALUES)
    rows = PartedRows(sized)
    blocks = rows.split(BOX, 3, 1)
    sized.run = Confused(VALUES).run
    with pytest.raises(TypeError, match="did not run the task"):
        next(blocks)


@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(1, 400), st.integers(0, 99), orders)
@example(1, 400, 0, [0, 1, 2, 3])
@example(9, 1, 1, [3, 1, 0, 2, 1])
@example(5, 60, 2, [2, 3, 1, 0, 0, 2])
def test_blocks_are_those_of_an_array_however_few_are_held(n_blocks, held, seed, order):
    values = uniform(60, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_HELD_BYTES", held)
        found = list(PartedRows(Cut(values, order=order, seed=seed)).split(BOX, n_blocks, seed))
    expected = list(ArrayRows(values).split(BOX, n_blocks, seed))
    assert [sorted(b.tolist()) for b in found] == [sorted(b.tolist()) for b in expected]


def test_blocks_that_are_held_stay_below_the_limit(monkeypatch):
    monkeypatch.setattr(parts, "_HELD_BYTES", 20 * 2 * 3)
    blocks = PartedRows(Cut(VALUES)).split(BOX, 40, 1)
    held = [block.base.shape[0] if block.base is not None else 0 for block in blocks]
    assert max(held) <= 20
    assert len(held) == 40


def test_rows_that_change_between_two_passes_are_noticed():
    for other in (uniform(200, seed=9), VALUES[:150], np.vstack([VALUES, VALUES])):
        engine = Cut(VALUES, n_parts=1)
        blocks = PartedRows(engine).split(BOX, 5, 1)
        engine.pieces = [other]
        with pytest.raises(RuntimeError, match="changed between two passes"):
            list(blocks)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_groups_that_lie_in_one_partition_keep_the_rows_that_they_keep_in_an_array(most):
    labels = np.sort(np.random.default_rng(0).integers(0, 40, 200))
    whole = ArrayRows(VALUES, groups=labels, max_rows_per_group=most).fold(BOX, Totals())
    edges = np.searchsorted(labels, [10, 11, 30])
    engine = Cut(VALUES, labels=labels, most=most)
    engine.pieces, engine.labels = np.split(VALUES, edges), np.split(labels, edges)
    rows = PartedRows(engine)
    assert rows.max_rows_per_group == most
    np.testing.assert_array_equal(rows.fold(BOX, Totals()), whole)


def test_labels_must_be_one_for_each_row():
    with pytest.raises(ValueError, match="one label per row"):
        Fold(BOX, Totals(), 1).over(0, [VALUES], labels=[1, 2])
    with pytest.raises(TypeError, match="one label per row"):
        Fold(BOX, Totals(), 1).over(0, [VALUES])
    with pytest.raises(RuntimeError, match="number of rows"):
        Fold(BOX, Totals(), 1).over(0, [VALUES], chosen=np.ones(3, bool))


def test_tasks_use_one_small_buffer(monkeypatch):
    monkeypatch.setattr(tasks, "_BUFFER_CELLS", 30)
    seen = set()

    class Where(Totals):
        def add(self, rows, state):
            seen.add((rows.__array_interface__["data"][0], len(rows)))
            super().add(rows, state)

    found = Fold(BOX, Where()).over(0, [VALUES[:95], VALUES[95:]])
    np.testing.assert_array_equal(found.state, fold(VALUES))
    assert len({place for place, _ in seen}) == 1
    assert max(length for _, length in seen) == 10


def test_an_empty_partition_is_a_partition():
    assert Fold(BOX, Totals()).over(7, []).parts == (7,)
    assert Fold(BOX, Totals(), 2).over(7, [], labels=[]).state.sum() == 0
    picked = Pick(BOX, 3, 0, 3, 1).over(7, [])
    assert (picked.part, picked.rows.shape, picked.numbers.shape) == (7, (0, 3), (0,))


def test_columns_must_fit_the_bounds():
    rows = PartedRows(Cut(VALUES))
    for ask in (lambda box: rows.fold(box, Totals()), lambda box: rows.split(box, 2, 1)):
        with pytest.raises(ValueError, match="bounds have 2 columns, the data has 3"):
            ask(Box.of((0, 1), 2))
    with pytest.raises(ValueError, match="whole number of at least 1"):
        rows.split(BOX, 0, 1)


def test_watchers_hear_every_pass_of_every_engine(monkeypatch):
    heard = []
    with watch(lambda *numbers: heard.append(numbers)):
        PartedRows(Cut(VALUES, order=[0, 1, 1, 2, 3])).fold(BOX, Totals())
        ArrayRows(VALUES).fold(BOX, Totals())
    steps = [(1, done, 4) for done in range(5)]
    assert heard[:5] == steps
    number, done, total = heard[-1]
    assert (number, done) == (2, total)
    assert heard[5] == (2, 0, total)
    heard.clear()
    ArrayRows(VALUES).fold(BOX, Totals())
    assert heard == []


def test_two_watchers_hear_their_own_passes():
    heard = {"out": [], "in": []}
    with watch(lambda *numbers: heard["out"].append(numbers)):
        with watch(lambda *numbers: heard["in"].append(numbers)):
            PartedRows(Cut(VALUES)).fold(BOX, Totals())
        PartedRows(Cut(VALUES)).fold(BOX, Totals())
    assert heard["in"] == heard["out"] == [(1, done, 4) for done in range(5)]


def blas_threads():
    return [lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()]


def test_blas_is_held_to_one_thread_until_the_last_has_left():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait(30)
    assert set(blas_threads()) <= {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_blas_is_held_to_one_thread_where_another_thread_has_set_it():
    before = blas_threads()
    has_set, leave = threading.Event(), threading.Event()

    def other():
        with threadpool_limits(2, user_api="blas"):
            has_set.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    has_set.wait(30)
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


THREADS = """
import numpy
from threadpoolctl import threadpool_info

def threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
"""
HELD = """
from sfumato.engines._threads import one_blas_thread

with one_blas_thread():
    assert threads() <= {1}
    import scipy.linalg
    with one_blas_thread():
        assert threads() <= {1}
with one_blas_thread():
    assert threads() <= {1}
"""
TOLD = """
import scipy.linalg
print(threads())
"""


def test_a_blas_that_is_loaded_later_is_held_to_one_thread_too():
    two = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    held, free = (
        subprocess.run([sys.executable, "-c", code], env=two, capture_output=True, text=True)
        for code in (THREADS + HELD + TOLD, THREADS + TOLD)
    )
    assert (held.stdout, held.stderr) == (free.stdout, "")


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_make_everything_once_and_as_it_comes(threads):
    assert sorted(as_done(math.sqrt, range(30), threads)) == [math.sqrt(i) for i in range(30)]
    assert list(as_done(math.sqrt, [], threads)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_a_thread_is_raised_and_ends_the_others(threads):
    taken = deque()

    def work(piece):
        taken.append(piece)
        if piece == 3:
            raise KeyError(piece)
        return piece

    with pytest.raises(KeyError):
        list(as_done(work, range(10_000), threads))
    assert len(taken) < 10_000
    with pytest.raises(ZeroDivisionError):
        share(lambda pieces: [1 / piece for piece in pieces], deque([1, 0, 2]), threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_whoever_stops_listening_leaves_no_thread_behind(threads):
    before = threading.active_count()
    taken = deque()
    results = as_done(lambda piece: taken.append(piece) or piece, range(10_000), threads)
    next(results)
    results.close()
    assert threading.active_count() == before
    assert len(taken) < 100


def test_threads_are_a_whole_number(monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", "3")
    assert allowed_threads() == 3
    monkeypatch.setenv("SFUMATO_THREADS", "few")
    with pytest.raises(ValueError, match="SFUMATO_THREADS"):
        allowed_threads()


WORKER = """
import pickle, sys
tasks, part, blocks = pickle.load(sys.stdin.buffer)
found = [task.over(part, blocks) for task in tasks]
sys.stdout.buffer.write(pickle.dumps((found, sorted(sys.modules))))
"""


@pytest.mark.parametrize("d", [2, 12])
def test_a_worker_that_runs_every_task_loads_neither_noise_nor_budget(d):
    """What travels is unpickled and run in a fresh process, which tells what it has loaded."""
    values = blobs(300, d)
    sent = every_task(values)
    shown = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=pickle.dumps((sent, 5, [values])),
        capture_output=True,
        check=True,
    )
    found, modules = pickle.loads(shown.stdout)
    for result, task in zip(found, sent, strict=True):
        expected = task.over(5, [values])
        if isinstance(task, Fold):
            np.testing.assert_array_equal(result.state, expected.state)
        else:
            np.testing.assert_array_equal(result.rows, expected.rows)
    forbidden = (
        "sfumato._core.sampling.source", "sfumato._core.sampling.additive",
        "sfumato._core.sampling.stream",
        "sfumato._core.mechanisms", "sfumato._core.private_data", "sfumato._core.curator",
        "sfumato._accounting.budget", "sfumato._accounting.receipt",
        "sfumato.methods", "sfumato._private_fit", "sfumato._private_kmeans",
        "cryptography", "sklearn",
    )  # fmt: skip
    assert not [name for name in modules if name.startswith(forbidden)]
    assert {"sfumato._core.queries.counts", "sfumato._core.queries.histograms"} <= set(modules)
