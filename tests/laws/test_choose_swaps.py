"""Costs of swaps: the definition, from one pass, with the sensitivity of the ball or the box."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato._accounting.budget import Caps
from sfumato._core.queries.choose import Cost, Swaps
from sfumato._core.queries.projection import Projection
from sfumato._core.releases.choose import Selection
from sfumato._core.sampling.choice import selection_slack
from sfumato._core.testing import ReplayedNoise, use_loops
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.costs import swap_costs
from tests.laws.harness import BOX, blobs, curator_of, flip_chance, loss, without_noise
from tests.unit import gaps

BACKENDS = ["numpy", "numba"]
F = Fraction
LAWS = ["exponential", "permute_and_flip"]
IN_BALL = Projection(np.eye(2, dtype=int), np.zeros(2, dtype=int), ball=True)
CAPS = Caps(pure=F(1), gaussian=(F(1), F(1, 100)))


def squared(row, point):
    return gaps.square([int(x) for x in row], point)


def slow_costs(centers, candidates, rows):
    """The definition, in Python integers: k·m sets of centres, one after another."""
    costs = []
    for i in range(len(centers)):
        for candidate in candidates:
            points = [*centers[:i], candidate, *centers[i + 1 :]]
            costs.append(sum(min(squared(row, p) for p in points) for row in rows))
    return costs


def costs_of(centers, candidates, parts, backend="numpy"):
    swaps = Swaps(np.array(centers), np.array(candidates))
    state = swaps.empty()
    with use_loops(backend):
        for rows in parts:
            swaps.add(np.array(rows, dtype=np.int16).reshape(-1, swaps.n_features), state)
    return [-score for score in swaps.scores(state)]


@st.composite
def problems(draw):
    """Centres and candidates that are rows, or each other: ties everywhere."""
    d = draw(st.integers(1, 3))
    edge = st.sampled_from([-REACH, -1, 0, 1, REACH])
    point = st.lists(st.one_of(edge, st.integers(-REACH, REACH)), min_size=d, max_size=d)
    rows = draw(st.lists(point, max_size=10))
    centers = draw(st.lists(point, min_size=1, max_size=4))
    centers += draw(st.lists(st.sampled_from(centers + rows), max_size=2))
    candidates = draw(st.lists(point, min_size=1, max_size=4))
    candidates += draw(st.lists(st.sampled_from(candidates + centers + rows), max_size=2))
    return centers, candidates, rows, draw(st.integers(0, 10))


# Rows, centres and candidates that are each other; and points in opposite corners.
TIES = (
    [[0, 0], [5, 5], [0, 0], [-9, 4]],
    [[5, 5], [0, 0], [3, -3], [5, 5]],
    [[0, 0], [5, 5], [3, -3], [2, 3], [-9, 4], [2, 2], [REACH, -REACH]],
    3,
)
FAR = (
    [[REACH] * 3, [-REACH] * 3, [0, 1, -1]],
    [[-REACH, REACH, 0], [REACH] * 3],
    [[-REACH] * 3, [REACH] * 3, [1, 1, 1], [-REACH, REACH, -REACH], [9, 0, 0]],
    2,
)


@given(problems())
@example(TIES)
@example(FAR)
@example(([[0]], [[0], [1]], [[0], [1], [-1], [REACH]], 2))
@settings(max_examples=50, deadline=None)
def test_costs_are_the_definition_for_both_loops_and_any_cut(problem):
    centers, candidates, rows, cut = problem
    expected = slow_costs(centers, candidates, rows)
    for backend in BACKENDS:
        assert costs_of(centers, candidates, [rows[:cut], rows[cut:]], backend) == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("k", "m", "d"), [(1, 1, 1), (1, 5, 40), (6, 9, 2), (9, 2, 3)])
def test_blocks_do_not_show(k, m, d, backend, monkeypatch):
    rng = np.random.default_rng(0)
    rows, centers, candidates = (rng.integers(-REACH, REACH + 1, (n, d)) for n in (200, k, m))
    whole = costs_of(centers, candidates, [rows], backend)
    assert whole == slow_costs(centers.tolist(), candidates.tolist(), rows.tolist())
    monkeypatch.setattr("sfumato._lattice.kernels.costs._SWAP_SCORES", 7 * max(k, m))
    assert costs_of(centers, candidates, np.array_split(rows, 13), backend) == whole


@pytest.mark.parametrize("backend", BACKENDS)
def test_full_blocks_of_the_farthest_rows_stay_exact(backend):
    """More rows than a block takes, nearly as far away as can be: all at once they pass 2^53."""
    d = 255
    rows = np.random.default_rng(4).integers(-REACH, -REACH + 9, (2**15, d))
    far, near = np.full((1, d), REACH), np.full((1, d), REACH - 1)
    for candidate in (far, near):
        cost = int(np.square(rows - candidate).sum())
        assert cost > 2**53
        assert costs_of(far, candidate, [rows], backend) == [cost]
        kept = costs_of(np.vstack([far, candidate]), far, [rows], backend)
        assert kept == [
            min(cost, int(np.square(rows - far).sum())),
            int(np.square(rows - far).sum()),
        ]


def test_costs_beyond_64_bits_do_not_wrap():
    corner = np.full((1000, 9), -REACH, dtype=np.int16)
    points = np.full((2, 9), REACH)
    swaps = Swaps(points, points)
    state = swaps.empty()
    swap_costs(corner, points, points, state)
    state *= 2**31
    assert set(swaps.scores(state)) == {-(2**31) * 1000 * 9 * (2 * REACH) ** 2}


def scores_of(score, rows):
    state = score.empty()
    score.add(np.array(rows, dtype=np.int16).reshape(-1, 2), state)
    return score.scores(state).tolist()


in_ball = st.tuples(st.integers(-REACH, REACH), st.integers(-REACH, REACH)).map(
    lambda row: tuple(int(x) for x in IN_BALL.see(np.array([row], dtype=np.int16))[0])
)
around = st.lists(in_ball, min_size=1, max_size=3)


@given(st.lists(in_ball, max_size=4), in_ball, around, around)
@example([], (REACH, 0), [(-REACH, 0)], [(0, 0)])
@example([(0, 5), (7, -7)], (0, -REACH), [(0, REACH), (1, 1)], [(0, REACH), (-REACH, 0), (3, 4)])
@settings(max_examples=50, deadline=None)
def test_in_a_ball_a_row_moves_every_score_down_and_by_no_more_than_declared(
    rows, extra, centers, candidates
):
    for score in (
        Swaps(np.array(centers), np.array(candidates)),
        Cost(np.array([centers, [centers[0]] * len(centers)])),
    ):
        most = score.sensitivity(ball=True)
        assert most == (2 * REACH) ** 2 < score.sensitivity()
        before, after = scores_of(score, rows), scores_of(score, [*rows, extra])
        assert all(0 <= b - a <= most for b, a in zip(before, after, strict=True))


@pytest.mark.parametrize("axis", [0, 1])
def test_opposite_ends_of_the_ball_reach_the_declared_sensitivity(axis):
    row, point = np.zeros(2, dtype=int), np.zeros((1, 2), dtype=int)
    row[axis], point[0, axis] = -REACH, REACH
    for score in (Swaps(point, point), Cost(point[np.newaxis])):
        assert -scores_of(score, [row])[0] == score.sensitivity(ball=True) == (2 * REACH) ** 2


@given(problems())
@example(([[REACH] * 3], [[0] * 3], [[0] * 3], 0))
@example(([[0] * 3], [[REACH] * 3], [[0] * 3], 0))
@settings(max_examples=50, deadline=None)
def test_points_outside_the_ball_widen_the_sensitivity(problem):
    """Candidates are clipped to the box alone: what a row can lose to a corner is more."""
    centers, candidates, rows, _ = problem
    swaps = Swaps(np.array(centers), np.array(candidates))
    d = swaps.n_features
    most = swaps.sensitivity(ball=True)
    assert (2 * REACH) ** 2 <= most <= swaps.sensitivity() + 4 * d * REACH + 4 * d
    ball = Projection(np.eye(d, dtype=int), np.zeros(d, dtype=int), ball=True)
    shown = ball.see(np.array([*rows, [-REACH] * d], dtype=np.int16))
    for row in shown.tolist():
        assert max(squared(row, p) for p in [*centers, *candidates]) <= most


def test_a_corner_reaches_the_wider_sensitivity():
    corner = np.full((1, 4), REACH)
    swaps = Swaps(corner, corner)
    row = [-REACH // 2 + 1] * 4
    reached = squared(row, corner[0])
    assert swaps.sensitivity(ball=True) == (3 * REACH) ** 2
    assert (3 * REACH) ** 2 * F(9999, 10_000) < reached <= (3 * REACH) ** 2


def asked(rows, law, *, view, groups=None, most=1, score=None):
    """Everything one choice leaves behind: the transcript and the entries."""
    settings = {} if groups is None else {"groups": groups, "max_rows_per_group": most}
    curator = curator_of(rows, **settings)
    account = curator.reserve("law", CAPS)
    looking = curator.view(view) if view else curator
    point = np.array([[REACH, 0], [0, 0]])
    score = score or Swaps(point, np.array([[REACH, 0], [0, REACH]]))
    looking.choose(score, share=account.rest("pure"), law=law)
    return curator.transcript, account.entries


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("view", [IN_BALL, None], ids=["ball", "box"])
def test_the_scale_of_a_choice_is_that_of_the_ball_or_the_box(law, view):
    transcript, (entry,) = asked(blobs(30), law, view=view)
    assert entry.mechanism == law
    assert entry.scale == (2 * REACH) ** 2 * (1 if view else 2)
    assert transcript.mechanisms[0][1:] == (entry.scale, law)


@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("view", [IN_BALL, None], ids=["ball", "box"])
def test_no_choice_loses_more_than_was_charged_and_the_worst_nearly_all(law, view, most):
    """Nothing against a group at one end; one candidate at that end, two thousand at the other."""
    rows = np.tile([[0.0, 0.0]] if view else [[0.0, -3.0]], (most, 1))
    far, own = ([REACH, 0], [-REACH, 0]) if view else ([REACH, REACH], [-REACH, -REACH])
    score = Swaps(np.array([far]), np.array([far] * 2000 + [own]))
    settings = {"view": view, "most": most, "score": score}
    one, (entry,) = asked(rows[:0], law, groups=np.zeros(0, dtype=int), **settings)
    other, _ = asked(rows, law, groups=np.zeros(most, dtype=int), **settings)
    lost = [loss(one.mechanisms[0], i, one.exact[0], other.exact[0]) for i in (0, 2000)]
    assert max(lost) <= entry.share.amount == 1
    assert max(lost) > F(99, 100)


@pytest.mark.parametrize("law", LAWS)
def test_a_choice_follows_the_law_that_its_entry_names(law):
    """12,000 draws against exact chances, alpha 1e-9; the other law and 1.15 shares are told."""
    share = curator_of(blobs(30)).reserve("law", CAPS).rest("pure")
    costs, scale = [-5 * 10**20, -7 * 10**20, -7 * 10**20, -8 * 10**20], 10**20
    selection = Selection("law", share, scale, monotone=True, law=law)
    assert selection.entry().mechanism == law
    noise = ReplayedNoise(8)
    drawn = [selection.draw(noise, np.array(costs, dtype=object)) for _ in range(12_000)]
    seen = np.bincount(drawn, minlength=4)

    def p_value(name, rate):
        if name == "permute_and_flip":
            chances = np.exp([flip_chance(costs, i, scale / rate) for i in range(4)])
        else:
            chances = np.exp([float(rate * (c - max(costs)) / scale) for c in costs])
        return chisquare(seen, chances / chances.sum() * 12_000).pvalue

    (other,) = set(LAWS) - {law}
    assert p_value(law, 1) > 1e-9
    for wrong in (F(23, 20), F(20, 23), F(1, 2)):
        assert p_value(law, wrong) < 1e-9
    assert p_value(other, 1) < 1e-9


def test_the_slack_counts_every_swap():
    points = np.zeros((300, 2))
    _, (entry,) = asked(blobs(3), "permute_and_flip", view=None, score=Swaps(points, points))
    assert entry.slack >= selection_slack(90_000) > selection_slack(2**16)


def test_without_noise_the_cheapest_swap_is_chosen():
    rng = np.random.default_rng(2)
    centers, candidates = (rng.integers(-REACH, REACH + 1, (n, 2)) for n in (3, 20))
    costs = slow_costs(centers.tolist(), candidates.tolist(), BOX.to_lattice(blobs(200)).tolist())
    for law in LAWS:
        curator = without_noise(blobs(200))
        share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
        picks = curator.choose(Swaps(centers, candidates), share=share, picks=4, law=law)
        assert picks == np.argsort(costs, kind="stable")[:4].tolist()


def test_swaps_travel_whole_and_are_told_apart():
    rng = np.random.default_rng(3)
    centers, candidates = (rng.integers(-REACH, REACH + 1, (n, 2)) for n in (3, 4))
    swaps = Swaps(centers, candidates)
    again = pickle.loads(pickle.dumps(swaps))
    assert again == swaps
    assert hash(again) == hash(swaps)
    assert Swaps(candidates, centers) != swaps
    assert Swaps(np.vstack([centers, candidates[:1]]), candidates[1:]) != swaps
    assert Swaps(centers + 0.25, candidates * 1.0) == swaps


def test_bad_swaps_are_refused_before_the_charge():
    curator = curator_of(blobs(30))
    account = curator.reserve("test", CAPS)
    pure, point = account.rest("pure"), np.zeros((1, 2))

    class Thief(Swaps):
        """A score that could keep the rows it is shown."""

    def ask(score, share=pure, **options):
        return lambda: curator.choose(score, share=share, **options)

    for kind, message, refused in [
        (TypeError, "Thief", ask(Thief(point, point))),
        (TypeError, "pure share", ask(Swaps(point, point), account.rest("gdp"))),
        (ValueError, "columns", ask(Swaps(point[:, :1], point[:, :1]))),
        (ValueError, "picked", ask(Swaps(point, point), picks=2)),
        (ValueError, "a selection is one of", ask(Swaps(point, point), law="noisy_max")),
        (ValueError, "columns", lambda: Swaps(point, point[:, :1])),
        (ValueError, "shape", lambda: Swaps(point[0], point)),
        (ValueError, "shape", lambda: Swaps(point, point * np.nan)),
        (ValueError, "fit", lambda: Swaps(np.zeros((4000, 1)), np.zeros((4000, 1)))),
    ]:
        with pytest.raises(kind, match=message):
            refused()
    assert account.entries == ()
