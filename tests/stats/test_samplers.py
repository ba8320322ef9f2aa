"""The samplers against their exact laws. Every assertion has a false alarm rate of 1e-9."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from sfumato._core.sampling.source import SecureNoise
from sfumato._core.testing import ReplayedNoise

ALPHA = 1e-9
DRAWS = 100_000
LEAST = 25
WRONG = (Fraction(115, 100), Fraction(100, 115))
SCALES = [Fraction(1, 2), Fraction(7, 2), Fraction(40), Fraction(2**20)]
CUBES = [(1, Fraction(5, 2)), (2, Fraction(3, 2)), (2, Fraction(4)), (3, Fraction(1))]


def laplace_cdf(scale):
    q = math.exp(-1 / float(scale))

    def cdf(z):
        tail = np.exp(-np.abs(np.where(z >= 0, z + 1, z)) / float(scale)) / (1 + q)
        return np.where(z >= 0, 1 - tail, tail)

    return cdf


def gaussian_cdf(sigma):
    return lambda z: stats.norm.cdf((z + 0.5) / float(sigma))


def p_value(observed, expected):
    """Chi-square over cells merged, in order, until each expects LEAST draws."""
    cells, count, weight = [], 0, 0.0
    for seen, hoped in zip(observed, expected, strict=True):
        count, weight = count + seen, weight + hoped
        if weight >= LEAST:
            cells.append((count, weight))
            count, weight = 0, 0.0
    cells[-1] = (cells[-1][0] + count, cells[-1][1] + weight)
    seen, hoped = np.array(cells).T
    return stats.chi2.sf(((seen - hoped) ** 2 / hoped).sum(), len(cells) - 1)


def line_p_value(draws, scale, cdf):
    edges = np.unique(np.rint(float(scale) * np.linspace(-8, 8, 81)))
    observed = np.histogram(draws, np.concatenate([[-np.inf], edges + 0.5, [np.inf]]))[0]
    expected = draws.size * np.diff(cdf(edges), prepend=0.0, append=1.0)
    return p_value(observed, expected)


def cube_p_value(draws, scale):
    dim = draws.shape[1]
    shells = np.arange(1000.0)
    sizes = (2 * shells + 1) ** dim - np.where(shells > 0, 2 * shells - 1, 0) ** dim
    total = (sizes * np.exp(-shells / float(scale))).sum()
    reach = math.ceil(6 * scale)
    points = np.array(list(product(range(-reach, reach + 1), repeat=dim)))
    inside = draws[np.abs(draws).max(axis=1) <= reach] + reach
    flat = np.ravel_multi_index(tuple(inside.T), (2 * reach + 1,) * dim)
    observed = np.bincount(flat, minlength=len(points))
    expected = len(draws) * np.exp(-np.abs(points).max(axis=1) / float(scale)) / total
    return p_value(
        np.append(observed, len(draws) - observed.sum()),
        np.append(expected, len(draws) - expected.sum()),
    )


def check_laplace(noise, scale):
    draws = noise.laplace(scale, DRAWS)
    assert draws.dtype == np.int64
    assert line_p_value(draws, scale, laplace_cdf(scale)) > ALPHA
    for factor in WRONG:
        assert line_p_value(draws, scale, laplace_cdf(scale * factor)) < ALPHA


def check_gaussian(noise, sigma):
    draws = noise.gaussian(sigma, DRAWS)
    assert draws.dtype == np.int64
    assert line_p_value(draws, sigma, gaussian_cdf(sigma)) > ALPHA
    for factor in WRONG:
        assert line_p_value(draws, sigma, gaussian_cdf(sigma * factor)) < ALPHA


def check_cube(noise, dim, scale):
    draws = noise.cube(scale, DRAWS, dim)
    assert draws.dtype == np.int64
    assert draws.shape == (DRAWS, dim)
    assert cube_p_value(draws, scale) > ALPHA
    for factor in WRONG:
        assert cube_p_value(draws, scale * factor) < ALPHA


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_guarantee_of_laplace(scale):
    check_laplace(ReplayedNoise(1), scale)


@pytest.mark.parametrize("sigma", SCALES, ids=str)
def test_guarantee_of_gaussian(sigma):
    check_gaussian(ReplayedNoise(2), sigma)


@pytest.mark.parametrize(("dim", "scale"), CUBES, ids=str)
def test_guarantee_of_cube(dim, scale):
    check_cube(ReplayedNoise(3), dim, scale)


def test_guarantees_with_secret_keys():
    check_laplace(SecureNoise(), Fraction(7, 2))
    check_gaussian(SecureNoise(), Fraction(7, 2))
    check_cube(SecureNoise(), 2, Fraction(3, 2))


@pytest.mark.parametrize(("dim", "rows"), [(10, 20_000), (300, 600)])
def test_norm_of_cube_noise_is_gamma_at_a_large_scale(dim, rows):
    norms = np.abs(ReplayedNoise(4).cube(Fraction(2**20), rows, dim)).max(axis=1)
    assert stats.kstest(norms / 2.0**20, stats.gamma(dim).cdf).pvalue > ALPHA
    for factor in (1.15, 1 / 1.15):
        assert stats.kstest(norms / 2.0**20 * factor, stats.gamma(dim).cdf).pvalue < ALPHA


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_low_bits_are_fair_at_the_largest_scale(law):
    draws = getattr(ReplayedNoise(5), law)(Fraction(2**44), 4000)
    counts = np.bincount(draws % 16, minlength=16)
    assert stats.chisquare(counts).pvalue > ALPHA


def test_a_tiny_scale_is_a_law_on_three_points():
    scale = Fraction(1, 6)
    draws = ReplayedNoise(6).laplace(scale, DRAWS)
    q = math.exp(-6)
    rest = DRAWS * 2 * q / (1 + q)
    assert stats.poisson.sf(np.count_nonzero(draws) - 1, rest) > ALPHA / 2
    assert stats.poisson.cdf(np.count_nonzero(draws), rest) > ALPHA / 2


def test_shell_law_of_the_cube_in_rational_arithmetic():
    """Uniform on full cubes with P(m) ~ (2m + 1)^dim q^m is exactly q^max|z| / normalisation."""
    q, top = Fraction(3, 5), 100
    for dim in (1, 2, 3, 4):
        norm = sum((2 * m + 1) ** dim * q**m for m in range(top))
        shells = [(2 * m + 1) ** dim - max(2 * m - 1, 0) ** dim for m in range(1, top)]
        total = 1 + sum(size * q**m for m, size in enumerate(shells, 1))
        for radius in range(10):
            mixed = sum(q**m for m in range(radius, top)) / norm
            assert abs(mixed * total / q**radius - 1) < Fraction(1, 10**12)


@pytest.mark.parametrize("dim", [1, 2, 5, 9])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(50)], ids=str)
def test_cube_acceptance_is_at_least_its_bound(dim, scale):
    """Acceptance is (1 - q)^(dim + 1) / (2^dim dim!) times the sum of (2m + 1)^dim q^m."""
    q = math.exp(-1 / float(scale))
    terms = [(2 * m + 1) ** dim * q**m for m in range(int(60 * scale * (dim + 1)) + 60)]
    acceptance = math.fsum(terms) * (1 - q) ** (dim + 1) / (2**dim * math.factorial(dim))
    assert math.exp(-dim / (2 * float(scale))) <= acceptance <= 1


@pytest.mark.long
def test_p_values_are_uniform_over_keys():
    scale = Fraction(7, 2)
    values = {"laplace": [], "gaussian": [], "cube": []}
    for key in range(300):
        noise = ReplayedNoise(10_000 + key)
        values["laplace"].append(
            line_p_value(noise.laplace(scale, DRAWS), scale, laplace_cdf(scale))
        )
        values["gaussian"].append(
            line_p_value(noise.gaussian(scale, DRAWS), scale, gaussian_cdf(scale))
        )
        values["cube"].append(cube_p_value(noise.cube(scale, DRAWS, 2), scale))
    for found in values.values():
        assert stats.kstest(found, "uniform").pvalue > ALPHA
