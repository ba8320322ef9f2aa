"""Lines and normal numbers that all but never happen: what the proofs settle is settled rightly.

Streams are prepared so that a rare branch is taken, at fixed keys. The expected draws are computed
from 832 bits of every uniform number, by the book.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sfumato._core.sampling import additive as samplers
from sfumato._core.sampling import joint as rounded
from sfumato._core.sampling.joint import Body
from sfumato._core.sampling.stream import Stream
from tests.unit.core.sampling.test_additive import Deep, Rigged, brute_gaussian, key
from tests.unit.core.sampling.test_choice_settle import Placed
from tests.unit.core.sampling.test_joint import brute
from tests.unit.prepared import ALL, FIRST, KEYS, Prepared, as_fraction, middles, nearest, real

F = Fraction

# Squares of a line that are nearly nothing: docs/proofs/ball-noise.md, band, 2.

BODIES = [Body(dim, height) for dim in (1, 2, 3, 8, 41) for height in (None, F(1, 3))]
bodies = pytest.mark.parametrize("body", BODIES, ids=str)


class Counting(Placed):
    """Counts how often a draw was settled."""

    settled = 0

    def bits(self, places, rows):
        self.settled += 1
        return super().bits(places, rows)


def with_squares(body, part):
    """Words of one line whose squares add up to `part` of 2^-20 times the number of pairs."""
    rng = np.random.default_rng(body.dim)
    words = rng.integers(2**60, 2**63, body.size, dtype=np.int64).tolist()
    each = part * F(body.pairs, 2**20 * (body.pairs + 1))
    words[body.gammas : body.logged] = [2**64 - int(each * 2**64)] * (body.pairs + 1)
    # The cosine of the last angle is -1: of an odd dimension the last square is not shortened.
    words[body.logged + body.pairs - 1] = 2**63
    return words


def line(body, stream, scale=1):
    if body.height is None:
        return rounded.ball(stream, F(scale), 1, body.dim).tolist()
    return rounded.cylinder(stream, [F(scale)], body.height, body.dim).tolist()


@bodies
@pytest.mark.parametrize("part", [F(1, 2**10), 1 - F(1, 2**10)], ids=str)
def test_lines_of_tiny_squares_are_settled(body, part):
    stream = Counting(with_squares(body, part))
    found = line(body, stream)
    assert stream.settled == 1, "float64 may not decide it, however far from a half it lies"
    assert found == brute(Placed(with_squares(body, part)), [F(1)], body.height, body.dim)


@bodies
@pytest.mark.parametrize("part", [1 + F(1, 2**10), F(2**10)], ids=str)
def test_lines_of_small_squares_are_left_to_float(body, part):
    stream = Counting(with_squares(body, part))
    found = line(body, stream)
    assert stream.settled == 0
    assert found == brute(Placed(with_squares(body, part)), [F(1)], body.height, body.dim)


@bodies
@pytest.mark.parametrize("kind", [Stream, Rigged, Deep])
def test_the_limit_of_squares_decides_the_speed_never_the_draw(body, kind, monkeypatch):
    usual = line(body, kind(key(1)))
    monkeypatch.setattr(rounded, "_FLAT", math.inf)
    assert line(body, kind(key(1))) == usual


@pytest.mark.parametrize("dim", [14, 15, 16, 30, 33])
@pytest.mark.parametrize("word", [1, 3, 1000])
def test_products_of_tiny_uniform_numbers_keep_their_digits(dim, word):
    """The length of a line comes from products, which must not fall below the least float64."""
    body = Body(dim)
    words = np.random.default_rng(0).integers(2**60, 2**63, body.size, dtype=np.int64).tolist()
    words[: body.gammas] = [word] * body.gammas
    found = line(body, Placed(words), F(2**20))
    assert found == brute(Placed(words), [F(2**20)], None, dim)


# Uniform numbers so near to 0 or 1 that 320 bits say nothing about their logarithms.

EDGES = {"zeros": 0, "ones": 2**FIRST - 1}
edges = pytest.mark.parametrize("start", EDGES.values(), ids=EDGES.keys())


@edges
@pytest.mark.parametrize("sigma", [F(2**40), F(1, 3)], ids=str)
def test_normal_draws_at_the_edges_take_more_bits(start, sigma):
    for number in KEYS:
        want = brute_gaussian(Prepared({0: start}, number), 2, sigma)
        assert samplers.gaussian(Prepared({0: start}, number), sigma, 2).tolist() == want


@pytest.mark.parametrize("following", [0, 1, 5, 2**20 + 1])
def test_words_of_zero_are_settled(following):
    """The 64 bits after them may be as few digits as these: float64 could tell no logarithm."""
    start = (2 * following + 1) << (FIRST - 129)
    for number in KEYS:
        want = brute_gaussian(Prepared({0: start}, number), 2, F(2**20))
        assert samplers.gaussian(Prepared({0: start}, number), F(2**20), 2).tolist() == want


@edges
@pytest.mark.parametrize("body", [Body(1), Body(2), Body(3), Body(2, F(2**30))], ids=str)
def test_lines_at_the_edges_take_more_bits(body, start):
    """The length, a square, or all squares."""
    lengths, squares = range(body.gammas), range(body.gammas, body.logged)
    for places in ([0], lengths, [body.gammas], [body.logged - 1], squares):
        for number in KEYS:
            starts = dict.fromkeys(places, start)
            want = brute(Prepared(starts, number), [F(2**30)], body.height, body.dim)
            assert line(body, Prepared(starts, number), F(2**30)) == want


# Scales for which a draw lies on the wrong side of a half, from float64 or from 320 bits.


def point(body, column, stream, bits=ALL):
    """One number of a line of scale and height one, by the book."""
    uniforms = middles(stream, body.size, bits)
    length = -sum(mpmath.log(u) for u in uniforms[: body.gammas])
    if column < body.counts:
        return length * (2 * uniforms[-1] - 1)
    squares = [-mpmath.log(u) for u in uniforms[body.gammas : body.logged]]
    pair, sine = divmod(column - body.counts, 2)
    share = mpmath.sqrt(squares[pair])
    angles = [2 * mpmath.pi * u for u in uniforms[body.logged : body.logged + body.pairs]]
    if body.dim % 2:
        squares[-2] *= mpmath.cos(angles[-1]) ** 2
    turn = (mpmath.sin if sine else mpmath.cos)(angles[pair])
    return length * share * turn / mpmath.sqrt(sum(squares))


def normal(column, stream, bits=ALL):
    """One number of a pair of deviation one, by the book."""
    first, second = middles(stream, 2, bits)
    turn = (mpmath.cos, mpmath.sin)[column](2 * mpmath.pi * second)
    return mpmath.sqrt(-2 * mpmath.log(first)) * turn


def between(wrong, right):
    """The scale at which two values lie on two sides of a half, the right one next to it."""
    scale = as_fraction(25 / abs(wrong + 49 * right))
    sides = [nearest(abs(each) * real(scale)) for each in (wrong, right)]
    assert sorted(sides) == [0, 1]
    return scale


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("number", KEYS)
def test_normal_draws_that_320_bits_would_get_wrong(column, number):
    with mpmath.workprec(1100):
        sigma = between(*(normal(column, Stream(key(number)), bits) for bits in (FIRST, ALL)))
    want = brute_gaussian(Stream(key(number)), 2, sigma)
    assert samplers.gaussian(Stream(key(number)), sigma, 2).tolist() == want


@pytest.mark.parametrize(
    ("body", "column"),
    [(Body(2), 0), (Body(3), 2), (Body(3, F(1)), 0), (Body(2, F(1)), 1)],
    ids=str,
)
@pytest.mark.parametrize("number", KEYS)
def test_lines_that_320_bits_would_get_wrong(body, column, number):
    with mpmath.workprec(1100):
        scale = between(*(point(body, column, Stream(key(number)), bits) for bits in (FIRST, ALL)))
    body = Body(body.dim, scale if body.counts else None)
    want = brute(Stream(key(number)), [scale], body.height, body.dim)
    assert line(body, Stream(key(number)), scale) == want


def near_one(log2):
    """A word whose uniform number lacks 2^log2 of one; float64 gets its last bits wrong."""
    return 2**64 - 2 ** (64 + log2) - 1000


def words_of(body, lengths=None, squares=None):
    """Words of a line, of which some are given."""
    words = np.random.default_rng(5).integers(2**60, 2**61, body.size, dtype=np.int64).tolist()
    words[: body.gammas] = lengths or words[: body.gammas]
    words[body.gammas : body.logged] = squares or words[body.gammas : body.logged]
    return words


WIDE = Body(4000)
DOUBTS = {
    "a length of nearly nothing": (Body(2), {"lengths": [near_one(-40)] * 3}),
    "a long length of nearly nothing": (Body(30), {"lengths": [near_one(-40)] * 31}),
    "a square of nearly nothing": (Body(4), {"squares": [near_one(-40), 2**60, 2**60]}),
    "squares of little": (Body(2), {"squares": [near_one(-20), near_one(-21)]}),
    "a square among many of nearly nothing": (
        WIDE,
        {"squares": [near_one(-9) - 2**51, *[near_one(-40)] * WIDE.pairs]},
    ),
}


@pytest.mark.parametrize(("body", "given"), DOUBTS.values(), ids=DOUBTS.keys())
def test_lines_that_float_would_get_wrong(body, given):
    """Each of them needs one of the terms that float64 is doubted by."""
    words = words_of(body, **given)
    uniforms = Placed(words).uniforms(body.size)[1][:, np.newaxis]
    with np.errstate(all="ignore"):
        values, _ = rounded._in_float(body, uniforms, np.ones(1))
    with mpmath.workprec(1100):
        wrong, right = mpmath.mpf(float(values[0, 0])), point(body, 0, Placed(words))
        assert abs(wrong / right - 1) > 2.0**-47, "as far off that no later rounding matters"
        scale = between(wrong, right)
    assert line(body, Placed(words), scale)[0][:4] == exact_start(body, words, scale)


def exact_start(body, words, scale):
    with mpmath.workprec(1100):
        values = [point(body, column, Placed(words)) for column in range(min(4, body.dim))]
        return [nearest(value * real(scale)) for value in values]
