"""The band decides the speed, never the answer: settled, usual and brute-force draws agree."""

import math
import threading
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sfumato._core.sampling import additive as samplers
from sfumato._core.sampling.choice import exp_fixed
from sfumato._core.sampling.exact import settle, uniform_below
from sfumato._core.sampling.stream import Stream


def key(number):
    return number.to_bytes(32, "big")


class Rigged(Stream):
    """Pushes one word in six to within 2^-30 ... 2^-60 of 0 or of 1, and some to 0 itself."""

    def words(self, size):
        first = self.position
        return self._push(super().words(size), np.arange(first, first + size))

    def words_at(self, places):
        return self._push(super().words_at(places), places)

    def _push(self, words, places):
        words, shift = words.copy(), (30 + places % 31).astype(np.uint64)
        kind = places * 2654435761 % 11
        words[kind == 0] >>= shift[kind == 0]
        words[kind == 1] = ~(words[kind == 1] >> shift[kind == 1])
        words[places % 97 == 0] = 0
        return words


class Deep(Rigged):
    """Where the word is 0, the 128 bits after it are 0 too: 320 bits aren't enough."""

    def blocks(self, row, places):
        found = super().blocks(row, places).copy()
        if np.isscalar(row) and row == 1:
            found[places % 97 == 0] = 0
        return found


def brute_gaussian(stream, size, sigma):
    """Box-Muller by the book in 1100 bits."""
    pairs = size // 2
    with mpmath.workprec(1100):
        raws = stream.bits(np.arange(size), 6)
        uniforms = [(mpmath.mpf(raw) + 0.5) / mpmath.mpf(2) ** 832 for raw in raws]
        scale = mpmath.mpf(sigma.numerator) / sigma.denominator
        draws = []
        for turn in (mpmath.cos, mpmath.sin):
            for first, second in zip(uniforms[:pairs], uniforms[pairs:], strict=True):
                radius = mpmath.sqrt(-2 * mpmath.log(first))
                value = scale * radius * turn(2 * mpmath.pi * second)
                draws.append(int(mpmath.floor(value + mpmath.mpf(0.5))))
    return draws


@pytest.mark.parametrize("kind", [Stream, Rigged, Deep])
@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(2**20), Fraction(10**12, 7)], ids=str)
def test_gaussian_settled_usual_and_brute_force_agree(kind, sigma):
    want = brute_gaussian(kind(key(1)), 200, sigma)
    for band in (math.inf, 2.0**-22, samplers.GAUSSIAN_BAND):
        assert samplers.gaussian(kind(key(1)), sigma, 200, band=band).tolist() == want


@pytest.mark.parametrize("kind", [Stream, Rigged])
def test_gaussian_settled_and_usual_agree_where_a_narrow_band_would_show(kind):
    sigma = Fraction(2**38)
    usual = samplers.gaussian(kind(key(2)), sigma, 3000)
    assert np.array_equal(usual, samplers.gaussian(kind(key(2)), sigma, 3000, band=math.inf))
    narrow = samplers.gaussian(kind(key(2)), Fraction(2**44), 3000, band=0.0)
    wide = samplers.gaussian(kind(key(2)), Fraction(2**44), 3000, band=math.inf)
    assert not np.array_equal(narrow, wide), "a band of nothing must be caught"


def test_a_uniform_of_exactly_one_in_float_is_settled():
    class AllOnes(Stream):
        def words(self, size):
            self.position += size
            return np.full(size, 2**64 - 1, np.uint64)

        def words_at(self, places):
            return np.full(len(places), 2**64 - 1, np.uint64)

    usual = samplers.gaussian(AllOnes(key(3)), Fraction(2**40), 8)
    assert usual.tolist() == brute_gaussian(AllOnes(key(3)), 8, Fraction(2**40))
    assert np.count_nonzero(usual) > 0


@pytest.mark.parametrize("kind", [Stream, Rigged])
def test_uniform_below_is_the_floor_of_a_product(kind):
    rng = np.random.default_rng(0)
    bounds = np.concatenate(
        [rng.integers(1, 2**63 - 1, 2000), rng.integers(1, 2**20, 500), [1, 2, 3, 2**63 - 1]]
    )
    got = uniform_below(kind(key(4)), bounds)
    raws = kind(key(4)).bits(np.arange(bounds.size), 6)
    want = [raw * bound >> 832 for raw, bound in zip(raws, bounds.tolist(), strict=True)]
    assert got.dtype == np.int64
    assert got.tolist() == want


@pytest.mark.parametrize("kind", [Stream, Rigged])
@pytest.mark.parametrize(
    ("dim", "most", "size"), [(1, 60, 2000), (2, 60, 2000), (40, 9000, 2000), (3000, 10**7, 40)]
)
def test_cube_acceptance_settled_usual_and_rational_agree(kind, dim, most, size):
    radii = np.random.default_rng(1).integers(0, most, size)
    raws = kind(key(5)).bits(np.arange(size), 6)
    want = [
        raw * 2**dim * math.perm(m + dim, dim) < (2 * m + 1) ** dim << 832
        for m, raw in zip(radii.tolist(), raws, strict=True)
    ]
    for band in (samplers.CUBE_BAND, math.inf):
        assert samplers.accept_radii(kind(key(5)), radii, dim, band=band).tolist() == want
    assert 0 < sum(want) < size


def test_cube_acceptance_of_a_word_of_zero_is_settled():
    """U below 2^-64 isn't 0: it loses against a chance of 2^-199."""
    assert not samplers.accept_radii(Rigged(key(5)), np.zeros(1, np.int64), 40)[0]
    assert samplers.accept_radii(Rigged(key(5)), np.full(1, 10**6), 40)[0]


@pytest.mark.parametrize("dim", [1, 30, 1024, 10_000])
def test_cube_acceptance_in_float_is_within_the_band(dim):
    """The worst relative error measured is far below the band, also where 64 bits are needed."""
    for radius in (16 * dim, 1000 * dim, dim << 30, dim << 45):
        radii = np.array([radius])
        chance = np.divide(radii + 0.5, radii + np.arange(1, dim + 1)[:, None]).prod(axis=0)
        exact = Fraction((2 * radius + 1) ** dim, 2**dim * math.perm(radius + dim, dim))
        error = abs(Fraction(float(chance[0])) / exact - 1)
        assert error < Fraction(samplers.CUBE_BAND) * (dim + 1) / 6


def test_geometric_digits_from_the_specification():
    scale, size = Fraction(1000, 3), 5000
    probabilities = samplers.digit_probabilities(scale)
    words = Stream(key(6)).words(-(-len(probabilities) * size // 4))
    drawn = words.view("<u2")[: len(probabilities) * size].reshape(-1, size)
    stream, want = Stream(key(6)), [0] * size
    for i, chance in enumerate(probabilities):
        for j in range(size):
            place, lane = divmod(i * size + j, 4)
            head = int(drawn[i, j])
            if head == chance >> 240:
                rows = np.array([1 + 2 * lane, 2 + 2 * lane])
                tail = stream.blocks(rows, np.full(2, place)).tobytes()[:30]
                bit = int.from_bytes(tail, "big") < chance % 2**240
            else:
                bit = head < chance >> 240
            want[j] += bit << i
    assert samplers.geometric(Stream(key(6)), scale, size).tolist() == want


def test_digit_probabilities_multiply_to_the_geometric_law():
    scale = Fraction(7, 3)
    chances = [Fraction(p, 2**256) for p in samplers.digit_probabilities(scale)]
    q = math.exp(-1 / float(scale))
    for g in range(30):
        product = math.prod(float(c if g >> i & 1 else 1 - c) for i, c in enumerate(chances))
        assert product == pytest.approx((1 - q) * q**g, rel=1e-12)


def test_dropped_digits_stay_below_the_stated_residual():
    for scale in (Fraction(1, 100), Fraction(1), Fraction(10**9, 7), Fraction(2**44)):
        kept = len(samplers.digit_probabilities(scale))
        with mpmath.workprec(300):
            rate = mpmath.mpf(scale.denominator) / scale.numerator
            dropped = sum(1 / (1 + mpmath.exp(rate * 2**i)) for i in range(kept, kept + 4))
            assert dropped + kept * mpmath.mpf(2) ** -256 < mpmath.mpf(2) ** -127
        assert kept <= 51


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(200), Fraction(10**9)])
def test_exp_fixed_is_within_two(exponent):
    with mpmath.workprec(2000):
        true = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator) * 2**400
        assert abs(exp_fixed(exponent, 400) - true) < 2


def test_settlement_reads_more_bits_until_it_can_decide():
    asked = []

    def decide(raws, bits):
        asked.append((raws, bits))
        return "yes" if bits > 1000 else None

    assert settle(Stream(key(7)), [3], decide) == "yes"
    assert [bits for _, bits in asked] == [320, 832, 1856]
    (a,), (b,), (c,) = (raws for raws, _ in asked)
    assert a == b >> 512 == c >> 1536
    with pytest.raises(ArithmeticError, match="settled"):
        settle(Stream(key(7)), [3], lambda raws, bits: None)


def test_settlement_ignores_the_global_precision_of_mpmath():
    want = samplers.gaussian(Stream(key(8)), Fraction(2**30), 40, band=math.inf).tolist()
    with mpmath.workprec(10):
        got = samplers.gaussian(Stream(key(8)), Fraction(2**30), 40, band=math.inf).tolist()
    assert got == want


def test_threads_draw_the_same_as_one():
    def draw(number, out):
        out[number] = samplers.gaussian(Stream(key(number)), Fraction(2**40), 60).tolist()

    alone, together = {}, {}
    for number in range(4):
        draw(number, alone)
    threads = [threading.Thread(target=draw, args=(n, together)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alone == together


@pytest.mark.parametrize(
    ("ours", "true", "low", "high"),
    [
        (np.log, mpmath.log, -744.0, 0.0),
        (np.exp, mpmath.exp, 0.0, 700.0),
        (np.cos, mpmath.cos, 0.0, 2 * math.pi),
        (np.sin, mpmath.sin, 0.0, 2 * math.pi),
    ],
    ids=["log", "exp", "cos", "sin"],
)
def test_the_assumption_on_numpy_functions_holds_here(ours, true, low, high):
    points = np.random.default_rng(2).uniform(low, high, 3000)
    if ours is np.log:
        points = np.concatenate([np.exp(points), 1 - 2.0 ** -np.arange(2.0, 54)])
    if ours is np.exp:
        points = -points
    with mpmath.workprec(200):
        for x, y in zip(points.tolist(), ours(points).tolist(), strict=True):
            assert abs(mpmath.mpf(y) - true(mpmath.mpf(x))) <= 4 * math.ulp(y)
