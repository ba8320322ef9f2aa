"""A row with gaps is one row for every query, and what it is depends on no other row."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.queries.cells import Grid, Nearest
from sfumato._core.queries.choose import Cost, Swaps
from sfumato._core.queries.counts import Counts, Totals
from sfumato._core.queries.cubes import Cubes, NearestInProjection
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.queries.max_cover import Grids
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.privtree import Domain
from sfumato._core.queries.projection import MappedKernel, Projection
from sfumato._core.releases.max_cover import Cover
from sfumato._core.releases.privtree import Growth
from sfumato._core.releases.sample_aggregate import ITERATIONS, _spread_start, block_centers
from sfumato._core.testing import ReplayedNoise, use_loops
from sfumato._lattice.box import ABSENT, REACH, Box
from sfumato.engines._files import TableFile, open_file
from sfumato.engines._memory import ArrayRows
from tests.laws.harness import BOX, PAYABLE, blobs, curator_of, exact, run
from tests.unit import gaps

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "numba"])

VALUES = (-REACH, -5000, -1, 0, 3, 9000, REACH, ABSENT)
ROWS = np.array([*product(VALUES, repeat=2)], dtype=np.int16)

CENTERS = np.array([[-20_000, 5], [REACH, -REACH], [0, 0], [-20_000, 5], [3, 12_000]])
RADII = (7000, 1, 300, 20_000, 65_534)
EDGES = (1, 2, 5000, 20_000, 32_767, 60_000)
CORNERS, SIDE = np.array([[-40_000, -40_000], [-40_000, 24], [24, 24]]), 40_024
TURNED = Projection(np.array([[3, -2], [1, 1], [0, 0]]), np.array([100, -7]), 1)
ONE_EACH = Projection(np.array([[0, 1], [1, 0], [0, 0]]), np.array([50, 60]))
IN_BALL = Projection(np.array([[1, 0], [0, 2]]), np.array([9000, -1]), ball=True)
VIEWS = {"turned": TURNED, "one column each": ONE_EACH, "ball": IN_BALL}
SEEN = np.array([[0, 0, 0], [-9000, 30_000, 5], [20_000, -20_000, 0]])
SETS = np.array([CENTERS[:2], CENTERS[2:4], CENTERS[3:], CENTERS[[4, 0]]])
CANDIDATES = np.array([[1, 1], [-REACH, 30_000], [8000, -8000]])
SHIFT = 3


def in_projection(row):
    """What is summed is the row, if it has no gap; its cell is that of its projection."""
    state = np.zeros((len(SEEN), 3), dtype=np.int64)
    if gaps.whole(row):
        state[gaps.nearest(gaps.projected(row, TURNED), SEEN)] = [1, *row]
    return state


def swap_costs(row):
    return gaps.cost(row, gaps.swapped(CENTERS, CANDIDATES))


def viewed(by, kernel, definition):
    return MappedKernel(by, kernel), lambda row: definition(gaps.projected(row, by))


NEAREST, THROUGH = Nearest(CENTERS), NearestInProjection(TURNED, Nearest(SEEN))
QUERIES = {
    "nearest counts": (Counts(NEAREST), lambda row: gaps.by_nearest(row, CENTERS)[:, 0]),
    "nearest sums": (Totals(NEAREST), lambda row: gaps.by_nearest(row, CENTERS)),
    "clipped sums": (Totals(NEAREST, RADII), lambda row: gaps.by_nearest(row, CENTERS, RADII)),
    "beyond": (RowsBeyond(NEAREST, EDGES), lambda row: gaps.beyond(row, CENTERS, EDGES)),
    "beyond, each": (
        RowsBeyond(NEAREST, EDGES, each=True),
        lambda row: gaps.beyond_each(row, CENTERS, EDGES),
    ),
    "all rows": (Totals(Grid(1, 2)), lambda row: gaps.on_grid(row, 1)),
    "grid counts": (Counts(Grid(5, 2)), lambda row: gaps.on_grid(row, 5)[:, 0]),
    "grid sums": (Totals(Grid(2, 2)), lambda row: gaps.on_grid(row, 2)),
    "cubes": (Counts(Cubes(CORNERS, SIDE)), lambda row: gaps.in_cubes(row, CORNERS, SIDE)),
    "projected counts": (Counts(THROUGH), lambda row: in_projection(row)[:, 0]),
    "projected sums": (Totals(THROUGH), in_projection),
    "squares": (Squares(2, SHIFT), lambda row: gaps.squares(row, SHIFT)),
    "products": (Products(2, SHIFT), lambda row: gaps.products(row, SHIFT)),
    "cost": (Cost(SETS), lambda row: gaps.cost(row, SETS)),
    "swaps": (Swaps(CENTERS, CANDIDATES), swap_costs),
    **{
        f"nearest sums, {name}": viewed(
            by,
            Totals(Nearest(SEEN[:, : by.n_out])),
            lambda row: gaps.by_nearest(row, SEEN[:, : len(row)]),
        )
        for name, by in VIEWS.items()
    },
    **{
        f"all rows, {name}": viewed(by, Totals(Grid(1, by.n_out)), lambda row: gaps.on_grid(row, 1))
        for name, by in VIEWS.items()
    },
}
by_query = pytest.mark.parametrize(("query", "definition"), QUERIES.values(), ids=QUERIES.keys())


def asked(query, rows):
    """The exact answer about lattice rows."""
    return numbers(query, exact(query, rows))


def numbers(query, state):
    """What a pass has added up; of a score the costs."""
    return -query.scores(state) if isinstance(query, Cost | Swaps) else state


@by_query
@BACKENDS
def test_every_query_is_the_sum_of_what_it_makes_of_each_row(query, definition, backend):
    alone = [np.array(definition([int(x) for x in row])) for row in ROWS]
    order = np.random.default_rng(0).permutation(len(ROWS))
    with use_loops(backend):
        for row, expected in zip(ROWS, alone, strict=True):
            np.testing.assert_array_equal(asked(query, row), expected)
        np.testing.assert_array_equal(asked(query, ROWS[order]), sum(alone))


@by_query
@BACKENDS
def test_one_row_with_gaps_moves_no_answer_by_more_than_declared(query, definition, backend):
    inner = query.kernel if isinstance(query, MappedKernel) else query
    with use_loops(backend):
        for row in ROWS:
            moved = asked(query, np.vstack([ROWS, row])) - asked(query, ROWS)
            if isinstance(inner, Totals):
                assert sorted(np.abs(moved[:, 0]))[:-1] == [0] * (len(moved) - 1)
                assert np.abs(moved[:, 0]).max() <= 1
                moved = moved[:, 1:]
                for cell, radius in zip(moved, inner.radii, strict=False):
                    assert int(np.square(cell).sum()) <= radius**2
            if isinstance(inner, Squares | Products):
                moved = inner.line(moved)
                most = inner.sensitivity(ball=False)
            else:
                most = inner.sensitivity()
            if isinstance(most, int):
                assert 0 <= moved.min()
                assert moved.max() <= most
            else:
                assert np.abs(moved).sum() <= most.l1
                assert np.square(moved).sum() <= most.l2_squared


@pytest.mark.parametrize("by", VIEWS.values(), ids=VIEWS.keys())
@BACKENDS
def test_a_projection_shows_each_row_as_defined(by, backend):
    expected = [gaps.projected([int(x) for x in row], by) for row in ROWS]
    with use_loops(backend):
        np.testing.assert_array_equal(by.see(ROWS), expected)
        np.testing.assert_array_equal(by.see(ROWS[9:10]), expected[9:10])
    if by.ball:
        lengths = [sum(y * y for y in row if y != ABSENT) for row in expected]
        assert max(lengths) <= REACH**2


@BACKENDS
def test_a_row_with_gaps_is_in_no_leaf_of_a_tree(backend):
    whole = np.array([gaps.whole(row.tolist()) for row in ROWS])
    query = Growth(Domain((-REACH, -5000), (REACH, REACH)), 64).query()
    with use_loops(backend):
        counts = exact(query, ROWS)
        np.testing.assert_array_equal(counts, exact(query, ROWS[whole]))
        assert counts.sum() == whole.sum()
        assert all(exact(query, row).sum() == 0 for row in ROWS[~whole])


def test_a_row_with_gaps_is_covered_by_no_point():
    whole = np.array([gaps.whole(row.tolist()) for row in ROWS])
    for net in Grids.of(2, alpha=0.8, r_min=0.1).nets():
        cover, expected = Cover(ROWS, net), Cover(ROWS[whole], net)
        for one, other in zip(cover.classes(), expected.classes(), strict=True):
            np.testing.assert_array_equal(one, other)
        point = cover.find(int(cover.classes()[0][-1]), 0)
        assert cover.score(point) == expected.score(point) > 0
        cover.leave(point)
        expected.leave(point)
        np.testing.assert_array_equal(cover.left(), expected.left())


def slow_centers(block, k, key, number):
    """The definition, row by row, for a block with at least k rows without a gap."""
    means = [round(float(np.mean([x for x in c if x != ABSENT] or [0]))) for c in block.T.tolist()]
    cells = np.where(block == ABSENT, means, block).astype(np.int16)
    order = np.lexsort(cells.T[::-1])
    gaps, rows = (block == ABSENT)[order], cells[order].astype(float)
    whole = rows[~gaps.any(axis=1)]
    centers = _spread_start(whole, k, np.random.default_rng([key, number]))
    for _ in range(ITERATIONS):
        own = []
        for row, gap in zip(rows, gaps, strict=True):
            far = [
                sum((x - c) ** 2 for x, c, g in zip(row, o, gap, strict=True) if not g)
                for o in centers
            ]
            own.append(int(np.argmin(far)))
        held = np.array(
            [np.where(g, centers[o], r) for r, g, o in zip(rows, gaps, own, strict=True)]
        )
        groups = [held[np.array(own) == j] for j in range(k)]
        centers = np.array(
            [np.rint(g.mean(axis=0)) if len(g) else centers[j] for j, g in enumerate(groups)]
        )
    return centers[np.lexsort(centers.T[::-1])].astype(np.int64)


def test_a_block_is_searched_over_what_its_rows_have():
    rng = np.random.default_rng(3)
    blocks = [ROWS[rng.integers(len(ROWS) - 1, size=n)] for n in (0, 2, 12, 40)]
    blocks.append(np.full((5, 2), ABSENT, dtype=np.int16))
    found = block_centers(iter(blocks), 2, 7)
    for number in (2, 3):
        expected = slow_centers(blocks[number], 2, 7, number)
        np.testing.assert_array_equal(found[number], expected)
    assert np.abs(found).max() <= REACH
    # The order of rows does not matter, and a row more, in one block, moves no other.
    turned = [block[::-1] for block in blocks]
    np.testing.assert_array_equal(block_centers(iter(turned), 2, 7), found)
    for more in ([ABSENT, REACH], [9, -9]):
        blocks[2] = np.vstack([blocks[2], [more]]).astype(np.int16)
        moved = (block_centers(iter(blocks), 2, 7) != found).any(axis=(1, 2))
        assert not moved[[0, 1, 3, 4]].any()
    assert moved[2]


cells = st.one_of(st.none(), st.floats(-1e6, 1e6))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(cells, cells), max_size=12), st.tuples(cells, cells))
@example([(0.2, 1.0), (None, 2.0), (0.9, None)], (None, None))
@example([(0.2, 1.0), (None, 2.0), (None, None)], (None, -3.0))
@example([], (1.0, None))
def test_from_the_file_on_a_row_more_is_at_most_one_row_more(tmp_path_factory, rows, more):
    """Empty cells of a CSV file; a row without any cell that is a number changes nothing."""
    folder = tmp_path_factory.mktemp("gaps")
    tables = []
    for name, lines in (("less", rows), ("more", [*rows, more])):
        text = ["a,b", *(",".join("" if x is None else repr(x) for x in row) for row in lines)]
        (folder / f"{name}.csv").write_text("\n".join(text) + "\n")
        tables.append(open_file(TableFile(folder / f"{name}.csv", ("a", "b"), header=True)))
    for query, _ in QUERIES.values():
        arrays = (np.array(r, dtype=float).reshape(-1, 2) for r in (rows, [more]))
        sources = (*tables, *map(ArrayRows, arrays))
        less, greater, same, alone = (numbers(query, s.fold(BOX, query)) for s in sources)
        np.testing.assert_array_equal(less, same)
        np.testing.assert_array_equal(greater - less, alone)
        if more == (None, None):
            assert not alone.any()


@pytest.mark.parametrize(("method", "budget"), PAYABLE)
def test_a_table_without_gaps_gives_the_same_bits_under_every_policy(method, budget):
    rows = np.nan_to_num(blobs())
    _, expected = run(curator_of(rows, nan="center", noise=ReplayedNoise(3)), method, budget=budget)
    for nan in ("ignore", "drop"):
        _, found = run(curator_of(rows, nan=nan, noise=ReplayedNoise(3)), method, budget=budget)
        np.testing.assert_array_equal(found.points, expected.points)
        np.testing.assert_array_equal(found.sizes, expected.sizes)


def test_rows_without_any_cell_are_left_out_and_others_are_kept():
    rows = np.array([[np.nan, np.inf], [0.5, np.nan], [-np.inf, 1.0], [0.1, 0.2]])
    assert ArrayRows(rows).fold(BOX, Counts(Grid(1, 2))).tolist() == [3]
    for nan, kept in (("center", 4), ("drop", 1)):
        box = Box(BOX.lower, BOX.upper, nan)
        assert ArrayRows(rows).fold(box, Counts(Grid(1, 2))).tolist() == [kept]
