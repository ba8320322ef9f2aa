"""Choices that all but never happen: what the first bits leave open is decided by later ones.

Streams are prepared so that 320 bits of a uniform number say nothing, at fixed keys. The expected
choices are computed from 832 bits, by the book.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sfumato._core.sampling import additive as samplers
from sfumato._core.sampling import bernoulli
from sfumato._core.sampling import choice as select
from sfumato._core.sampling import choice as select_classes
from sfumato._core.sampling.exact import uniform_below
from sfumato._core.sampling.stream import Stream
from tests.unit.core.sampling.test_additive import key
from tests.unit.core.sampling.test_choice_settle import Placed
from tests.unit.prepared import ALL, FIRST, KEYS, Prepared, as_fraction, real, start_of, uniform

F = Fraction


def test_prepared_streams_start_as_they_should():
    start = start_of(F(1, 3))
    (raw,) = Prepared({5: start}).bits(np.array([5]), 6)
    assert raw >> ALL - FIRST == start
    assert Prepared({5: start}).words(6)[5] == start >> 256
    assert len({uniform(Prepared({0: start}, n), ALL) for n in KEYS}) == len(KEYS)


# Chances that lie between what 320 bits leave open: later bits decide, one way or the other.


def check_open(draw, number_of, chances):
    """`draw(stream, chance)` says whether U is below the chance, for a chance among U's own."""
    said = set()
    for number in KEYS:
        chance = chances(number_of(number))
        below = uniform(number_of(number), ALL) < chance
        assert draw(number_of(number), chance) == below
        said.add(below)
    assert said == {True, False}, "both ways are looked at"


def half_way(stream):
    """In the middle of what the first 320 bits of a uniform number leave open."""
    return uniform(stream, FIRST) + F(1, 2 ** (FIRST + 1))


def test_bernoulli_draws_that_320_bits_leave_open():
    check_open(
        lambda stream, chance: bernoulli.bernoulli(stream, chance, 1)[0],
        lambda number: Stream(key(number)),
        half_way,
    )


def test_flips_that_320_bits_leave_open():
    def draw(stream, chance):
        with mpmath.workprec(1200):
            rate = as_fraction(-mpmath.log(real(chance)))
        # The best candidate reads the first uniform number, and is taken without it.
        return select.flip(stream, np.array([1, 0], dtype=np.uint64), rate)[0]

    check_open(draw, lambda number: Stream(key(number)), half_way)


HIGH = start_of(F(7, 9))
"""Above a half, where the boundary between two candidates lies."""


def test_choices_that_320_bits_leave_open():
    def draw(stream, chance):
        with mpmath.workprec(1200):
            rate = as_fraction(-mpmath.log(1 / real(chance) - 1))
        return select.choose(stream, np.array([0, 1], dtype=np.uint64), rate) == 0

    check_open(draw, lambda number: Prepared({0: HIGH}, number), half_way)


@pytest.mark.parametrize(("many", "size"), [(1, 2), (5, 10**6), (3, 65_535**9)])
def test_classes_that_320_bits_leave_open(many, size):
    def draw(stream, chance):
        with mpmath.workprec(1200):
            rate = as_fraction(mpmath.log1p(size * (1 / real(chance) - 1) / many))
        scores = np.array([1], dtype=np.int64)
        return select_classes.choose_class(stream, scores, np.array([many]), size, rate) == 0

    check_open(draw, lambda number: Prepared({0: HIGH}, number), half_way)


@pytest.mark.parametrize(("radius", "dim"), [(0, 1), (3, 2), (10**6, 40)])
def test_radii_that_320_bits_leave_open(radius, dim):
    chance = F((2 * radius + 1) ** dim, 2**dim * math.perm(radius + dim, dim))
    start = start_of(chance)
    # A chance of few digits is the least number that starts so: nothing lies below it.
    starts = [start - 1, start, start + 1] if chance.denominator & (chance.denominator - 1) else []
    for number in KEYS:
        for begun in starts:
            stream = Prepared({0: begun}, number)
            below = uniform(stream, ALL) < chance
            assert samplers.accept_radii(stream, np.array([radius]), dim)[0] == below


@pytest.mark.parametrize("bound", [3, 7, 1023, 2**62 + 1])
def test_uniform_numbers_below_a_bound_that_320_bits_leave_open(bound):
    # part · 2^320 is half of the bound, modulo the bound: later bits decide one way or the other.
    part, found = bound // 2 * pow(2**FIRST, -1, bound) % bound, set()
    for number in KEYS:
        stream = Prepared({0: start_of(F(part, bound))}, number)
        want = math.floor(uniform(stream, ALL) * bound)
        assert uniform_below(stream, np.array([bound]))[0] == want
        found.add(want)
    assert found == {part - 1, part}


# Boundaries between candidates, as close to the edge of what 320 bits leave open as can be.


def choice(boundary):
    """Two candidates of which the first is taken below the boundary."""
    with mpmath.workprec(1200):
        odds = 1 / real(boundary) - 1
        rate = as_fraction(abs(mpmath.log(odds)))
    gaps = np.array([0, 1] if boundary > F(1, 2) else [1, 0], dtype=np.uint64)
    return lambda raw: select._exact_choice(gaps, rate, [raw], FIRST)


def classes(boundary, many=3, size=65_535**9):
    """A class of equal score after all candidates."""
    with mpmath.workprec(1200):
        rate = as_fraction(mpmath.log1p(size * (1 / real(boundary) - 1) / many))
    return lambda raw: select_classes._exact_class(
        np.array([1]), np.array([many]), size, rate, [raw], FIRST
    )


exact_decisions = pytest.mark.parametrize("decide", [choice, classes])


@exact_decisions
@pytest.mark.parametrize("part", range(1, 37))
def test_no_choice_is_made_as_long_as_a_bit_could_change_it(decide, part):
    raw = start_of(F(part, 37))
    for depth in (1, 64, 65, 66, 68, 80):
        for boundary in (F(raw) + F(1, 2**depth), F(raw + 1) - F(1, 2**depth)):
            assert decide(boundary / 2**FIRST)(raw) is None


@exact_decisions
@pytest.mark.parametrize("part", [5, 23])
def test_choices_are_made_as_soon_as_no_bit_can_change_them(decide, part):
    """Else the chance that no number of bits is enough would be larger than is promised."""
    raw = start_of(F(part, 37))
    decided = decide(F(2 * raw + 1, 2 ** (FIRST + 1)))
    assert [decided(raw + step) for step in (-2, -1, 0, 1, 2)] == [0, 0, None, 1, 1]


def test_choices_among_very_many_are_settled_where_sums_in_float_are_off():
    """A million candidates: float64 puts the boundary 2^-46 too high."""
    size, rate, first = 10**6, F(38, 37), 742_857
    gaps = np.ones(size, dtype=np.uint64)
    gaps[0] = 0
    sums = select.cumulative(np.exp(-np.where(gaps, float(rate), 0.0)))
    with mpmath.workprec(400):
        weight = mpmath.exp(-real(rate))
        right = (1 + first * weight) / (1 + (size - 1) * weight)
        wrong = mpmath.mpf(float(sums[first])) / float(sums[-1])
        assert wrong - right > 2.0**-46.5
        head = int(mpmath.floor((49 * right + wrong) / 50 * 2**64))
    assert select.choose(Placed([head]), gaps, rate) == first + 1


def test_chances_of_nearly_nothing_stay_what_they_are():
    """Gaps of any size are counted in full: e^-30 is not e^-16."""
    gaps = np.array([0, 30], dtype=np.object_)
    heads = [0, 2**24]
    assert select.flip(Placed(heads), gaps, F(1)).tolist() == [True, False]
    assert select.choose(Placed([2**64 - 2**24]), gaps, F(1)) == 0


@pytest.mark.parametrize(
    "rate", [F(2) ** 2000, F(1, 2**2000), F(2) ** 600], ids=["2^2000", "2^-2000", "2^600"]
)
def test_rates_beyond_float_choose_alike(rate):
    gaps = np.array([0, 1, 5])
    for number in KEYS:
        whole = select.choose(Stream(key(number)), gaps.astype(np.uint64), rate)
        assert whole == select.choose(Stream(key(number)), gaps.astype(np.object_), rate)
        assert whole == (0 if rate > 1 else math.floor(uniform(Stream(key(number)), ALL) * 3))
