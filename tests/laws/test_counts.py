"""Declared sensitivities hold for all neighbours, in exact integers, and are reached."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.queries.counts import CELLS, Counts, Cubes, Nearest, Totals
from sfumato._lattice.box import REACH
from tests.laws.harness import QUERIES_UNDER_LAW, exact

coordinate = st.one_of(
    st.integers(-REACH, REACH), st.sampled_from([-REACH, 0, REACH, 500, -700, 501])
)
row = st.tuples(coordinate, coordinate)
CORNERS = [(-REACH, -REACH), (REACH, REACH), (0, 0), (500, -700), (501, -699), (-REACH, REACH)]
queries = pytest.mark.parametrize("query", QUERIES_UNDER_LAW.values(), ids=QUERIES_UNDER_LAW.keys())


def change(query, rows, more):
    """How far `more` rows move the answer, as (moved count, moved sums)."""
    difference = exact(query, [*rows, *more]) - exact(query, rows)
    if isinstance(query, Counts):
        return difference.reshape(-1, 1), None
    return difference[:, :1], difference[:, 1:]


def size(moved):
    """(L1, L2 squared) of a change."""
    values = [int(x) for x in moved.ravel()]
    return sum(abs(x) for x in values), sum(x * x for x in values)


def one_cell(query, counts):
    """Whether one row moved the count of one cell by 1; of cubes, of at most one."""
    return size(counts) in ((1, 1), (0, 0) if isinstance(query.cells, Cubes) else (1, 1))


def test_every_query_and_every_kind_of_cell_is_under_law():
    under = QUERIES_UNDER_LAW.values()
    assert {type(q) for q in under} == {Counts, Totals}
    assert {type(q.cells) for q in under} == set(CELLS)


@queries
@given(rows=st.lists(row, max_size=8), extra=row)
@example(rows=[], extra=(1, REACH))
@example(rows=CORNERS, extra=(-REACH, -REACH))
@example(rows=CORNERS, extra=(501, -700))
@example(rows=[], extra=(REACH, -REACH))
@settings(max_examples=50, deadline=None)
def test_one_row_moves_no_more_than_declared(query, rows, extra):
    counts, sums = change(query, rows, [extra])
    assert one_cell(query, counts)
    if sums is not None:
        declared = query.sensitivity()
        l1, l2_squared = size(sums)
        assert l1 <= declared.l1
        assert l2_squared <= declared.l2_squared


@queries
@given(rows=st.lists(row, max_size=4), group=st.lists(row, max_size=5))
@example(rows=[], group=[(0, 0)] * 2)
@example(rows=CORNERS[:4], group=[(REACH, REACH)] * 5)
@example(rows=CORNERS[:4], group=[(501, -700)] * 3)
@settings(max_examples=50, deadline=None)
def test_a_group_moves_no_more_than_its_rows_together(query, rows, group):
    counts, sums = change(query, rows, group)
    declared = Counts(query.cells).sensitivity().times(len(group))
    assert size(counts)[0] <= declared.l1
    assert size(counts)[1] <= declared.l2_squared
    if sums is not None:
        declared = query.sensitivity().times(len(group))
        assert size(sums)[0] <= declared.l1
        assert size(sums)[1] <= declared.l2_squared


@queries
@given(rows=st.lists(row, max_size=8), extra=row)
@example(rows=CORNERS, extra=(REACH, -REACH))
@example(rows=[], extra=(501, -701))
@example(rows=[], extra=(1733, -1867))
@settings(max_examples=50, deadline=None)
def test_counts_and_sums_stay_in_the_body_of_their_joint_norm(query, rows, extra):
    if isinstance(query, Counts):
        return
    counts, sums = change(query, rows, [extra])
    assert sorted(counts.ravel())[-1] == 1
    moved = [(cell, line) for cell, line in enumerate(sums) if line.any()]
    assert len(moved) <= 1
    for cell, line in moved:
        assert counts[cell] == 1
        if query.radius is None:
            assert max(abs(int(x)) for x in line) <= REACH
        else:
            assert sum(int(x) ** 2 for x in line) <= query.radii[cell] ** 2
            assert size(line)[0] <= query.sensitivities()[cell].l1
            assert size(line)[1] <= query.sensitivities()[cell].l2_squared


@queries
def test_exhaustively_on_a_small_domain(query):
    points = [(-REACH, -REACH), (0, 0), (1, -1), (500, -700), (REACH, REACH)]
    declared = query.sensitivity()
    for rows in product(points, repeat=3):
        for extra in points:
            counts, sums = change(query, rows, [extra])
            assert one_cell(query, counts)
            if sums is not None:
                assert size(sums)[0] <= declared.l1
                assert size(sums)[1] <= declared.l2_squared


def reached(query, candidates):
    """The largest change that any candidate row makes to an empty dataset."""
    changes = [size(change(query, [], [row])[1]) for row in candidates]
    return max(l1 for l1, _ in changes), max(l2 for _, l2 in changes)


@pytest.mark.parametrize(
    "name", ["totals-nearest", "totals-grid", "totals-through", "totals-first"]
)
def test_a_corner_reaches_the_declared_sensitivity(name):
    query = QUERIES_UNDER_LAW[name]
    declared = query.sensitivity()
    corners = list(product([-REACH, REACH], repeat=2))
    assert reached(query, corners) == (declared.l1, declared.l2_squared)


@pytest.mark.parametrize("radius", [1, 5, 1234, 20_000])
def test_clipped_rows_reach_the_radius_or_come_within_one_step(radius):
    query = Totals(Nearest(np.zeros((1, 2), dtype=int)), radius)
    declared = query.sensitivity()
    along = [(REACH, 0)] + [(x, x) for x in range(radius // 2, min(REACH, 3 * radius) + 1)]
    l1, l2_squared = reached(query, along)
    assert l2_squared == declared.l2_squared == radius**2
    assert declared.l1 - 2 < l1 <= declared.l1
