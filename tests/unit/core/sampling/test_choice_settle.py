"""Selection: settled, usual and brute-force answers agree, and nothing wraps or drifts."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._core.sampling.choice import _gaps, choose, cumulative, flip
from sfumato._core.sampling.stream import Stream


def key(number):
    return number.to_bytes(32, "big")


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


class Placed(Stream):
    """The first uniform numbers start with given words."""

    def __init__(self, heads):
        super().__init__(key(1))
        self.heads = np.array(heads, np.uint64)

    def words(self, size):
        words, first = super().words(size).copy(), self.position - size
        given = self.heads[first : first + size]
        words[: given.size] = given
        return words

    def words_at(self, places):
        words, given = super().words_at(places).copy(), places < self.heads.size
        words[given] = self.heads[places[given]]
        return words


@pytest.mark.parametrize("head", [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1])
def test_points_at_the_ends_and_between_equal_weights(head):
    for scores in (np.array([5, 5]), np.array([5]), np.array([5, 5, -(10**6)]), np.zeros(9, int)):
        gaps, stream = _gaps(scores), Placed([head])
        (raw,) = stream.bits(np.array([0]), 6)
        usual = choose(stream, gaps, Fraction(1))
        assert usual == raw * int(np.count_nonzero(gaps == 0)) >> 832


NEAR = [sign * 3**power for power in range(9) for sign in (-1, 1)]
"""Distances in units of 2^-64: float64 itself sees steps of 2^11 of them."""


def boundaries(weights):
    total = mpmath.fsum(weights)
    return [mpmath.fsum(weights[: i + 1]) / total for i in range(len(weights) - 1)]


def test_a_choice_next_to_a_boundary_is_settled():
    gaps, narrow = _gaps(np.random.default_rng(6).integers(0, 30, 40)), 0
    with mpmath.workprec(400):
        exact = boundaries([mpmath.exp(-mpmath.mpf(int(gap)) / 9) for gap in gaps])
        for i, edge in enumerate(exact):
            for step in NEAR:
                head = int(mpmath.floor(edge * 2**64)) + step
                want = i if step < 0 else i + 1
                assert choose(Placed([head]), gaps, Fraction(1, 9)) == want
                narrow += choose(Placed([head]), gaps, Fraction(1, 9), band=0.0) != want
    assert narrow > 0, "a band of nothing must be caught"


def test_coins_next_to_their_chance_are_settled():
    gaps = _gaps(np.concatenate([[0], -np.repeat(np.arange(1, 60), len(NEAR))]))
    with mpmath.workprec(400):
        edges = [int(mpmath.floor(mpmath.exp(-mpmath.mpf(int(g)) / 9) * 2**64)) for g in gaps[1:]]
    steps = np.tile(NEAR, 59)
    heads = [0, *(edge + int(step) for edge, step in zip(edges, steps, strict=True))]
    want = [True, *(steps < 0)]
    assert flip(Placed(heads), gaps, Fraction(1, 9)).tolist() == want
    narrow = flip(Placed(heads), gaps, Fraction(1, 9), band=0.0).tolist()
    assert narrow != want, "a band of nothing must be caught"


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
@example([-(2**63), 2**63 - 1, 0])
@example([5, 5, 4])
@example([-(2**63)])
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
