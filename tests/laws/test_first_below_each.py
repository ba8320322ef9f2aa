"""Searches in every cell by itself: disjoint rows, one price for all cells together."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Share
from sfumato._core.queries.counts import Nearest
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.releases.first_below import AboveThreshold, SearchPerCell
from sfumato._core.testing import use_loops
from sfumato._lattice.box import ABSENT, REACH
from sfumato._lattice.kernels.dispatch import LONGEST
from tests.laws.crossings import log_chances
from tests.laws.harness import BOX, CENTERS, blobs, curator_of, exact, loss, without_noise
from tests.laws.test_first_below import PAIRS, Scripted, Thief
from tests.unit import gaps

F = Fraction
EDGES = (1, 5, 700, 860, 20_000, REACH, 2 * REACH)
CELLS = Nearest(CENTERS)
QUERY = RowsBeyond(CELLS, EDGES, each=True)
POINTS = [(-REACH, -REACH), (0, 0), (3, 4), (500, -700), (503, -705), (REACH, REACH), (ABSENT, 7)]
row = st.tuples(*[st.sampled_from([-REACH, -700, ABSENT, 0, 3, 500, 20_000, REACH])] * 2)


def counts(rows, query=QUERY):
    return query.counts(exact(query, rows))


def definition(rows, query=QUERY):
    """The number of rows of each cell beyond each edge, in Python integers."""
    centers = query.cells.centers.tolist()
    found = np.zeros((len(centers), len(query.edges)), dtype=np.int64)
    for one in rows:
        cell = gaps.nearest(one, centers)
        if cell is not None:
            away = gaps.square(one, centers[cell])
            found[cell] += [away > edge**2 for edge in query.edges]
    return found


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@given(rows=st.lists(row, max_size=8))
@example(rows=[*POINTS, (504, -700), (20_001, 20_000)])
@example(rows=[])
@settings(max_examples=20, deadline=None)
def test_counts_are_the_definition(backend, rows):
    with use_loops(backend):
        np.testing.assert_array_equal(counts(rows), definition(rows))


def test_cells_together_are_the_query_about_all_rows():
    rows = BOX.to_lattice(blobs(300))
    together = RowsBeyond(CELLS, EDGES)
    np.testing.assert_array_equal(counts(rows).sum(axis=0), counts(rows, together))


def test_a_row_moves_one_cell_only_and_its_first_edges_by_one():
    reached = set()
    for rows in product(POINTS, repeat=2):
        for extra in POINTS:
            moved = counts([*rows, extra]) - counts(rows)
            assert np.count_nonzero(moved.any(axis=1)) <= 1
            for line in moved:
                assert line.tolist() == [1] * line.sum() + [0] * (len(line) - line.sum())
            reached.add(int(moved.max()))
    assert reached == {0, QUERY.sensitivity()}


def crossing(epsilon, threshold, size, *, most=1):
    return AboveThreshold("law", Share("pure", F(epsilon)), most, threshold, size)


def test_every_cell_is_searched_with_noise_and_a_threshold_of_its_own():
    noise = Scripted([0, 1, 0, 0])
    searches = tuple(crossing(1, t, 3) for t in (5, 2, 0))
    found = SearchPerCell(searches).draw(noise, np.array([[6, 5, 4], [6, 2, 0], [6, 3, 1]]))
    assert found == [1, 1, 3]
    assert noise.asked == [(searches[0].scale, 4)] * 3


@pytest.mark.parametrize("epsilon", [F(1), F(4)])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_indices_lose_more_than_the_charge_whichever_cells_a_group_lies_in(epsilon, most):
    """All that up to m rows can add in two cells, each with two edges around the threshold.

    Cells are independent: their worst losses add, for each number of rows that lie in a cell.
    """
    scale, known = crossing(epsilon, 0, 1, most=most).scale, {}

    def chances(values):
        if values not in known:
            known[values] = log_chances(scale, 0, values)
        return known[values]

    worst = [0] * (most + 1)
    for before in combinations_with_replacement(range(2, -3, -1), 2):
        for moved in combinations_with_replacement(range(most, -1, -1), 2):
            after = tuple(b + m for b, m in zip(before, moved, strict=True))
            pairs = zip(chances(before), chances(after), strict=True)
            lost = max(abs(one - other) for one, other in pairs)
            worst[max(moved)] = max(worst[max(moved)], lost)
    assert worst[0] == 0
    for here in range(most + 1):
        for there in range(most + 1 - here):
            assert worst[here] + worst[there] <= epsilon.numerator


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("thresholds", [(0, 0, 0, 0), (40, 3, 0, -2)])
def test_all_indices_replayed_on_a_neighbour_lose_no_more_than_was_charged(pair, thresholds):
    curators = [curator_of(rows) for rows in pair]
    for curator in curators:
        account = curator.reserve("test", Caps(pure=F(1)))
        curator.first_below_each(QUERY, thresholds, share=account.rest("pure"))
        assert [e.share.amount for e in account.entries] == [1]
        assert account.spent("pure") == (1, 0)
    one, other = (c.transcript for c in curators)
    assert one.queries == other.queries
    assert one.mechanisms == other.mechanisms
    for released in product(range(len(EDGES) + 1), repeat=2):
        for lines in ([*released, 0, 0], [0, 0, *released]):
            assert loss(one.mechanisms[0], lines, one.exact[0], other.exact[0]) <= 1


@pytest.mark.parametrize("spread", [(4, 0), (2, 2), (1, 3)])
def test_a_group_in_several_cells_loses_no_more_than_was_charged_and_nearly_as_much(spread):
    cells = Nearest(np.array([[0, 0], [20_000, 20_000]]))
    query = RowsBeyond(cells, (*range(1, 40), LONGEST), each=True)
    group = [np.full((n, 2), place) for n, place in zip(spread, ([0.5, 0.3], [0.8, 2.0]))]  # noqa: B905
    rows = np.vstack([np.full((20, 2), [0.5, 0.0]), *group])
    labels = np.append(np.arange(20), np.full(sum(spread), 99))
    exact_counts, laws = [], []
    for keep in (labels == labels, labels != 99):
        curator = curator_of(rows[keep], groups=labels[keep], max_rows_per_group=4)
        share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
        curator.first_below_each(query, (80, 80), share=share)
        exact_counts.append(curator.transcript.exact[0])
        laws.append(curator.transcript.mechanisms[0])
    assert laws[0] == laws[1]
    assert [search.scale for search in laws[0].searches] == [8, 8]
    assert np.abs(exact_counts[0] - exact_counts[1]).max(axis=1).tolist() == list(spread)
    losses = [loss(laws[0], [a, b], *exact_counts) for a in (0, 39, 40) for b in (0, 39, 40)]
    assert F(96, 100) < max(losses) <= 1


def test_the_slack_of_every_search_is_charged():
    curator = curator_of(blobs(30))
    account = curator.reserve("test", Caps(pure=F(1)))
    one, all_cells = account.rest("pure").evenly(2)
    curator.first_below(RowsBeyond(CELLS, EDGES), 3, share=one)
    curator.first_below_each(QUERY, (3, 3, 3, 3), share=all_cells)
    first, each = account.entries
    assert each.loss == each.share.amount
    assert each.slack == 4 * first.slack


def test_without_noise_every_index_is_that_of_its_cell():
    rows = blobs(300)
    curator = without_noise(rows)
    share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
    beyond = definition(BOX.to_lattice(rows).tolist())
    thresholds = (20, 0, 3, 40)
    found = curator.first_below_each(QUERY, thresholds, share=share)
    pairs = zip(beyond.tolist(), thresholds, strict=True)
    assert found == [[*(b <= t for b in line), True].index(True) for line, t in pairs]
    assert len(set(found)) > 2


def test_bad_searches_are_refused_before_the_charge():
    curator = curator_of(blobs(30))
    account = curator.reserve("test", Caps(pure=F(1), gaussian=(F(1), F(1, 100))))
    share = account.rest("pure")

    def ask(query=QUERY, thresholds=(3, 3, 3, 3), share=share):
        return curator.first_below_each(query, thresholds, share=share)

    bad = [
        (TypeError, "Thief", lambda: ask(Thief(CELLS, (1, 2), each=True))),
        (ValueError, "columns", lambda: ask(RowsBeyond(Nearest([[0.0]]), (5,), each=True))),
        (ValueError, "all rows together", lambda: ask(RowsBeyond(CELLS, (5,)))),
        (ValueError, "about each cell", lambda: curator.first_below(QUERY, 3, share=share)),
        (ValueError, "one for each cell", lambda: ask(thresholds=(3, 3, 3))),
        (ValueError, "one for each cell", lambda: ask(thresholds=3)),
        (ValueError, "whole number", lambda: ask(thresholds=(3, 3, 3, 2.5))),
        (TypeError, "pure share", lambda: ask(share=account.rest("gdp"))),
        (TypeError, "share of an account", lambda: ask(share=1.0)),
    ]
    for kind, message, refused in bad:
        with pytest.raises(kind, match=message):
            refused()
    assert account.entries == ()


def test_whether_cells_are_apart_is_said_by_a_bool():
    with pytest.raises(ValueError, match="True or False"):
        RowsBeyond(CELLS, (5,), each=1)
