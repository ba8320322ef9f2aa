"""Selection: frequencies, exact probabilities, settlement and awkward scores."""

import math
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.curator.noise import NoNoise, ReplayedNoise, SecureNoise, selection_slack
from sfumato.curator.select import (
    _gaps,
    choose,
    cumulative,
    exponential,
    flip,
    log_probabilities,
    permute_and_flip,
    selection_rate,
)
from sfumato.curator.stream import Stream

ALPHA = 1e-9
LAWS = {"exponential": exponential, "permute_and_flip": permute_and_flip}
SCORES = np.array([3, -2, 7, 7, 0, 5])
ONE = {"epsilon": Fraction(1), "sensitivity": 1, "monotone": False}

both = pytest.mark.parametrize("law", LAWS)


def key(number):
    return number.to_bytes(32, "big")


def p_value(counts, probabilities):
    return stats.chisquare(counts, counts.sum() * np.asarray(probabilities)).pvalue


def frequencies(law, noise, scores, draws, **options):
    found = [LAWS[law](noise, scores, **options) for _ in range(draws)]
    return np.bincount(found, minlength=len(scores))


def enumerated(scores, rate):
    """Permute-and-flip by its definition: every order of visits, equally likely."""
    chances = [math.exp(-rate * (max(scores) - score)) for score in scores]
    total = np.zeros(len(scores))
    for order in permutations(range(len(scores))):
        still = 1.0
        for i in order:
            total[i] += still * chances[i]
            still *= 1 - chances[i]
    return total / math.factorial(len(scores))


@both
@pytest.mark.parametrize("monotone", [True, False])
def test_guarantee_of_selection_frequencies(law, monotone):
    """Chi-square at 1e-9 against the law, which also tells the law from one 15 % off."""
    options = {"epsilon": Fraction(4, 5), "sensitivity": 2, "monotone": monotone}
    counts = frequencies(law, ReplayedNoise(1), SCORES, 20_000, **options)
    assert p_value(counts, np.exp(log_probabilities(SCORES, law=law, **options))) > ALPHA
    for wrong in (Fraction(23, 25), Fraction(16, 23)):
        other = options | {"epsilon": wrong}
        assert p_value(counts, np.exp(log_probabilities(SCORES, law=law, **other))) < ALPHA
    other = options | {"monotone": not monotone}
    assert p_value(counts, np.exp(log_probabilities(SCORES, law=law, **other))) < ALPHA


@both
def test_guarantee_of_selection_with_secret_keys(law):
    counts = frequencies(law, SecureNoise(), SCORES, 5000, **ONE)
    assert p_value(counts, np.exp(log_probabilities(SCORES, law=law, **ONE))) > ALPHA


@pytest.mark.parametrize("scores", [[4], [1, 0], [5, 5, 5], [0, 3, 1, 3, 2], [9, 0, 0, 8, 7, 9]])
def test_permute_and_flip_probabilities_by_enumeration(scores):
    got = np.exp(log_probabilities(scores, law="permute_and_flip", **ONE))
    assert got == pytest.approx(enumerated(scores, 0.5), rel=1e-12)


@both
def test_probabilities_sum_to_one_and_respect_epsilon(law):
    for neighbour in (SCORES + 1, SCORES - 1, SCORES + np.tile([1, -1], 3)):
        one = log_probabilities(SCORES, law=law, **ONE)
        two = log_probabilities(neighbour, law=law, **ONE)
        assert math.fsum(np.exp(one)) == pytest.approx(1)
        assert np.abs(one - two).max() <= 1 + 1e-12


def test_permute_and_flip_is_never_worse_than_exponential():
    gaps = SCORES.max() - SCORES
    loss = {law: np.exp(log_probabilities(SCORES, law=law, **ONE)) @ gaps for law in LAWS}
    assert loss["permute_and_flip"] < loss["exponential"]


@both
def test_one_candidate_is_always_selected(law):
    assert LAWS[law](SecureNoise(), np.array([-(2**63)]), **ONE) == 0


@both
def test_ties_are_fair(law):
    counts = frequencies(law, ReplayedNoise(2), np.full(4, 9), 4000, **ONE)
    assert p_value(counts, np.full(4, 0.25)) > ALPHA


@both
@pytest.mark.parametrize(
    "scores",
    [
        np.array([-(2**63), 2**63 - 1, -(2**63), 2**63 - 1]),
        np.array([0, 10**400, -(10**400), 10**400], dtype=object),
        [0, 2**64, -1, 2**64],
    ],
    ids=["int64", "object", "list"],
)
def test_huge_differences_leave_only_the_best(law, scores):
    counts = frequencies(law, ReplayedNoise(3), scores, 400, **ONE)
    assert counts[[0, 2]].tolist() == [0, 0]
    assert stats.binomtest(int(counts[1]), 400).pvalue > ALPHA


@both
def test_big_integers_are_compared_exactly(law):
    """A difference of 1 between numbers of 200 digits, with a rate that makes it matter."""
    scores = np.array([10**200, 10**200 + 1, 10**200 - 2], dtype=object)
    want = np.exp(log_probabilities(np.array([0, 1, -2]), law=law, **ONE))
    assert np.exp(log_probabilities(scores, law=law, **ONE)) == pytest.approx(want, rel=1e-12)
    assert p_value(frequencies(law, ReplayedNoise(4), scores, 4000, **ONE), want) > ALPHA


@both
@pytest.mark.parametrize("unit", [10**40, 10**400])
def test_big_integers_with_a_tiny_rate(law, unit):
    scores = np.array([3 * unit, unit, 0], dtype=object)
    options = {"epsilon": Fraction(1), "sensitivity": unit, "monotone": True}
    small = log_probabilities(np.array([3, 1, 0]), law=law, **ONE | {"monotone": True})
    assert log_probabilities(scores, law=law, **options) == pytest.approx(small, rel=1e-12)
    counts = frequencies(law, ReplayedNoise(5), scores, 3000, **options)
    assert p_value(counts, np.exp(small)) > ALPHA


@both
def test_object_and_int64_scores_select_alike(law):
    scores = np.random.default_rng(0).integers(-50, 50, 200)
    for number in range(200):
        one = LAWS[law](ReplayedNoise(number), scores, **ONE)
        two = LAWS[law](ReplayedNoise(number), scores.astype(object), **ONE)
        assert one == two


@pytest.mark.parametrize("size", [1, 2, 3, 50])
@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(1, 10**6), Fraction(300)], ids=str)
def test_choice_settled_usual_and_brute_force_agree(size, rate):
    gaps = _gaps(np.random.default_rng(size).integers(0, 40, size))
    for number in range(40):
        usual = choose(Stream(key(number)), gaps, rate)
        assert usual == choose(Stream(key(number)), gaps, rate, band=math.inf)
        with mpmath.workprec(900):
            (raw,) = Stream(key(number)).bits(np.array([0]), 6)
            tilt = mpmath.mpf(rate.numerator) / rate.denominator
            weights = [mpmath.exp(-tilt * int(gap)) for gap in gaps]
            point = mpmath.mpf(raw) / mpmath.mpf(2) ** 832 * mpmath.fsum(weights)
            assert usual == sum(mpmath.fsum(weights[: i + 1]) <= point for i in range(size))


class Pinned(Stream):
    """The first uniform number starts with given words."""

    head = 0

    def words(self, size):
        words = super().words(size).copy()
        words[:1] = self.head
        return words

    def words_at(self, places):
        return np.where(places == 0, np.uint64(self.head), super().words_at(places))


@pytest.mark.parametrize("head", [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1])
def test_a_point_on_a_boundary_is_settled(head):
    """Two equal weights meet at exactly 1/2, where float64 alone can't decide."""

    class Head(Pinned):
        pass

    Head.head = head
    for scores in (np.array([5, 5]), np.array([5]), np.array([5, 5, -(10**6)]), np.array([0] * 9)):
        gaps = _gaps(scores)
        stream = Head(key(1))
        (raw,) = stream.bits(np.array([0]), 6)
        usual = choose(stream, gaps, Fraction(1))
        assert usual == raw * int(np.count_nonzero(gaps == 0)) >> 832


@pytest.mark.parametrize("kind", ["usual", "pushed"])
def test_coins_settled_usual_and_brute_force_agree(kind):
    class Pushed(Stream):
        def words(self, size):
            return self.push(super().words(size), np.arange(self.position - size, self.position))

        def words_at(self, places):
            return self.push(super().words_at(places), places)

        def push(self, words, places):
            words = words.copy()
            words[places % 3 == 0] >>= np.uint64(55)
            words[places % 7 == 0] = ~(words[places % 7 == 0] >> np.uint64(60))
            words[places % 11 == 0] = 0
            return words

    make, rate = {"usual": Stream, "pushed": Pushed}[kind], Fraction(1, 90)
    gaps = _gaps(np.random.default_rng(3).integers(0, 4000, 400))
    usual = flip(make(key(2)), gaps, rate)
    assert np.array_equal(usual, flip(make(key(2)), gaps, rate, band=math.inf))
    with mpmath.workprec(900):
        for gap, raw, up in zip(gaps, make(key(2)).bits(np.arange(400), 6), usual, strict=True):
            chance = mpmath.exp(-mpmath.mpf(int(gap)) / 90)
            assert up == (mpmath.mpf(raw) / mpmath.mpf(2) ** 832 < chance)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
def test_gaps_never_wrap(scores):
    want = [max(scores) - score for score in scores]
    assert _gaps(np.array(scores, dtype=np.int64)).tolist() == want
    assert _gaps(scores).tolist() == want


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100, 10_001])
def test_running_sums_are_monotone_and_within_their_error(size):
    weights = np.random.default_rng(4).random(size)
    sums = cumulative(weights)
    exact = np.cumsum([Fraction(weight) for weight in weights.tolist()])
    allowed = Fraction(2 * math.isqrt(size) + 3, 2**53) * exact[-1]
    assert sums.shape == (size,)
    assert (np.diff(sums) >= 0).all()
    for got, want in zip(sums.tolist(), exact, strict=True):
        assert abs(Fraction(got) - want) <= allowed


@both
def test_a_hundred_thousand_candidates(law):
    scores = np.random.default_rng(5).integers(-(10**6), 10**6, 100_000)
    options = {"epsilon": Fraction(1, 1000), "sensitivity": 1, "monotone": True}
    found = [LAWS[law](ReplayedNoise(n), scores, **options) for n in range(100)]
    assert min(scores[found]) > 10**6 - 50_000


@both
def test_no_noise_selects_the_first_of_the_best(law):
    assert LAWS[law](NoNoise(), SCORES, **ONE) == 2
    assert LAWS[law](NoNoise(), [1, 10**50, 10**50], **ONE) == 1


@both
def test_floating_point_traps_do_not_turn_into_exceptions(law):
    with np.errstate(all="raise"):
        assert LAWS[law](SecureNoise(), np.array([0, -(10**6), 0, -1400]), **ONE) in (0, 2)


@pytest.mark.parametrize(
    ("scores", "error"),
    [
        (np.array([], dtype=np.int64), ValueError),
        ([], ValueError),
        (np.array([[1, 2]]), ValueError),
        (np.array([1.0, 2.0]), TypeError),
        ([1.5, 2], TypeError),
        (np.array([1, 2], dtype=np.uint64), TypeError),
    ],
)
def test_scores_that_are_refused(scores, error):
    with pytest.raises(error):
        exponential(SecureNoise(), scores, **ONE)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [
        (Fraction(0), 1),
        (Fraction(-1), 1),
        (0.5, 1),
        (Fraction(1), 0),
        (Fraction(1), Fraction(1, 2)),
    ],
)
def test_parameters_that_are_refused(epsilon, sensitivity):
    with pytest.raises(ValueError, match="selection needs"):
        selection_rate(epsilon, sensitivity, False)


def test_selection_slack_is_tiny():
    assert 0 < selection_slack(1) < selection_slack(10**5) < 2.0**-90
