"""Joint noise: settled, usual and brute-force draws agree, and what is refused."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sfumato._accounting.budget import Share
from sfumato._core.mechanisms import Ball, Cylinder, PerCellNoise
from sfumato._core.queries.counts import Sensitivity
from sfumato._core.sampling import joint as rounded
from sfumato._core.sampling.additive import laplace_slack
from sfumato._core.sampling.joint import Body
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.sampling.stream import Stream
from tests.no_noise import NoNoise
from tests.unit.core.sampling.test_additive import Deep, Rigged, key

STREAMS = pytest.mark.parametrize("kind", [Stream, Rigged, Deep])
PURE = Share("pure", Fraction(1, 3))


class AllOnes(Stream):
    """Every word is the last before one."""

    def words(self, size):
        self.position += size
        return np.full(size, 2**64 - 1, np.uint64)

    def words_at(self, places):
        return np.full(len(places), 2**64 - 1, np.uint64)


def brute(stream, scales, height, dim):
    """By the book in 1100 bits: gamma length times a projected point of a sphere."""
    lines, tall = len(scales), int(height is not None)
    gammas, pairs = dim + 1 + tall, (dim + 1) // 2
    size = gammas + 2 * pairs + 1 + tall
    raws = stream.bits(np.arange(size * lines), 6)
    drawn = []
    with mpmath.workprec(1100):
        for j, scale in enumerate(scales):
            uniforms = [(mpmath.mpf(raw) + 0.5) / mpmath.mpf(2) ** 832 for raw in raws[j::lines]]
            exponentials = [-mpmath.log(u) for u in uniforms[: gammas + pairs + 1]]
            gamma = sum(exponentials[:gammas])
            normals = []
            for i in range(pairs):
                radius = mpmath.sqrt(2 * exponentials[gammas + i])
                angle = 2 * mpmath.pi * uniforms[gammas + pairs + 1 + i]
                normals += [radius * mpmath.cos(angle), radius * mpmath.sin(angle)]
            normals = normals[:dim]
            length = mpmath.sqrt(sum(x * x for x in normals) + 2 * exponentials[-1])
            units = [mpmath.mpf(scale.numerator) / scale.denominator] * dim
            point = [x / length for x in normals]
            if tall:
                units.insert(0, mpmath.mpf(height.numerator) / height.denominator)
                point.insert(0, 2 * uniforms[-1] - 1)
            values = [unit * gamma * x for unit, x in zip(units, point, strict=True)]
            drawn.append([int(mpmath.floor(value + 0.5)) for value in values])
    return drawn


@STREAMS
@pytest.mark.parametrize("dim", [1, 2, 3, 7, 10])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2**20), Fraction(10**12, 7)], ids=str)
def test_ball_settled_usual_and_brute_force_agree(kind, dim, scale):
    want = brute(kind(key(1)), [scale] * 25, None, dim)
    for band in (math.inf, 2.0**-22, rounded.ROUND_BAND):
        assert rounded.ball(kind(key(1)), scale, 25, dim, band=band).tolist() == want


@STREAMS
@pytest.mark.parametrize("dim", [1, 2, 5, 8])
def test_cylinder_settled_usual_and_brute_force_agree(kind, dim):
    scales = [Fraction(10 ** (j % 12), j % 5 + 1) for j in range(40)]
    for height in (Fraction(1, 3), Fraction(2**30, 7)):
        want = brute(kind(key(2)), scales, height, dim)
        for band in (math.inf, 2.0**-22, rounded.ROUND_BAND):
            got = rounded.cylinder(kind(key(2)), scales, height, dim, band=band)
            assert got.tolist() == want


@pytest.mark.parametrize("kind", [Stream, Rigged])
@pytest.mark.parametrize(("dim", "rows"), [(1, 600), (2, 300), (3, 200), (40, 15), (601, 2)])
def test_settled_and_usual_agree_where_a_narrow_band_would_show(kind, dim, rows):
    scale, height = Fraction(2**36), Fraction(2**32)
    usual = rounded.ball(kind(key(3)), scale, rows, dim)
    settled = rounded.ball(kind(key(3)), scale, rows, dim, band=math.inf)
    assert np.array_equal(usual, settled)
    usual = rounded.cylinder(kind(key(3)), [scale] * rows, height, dim)
    settled = rounded.cylinder(kind(key(3)), [scale] * rows, height, dim, band=math.inf)
    assert np.array_equal(usual, settled)


@pytest.mark.parametrize(("dim", "rows"), [(1, 600), (2, 300), (3, 200), (40, 15), (601, 2)])
def test_a_band_of_nothing_would_be_caught(dim, rows):
    widest = min(Fraction(2**44), Fraction(rounded.MAX_SPREAD, dim + 2))
    narrow = rounded.ball(Stream(key(3)), widest, rows, dim, band=0.0)
    wide = rounded.ball(Stream(key(3)), widest, rows, dim, band=math.inf)
    assert not np.array_equal(narrow, wide)


def test_the_most_dimensions_settle_as_they_are_drawn():
    usual = rounded.ball(Stream(key(4)), Fraction(2**26), 1, 32_896)
    settled = rounded.ball(Stream(key(4)), Fraction(2**26), 1, 32_896, band=2.0**-38)
    assert np.array_equal(usual, settled)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_uniforms_of_exactly_one_in_float_are_settled(dim):
    scale = Fraction(2**44)
    want = brute(AllOnes(key(5)), [scale] * 6, scale, dim)
    assert rounded.cylinder(AllOnes(key(5)), [scale] * 6, scale, dim).tolist() == want
    want = brute(AllOnes(key(5)), [scale] * 6, None, dim)
    assert rounded.ball(AllOnes(key(5)), scale, 6, dim).tolist() == want


def line_in_float(body, uniforms):
    """Values and doubts of one line of scale and height one."""
    values, doubts = rounded._in_float(body, uniforms[:, None].copy(), np.ones(1))
    return values[:, 0], doubts[:, 0]


@pytest.mark.parametrize("height", [None, Fraction(1)], ids=["ball", "cylinder"])
@pytest.mark.parametrize("dim", [1, 2, 3, 50, 999, 20_001])
def test_errors_of_float_are_far_below_the_band(dim, height):
    """Against the same float uniforms in 200 bits; a sixth of the band is proven to be enough."""
    body = Body(dim, height)
    rng = np.random.default_rng(dim)
    for _ in range(200 if dim < 10 else 3):
        uniforms = rng.random(body.size)
        values, doubts = line_in_float(body, uniforms)
        columns = sorted({0, 1, dim - 1 + body.counts} & set(range(values.size)))
        with mpmath.workprec(200):
            exact = [mpmath.mpf(u) for u in uniforms.tolist()]
            gamma = -sum(mpmath.log(u) for u in exact[: body.gammas])
            lengths = [-mpmath.log(u) for u in exact[body.gammas : body.logged]]
            turns = [2 * mpmath.pi * u for u in exact[body.logged : body.logged + body.pairs]]
            squares = list(lengths)
            if dim % 2:
                squares[-2] *= mpmath.cos(turns[-1]) ** 2
            whole = sum(squares)
            for column in columns:
                pair, sine = divmod(column - body.counts, 2)
                share = 2 * exact[-1] - 1
                if pair >= 0:
                    turn = (mpmath.sin if sine else mpmath.cos)(turns[pair])
                    share = mpmath.sqrt(lengths[pair] / whole) * turn
                error = abs(values[column] - gamma * share)
                assert error < rounded.ROUND_BAND * doubts[column] / 6


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 400, 401])
def test_any_number_of_lines(rows):
    source = SecureNoise()
    assert source.ball(Fraction(100), rows, 80).shape == (rows, 80)
    if rows:
        assert source.cylinder([Fraction(100)] * rows, Fraction(3), 80).shape == (rows, 81)
    assert (source.ball(Fraction(1, 10**6), rows, 3) == 0).all()


@pytest.mark.parametrize(
    ("scale", "dim", "words"),
    [
        (Fraction(0), 1, "positive"),
        (Fraction(1), 0, "dimensions"),
        (Fraction(1), 2**16 + 1, "dimensions"),
        (Fraction(2**45), 1, "larger epsilon"),
        (Fraction(2**44), 1000, "larger epsilon"),
    ],
)
def test_joint_noise_refuses_before_it_draws(scale, dim, words):
    for source in (SecureNoise(), NoNoise()):
        with pytest.raises(ValueError, match=words):
            source.ball(scale, 1, dim)
        with pytest.raises(ValueError, match=words):
            source.cylinder([Fraction(1), scale], Fraction(1), dim)
        with pytest.raises(ValueError, match=words):
            source.cylinder([Fraction(1)], scale, dim)
    with pytest.raises(ValueError, match=words):
        Ball(scale).check((1, dim))
    with pytest.raises(ValueError, match=words):
        Cylinder((Fraction(1), scale), Fraction(1)).check((2, dim + 1))


@pytest.mark.parametrize("scale", [1.5, "3", True, None])
def test_scales_of_joint_noise_must_be_exact(scale):
    for scales, height in (((Fraction(1), scale), Fraction(1)), ((Fraction(1),), scale)):
        with pytest.raises(TypeError, match="Fraction"):
            rounded.check_cylinder(scales, height, 2)


@pytest.mark.parametrize(("exponent", "dim"), [(44, 254), (41, 2046)])
def test_the_largest_joint_noise_fits(exponent, dim):
    draws = rounded.ball(Stream(key(6)), Fraction(2**exponent), 1, dim)
    assert 2**exponent < np.abs(draws).max() < 2**62
    with pytest.raises(ValueError, match="larger epsilon"):
        rounded.check_ball(Fraction(2**exponent) + Fraction(1, 3), dim)


def test_the_most_dimensions_can_be_drawn():
    assert rounded.ball(Stream(key(6)), Fraction(1), 1, 2**16).shape == (1, 2**16)
    assert rounded.cylinder(Stream(key(6)), [Fraction(1)], Fraction(1), 2**16)[0].size == 2**16 + 1


def test_scales_for_lines_that_are_not_there_are_refused():
    two = (Fraction(1), Fraction(2))
    for law in (
        Cylinder(two, Fraction(1)),
        PerCellNoise("laplace", two),
        PerCellNoise("gaussian", two),
    ):
        law.check((2, 3))
        for shape in ((3, 3), (2,)):
            with pytest.raises(ValueError, match="one per line"):
                law.check(shape)
    with pytest.raises(ValueError, match="at least one"):
        rounded.check_cylinder([], Fraction(1), 2)
    with pytest.raises(ValueError, match="positive"):
        PerCellNoise("laplace", (Fraction(1), Fraction(0))).check((2, 3))


def test_fitting_of_joint_noise():
    assert Ball.fitting(PURE, 49) == Ball(Fraction(21))
    odd = Ball.fitting(PURE, 2).scale
    assert 18 <= odd**2 < 18 * (1 + Fraction(1, 2**60))
    assert Cylinder.fitting(PURE, [5, 7], 4) == Cylinder((Fraction(60), Fraction(84)), Fraction(12))
    each = [Sensitivity(4, 9), Sensitivity(6, 25)]
    assert PerCellNoise.fitting(PURE, each) == PerCellNoise("laplace", (Fraction(12), Fraction(18)))
    gdp = Share("gdp", Fraction(1, 4))
    assert PerCellNoise.fitting(gdp, each) == PerCellNoise("gaussian", (Fraction(6), Fraction(10)))
    assert Cylinder.fitting(PURE, [5, 7], 4).scale == 84
    assert PerCellNoise.fitting(PURE, each).scale == 18


def test_slack_of_joint_noise_counts_every_block():
    class Counting(Stream):
        read = 0

        def words(self, size):
            self.read += -(-size // 2)
            return super().words(size)

        def blocks(self, row, places):
            self.read += len(places)
            return super().blocks(row, places)

    for dim in (1, 2, 300):
        stream = Counting(key(7))
        rounded.ball(stream, Fraction(2**40), 20, dim, band=math.inf)
        # heads are read twice when settled, and counted so here
        assert stream.read < math.sqrt(rounded.ball_slack(20, dim) * 2.0**129) * 1.4
        stream = Counting(key(7))
        rounded.cylinder(stream, [Fraction(2**40)] * 20, Fraction(1), dim, band=math.inf)
        assert stream.read < math.sqrt(rounded.cylinder_slack(20, dim) * 2.0**129) * 1.4
    assert rounded.ball_slack(1, 32_896) < rounded.ball_slack(2, 32_896) < 2.0**-90
    assert rounded.cylinder_slack(10_000, 1024) < 2.0**-75
    two = PerCellNoise("laplace", (Fraction(1), Fraction(2)))
    assert two.slack((2, 50)) == 2 * laplace_slack(50)
