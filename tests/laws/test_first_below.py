"""Searches for a threshold: what they count, what they draw, what their one index gives away."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato._accounting.budget import Caps, Share
from sfumato._core.queries.counts import Nearest
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.releases.first_below import MAX_THRESHOLD, AboveThreshold
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.dispatch import LONGEST
from tests.laws.crossings import crossing_loss, fast_log_chance, log_chances
from tests.laws.harness import BOX, CENTERS, blobs, curator_of, exact, loss, without_noise
from tests.unit.gaps import square

F = Fraction
EDGES = (1, 5, 700, 860, 20_000, REACH, 2 * REACH)
FARTHER_UNDER_LAW = {
    "one edge": RowsBeyond(Nearest(CENTERS), (5,)),
    "edges": RowsBeyond(Nearest(CENTERS), EDGES),
    "one centre": RowsBeyond(Nearest(CENTERS[:1]), EDGES),
}
coordinate = st.one_of(
    st.integers(-REACH, REACH), st.sampled_from([-REACH, 0, REACH, 500, -700, 3, 4, 5])
)
row = st.tuples(coordinate, coordinate)
queries = pytest.mark.parametrize("query", FARTHER_UNDER_LAW.values(), ids=FARTHER_UNDER_LAW.keys())


def counts(query, rows):
    return query.counts(exact(query, rows)).tolist()


def definition(query, rows):
    """The number of rows beyond each edge, in Python integers."""
    centers = query.cells.centers.tolist()
    nearest = [min(square(row, center) for center in centers) for row in rows]
    return [sum(square > edge**2 for square in nearest) for edge in query.edges]


@queries
@given(rows=st.lists(row, max_size=8))
@example(
    rows=[
        (0, 0),
        (3, 4),
        (4, 5),
        (500, -700),
        (505, -700),
        (506, -700),
        (REACH, REACH),
        (-REACH, -REACH),
    ]
)
@example(rows=[])
@settings(max_examples=50, deadline=None)
def test_counts_are_the_definition(query, rows):
    assert counts(query, rows) == definition(query, rows)


def test_a_row_at_the_edge_is_not_beyond_it():
    query = RowsBeyond(Nearest(np.zeros((1, 2))), (4, 5, 6))
    assert counts(query, [(3, 4)]) == [1, 0, 0]
    assert counts(query, [(0, 5), (5, 1), (-6, 0)]) == [3, 2, 0]


@queries
@given(rows=st.lists(row, max_size=6), group=st.lists(row, min_size=1, max_size=4))
@example(rows=[], group=[(REACH, -REACH)])
@example(rows=[(0, 0), (3, 4)], group=[(4, 4), (0, 6), (500, -700), (REACH, REACH)])
@settings(max_examples=50, deadline=None)
def test_rows_move_all_counts_up_and_by_no_more_than_declared(query, rows, group):
    before, after = counts(query, rows), counts(query, [*rows, *group])
    moved = [a - b for b, a in zip(before, after, strict=True)]
    assert min(moved) >= 0
    assert max(moved) <= len(group) * query.sensitivity()
    assert all(a >= b for a, b in pairwise(moved))


@queries
def test_exhaustively_on_a_small_domain_and_reached(query):
    points = [(-REACH, -REACH), (0, 0), (1, -1), (3, 4), (500, -700), (REACH, REACH)]
    reached = set()
    for rows in product(points, repeat=2):
        for extra in points:
            before, after = counts(query, rows), counts(query, [*rows, extra])
            moved = [a - b for b, a in zip(before, after, strict=True)]
            beyond = sum(moved)
            assert moved == [1] * beyond + [0] * (len(moved) - beyond)
            reached.add(max(moved))
    assert reached == {0, query.sensitivity()}


def test_the_longest_distance_is_the_last_edge():
    query = RowsBeyond(Nearest(np.full((1, 2), REACH)), (LONGEST,))
    assert counts(query, [(-REACH, -REACH)]) == [0]
    diagonal = isqrt(2 * (2 * REACH) ** 2)
    query = RowsBeyond(Nearest(np.full((1, 2), REACH)), (diagonal, diagonal + 1))
    assert counts(query, [(-REACH, -REACH)]) == [1, 0]


class Scripted:
    """Noise that was chosen beforehand; it writes down what was asked for."""

    def __init__(self, drawn):
        self.drawn, self.asked = drawn, []

    def laplace(self, scale, size):
        self.asked.append((scale, size))
        return np.array(self.drawn)


def crossing(epsilon, threshold, size, *, most=1):
    return AboveThreshold("law", Share("pure", F(epsilon)), most, threshold, size)


def test_the_search_is_the_definition():
    for gaps in product([-1, 0, 1], repeat=3):
        for drawn in product([-1, 0, 1], repeat=4):
            law, noise = crossing(1, 5, 3), Scripted(drawn)
            found = law.draw(noise, 5 - np.array(gaps))
            below = [g + drawn[0] - z >= 0 for g, z in zip(gaps, drawn[1:], strict=True)]
            assert found == [*below, True].index(True)
            assert noise.asked == [(law.scale, 4)]


@pytest.mark.parametrize("epsilon", [F(1), F(4)])
@pytest.mark.parametrize("most", [1, 2])
def test_no_index_loses_more_than_the_charge(epsilon, most):
    """All counts of up to three edges around the threshold, and all rows that a group can add."""
    known = {}
    scale = crossing(epsilon, 0, 1, most=most).scale

    def chances(gaps):
        if gaps not in known:
            known[gaps] = log_chances(scale, 0, gaps)
        return known[gaps]

    for size in (1, 2, 3):
        for before in combinations_with_replacement(range(2, -3, -1), size):
            for moved in combinations_with_replacement(range(most, -1, -1), size):
                after = tuple(b + m for b, m in zip(before, moved, strict=True))
                for one, other in zip(chances(before), chances(after), strict=True):
                    assert abs(one - other) <= epsilon.numerator


@pytest.mark.parametrize("epsilon", [F(1, 2), F(3)])
@pytest.mark.parametrize("most", [1, 3])
def test_a_hundred_edges_use_up_the_charge_and_more_edges_do_not_pass_it(epsilon, most):
    """A row beyond all edges but the last makes it e^ε as likely, to a part in a hundred."""
    law = crossing(epsilon, 20 * most, 1, most=most)
    for size in (100, 400):
        lost = crossing_loss(law, size, [0] * (size + 1), [most] * size + [0])
        assert epsilon * F(99, 100) < lost <= epsilon


def test_chances_add_up_to_one_and_float64_has_nine_digits_of_them():
    for scale, threshold, values in (
        (F(4), 2, [3, 2, 1]),
        (F(1, 3), 0, [40, 5, 1, 0]),
        (F(31, 2), 10, [100, 90, 9]),
    ):
        logs = log_chances(scale, threshold, values)
        assert abs(sum(x.exp() for x in logs) - 1) < Decimal("1e-25")
        for i, log in enumerate(logs):
            assert abs(float(log) - fast_log_chance(scale, threshold, values, i)) < 1e-10


def test_searches_end_as_often_as_their_chances_say():
    """6,000 searches against the exact chances; false alarms below 1e-9 (chi-square)."""
    law, noise, values = crossing(F(1, 2), 12, 4), ReplayedNoise(3), np.array([27, 26, 25, -1])
    seen = np.bincount([law.draw(noise, values) for _ in range(6_000)], minlength=5)

    def p(scale):
        chances = [float(x.exp()) for x in log_chances(scale, 12, values)]
        return chisquare(seen, np.array(chances) * (6_000 / sum(chances))).pvalue

    assert p(law.scale) > 1e-9
    assert p(law.scale * F(115, 100)) < 1e-9
    assert p(law.scale / F(115, 100)) < 1e-9


CELLS = Nearest(CENTERS)
QUERY = RowsBeyond(CELLS, (500, 8_000, 16_000, 20_000, 32_000))


def test_without_noise_the_index_is_exact():
    rows = blobs(300)
    beyond = definition(QUERY, BOX.to_lattice(rows).tolist())
    curator = without_noise(rows)
    share = curator.reserve("test", Caps(pure=F(1))).rest("pure").evenly(9)
    assert len(set(beyond)) > 3
    for part, threshold in zip(share, [-1, 0, *beyond, 10**6], strict=False):
        expected = [*(b <= threshold for b in beyond), True].index(True)
        assert curator.first_below(QUERY, threshold, share=part) == expected


PAIRS = {
    "far corner": (blobs(80), np.vstack([blobs(80), [[1.0, -3.0]]])),
    "at a centre": (blobs(80), np.vstack([blobs(80), [[0.5, 0.0]]])),
    "first row": (np.zeros((0, 2)), np.array([[1.0, -3.0]])),
    "not a number": (blobs(80), np.vstack([blobs(80), [[np.nan, np.inf]]])),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("threshold", [0, 40])
def test_every_index_replayed_on_a_neighbour_loses_no_more_than_was_charged(pair, threshold):
    curators = [curator_of(rows) for rows in pair]
    for curator in curators:
        account = curator.reserve("test", Caps(pure=F(1)))
        curator.first_below(QUERY, threshold, share=account.rest("pure"))
        assert [e.share.amount for e in account.entries] == [1]
        assert account.spent("pure") == (1, 0)
    one, other = (c.transcript for c in curators)
    assert one.queries == other.queries
    assert one.mechanisms == other.mechanisms
    for released in range(len(QUERY.edges) + 1):
        assert loss(one.mechanisms[0], released, one.exact[0], other.exact[0]) <= 1


@pytest.mark.parametrize("most", [1, 4])
def test_a_group_loses_no_more_than_was_charged_and_nearly_as_much(most):
    rows = np.vstack([np.full((20, 2), [0.5, 0.0]), np.full((9, 2), [1.0, -3.0])])
    groups = np.append(np.arange(20), np.full(9, 99))
    query = RowsBeyond(Nearest(np.zeros((1, 2))), (*range(1, 20), LONGEST))
    exact_counts, laws = [], []
    for keep in (groups == groups, groups != 99):
        curator = curator_of(rows[keep], groups=groups[keep], max_rows_per_group=most)
        share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
        curator.first_below(query, 5 * most, share=share)
        exact_counts.append(curator.transcript.exact[0])
        laws.append(curator.transcript.mechanisms[0])
    assert laws[0] == laws[1]
    assert laws[0].scale == 2 * most
    losses = [loss(laws[0], released, *exact_counts) for released in range(21)]
    assert F(999, 1000) < max(losses) <= 1


class Thief(RowsBeyond):
    """A query that could keep the rows it is shown."""


def test_bad_searches_are_refused_before_the_charge():
    curator = curator_of(blobs(30))
    account = curator.reserve("test", Caps(pure=F(1), gaussian=(F(1), F(1, 100))))
    share, gdp = account.rest("pure"), account.rest("gdp")
    narrow = RowsBeyond(Nearest(np.zeros((1, 1))), (5,))
    little = Caps(pure=F(1, 10**14))

    def ask(query=QUERY, threshold=3, share=share):
        return curator.first_below(query, threshold, share=share)

    bad = [
        (TypeError, "Thief", lambda: ask(Thief(CELLS, (1, 2)))),
        (TypeError, "Nearest", lambda: ask(CELLS)),
        (TypeError, "str", lambda: ask(RowsBeyond("cells", (1, 2)))),
        (ValueError, "columns", lambda: ask(narrow)),
        (TypeError, "pure share", lambda: ask(share=gdp)),
        (TypeError, "share of an account", lambda: ask(share=1.0)),
        (ValueError, "whole number", lambda: ask(threshold=2.5)),
        (ValueError, "whole number", lambda: ask(threshold=True)),
        (ValueError, "whole number", lambda: ask(threshold=MAX_THRESHOLD + 1)),
        (ValueError, "epsilon", lambda: ask(share=curator.reserve("x", little).rest("pure"))),
    ]
    for kind, message, refused in bad:
        with pytest.raises(kind, match=message):
            refused()
    assert account.entries == ()


@pytest.mark.parametrize(
    "edges", [(), (0,), (-1, 3), (2, 2), (3, 2), (1.5,), (True, 2), (LONGEST + 1,), 7, "12"]
)
def test_bad_edges_are_refused(edges):
    with pytest.raises(ValueError, match="ascending whole numbers"):
        RowsBeyond(CELLS, edges)


def test_edges_of_any_whole_type_are_one_query():
    assert (
        RowsBeyond(CELLS, np.array([3, 9]))
        == RowsBeyond(CELLS, [3, 9])
        == RowsBeyond(CELLS, (3, 9))
    )
    assert hash(RowsBeyond(CELLS, [3, 9])) == hash(RowsBeyond(CELLS, (3, 9)))


def test_thresholds_at_the_end_of_their_range_do_not_wrap():
    for curator in (curator_of(blobs(30)), without_noise(blobs(30))):
        account = curator.reserve("test", Caps(pure=F(1)))
        low, high = account.rest("pure").evenly(2)
        assert curator.first_below(QUERY, -MAX_THRESHOLD, share=low) == len(QUERY.edges)
        assert curator.first_below(QUERY, MAX_THRESHOLD, share=high) == 0
