"""Columns that tell cells apart: what a row can move, both ways of choosing, what is lost."""

import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.queries.breakdown import (
    Breakdown,
    Directions,
    Levels,
    OrMissing,
    Slices,
)
from sfumato._core.queries.cells import Nearest
from sfumato._core.queries.choose import MAX_WEIGHT, Cost, Guesses
from sfumato._core.testing import RecordingCurator, ReplayedNoise, log_probabilities
from sfumato._lattice.box import ABSENT, REACH
from tests.laws.harness import loss
from tests.laws.test_breakdown import bin_of, cell_of
from tests.no_noise import NoNoise

F = Fraction
WIDTH = 5
HIGH = 23_169
CENTERS = np.array([[-9000, HIGH, -HIGH, 0, 0], [0, -HIGH, HIGH, 0, 0], [9000, -HIGH, HIGH, 9, 9]])
COLUMNS = (
    Slices(0, (-4500, 0, 4500)),
    Levels(1, 2, HIGH),
    OrMissing(Directions(3, np.array([[REACH, 0], [0, REACH], [-REACH, -REACH]]))),
    Slices(4, ()),
)
COUNTS = Breakdown(Nearest(CENTERS), COLUMNS)
SCORES = {
    "alike": Guesses(COUNTS, (1, 1, 1)),
    "weighted": Guesses(COUNTS, (3, 1, 64)),
}
each = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES.keys())

coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from([-9000, 0, 9000, ABSENT]))
row = st.tuples(*[coordinate] * WIDTH)
IN_EACH = [tuple(center) for center in CENTERS.tolist()]
SOME = [
    *IN_EACH,
    (-9000, HIGH, -HIGH, 7, 0),
    (9000, HIGH, HIGH, -7, -7),
    (4500, -HIGH, HIGH, ABSENT, 3),
    (4499, ABSENT, ABSENT, 0, 0),
]


def lattice(rows):
    return np.array(rows, dtype=np.int16).reshape(-1, WIDTH)


def scores(score, rows):
    state = score.empty()
    score.add(lattice(rows), state)
    return score.scores(state).tolist()


def slow(score, rows):
    """The definition: from each bin the cell is guessed that weighs most there."""
    found = []
    for column in score.counts.columns:
        weight = {}
        for one in rows:
            place, cell = bin_of(column, one), cell_of(COUNTS.cells, one)
            if place is not None and cell is not None:
                weight.setdefault(place, [0, 0, 0])[cell] += score.weights[cell]
        found.append(sum(max(of_cells) for of_cells in weight.values()))
    return found


@each
@given(rows=st.lists(row, max_size=8), cut=st.integers(0, 8))
@example(rows=SOME, cut=3)
@example(rows=SOME * 3, cut=0)
@settings(max_examples=40, deadline=None)
def test_scores_are_the_definition_for_any_cut(score, rows, cut):
    state = score.empty()
    for part in (rows[:cut], rows[cut:]):
        score.add(lattice(part), state)
    assert score.scores(state).tolist() == slow(score, rows)


@each
@given(rows=st.lists(row, max_size=6), extra=row)
@example(rows=SOME, extra=IN_EACH[2])
@example(rows=SOME, extra=IN_EACH[0])
@example(rows=[IN_EACH[1]] * 6, extra=IN_EACH[2])
@settings(max_examples=60, deadline=None)
def test_one_row_moves_every_score_up_and_by_no_more_than_declared(score, rows, extra):
    moved = np.subtract(scores(score, [*rows, extra]), scores(score, rows))
    assert moved.min() >= 0
    assert moved.max() <= score.sensitivity()


@each
def test_exhaustively_on_a_small_domain(score):
    """Every table of at most three rows of a small domain, and every row more."""
    domain = [(n, x, -x, 0, c) for n, x, c in product((-9000, 9000), (-HIGH, HIGH), (0, ABSENT))]
    for size in range(3):
        for rows in product(domain, repeat=size):
            before = scores(score, rows)
            for extra in domain:
                moved = np.subtract(scores(score, [*rows, extra]), before)
                assert 0 <= moved.min()
                assert moved.max() <= score.sensitivity()


@each
@pytest.mark.parametrize("ball", [False, True])
def test_the_declared_change_is_reached(score, ball):
    heaviest = IN_EACH[int(np.argmax(score.weights))]
    assert scores(score, [heaviest]) == [score.sensitivity(ball=ball)] * len(COLUMNS)


def test_scores_of_many_rows_do_not_wrap():
    score = Guesses(COUNTS, (MAX_WEIGHT,) * 3)
    state = np.full_like(score.empty(), 2**40)
    assert score.scores(state)[0] == 4 * 2**40 * MAX_WEIGHT


def curator_of(rows, noise=None, **given):
    rows = np.array(rows, dtype=np.float64).reshape(-1, WIDTH)
    bounds = (np.full(WIDTH, -REACH), np.full(WIDTH, REACH))
    noise = noise or ReplayedNoise(7)
    return RecordingCurator(rows, bounds=bounds, epsilon=10, delta=0.1, noise=noise, **given)


WHOLE = [one for one in SOME if ABSENT not in one] * 4
CAPS = Caps(pure=F(1, 3))


@each
def test_without_noise_the_best_columns_are_picked(score):
    curator = curator_of(WHOLE, NoNoise())
    picks = curator.choose(score, share=curator.reserve("test", CAPS).rest("pure"), picks=3)
    best = sorted(slow(score, WHOLE), reverse=True)
    assert [slow(score, WHOLE)[i] for i in picks] == best[:3]
    assert len(set(picks)) == 3


@each
@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("extra", range(3))
def test_a_neighbour_loses_no_more_than_was_charged(score, law, most, extra):
    labels = np.append(np.arange(len(WHOLE)), np.full(most, -7))
    pair = []
    for rows, groups in ((WHOLE, labels[:-most]), ([*WHOLE, *[IN_EACH[extra]] * most], labels)):
        curator = curator_of(rows, groups=groups, max_rows_per_group=most)
        if pair:
            curator.replay = pair[0]
        share = curator.reserve("law", CAPS).rest("pure")
        curator.choose(score, share=share, picks=2, law=law)
        assert sum(entry.share.amount for entry in share.account.entries) == share.amount
        pair.append(curator.transcript)
    one, other = pair
    assert one.queries == other.queries == [score]
    assert one.mechanisms == other.mechanisms
    for step in zip(one.mechanisms, one.released, one.exact, other.exact, strict=True):
        assert loss(*step) <= share.amount / 2


def test_the_noise_is_that_of_monotone_scores_and_the_heaviest_row():
    """One column gains what a row can add, the others nothing: the loss comes near the charge."""
    score = Guesses(Breakdown(Nearest(CENTERS), COLUMNS[:1] + (Slices(4, ()),) * 3), (1, 1, 64))
    without = [IN_EACH[0]] * 200
    with_row = [*without, IN_EACH[2]]
    rates = []
    for rows in (without, with_row):
        curator = curator_of(rows)
        share = curator.reserve("law", CAPS).rest("pure")
        curator.choose(score, share=share)
        [exact] = curator.transcript.exact
        rates.append(log_probabilities(exact, epsilon=F(1, 3), sensitivity=64, monotone=True))
        assert curator.transcript.mechanisms[0][1] == 64 / share.amount
    moved = np.abs(np.subtract(*rates))
    assert moved.max() <= 1 / 3
    assert moved.max() > 0.2


class Thief(Guesses):
    """Guesses that could keep the rows they are shown."""


class ThiefOfCounts(Breakdown):
    """Counts that could keep the rows they are shown."""


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (Thief(COUNTS, (1, 1, 1)), "Thief"),
        (Cost, "type"),
        (Guesses(Breakdown(Nearest([[1, 2]]), (Slices(0, (3,)),)), (1,)), "2 columns"),
        (Guesses(Breakdown(Nearest(CENTERS), (Slices(9, (3,)),)), (1, 1, 1)), "column 10"),
    ],
)
def test_bad_scores_are_refused_before_the_charge(score, said):
    curator = curator_of(WHOLE)
    account = curator.reserve("test", CAPS)
    with pytest.raises((TypeError, ValueError), match=said):
        curator.choose(score, share=account.rest("pure"))
    assert account.entries == ()


@pytest.mark.parametrize("weights", [(1, 1), (1, 0, 1), (1, -2, 1), (1, 1.0, 1), (1, 2**11, 1)])
def test_weights_are_one_whole_number_for_each_cell(weights):
    with pytest.raises(ValueError, match="weights"):
        Guesses(COUNTS, weights)


def test_guesses_are_made_by_a_breakdown_itself():
    with pytest.raises(TypeError, match="ThiefOfCounts"):
        Guesses(ThiefOfCounts(COUNTS.cells, COLUMNS), (1, 1, 1))


@each
def test_a_score_travels_whole(score):
    again = pickle.loads(pickle.dumps(score))
    assert again == score
    assert hash(again) == hash(score)
