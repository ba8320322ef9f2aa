"""Moments move by no more than declared, in boxes and in balls, and the bounds are reached."""

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.curator import Curator
from sfumato._core.queries.moments import COARSEST, FINEST, MOMENTS, Products, Squares
from sfumato._core.queries.projection import Projection
from sfumato._core.sampling.additive import MAX_SCALE
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels import numpy_loops as kernels
from tests.laws.harness import BOX, RecordingCurator, blobs, curator_of, loss, without_noise
from tests.laws.test_curator import Diary
from tests.no_noise import NoNoise
from tests.unit import gaps

F = Fraction
CAPS = Caps(pure=F(2), gaussian=(F(1), F(1, 100)))
ROWS = blobs(60)
BALL = Projection(np.eye(2, dtype=np.int64), np.zeros(2, dtype=np.int64), ball=True)

moments = pytest.mark.parametrize("moment", MOMENTS)
shifts = st.integers(FINEST, COARSEST)
coordinate = st.one_of(
    st.integers(-REACH, REACH), st.sampled_from([-REACH, -8, -7, 0, 7, 8, 16_384, REACH])
)


def rows_of(d, most):
    return st.lists(st.lists(coordinate, min_size=d, max_size=d), max_size=most)


def coarse(row, shift):
    return [gaps.coarse(int(x), shift) for x in row]


def slow_line(moment, rows):
    """The integers that get noise, by their definition."""
    d = moment.n_features
    cut = [coarse(row, moment.shift) for row in rows]
    if isinstance(moment, Squares):
        return [sum(y[a] ** 2 for y in cut) for a in range(d)]
    return [
        (70 if a == b else 99) * sum(y[a] * y[b] for y in cut)
        for a in range(d)
        for b in range(a, d)
    ]


def line(moment, rows):
    state = moment.empty()
    moment.add(np.array(rows, dtype=np.int16).reshape(-1, moment.n_features), state)
    (found,) = moment.line(state).tolist()
    return found


def size(moved):
    return sum(abs(x) for x in moved), sum(x * x for x in moved)


def change(moment, rows, more):
    before, after = line(moment, rows), line(moment, [*rows, *more])
    return size([a - b for a, b in zip(after, before, strict=True)])


def within(row):
    """The row in the ball of radius REACH, by Python integers."""
    square = sum(x * x for x in row)
    if square <= REACH**2:
        return list(row)
    return [abs(x) * REACH // (isqrt(square - 1) + 1) * (1 if x > 0 else -1) for x in row]


some_rows = st.integers(1, 5).flatmap(lambda d: st.tuples(st.just(d), rows_of(d, 6)))
two_sets = st.integers(1, 5).flatmap(lambda d: st.tuples(st.just(d), rows_of(d, 3), rows_of(d, 4)))
MIXED = [[REACH, -7, 8, 16_384, -9], [-8, 7, -REACH, -1000, 5], [16_384, 15, 16, -17, -REACH]]


@moments
@given(some_rows, shifts)
@example((5, MIXED), FINEST)
@example((5, MIXED), 4)
@example((1, [[REACH], [-7], [8]]), COARSEST)
@settings(max_examples=50)
def test_moments_are_the_definition(moment, problem, shift):
    d, rows = problem
    asked = moment(d, shift)
    assert line(asked, rows) == slow_line(asked, rows)


@moments
@pytest.mark.parametrize("ball", [False, True])
@given(two_sets, shifts)
@example((2, [], [[REACH, REACH]]), FINEST)
@example((5, MIXED, [[REACH] * 5] * 4), FINEST)
@example((5, MIXED, [[-REACH, REACH, 0, 0, -REACH]] * 3), 4)
@example((1, [], [[-REACH]] * 4), COARSEST)
@settings(max_examples=50)
def test_one_row_and_one_group_move_no_more_than_declared(moment, ball, problem, shift):
    d, rows, group = problem
    asked = moment(d, shift)
    if ball:
        rows, group = [within(r) for r in rows], [within(r) for r in group]
    for more in (group[:1], group):
        declared = asked.sensitivity(ball=ball).times(len(more))
        l1, l2_squared = change(asked, rows, more)
        assert l1 <= declared.l1
        assert l2_squared <= declared.l2_squared


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("shift", [FINEST, 8, COARSEST])
def test_a_corner_of_the_box_reaches_the_bound(d, shift):
    corner = [REACH if a % 2 else -REACH for a in range(d)]
    squares, products = Squares(d, shift), Products(d, shift)
    declared = squares.sensitivity(ball=False)
    assert change(squares, [], [corner]) == (declared.l1, declared.l2_squared)
    # 99² is one more than 2·70²: what is missing is half a unit for each fourth power.
    declared = products.sensitivity(ball=False)
    reached = change(products, [], [corner])[1]
    assert reached == declared.l2_squared - (d * (REACH >> shift) ** 4) // 2


def four_squares(whole):
    """Four whole numbers whose squares add up to `whole` (Lagrange): the largest ones first."""
    for a in range(isqrt(whole), 0, -1):
        for b in range(isqrt(whole - a * a), -1, -1):
            for c in range(isqrt(whole - a * a - b * b), -1, -1):
                rest = whole - a * a - b * b - c * c
                if isqrt(rest) ** 2 == rest:
                    return [a, b, c, isqrt(rest)]
                if rest > 3 * c * c:
                    break
    raise AssertionError("Lagrange was wrong")


@pytest.mark.parametrize("shift", range(FINEST, COARSEST + 1))
def test_the_ball_reaches_the_bound(shift):
    row = [y << shift for y in four_squares(REACH**2 >> 2 * shift)]
    assert within(row) == row
    squares, products = Squares(4, shift), Products(4, shift)
    assert change(squares, [], [row])[0] == squares.sensitivity(ball=True).l1
    declared = products.sensitivity(ball=True).l2_squared
    assert declared * 9800 // 9801 - 1 <= change(products, [], [row])[1] <= declared


def test_the_pole_of_the_ball_reaches_the_bound_up_to_the_coarse_step():
    for moment in (Squares(3), Products(3)):
        declared = moment.sensitivity(ball=True).l2_squared
        assert change(moment, [], [[0, -REACH, 0]])[1] >= declared * 998 // 1000


@moments
@pytest.mark.parametrize("ball", [False, True])
def test_exhaustively_on_a_tiny_lattice(moment, ball):
    """In the coarsest steps a coordinate is −1, 0 or 1: all rows, beside all pairs of rows."""
    asked = moment(2, COARSEST)
    steps = [-REACH, -16_384, -16_383, 0, 16_383, 16_384, REACH]
    rows = [r for r in product(steps, repeat=2) if not ball or within(r) == list(r)]
    declared = asked.sensitivity(ball=ball)
    most = (0, 0)
    for extra in rows:
        for beside in product(rows[::5], repeat=2):
            moved = change(asked, beside, [extra])
            most = max(most[0], moved[0]), max(most[1], moved[1])
    assert most[0] <= declared.l1
    assert most[1] <= declared.l2_squared
    assert most[0] >= 2


def test_the_bound_of_a_ball_does_not_know_the_columns():
    for moment in MOMENTS:
        assert moment(2).sensitivity(ball=True).l2_squared == (
            moment(40).sensitivity(ball=True).l2_squared
        )
        assert moment(2).sensitivity(ball=True).l2_squared < (
            moment(2).sensitivity(ball=False).l2_squared
        )


def test_nothing_wraps_for_two_billion_rows():
    one = (REACH >> FINEST) ** 2
    assert one * kernels._MOMENT_ROWS < 2**53
    assert one * 2**31 * 99 < 2**62
    state = Products(2).empty()
    Products(2).add(np.full((1, 2), -REACH, dtype=np.int16), state)
    state *= 2**31
    assert Products(2).line(state).tolist() == [
        [70 * 2**31 * one, 99 * 2**31 * one, 70 * 2**31 * one]
    ]


@moments
def test_blocks_do_not_show(moment, monkeypatch):
    rows = np.random.default_rng(0).integers(-REACH, REACH + 1, (300, 5)).astype(np.int16)
    expected = slow_line(moment(5), rows.tolist())
    assert line(moment(5), rows) == expected
    monkeypatch.setattr("sfumato._lattice.kernels.numpy_loops._MOMENT_CELLS", 33)
    assert line(moment(5), rows) == expected


def opened(rows, **settings):
    curator = curator_of(rows, **settings)
    return curator, curator.reserve("test", CAPS)


@pytest.mark.parametrize("kind", ["pure", "gdp"])
def test_without_noise_the_answers_are_the_moments(kind):
    curator, account = opened(ROWS, noise=NoNoise())
    first, second = account.rest(kind).evenly(2)
    y = np.array([coarse(row, FINEST) for row in BOX.to_lattice(ROWS).tolist()]) * 2**FINEST
    squares = curator.moments(Squares(2), share=first)
    np.testing.assert_array_equal(squares.values, np.square(y).sum(axis=0))
    products = curator.moments(Products(2), share=second)
    np.testing.assert_allclose(products.values, y.T @ y, rtol=1e-15)
    x = np.array([coarse(row, 0) for row in BOX.to_lattice(ROWS)])
    np.testing.assert_allclose(squares.values, np.square(x).sum(axis=0), rtol=1e-3)


def scales(curator, account, d=2):
    """Scales of squares and products, bought with half of each currency."""
    for kind in ("pure", "gdp"):
        for moment, share in zip(MOMENTS, account.rest(kind).evenly(2), strict=True):
            curator.moments(moment(d), share=share)
    return [e.scale for e in account.entries]


def test_only_the_curator_knows_whether_rows_lie_in_a_ball():
    """In a box the noise is for d columns; a view of a ball is a box again, if it is no ball."""
    curator, account = opened(ROWS)
    whole = scales(curator, account)
    box = Projection(BALL.matrix, BALL.offset)
    for look, inside in (
        (lambda c: c.view(box), False),
        (lambda c: c.view(BALL).view(box), False),
        (lambda c: c.view(BALL), True),
        (lambda c: c.view(box).view(BALL), True),
    ):
        curator, account = opened(ROWS)
        found = scales(look(curator), account)
        assert (found == whole) is not inside
        if inside:
            assert all(a < b * F(3, 4) for a, b in zip(found, whole, strict=True))


@pytest.mark.parametrize("ball", [False, True])
def test_the_charge_is_used_up_by_the_worst_neighbour(ball):
    """No more noise than the guarantee needs: a corner, or a pole, loses what was charged."""
    worst = [[1.0, 0.0]] if ball else [[1.0, 3.0]]
    transcripts, charges = [], []
    for rows in (ROWS, np.vstack([ROWS, worst])):
        curator, account = opened(rows)
        scales(curator.view(BALL) if ball else curator, account)
        transcripts.append(curator.transcript)
        charges = [e.share.amount for e in account.entries]
    ours, theirs = transcripts
    steps = zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
    for lost, charge in zip([loss(*step) for step in steps], charges, strict=True):
        assert charge * F(99, 100) < lost <= charge


def test_a_group_of_m_rows_needs_the_noise_for_m_rows():
    found = []
    for most in (1, 6):
        curator, account = opened(ROWS, groups=np.arange(60) % 9, max_rows_per_group=most)
        found.append(scales(curator, account))
    for one, six in zip(*found, strict=True):
        assert abs(six / one - 6) < F(1, 10**9)


@pytest.mark.parametrize("kind", ["pure", "gdp"])
@moments
def test_the_stated_deviation_is_the_measured_one(moment, kind):
    """Some 1,800 or more entries of replayed noise: a scale that is off by 1.15 does not pass."""
    d = 2000 if moment is Squares else 60
    rows = np.zeros((0, d))
    curator = Curator(rows, bounds=(0, 1), epsilon=1.0, delta=0.1, noise=ReplayedNoise(5))
    account = curator.reserve("test", Caps(pure=F(1, 2), gaussian=(F(1, 2), F(1, 10))))
    answer = curator.moments(moment(d), share=account.rest(kind))
    if moment is Squares:
        noise = answer.values
    else:
        assert (answer.values == answer.values.T).all()
        noise = answer.values[np.triu_indices(d, 1)] * 99 / 70
        assert np.diag(answer.values).std() == pytest.approx(answer.noise_std, rel=0.3)
    assert noise.std() == pytest.approx(answer.noise_std, rel=0.1)


@pytest.mark.parametrize("ball", [False, True])
@moments
def test_a_tiny_share_is_answered_in_coarser_steps_with_the_noise_for_them(moment, ball):
    tiny = F(1, 10**7)
    transcripts = []
    for rows in (ROWS, np.vstack([ROWS, [[1.0, 0.0 if ball else 3.0]]])):
        curator = RecordingCurator(
            rows, bounds=(BOX.lower, BOX.upper), epsilon=tiny, noise=NoNoise()
        )
        account = curator.reserve("test", Caps(pure=tiny))
        seen = curator.view(BALL) if ball else curator
        seen.moments(moment(2), share=account.rest("pure"))
        transcripts.append(curator.transcript)
    ours, theirs = transcripts
    (law,) = ours.mechanisms
    assert law.scale <= MAX_SCALE
    # Steps half as wide would have needed a scale that cannot be drawn.
    assert law.scale > MAX_SCALE // 5
    lost = loss(law, ours.released[0], ours.exact[0], theirs.exact[0])
    assert tiny * F(9, 10) < lost <= tiny


def test_a_share_too_tiny_is_refused_before_the_charge():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=F(1, 10**15))
    account = curator.reserve("test", Caps(pure=F(1, 10**15)))
    for moment in MOMENTS:
        with pytest.raises(ValueError, match="epsilon"):
            curator.moments(moment(2), share=account.rest("pure"))
    assert account.entries == ()


class Thief(Squares):
    """A moment of somebody else's making, which could keep the rows it is shown."""


def test_bad_moments_are_refused_before_the_charge():
    rows = Diary()
    curator = Curator(rows, bounds=(0, 1), epsilon=4.0, delta=0.1)
    rows.account = account = curator.reserve("test", CAPS)
    share = account.rest("pure")
    other = without_noise(ROWS).reserve("test", CAPS).rest("pure")
    bad = [
        (TypeError, "Thief", lambda: curator.moments(Thief(2), share=share)),
        (TypeError, "own queries", lambda: curator.moments(None, share=share)),
        (ValueError, "the data has 2", lambda: curator.moments(Squares(3), share=share)),
        (ValueError, "another dataset", lambda: curator.moments(Squares(2), share=other)),
        (TypeError, "share of an account", lambda: curator.moments(Squares(2), share=1.0)),
        (ValueError, "whole number", lambda: Squares(0)),
        (ValueError, "whole number", lambda: Products(2.0)),
        (ValueError, "shift", lambda: Products(2, FINEST - 1)),
        (ValueError, "shift", lambda: Squares(2, COARSEST + 1)),
        (ValueError, "fit", lambda: Products(10**5)),
    ]
    for kind, message, ask in bad:
        with pytest.raises(kind, match=message):
            ask()
    assert account.entries == ()
    assert rows.read == []


def test_approximate_shares_buy_no_moments():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=1.0, delta=0.1)
    account = curator.reserve("test", Caps(approximate=(F(1), F(1, 100))))
    for moment in MOMENTS:
        with pytest.raises(TypeError, match="approximate"):
            curator.moments(moment(2), share=account.rest("approximate"))


def test_moments_are_public_data():
    assert {Squares(2), Squares(2), Products(2)} == {Squares(2), Products(2)}
    assert [str(m(3)) for m in MOMENTS] == ["squares of 3 columns", "products of 3 columns"]
