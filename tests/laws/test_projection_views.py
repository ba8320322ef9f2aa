"""A view shares everything with its curator but the columns, and costs as much as it says."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Overspent
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import Cost
from sfumato._core.queries.counts import Counts, Nearest, Totals
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.projection import MAX_ENTRY, Projection, ViewedRows
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH, Box
from sfumato.engines._memory import ArrayRows
from sfumato.methods._base import projection_of
from tests.laws.harness import BOX, CENTERS, blobs, curator_of, loss, without_noise
from tests.laws.test_curator import Diary, pieces
from tests.laws.test_projection import EYE, VIEWS, seen

views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())

F = Fraction
ROWS = blobs(60)
LATTICE = BOX.to_lattice(ROWS)
CAPS = Caps(pure=F(2), gaussian=(F(1), F(1, 100)))


def queries(m):
    """One query of each kind about m columns."""
    cells = Nearest(np.arange(3 * m).reshape(3, m) * 4000 - 9000)
    return [Counts(cells), Totals(cells), Totals(cells, 1234), Squares(m), Products(m)]


@views
@given(cuts=st.lists(st.integers(0, 60), max_size=6), seed=st.integers(0, 99))
@example(cuts=[], seed=0)
@example(cuts=[1, 7, 7, 59], seed=1)
@settings(max_examples=20)
def test_any_order_and_any_cut_give_the_same_integers(view, cuts, seed):
    shuffled = np.random.default_rng(seed).permutation(ROWS)
    for query in queries(view.n_out):
        expected = query.empty()
        query.add(np.array([seen(view, r) for r in LATTICE], dtype=np.int16), expected)
        parts = [
            ViewedRows(ArrayRows(piece), BOX, view).fold(view.box(), query)
            for piece in pieces(shuffled, cuts)
        ]
        np.testing.assert_array_equal(sum(parts), expected)


@views
def test_blocks_of_a_split_are_the_blocks_of_the_rows(view):
    rows = ArrayRows(ROWS)
    for block, mapped in zip(
        rows.split(BOX, 5, 3), ViewedRows(rows, BOX, view).split(view.box(), 5, 3), strict=True
    ):
        assert mapped.tolist() == [seen(view, row) for row in block.tolist()]
    with pytest.raises(ValueError, match="columns"):
        ViewedRows(rows, BOX, view).fold(Box((0.0,) * 9, (1.0,) * 9), Squares(9))


def test_a_view_of_a_view_maps_twice():
    first, second = VIEWS["ball"], Projection(np.array([[2, 0, -1]]), np.array([5, 6, 7]))
    curator = without_noise(ROWS)
    share = curator.reserve("test", CAPS).rest("pure")
    cells = Nearest(np.array([[-9000], [0], [9000]]))
    answer = curator.view(first).view(second).counts(cells, share=share)
    rows = [seen(second, seen(first, row)) for row in LATTICE.tolist()]
    expected = Counts(cells).empty()
    Counts(cells).add(np.array(rows, dtype=np.int16), expected)
    np.testing.assert_array_equal(answer.values, expected)


def test_a_view_shares_the_ledger_the_noise_and_the_groups():
    curator = curator_of(ROWS, groups=np.arange(60) % 7, max_rows_per_group=5)
    account = curator.reserve("test", CAPS)
    view = curator.view(VIEWS["ball"])
    assert type(view) is type(curator)
    assert view.ledger is curator.ledger
    assert view.neighbours == curator.neighbours == "one group of at most 5 rows"
    assert view.transcript is curator.transcript
    assert view.box == Box((-REACH,) * 3, (REACH,) * 3)
    assert curator.box == BOX
    half, rest = account.rest("pure").evenly(2)
    view.counts(queries(3)[0].cells, share=half)
    assert account.entries[0].scale == 5
    assert account.rest("pure") == rest
    assert curator.transcript.exact[0].sum() == 35
    assert curator.transcript.queries == [VIEWS["ball"], queries(3)[0]]


def test_noise_is_drawn_from_one_source_through_every_view():
    drawn = []
    for look in (lambda c: c, lambda c: c.view(Projection(EYE, np.zeros(2, dtype=int)))):
        curator = curator_of(ROWS, noise=ReplayedNoise(3))
        for share in curator.reserve("test", CAPS).rest("pure").evenly(2):
            drawn.append(look(curator).counts(Nearest(CENTERS), share=share).values)
    np.testing.assert_array_equal(drawn[:2], drawn[2:])
    assert (drawn[0] != drawn[1]).any()


def test_views_do_not_multiply_the_budget():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=1.0)
    one, two = curator.view(VIEWS["box"]), curator.view(VIEWS["ball"])
    share = one.reserve("all of it", Caps(pure=F(1))).rest("pure")
    with pytest.raises(Overspent):
        two.reserve("more", Caps(pure=F(1, 100)))
    two.counts(queries(3)[0].cells, share=share)
    with pytest.raises(Overspent):
        one.counts(queries(3)[0].cells, share=share)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_view_cannot_be_copied(how):
    with pytest.raises(TypeError, match="same budget twice"):
        how(curator_of(ROWS).view(VIEWS["box"]))


def test_a_view_reads_nothing_and_its_queries_are_charged_first():
    rows = Diary()
    curator = Curator(rows, bounds=(0, 1), epsilon=4.0, delta=0.1)
    rows.account = curator.reserve("test", CAPS)
    view = curator.view(VIEWS["ball"])
    assert rows.read == []
    pure = rows.account.rest("pure").evenly(9)
    asks = [
        lambda: view.counts(queries(3)[0].cells, share=pure[0]),
        lambda: view.sums(queries(3)[0].cells, share=pure[1], joint=True),
        lambda: view.moments(Squares(3), share=pure[2]),
        lambda: view.moments(Products(3), share=rows.account.rest("gdp")),
    ]
    for i, ask in enumerate(asks):
        ask()
        assert rows.read == [j + 1 for j in range(i + 1)]


class Thief(Projection):
    """A projection of somebody else's making, which could keep the rows it is shown."""


def test_bad_views_are_refused():
    zero = np.zeros(2, dtype=int)
    curator = curator_of(ROWS)
    bad = [
        (TypeError, "Thief", lambda: curator.view(Thief(EYE, zero))),
        (TypeError, "function", lambda: curator.view(lambda rows: rows)),
        (
            ValueError,
            "columns",
            lambda: curator.view(Projection(np.ones((1, 3), dtype=int), [0] * 3)),
        ),
        (ValueError, "whole numbers", lambda: Projection(EYE * 1.0, zero)),
        (ValueError, "whole numbers", lambda: Projection(EYE > 0, zero)),
        (ValueError, "whole numbers", lambda: Projection(EYE[0], zero)),
        (ValueError, "offset", lambda: Projection(EYE, np.zeros(3, dtype=int))),
        (ValueError, "offset", lambda: Projection(EYE, np.zeros(2))),
        (ValueError, "offset", lambda: Projection(EYE, zero + REACH + 1)),
        (ValueError, "entries", lambda: Projection(EYE * (MAX_ENTRY + 1), zero)),
        (ValueError, "entries", lambda: Projection(EYE * -(2**63), zero)),
        (ValueError, "shift", lambda: Projection(EYE, zero, -1)),
        (ValueError, "shift", lambda: Projection(EYE, zero, 53)),
        (ValueError, "shift", lambda: Projection(EYE, zero, 1.0)),
        (TypeError, "ball", lambda: Projection(EYE, zero, 0, 1)),
        (ValueError, "matrix", lambda: Projection(np.zeros((0, 2), dtype=int), zero)),
    ]
    for kind, message, ask in bad:
        with pytest.raises(kind, match=message):
            ask()


def script(curator, account, view):
    """Ask everything through a view, and move on to a view chosen by a noisy answer."""
    seen = curator.view(view)
    m = view.n_out
    cells = queries(m)[0].cells
    pure, gdp = account.rest("pure").evenly(8), account.rest("gdp").evenly(4)
    seen.counts(cells, share=pure[0])
    seen.sums(cells, share=pure[1], joint=True)
    answer = seen.sums(cells, share=gdp[0], counts=gdp[1], radius=2000)
    seen.choose(Cost(np.stack([cells.centers, -cells.centers])), share=pure[2], picks=2)
    seen.moments(Squares(m), share=pure[3])
    seen.moments(Squares(m), share=gdp[2])
    seen.moments(Products(m), share=gdp[3])
    seen.moments(Products(m), share=pure[4])
    next_one = projection_of(answer.sums.values, np.zeros(m), 1e-3, ball=True)
    seen.view(next_one).moments(Products(len(cells.centers)), share=pure[5])


NEIGHBOURS = {
    "corner": (ROWS, np.vstack([ROWS, [[1.0, 3.0]]])),
    "other corner": (ROWS, np.vstack([ROWS, [[0.0, -3.0]]])),
    "far outside": (ROWS, np.vstack([[[1e9, -1e9]], ROWS])),
    "not a number": (ROWS, np.vstack([ROWS, [[np.nan, np.inf]]])),
    "first row": (np.zeros((0, 2)), np.array([[0.0, -3.0]])),
}


def losses(one, other, view):
    """Run on `one`, replay on `other`; what each answer lost and what it had cost."""
    account = one.reserve("law", CAPS)
    script(one, account, view)
    other.replay = one.transcript
    script(other, other.reserve("law", CAPS), view)
    ours, theirs = one.transcript, other.transcript
    assert ours.queries == theirs.queries
    assert ours.mechanisms == theirs.mechanisms
    lost = [
        loss(*step)
        for step in zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
    ]
    return lost, [e.share.amount for e in account.entries]


@views
@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
def test_no_answer_through_a_view_loses_more_than_it_was_charged(view, pair, nan):
    for order in (pair, pair[::-1]):
        lost, charged = losses(*(curator_of(rows, nan=nan) for rows in order), view)
        assert len(lost) == len(charged)
        assert all(x <= charge for x, charge in zip(lost, charged, strict=True))


@views
@pytest.mark.parametrize("most", [1, 3, 20])
def test_a_whole_group_loses_no_more_than_was_charged_through_a_view(view, most):
    rows = np.vstack([ROWS, np.tile([[1.0, 3.0]], (30, 1))])
    labels = np.append(np.arange(60) % 7, np.full(30, 99))
    keep = labels != 99
    with_group = curator_of(rows, groups=labels, max_rows_per_group=most)
    without = curator_of(rows[keep], groups=labels[keep], max_rows_per_group=most)
    lost, charged = losses(with_group, without, view)
    assert all(x <= charge for x, charge in zip(lost, charged, strict=True))
    assert lost[0] == charged[0]
