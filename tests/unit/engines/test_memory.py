"""Rows in memory: every order, every cut and every number of threads give the same integers."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.testing import use_loops
from sfumato._lattice.box import Box
from sfumato.engines import _memory as array
from sfumato.engines._groups import hash_rows
from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Blocks
from tests.unit.rows import (
    BOX,
    EXPECTED,
    NAN,
    VALUES,
    Totals,
    blocks_of,
    fold,
    rows_in,
    uniform,
)


def test_parameters_are_checked_at_once(monkeypatch):
    for groups in ([1, 2], np.zeros(201), pd.Series([1])):
        with pytest.raises(ValueError, match="one label per row"):
            ArrayRows(VALUES, groups=groups)
    with pytest.raises(ValueError, match="one-dimensional"):
        ArrayRows(VALUES, groups=np.zeros((200, 1)))
    for groups in ("user", 7):
        with pytest.raises(TypeError, match="one label per row"):
            ArrayRows(VALUES, groups=groups)
    for most in (0, -1, 1.5, True, "2"):
        with pytest.raises((TypeError, ValueError), match="max_rows_per_group"):
            ArrayRows(VALUES, groups=[0] * 200, max_rows_per_group=most)
    with pytest.raises(ValueError, match="number of rows is known"):
        ArrayRows(blocks_of(VALUES), groups=[0] * 200)
    with pytest.raises(ValueError, match="parts"):
        ArrayRows(VALUES).split(BOX, 0, 1)
    with pytest.raises(ValueError, match="bounds have 2 columns"):
        ArrayRows(VALUES).fold(Box.of((0, 1), 2), Totals(2))
    for threads in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("SFUMATO_THREADS", threads)
        with pytest.raises(ValueError, match="SFUMATO_THREADS"):
            ArrayRows(VALUES)


def test_a_source_that_yields_other_rows_than_declared_fails_closed():
    rows = ArrayRows(Blocks(lambda: iter([VALUES]), 3, n_rows=199))
    with pytest.raises(RuntimeError, match="declared"):
        rows.fold(BOX, Totals())


@pytest.mark.parametrize(
    "empty",
    [np.zeros((0, 3)), pd.DataFrame(np.zeros((0, 3))), blocks_of(np.zeros((0, 3))),
     Blocks(lambda: iter([]), 3), pl.DataFrame(np.zeros((0, 3))),
     pa.table({c: pa.array([], pa.float64()) for c in "abc"}), np.full((4, 3), NAN)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_no_rows_are_fine(empty):
    box = Box(BOX.lower, BOX.upper, "drop")
    np.testing.assert_array_equal(fold(empty, box), Totals().empty())
    assert [block.shape for block in ArrayRows(empty).split(box, 3, 0)] == [(0, 3)] * 3


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(40)), st.lists(st.integers(0, 40), max_size=4))
@example(range(39, -1, -1), [0, 7, 7, 40])
@example([*range(20, 40), *range(20)], [])
def test_neither_order_nor_partition_matters(order, cuts):
    values = VALUES[:40]
    shuffled = values[list(order)]
    expected = fold(values)
    np.testing.assert_array_equal(fold(shuffled), expected)
    np.testing.assert_array_equal(fold(blocks_of(shuffled, *sorted(cuts))), expected)
    parts = [fold(part) for part in np.split(shuffled, sorted(cuts))]
    np.testing.assert_array_equal(sum(parts), expected)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
def test_threads_do_not_matter(backend, nan, monkeypatch):
    values = uniform(20_000, seed=2)
    values[::97] = NAN
    box = Box(BOX.lower, BOX.upper, nan)
    monkeypatch.setattr(array, "_SPAN_CELLS", 900)
    monkeypatch.setattr(array, "_SPAN_ROWS", 300)
    folds, blocks = [], []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SFUMATO_THREADS", threads)
        with use_loops(backend):
            folds.append(fold(values, box))
            blocks.append(rows_in(values, box))
    assert folds[0][:, 0].sum() == len(box.to_lattice(values))
    assert all((other == folds[0]).all() for other in folds)
    assert all(other == blocks[0] for other in blocks)


def test_large_states_are_not_multiplied_by_the_threads(monkeypatch):
    class Counting(Totals):
        made = 0

        def empty(self):
            self.made += 1
            return super().empty()

    monkeypatch.setenv("SFUMATO_THREADS", "4")
    monkeypatch.setattr(array, "_SPAN_CELLS", 30)
    monkeypatch.setattr(array, "_SPAN_ROWS", 10)
    monkeypatch.setattr(array, "_STATE_BYTES", 2 * Totals().empty().nbytes)
    kernel = Counting()
    np.testing.assert_array_equal(ArrayRows(VALUES).fold(BOX, kernel), EXPECTED)
    assert kernel.made == 1 + 2


def test_blocks_of_another_width_are_refused():
    for width in (1, 2, 4):
        rows = ArrayRows(Blocks(lambda width=width: iter([np.zeros((5, width))]), 3))
        with pytest.raises(ValueError, match="3 columns"):
            rows.fold(BOX, Totals())


def test_a_failing_kernel_fails_the_pass(monkeypatch):
    class Failing(Totals):
        def add(self, rows, state):
            raise MemoryError

    monkeypatch.setattr(array, "_SPAN_ROWS", 10)
    monkeypatch.setattr(array, "_SPAN_CELLS", 30)
    rows = ArrayRows(VALUES)
    with pytest.raises(MemoryError):
        rows.fold(BOX, Failing())
    np.testing.assert_array_equal(rows.fold(BOX, Totals()), EXPECTED)


def test_rows_are_read_at_the_first_pass_and_kept_for_each_box():
    opened = []

    def open_():
        opened.append(1)
        return iter([VALUES])

    rows = ArrayRows(Blocks(open_, 3))
    assert rows.n_features == 3
    assert opened == []
    for _ in range(3):
        rows.fold(BOX, Totals())
        list(rows.split(BOX, 2, 0))
    assert opened == [1]
    wide = Box((-1.0, -9.0, -9.0), (2.0, 9.0, 90.0))
    np.testing.assert_array_equal(rows.fold(wide, Totals()), fold(VALUES, wide))
    np.testing.assert_array_equal(rows.fold(BOX, Totals()), EXPECTED)
    assert opened == [1, 1]


@pytest.mark.parametrize("parts", [1, 2, 7, 1000, 70_000])
def test_split_follows_the_hash_of_each_row(parts):
    lattice = BOX.to_lattice(VALUES)
    wanted = hash_rows(lattice, 9) % np.uint64(parts)
    blocks = list(ArrayRows(VALUES).split(BOX, parts, 9))
    assert len(blocks) == parts
    for part in np.unique(wanted):
        assert blocks[part].tolist() == lattice[wanted == part].tolist()
    assert sum(map(len, blocks)) == len(lattice)
    assert all(block.dtype == np.int16 for block in blocks)


def test_one_row_more_changes_one_block_of_a_split():
    before = list(ArrayRows(VALUES[1:]).split(BOX, 10, 3))
    after = list(ArrayRows(VALUES).split(BOX, 10, 3))
    changed = [a.tolist() != b.tolist() for a, b in zip(before, after, strict=True)]
    assert sum(changed) == 1


@pytest.mark.parametrize(
    "kind", [np.asarray, np.asfortranarray, lambda v: v.astype(np.float32), pd.DataFrame]
)
def test_memory_stays_below_six_tenths_of_a_float64_array(kind):
    values = kind(np.zeros((1_250_000, 8)))
    rows, kernel, box = ArrayRows(values), Totals(8), Box.of((0, 1), 8)
    fold(np.zeros((10, 8)), box)
    tracemalloc.start()
    rows.fold(box, kernel)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 0.6 * 1_250_000 * 8 * 8


def test_memory_with_dropped_rows():
    values = np.zeros((1_250_000, 8))
    values[::2, 0] = NAN
    rows, box = ArrayRows(values), Box.of((0, 1), 8, nan="drop")
    tracemalloc.start()
    assert rows.fold(box, Totals(8))[:, 0].sum() == 625_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 0.6 * values.nbytes
