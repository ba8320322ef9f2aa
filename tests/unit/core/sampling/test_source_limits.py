"""What the samplers refuse, what they accept, and what their slack counts."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.sampling import additive as samplers
from sfumato._core.sampling.additive import cube_slack, gaussian_slack, laplace_slack
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.sampling.stream import Stream


def key(number):
    return number.to_bytes(32, "big")


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_largest_scale_fits_and_the_next_is_refused(law):
    draws = getattr(SecureNoise(), law)(Fraction(samplers.MAX_SCALE), 50)
    assert np.abs(draws).max() < 2**51
    with pytest.raises(ValueError, match="larger epsilon"):
        samplers.check_scale(Fraction(samplers.MAX_SCALE) + Fraction(1, 3))
    with pytest.raises(ValueError, match=r"2\^3321"):
        getattr(SecureNoise(), law)(Fraction(10) ** 1000, 1)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1, 2)])
def test_a_scale_must_be_positive(scale):
    with pytest.raises(ValueError, match="positive"):
        samplers.check_scale(scale)


@pytest.mark.parametrize("scale", [1.5, "3", True, None])
def test_a_scale_must_be_exact(scale):
    with pytest.raises(TypeError, match="Fraction"):
        samplers.check_scale(scale)


@pytest.mark.parametrize(
    ("scale", "dim", "words"),
    [
        (Fraction(1), 0, "dimensions"),
        (Fraction(10**6), 16_384, "dimensions"),
        (Fraction(1), 21, "smaller epsilon"),
        (Fraction(2**44), 16_383, "larger epsilon"),
    ],
)
def test_cube_noise_refuses_before_it_draws(scale, dim, words):
    with pytest.raises(ValueError, match=words):
        samplers.check_cube(scale, dim)
    with pytest.raises(ValueError, match=words):
        SecureNoise().cube(scale, 1, dim)


@pytest.mark.parametrize(
    ("scale", "dim"),
    [
        (Fraction(1, 20), 1),
        (Fraction(1), 20),
        (Fraction(1000), 10_000),
        (Fraction(2**44), 2047),
        (Fraction(2**41), 16_383),
    ],
    ids=str,
)
def test_cube_noise_draws_whatever_it_does_not_refuse(scale, dim):
    samplers.check_cube(scale, dim)
    assert ((dim + 1) << len(samplers.digit_probabilities(scale))) <= 2**62
    assert SecureNoise().cube(scale, 1, dim).shape == (1, dim)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 2**15, 2**15 + 1, 2**16 + 1])
def test_any_number_of_draws(size):
    source = SecureNoise()
    assert source.laplace(Fraction(100), size).shape == (size,)
    assert source.gaussian(Fraction(100), size).shape == (size,)
    assert source.cube(Fraction(100), size, 1).shape == (size, 1)
    assert (source.laplace(Fraction(1, 1000), size) == 0).all()


def test_slack_is_tiny_grows_with_size_and_covers_the_stated_residuals():
    for bound in (laplace_slack, gaussian_slack):
        assert 0 < bound(1) < bound(1000) < bound(10**6) < 2.0**-75
    assert laplace_slack(1) > 2.0**-126
    assert 785 * 2.0**-127 < cube_slack(Fraction(1024), 1, 784) < 2.0**-85
    assert cube_slack(Fraction(2**20), 100, 10) < cube_slack(Fraction(1), 100, 10)


def test_blocks_read_stay_within_what_the_slack_counts():
    class Counting(Stream):
        read = 0

        def words(self, size):
            self.read += -(-size // 2)
            return super().words(size)

        def blocks(self, row, places):
            self.read += len(places)
            return super().blocks(row, places)

    def most(slack):
        return math.sqrt(slack * 2.0**129)

    for scale in (Fraction(1, 2), Fraction(2**20), Fraction(2**44)):
        stream = Counting(key(9))
        samplers.laplace(stream, scale, 2000)
        assert stream.read < most(laplace_slack(2000))
    stream = Counting(key(9))
    samplers.gaussian(stream, Fraction(2**44), 500)
    assert stream.read < most(gaussian_slack(500)) * 2, "heads are read twice, and counted so here"
    for scale, dim in ((Fraction(1), 6), (Fraction(2**20), 10), (Fraction(2**44), 500)):
        stream = Counting(key(9))
        samplers.cube(stream, scale, 20, dim)
        assert stream.read < most(cube_slack(scale, 20, dim))
