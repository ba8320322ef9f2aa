"""Scores move by no more than declared, all the same way, and selections by no more than paid."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato._accounting.budget import Caps
from sfumato._core.curator import Curator
from sfumato._core.queries.choose import SCORES, Cost, Guesses, Swaps
from sfumato._core.releases.choose import Selection
from sfumato._core.testing import ReplayedNoise, log_probabilities
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.costs import LIMB, candidate_costs
from tests.laws.harness import BOX, blobs, curator_of, without_noise
from tests.unit import gaps

coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from([-REACH, 0, REACH]))
row = st.tuples(coordinate, coordinate)
CANDIDATES = np.array(
    [[[0, 0], [500, -700]], [[REACH, REACH], [REACH, REACH]], [[-REACH, 3], [-REACH, -REACH]]]
)
SCORES_UNDER_LAW = {"cost": Cost(CANDIDATES), "swaps": Swaps(CANDIDATES[0], CANDIDATES[1])}
UNDER_LAW_ELSEWHERE = {Guesses}
"""In test_choose_guesses.py: these scores rise."""


def scores(score, rows):
    state = score.empty()
    score.add(np.array(rows, dtype=np.int16).reshape(-1, 2), state)
    return score.scores(state).tolist()


def slow_costs(candidates, rows):
    """The definition, in Python integers."""
    return [
        sum(min(gaps.square([int(x) for x in r], p) for p in points) for r in rows)
        for points in candidates.tolist()
    ]


def test_every_score_is_under_law():
    assert {type(s) for s in SCORES_UNDER_LAW.values()} == set(SCORES) - UNDER_LAW_ELSEWHERE


@pytest.mark.parametrize("score", SCORES_UNDER_LAW.values(), ids=SCORES_UNDER_LAW.keys())
@given(rows=st.lists(row, max_size=6), extra=row)
@example(rows=[], extra=(-REACH, -REACH))
@example(rows=[(0, 0), (500, -700)], extra=(REACH, -REACH))
@example(rows=[(1, 2)] * 6, extra=(0, 0))
@settings(max_examples=50)
def test_one_row_moves_every_score_down_and_by_no_more_than_declared(score, rows, extra):
    before, after = scores(score, rows), scores(score, [*rows, extra])
    moved = [b - a for b, a in zip(before, after, strict=True)]
    assert min(moved) >= 0
    assert max(moved) <= score.sensitivity()


def test_the_far_corner_reaches_the_declared_sensitivity():
    cost = Cost(CANDIDATES)
    moved = -scores(cost, [(-REACH, -REACH)])[1]
    assert moved == cost.sensitivity() == 2 * (2 * REACH) ** 2


@given(st.lists(row, max_size=8))
@example([(-REACH, -REACH)] * 8)
@example([(REACH, -REACH), (0, 0), (500, -700), (501, -701), (-REACH, 4)])
def test_costs_are_the_definition(rows):
    assert scores(Cost(CANDIDATES), rows) == [-c for c in slow_costs(CANDIDATES, rows)]


@pytest.mark.parametrize(("m", "k", "d"), [(1, 1, 1), (7, 3, 2), (3, 9, 40)])
def test_blocks_do_not_show(m, k, d, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.integers(-REACH, REACH + 1, (500, d)).astype(np.int16)
    candidates = rng.integers(-REACH, REACH + 1, (m, k, d))
    whole, cut = np.zeros((m, 2), dtype=np.int64), np.zeros((m, 2), dtype=np.int64)
    candidate_costs(rows, candidates, whole)
    monkeypatch.setattr("sfumato._lattice.kernels.costs._BLOCK_SCORES", 7 * m)
    for part in np.array_split(rows, 13):
        candidate_costs(part, candidates, cut)
    as_costs = [[(int(h) << LIMB) + int(low) for h, low in state] for state in (whole, cut)]
    assert as_costs[0] == as_costs[1] == slow_costs(candidates, rows.tolist())


def test_costs_beyond_64_bits_do_not_wrap():
    state = np.zeros((1, 2), dtype=np.int64)
    corner = np.full((1000, 9), -REACH, dtype=np.int16)
    candidate_costs(corner, np.full((1, 1, 9), REACH), state)
    state *= 2**31
    assert Cost.scores(state)[0] == -(2**31) * 1000 * 9 * (2 * REACH) ** 2


def opened(rows):
    curator = curator_of(rows)
    return curator, curator.reserve(
        "test", Caps(pure=Fraction(1), gaussian=(Fraction(1), Fraction(1, 100)))
    )


def test_picks_are_distinct_and_all_are_charged():
    rows = blobs(300)
    rng = np.random.default_rng(1)
    candidates = rng.integers(-REACH, REACH + 1, (40, 3, 2))
    curator, account = opened(rows)
    picks = curator.choose(Cost(candidates), share=account.rest("pure"), picks=40)
    assert sorted(picks) == list(range(40))
    assert len(account.entries) == 40
    assert account.spent("pure") == (1, 0)


def test_without_noise_the_best_are_picked():
    rng = np.random.default_rng(1)
    candidates = rng.integers(-REACH, REACH + 1, (40, 3, 2))
    curator = without_noise(blobs(300))
    share = curator.reserve("test", Caps(pure=Fraction(1))).rest("pure")
    costs = slow_costs(candidates, BOX.to_lattice(blobs(300)).tolist())
    assert curator.choose(Cost(candidates), share=share, picks=5) == np.argsort(costs)[:5].tolist()


def test_a_choice_is_as_peaked_as_its_share():
    """4,000 choices against the exact probabilities; false alarms below 1e-9 (chi-square)."""
    rows, candidates = blobs(30), CANDIDATES[[0, 1, 2]]
    cost = Cost(candidates)
    share = Fraction(1, 20)
    state = scores(cost, BOX.to_lattice(rows))
    exact = np.exp(
        log_probabilities(state, epsilon=share, sensitivity=cost.sensitivity(), monotone=True)
    )
    curator = curator_of(rows, noise=ReplayedNoise(5), cls=Curator)
    account = curator.reserve("test", Caps(pure=Fraction(10)))
    part = account.rest("pure").split(1, 199)[0]
    assert part.amount == share
    noise = ReplayedNoise(6)
    selection = Selection("law", part, cost.sensitivity(), monotone=True)
    drawn = [selection.draw(noise, np.array(state, dtype=object)) for _ in range(4000)]
    seen = np.bincount(drawn, minlength=3)
    assert chisquare(seen, exact * 4000).pvalue > 1e-9
    twice = np.exp(
        log_probabilities(state, epsilon=2 * share, sensitivity=cost.sensitivity(), monotone=True)
    )
    assert chisquare(seen, twice * 4000).pvalue < 1e-9


def test_bad_choices_are_refused_before_the_charge():
    curator, account = opened(blobs(30))
    share = account.rest("pure")

    class Thief(Cost):
        """A score that could keep the rows it is shown."""

    bad = [
        (TypeError, "Thief", lambda: curator.choose(Thief(CANDIDATES), share=share)),
        (TypeError, "own queries", lambda: curator.choose(None, share=share)),
        (
            TypeError,
            "pure share",
            lambda: curator.choose(Cost(CANDIDATES), share=account.rest("gdp")),
        ),
        (ValueError, "columns", lambda: curator.choose(Cost(CANDIDATES[:, :, :1]), share=share)),
        (ValueError, "picked", lambda: curator.choose(Cost(CANDIDATES), share=share, picks=4)),
        (ValueError, "picked", lambda: curator.choose(Cost(CANDIDATES), share=share, picks=0)),
        (ValueError, "shape", lambda: Cost(np.zeros((3, 2)))),
        (ValueError, "shape", lambda: Cost(np.full((1, 1, 2), np.nan))),
    ]
    for kind, message, ask in bad:
        with pytest.raises(kind, match=message):
            ask()
    assert account.entries == ()
