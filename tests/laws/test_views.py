"""A view maps each row alone, exactly; it shares everything with its curator but the columns."""

import copy
import pickle
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.box import REACH, Box
from sfumato.budget import Caps, Overspent
from sfumato.curator.curator import Curator
from sfumato.curator.moment_questions import Products, Squares
from sfumato.curator.noise import ReplayedNoise
from sfumato.curator.projection import MAX_ENTRY, Projection
from sfumato.curator.questions import Counts, Nearest, Totals
from sfumato.curator.scores import Cost
from sfumato.engines.array import ArrayRows
from sfumato.engines.kernels import MAX_FEATURES
from sfumato.engines.kernels_view import widest
from sfumato.engines.viewed import ViewedRows
from tests.laws.harness import BOX, CENTERS, blobs, curator_of, loss, without_noise
from tests.laws.test_curator import Diary, pieces

F = Fraction
ROWS = blobs(60)
LATTICE = BOX.to_lattice(ROWS)
CAPS = Caps(pure=F(2), gaussian=(F(1), F(1, 100)))
EYE = np.eye(2, dtype=np.int64)

# A turn and a stretch, into three columns; far rows leave the box and the ball.
TURN = np.array([[3, 1], [-1, 3], [5, 5]])
VIEWS = {
    "box": Projection(TURN, np.array([900, -40]), 1),
    "ball": Projection(TURN, np.array([900, -40]), 1, ball=True),
    "column": Projection(np.array([[0, -7]]), np.array([0, 3]), 2),
    "ball around a corner": Projection(EYE, np.array([REACH, REACH]), 0, ball=True),
    "nothing": Projection(np.zeros((1, 2), dtype=int), np.zeros(2, dtype=int)),
}
views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())

coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from([-REACH, -1, 0, 1, REACH]))
entry = st.one_of(
    st.integers(-MAX_ENTRY, MAX_ENTRY), st.sampled_from([-MAX_ENTRY, -1, 0, 0, 1, MAX_ENTRY])
)


def toward_zero(a, b):
    return abs(a) // b * (1 if a > 0 else -1)


def seen(projection, row):
    """The definition, in Python integers."""
    moved = [int(x) - int(o) for x, o in zip(row, projection.offset, strict=True)]
    y = [
        toward_zero(sum(int(a) * x for a, x in zip(line, moved, strict=True)), 2**projection.shift)
        for line in projection.matrix
    ]
    if not projection.ball:
        return [max(-REACH, min(REACH, x)) for x in y]
    most = widest(len(y))
    y = [max(-most, min(most, x)) for x in y]
    square = sum(x * x for x in y)
    if square <= REACH**2:
        return y
    return [toward_zero(x * REACH, isqrt(square - 1) + 1) for x in y]


@st.composite
def problems(draw):
    d, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    lists = st.lists(entry, min_size=m * d, max_size=m * d)
    matrix = np.array(draw(lists)).reshape(m, d)
    offset = np.array(draw(st.lists(coordinate, min_size=d, max_size=d)))
    rows = draw(st.lists(st.lists(coordinate, min_size=d, max_size=d), max_size=6))
    projection = Projection(matrix, offset, draw(st.integers(0, 44)), draw(st.booleans()))
    return projection, np.array(rows, dtype=np.int16).reshape(-1, d)


@given(problems())
@settings(max_examples=400)
def test_rows_are_seen_as_defined_and_never_leave_the_lattice_or_the_ball(problem):
    projection, rows = problem
    found = projection.see(rows)
    assert found.dtype == np.int16
    assert found.tolist() == [seen(projection, row) for row in rows.tolist()]
    assert (np.abs(found.astype(int)) <= REACH).all()
    if projection.ball:
        assert (np.square(found.astype(int)).sum(axis=1) <= REACH**2).all()


def test_on_every_row_of_a_small_lattice():
    """Every row of 15 × 15 around the origin, near the edge of a ball and in the far corner."""
    for scale, shift in ((MAX_ENTRY, 10), (MAX_ENTRY, 9), (3, 1), (1, 0)):
        turn = np.array([[scale, -scale // 3], [scale // 2, scale]])
        for ball in (False, True):
            projection = Projection(turn, np.array([1, -2]), shift, ball)
            for corner in ((-7, -7), (REACH - 14, REACH - 14), (2, 23_160)):
                rows = np.indices((15, 15)).reshape(2, -1).T + corner
                found = projection.see(rows.astype(np.int16)).tolist()
                assert found == [seen(projection, row) for row in rows.tolist()]
                assert not ball or max(sum(x * x for x in y) for y in found) <= REACH**2


@pytest.mark.parametrize("shift", [0, 37, 38, 40])
@pytest.mark.parametrize("ball", [False, True])
def test_sums_at_the_edge_of_what_is_exact(ball, shift):
    """8192 columns of 2^24: sums of 2^53 − 2^38, of which a float32 or a lost bit would show."""
    d = 2**13
    rng = np.random.default_rng(0)
    matrix = np.full((3, d), MAX_ENTRY)
    matrix[1] = rng.integers(-MAX_ENTRY, MAX_ENTRY + 1, d)
    matrix[2, ::2] = 1 - MAX_ENTRY
    rows = np.full((5, d), REACH, dtype=np.int16)
    rows[1] = -REACH
    rows[2:] = rng.integers(-REACH, REACH + 1, (3, d))
    projection = Projection(matrix, np.full(d, -REACH), shift, ball)
    assert projection.see(rows).tolist() == [seen(projection, row) for row in rows.tolist()]
    with pytest.raises(ValueError, match="2\\^53"):
        Projection(np.full((1, d + 1), MAX_ENTRY), np.full(d + 1, -REACH))


def test_what_is_squared_is_exact_and_what_is_near_is_not_touched():
    for m in [*range(1, 70), *(2**i for i in range(21)), MAX_FEATURES]:
        assert m * widest(m) ** 2 < 2**53
        assert widest(m) > REACH


def test_the_pole_of_the_ball_is_reached():
    ball = Projection(EYE * 5, np.zeros(2, dtype=int), ball=True)
    rows = np.array([[REACH, 0], [0, -REACH], [REACH // 5 + 1, 0]], dtype=np.int16)
    assert ball.see(rows).tolist() == [[REACH, 0], [0, -REACH], [REACH, 0]]


@given(problems(), st.integers(0, 6))
def test_a_row_is_seen_the_same_whatever_stands_beside_it(problem, cut):
    projection, rows = problem
    alone = [projection.see(rows[i : i + 1]) for i in range(len(rows))]
    whole = np.concatenate([np.empty((0, projection.n_out), dtype=np.int16), *alone])
    np.testing.assert_array_equal(projection.see(rows), whole)
    np.testing.assert_array_equal(projection.see(rows[cut:]), whole[cut:])


def test_blocks_do_not_show(monkeypatch):
    rows = np.random.default_rng(0).integers(-REACH, REACH + 1, (300, 2)).astype(np.int16)
    whole = [view.see(rows) for view in VIEWS.values()]
    monkeypatch.setattr("sfumato.engines.kernels_view._BLOCK_CELLS", 23)
    monkeypatch.setattr("sfumato.engines.viewed._BLOCK_ROWS", 7)
    for view, expected in zip(VIEWS.values(), whole, strict=True):
        np.testing.assert_array_equal(view.see(rows), expected)


def questions(m):
    """One question of each kind about m columns."""
    cells = Nearest(np.arange(3 * m).reshape(3, m) * 4000 - 9000)
    return [Counts(cells), Totals(cells), Totals(cells, 1234), Squares(m), Products(m)]


@views
@given(cuts=st.lists(st.integers(0, 60), max_size=6), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_any_order_and_any_cut_give_the_same_integers(view, cuts, seed):
    shuffled = np.random.default_rng(seed).permutation(ROWS)
    for question in questions(view.n_out):
        expected = question.empty()
        question.add(np.array([seen(view, r) for r in LATTICE], dtype=np.int16), expected)
        parts = [
            ViewedRows(ArrayRows(piece), BOX, view).fold(view.box(), question)
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
    view.counts(questions(3)[0].cells, share=half)
    assert account.entries[0].scale == 5
    assert account.rest("pure") == rest
    assert curator.transcript.exact[0].sum() == 35
    assert curator.transcript.questions == [VIEWS["ball"], questions(3)[0]]


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
    two.counts(questions(3)[0].cells, share=share)
    with pytest.raises(Overspent):
        one.counts(questions(3)[0].cells, share=share)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_view_cannot_be_copied(how):
    with pytest.raises(TypeError, match="same budget twice"):
        how(curator_of(ROWS).view(VIEWS["box"]))


def test_a_view_reads_nothing_and_its_questions_are_charged_first():
    rows = Diary()
    curator = Curator(rows, bounds=(0, 1), epsilon=4.0, delta=0.1)
    rows.account = curator.reserve("test", CAPS)
    view = curator.view(VIEWS["ball"])
    assert rows.read == []
    pure = rows.account.rest("pure").evenly(9)
    asks = [
        lambda: view.counts(questions(3)[0].cells, share=pure[0]),
        lambda: view.sums(questions(3)[0].cells, share=pure[1], joint=True),
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


def test_projections_are_public_data_equal_by_content():
    matrix = TURN.copy()
    view = Projection(matrix, [900, -40], 1)
    matrix[:] = 0
    assert view == VIEWS["box"]
    assert hash(view) == hash(VIEWS["box"])
    assert len({view, *VIEWS.values()}) == len(VIEWS)
    assert pickle.loads(pickle.dumps(view)) == view
    with pytest.raises(ValueError, match="read-only"):
        view.matrix[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        view.offset[0] = 1


@pytest.mark.parametrize(("m", "d"), [(1, 1), (3, 7), (12, 784)])
@pytest.mark.parametrize("scale", [1e-3, 0.7, 31.0, 4000.0])
def test_directions_are_rounded_finely(m, d, scale):
    rng = np.random.default_rng(m)
    directions = np.linalg.qr(rng.normal(size=(d, m)))[0].T
    center = rng.uniform(-REACH, REACH, d)
    view = Projection.of(directions, center, scale)
    assert np.abs(view.matrix).max() >= 2**15
    np.testing.assert_allclose(view.directions, scale * directions, atol=scale * 2**-15)
    np.testing.assert_array_equal(view.offset, np.rint(center))
    points = view.to_view(rng.uniform(-REACH, REACH, (5, d)))
    np.testing.assert_allclose(view.to_view(view.from_view(points)), points, rtol=1e-3, atol=1e-3)
    rows = np.rint(view.from_view(rng.uniform(-9, 9, (5, m)) * scale)).clip(-REACH, REACH)
    off = view.see(rows.astype(np.int16)) - view.to_view(rows).clip(-REACH, REACH)
    assert (np.abs(off) < 1).all()


def test_every_direction_can_have_its_own_scale():
    view = Projection.of(np.eye(3)[:2], np.zeros(3), [2.0, 0.5], ball=True)
    assert view.to_view([[1.0, 1.0, 1.0]]).tolist() == [[2.0, 0.5]]
    assert view.ball
    for bad in (
        {"scale": 1e9},
        {"scale": 0.0},
        {"scale": 1e-30},
        {"scale": np.nan},
        {"scale": [1.0, 2.0]},
        {"center": np.zeros(2)},
        {"center": np.full(3, np.inf)},
        {"directions": np.eye(3)[0]},
    ):
        settings = {"directions": np.eye(3), "center": np.zeros(3), "scale": 1.0, **bad}
        with pytest.raises(ValueError, match=r"needed|finite|rescale"):
            Projection.of(settings["directions"], settings["center"], settings["scale"])


def script(curator, account, view):
    """Ask everything through a view, and move on to a view chosen by a noisy answer."""
    seen = curator.view(view)
    m = view.n_out
    cells = questions(m)[0].cells
    pure, gdp = account.rest("pure").evenly(8), account.rest("gdp").evenly(4)
    seen.counts(cells, share=pure[0])
    seen.sums(cells, share=pure[1], joint=True)
    answer = seen.sums(cells, share=gdp[0], counts=gdp[1], radius=2000)
    seen.choose(Cost(np.stack([cells.centers, -cells.centers])), share=pure[2], picks=2)
    seen.moments(Squares(m), share=pure[3])
    seen.moments(Squares(m), share=gdp[2])
    seen.moments(Products(m), share=gdp[3])
    seen.moments(Products(m), share=pure[4])
    next_one = Projection.of(answer.sums.values, np.zeros(m), 1e-3, ball=True)
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
    assert ours.questions == theirs.questions
    assert ours.laws == theirs.laws
    lost = [
        loss(*step) for step in zip(ours.laws, ours.released, ours.exact, theirs.exact, strict=True)
    ]
    return lost, [e.share.amount for e in account.entries]


@views
@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
@pytest.mark.parametrize("nan", ["center", "drop"])
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
