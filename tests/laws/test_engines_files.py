"""Files that are read in pieces in every pass give the integers of the same rows in memory."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Ledger
from sfumato._core.queries.counts import Grid, Nearest, Totals
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import ReplayedNoise
from sfumato._private_bounds.estimate import release_bounds
from sfumato.engines._files import TableFile, open_file
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartedRows
from tests.laws.harness import BOX, BUDGETS, CENTERS, PAYABLE, blobs, curator_of, run
from tests.unit.cuts import cuts, tiny, write_csv, write_parquet

ROWS = blobs()
LABELS = [f"p{i}" for i in np.random.default_rng(5).integers(0, 90, len(ROWS))]


def written(kind, folder, seed=0, rows=ROWS, labels=None):
    """The rows as files of one kind, cut at random."""
    cut = cuts(len(rows), 7, seed)
    if kind == "parquet":
        return write_parquet(folder / "rows.parquet", rows, cut, labels)
    if kind == "csv":
        return write_csv(folder / "rows.csv", rows, labels)
    if kind == "npy":
        order = "CF"[seed % 2]
        np.save(folder / "rows.npy", np.asarray(rows, order=order))
        return folder / "rows.npy"
    (folder / "many").mkdir()
    for i, (start, stop) in enumerate(zip([0, *cut], [*cut, len(rows)], strict=True)):
        own = None if labels is None else labels[start:stop]
        write_parquet(folder / "many" / f"part-{i}.parquet", rows[start:stop], [], own)
    return folder / "many"


CASES = [(method, budget) for method, budget in PAYABLE if budget in ("pure", "approximate")]
KINDS = ("parquet", "csv", "npy", "folder")
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
@pytest.mark.parametrize(("method", "budget"), CASES)
def test_every_method_gives_the_same_bits(method, budget, kind, tmp_path):
    _, expected = run(curator_of(ROWS), method, budget=budget)
    with tiny():
        rows = open_file(written(kind, tmp_path), header=True)
        assert isinstance(rows, PartedRows)
        account, centers = run(curator_of(rows), method, budget=budget)
    np.testing.assert_array_equal(centers.points, expected.points)
    np.testing.assert_array_equal(centers.sizes, expected.sizes)
    assert all(entry.released for entry in account.entries)


@pytest.mark.parametrize("kind", ["parquet", "csv", "folder"])
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("method", ["auto", "dplloyd", "gkm"])
def test_groups_that_lie_in_many_pieces_give_the_same_bits(method, most, kind, tmp_path):
    groups = {"groups": np.array(LABELS), "max_rows_per_group": most}
    _, expected = run(curator_of(ROWS, **groups), method)
    with tiny():
        path = written(kind, tmp_path, labels=LABELS)
        rows = open_file(path, groups="who", max_rows_per_group=most)
        assert rows.max_rows_per_group == most
        curator = curator_of(rows)
        _, centers = run(curator, method)
    np.testing.assert_array_equal(centers.points, expected.points)


@settings(max_examples=30)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 1000),
    st.integers(0, 60),
    st.sampled_from(["ignore", "center", "drop"]),
    st.integers(1, 3),
)
@example("parquet", 0, 59, "center", 1)
@example("csv", 1, 59, "drop", 2)
@example("csv", 1, 59, "center", 1)
@example("csv", 5, 40, "center", 3)
@example("npy", 2, 59, "center", 3)
@example("npy", 3, 59, "drop", 1)
@example("folder", 4, 59, "center", 2)
@example("csv", 1, 59, "ignore", 2)
@example("parquet", 0, 59, "ignore", 1)
@example("npy", 2, 59, "ignore", 3)
def test_any_cut_gives_the_same_integers(tmp_path_factory, kind, seed, n, nan, threads):
    box = type(BOX)(BOX.lower, BOX.upper, nan)
    rows = blobs(n + 50, seed)[:n]
    array = ArrayRows(rows)
    with tiny(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_THREADS", str(threads))
        same = open_file(written(kind, tmp_path_factory.mktemp("cut"), seed, rows), header=True)
        for query in (Totals(Nearest(CENTERS)), Totals(Grid(5, 2)), Totals(Nearest(CENTERS), 9)):
            np.testing.assert_array_equal(same.fold(box, query), array.fold(box, query))
        blocks = zip(same.split(box, 7, seed), array.split(box, 7, seed), strict=True)
        for block, expected in blocks:
            assert sorted(block.tolist()) == sorted(expected.tolist())


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 9), min_size=60, max_size=60),
    st.integers(1, 4),
    st.integers(0, 1000),
    st.sampled_from(["ignore", "center", "drop"]),
)
@example(list(range(10)) * 6, 2, 1, "drop")
@example(list(range(10)) * 6, 1, 2, "center")
@example(list(range(10)) * 6, 2, 1, "ignore")
def test_groups_keep_the_rows_that_they_keep_in_memory(tmp_path_factory, labels, most, seed, nan):
    box = type(BOX)(BOX.lower, BOX.upper, nan)
    # Twins: whichever of them is kept, the sums are the same.
    rows = np.repeat(blobs(50, seed)[:30], 2, axis=0)
    rows[::3, 1] = np.nan
    array = ArrayRows(rows, groups=np.array(labels), max_rows_per_group=most)
    with tiny():
        path = written("parquet", tmp_path_factory.mktemp("cut"), seed, rows, labels)
        same = open_file(path, groups="who", max_rows_per_group=most)
        (block,), (expected,) = same.split(box, 1, 3), array.split(box, 1, 3)
    assert sorted(block.tolist()) == sorted(expected.tolist())


@kinds
def test_private_bounds_are_the_same(kind, tmp_path):
    def released(rows):
        return release_bounds(
            HistogramCurator(rows, ledger=Ledger(Fraction(1)), noise=ReplayedNoise(3)), 1
        )

    with tiny():
        found = released(open_file(written(kind, tmp_path), header=True))
    expected = released(ROWS)
    assert (found.lower, found.upper) == (expected.lower, expected.upper)


@pytest.mark.parametrize("budget", BUDGETS)
def test_columns_are_chosen_before_rows_are_cut(budget, tmp_path):
    wide = np.column_stack([ROWS[:, 1], np.full(len(ROWS), 7.0), ROWS[:, 0]])
    _, expected = run(curator_of(ROWS), "dplloyd", budget=budget)
    with tiny():
        path = written("parquet", tmp_path, rows=wide)
        _, centers = run(curator_of(TableFile(path, columns=("c", 0))), "dplloyd", budget=budget)
    np.testing.assert_array_equal(centers.points, expected.points)
