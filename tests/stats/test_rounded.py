"""Rounded ball and cylinder noise against their exact laws, at a false alarm rate of 1e-9."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from sfumato._core.mechanisms import Ball, Cylinder, PerCellNoise
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.testing import ReplayedNoise

ALPHA = 1e-9
DRAWS = 100_000
LEAST = 25
WRONG = (1.15, 1 / 1.15)

BALLS = [(1, 0.5), (1, 4.0), (2, 0.4), (2, 2.0), (3, 1.0)]
CYLINDERS = [(1, 2.0, 1.5), (1, 0.5, 3.0), (2, 1.0, 0.5), (2, 0.5, 0.75)]
"""Dimension, scale of the sums, height."""


def ball_norm(scale):
    return lambda points: np.sqrt((points**2).sum(axis=-1)) / scale


def cylinder_norm(scale, height):
    def norm(points):
        sums = np.sqrt((points[..., 1:] ** 2).sum(axis=-1))
        return np.maximum(sums / scale, np.abs(points[..., 0]) / height)

    return norm


def cells(norm, dim, volume, reach):
    """Probability of each point of {-reach ... reach}^dim: the density over its unit cell.

    Each side is cut in half, for the norm has a kink at zero. A body of that volume has the
    density exp(-norm) / (volume dim!).
    """
    nodes, weights = np.polynomial.legendre.leggauss(40 if dim < 3 else 8)
    nodes = np.concatenate([nodes - 1, nodes + 1]) / 4
    weights = np.concatenate([weights, weights]) / 4
    grid = np.stack(np.meshgrid(*[nodes] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    weight = math.prod(np.meshgrid(*[weights] * dim, indexing="ij")).ravel()
    points = np.array(list(product(range(reach + 1), repeat=dim)), float)
    corner = np.array([(weight * np.exp(-norm(point + grid))).sum() for point in points])
    corner = corner.reshape((reach + 1,) * dim) / (volume * math.factorial(dim))
    return corner[np.ix_(*[np.abs(np.arange(-reach, reach + 1))] * dim)]


def p_value(draws, chances):
    """Chi-square over cells, those that expect few draws merged into one."""
    reach, dim = chances.shape[0] // 2, chances.ndim
    inside = draws[np.abs(draws).max(axis=1) <= reach] + reach
    seen = np.bincount(np.ravel_multi_index(tuple(inside.T), chances.shape), minlength=chances.size)
    hoped = len(draws) * chances.ravel()
    often = hoped >= LEAST
    assert dim == draws.shape[1]
    assert often.sum() > 5
    seen = np.append(seen[often], len(draws) - seen[often].sum())
    hoped = np.append(hoped[often], len(draws) - hoped[often].sum())
    return stats.chi2.sf(((seen - hoped) ** 2 / hoped).sum(), often.sum())


def ball_p_value(draws, dim, scale):
    unit = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    reach = math.ceil(scale * (12, 8, 6)[dim - 1]) + 1
    return p_value(draws, cells(ball_norm(scale), dim, unit * scale**dim, reach))


def cylinder_p_value(draws, dim, scale, height):
    unit = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    reach = math.ceil(max(scale, height) * (8, 6)[dim - 1]) + 1
    volume = unit * scale**dim * 2 * height
    return p_value(draws, cells(cylinder_norm(scale, height), dim + 1, volume, reach))


def check_ball(noise, dim, scale):
    draws = noise.ball(Fraction(scale), DRAWS, dim)
    assert draws.dtype == np.int64
    assert draws.shape == (DRAWS, dim)
    assert ball_p_value(draws, dim, scale) > ALPHA
    for factor in WRONG:
        assert ball_p_value(draws, dim, scale * factor) < ALPHA


def check_cylinder(noise, dim, scale, height):
    draws = noise.cylinder([Fraction(scale)] * DRAWS, Fraction(height), dim)
    assert draws.dtype == np.int64
    assert draws.shape == (DRAWS, dim + 1)
    assert cylinder_p_value(draws, dim, scale, height) > ALPHA
    for factor in WRONG:
        assert cylinder_p_value(draws, dim, scale * factor, height) < ALPHA
        assert cylinder_p_value(draws, dim, scale, height * factor) < ALPHA


@pytest.mark.parametrize(("dim", "scale"), BALLS)
def test_guarantee_of_ball(dim, scale):
    check_ball(ReplayedNoise(11), dim, scale)


@pytest.mark.parametrize(("dim", "scale", "height"), CYLINDERS)
def test_guarantee_of_cylinder(dim, scale, height):
    check_cylinder(ReplayedNoise(12), dim, scale, height)


def test_guarantees_with_secret_keys():
    check_ball(SecureNoise(), 2, 2.0)
    check_cylinder(SecureNoise(), 1, 2.0, 1.5)


def test_probabilities_of_cells_add_up():
    """The quadrature itself: in one dimension against the closed form, in all to one."""
    inner = 1 - math.exp(-0.5 / 4)
    assert cells(ball_norm(4.0), 1, 8.0, 200)[200] == pytest.approx(inner, rel=1e-12)
    assert cells(ball_norm(1.0), 2, math.pi, 30).sum() == pytest.approx(1, abs=1e-7)
    assert cells(ball_norm(0.5), 3, math.pi / 6, 12).sum() == pytest.approx(1, abs=1e-6)
    assert cells(cylinder_norm(0.5, 0.7), 2, 1.4, 30).sum() == pytest.approx(1, abs=1e-5)


def agrees(sample, cdf):
    """Kolmogorov-Smirnov, which must also reject a sample that is too wide or too narrow."""
    fits = stats.kstest(sample, cdf).pvalue > ALPHA
    return fits and all(stats.kstest(sample * wrong, cdf).pvalue < ALPHA for wrong in WRONG)


@pytest.mark.parametrize(("dim", "rows"), [(1, 20_000), (2, 20_000), (7, 20_000), (10, 20_000)])
def test_length_and_direction_of_ball_noise(dim, rows):
    draws = ReplayedNoise(13).ball(Fraction(2**20), rows, dim) / 2.0**20
    lengths = np.sqrt((draws**2).sum(axis=1))
    assert agrees(lengths, stats.gamma(dim).cdf)
    assert stats.binomtest(int((draws[:, -1] > 0).sum()), rows).pvalue > ALPHA
    if dim > 1:
        towards = stats.beta(0.5, (dim - 1) / 2).cdf
        for column in (0, 1, dim - 1):
            share = (draws[:, column] / lengths) ** 2
            assert stats.kstest(share, towards).pvalue > ALPHA
            assert abs(stats.spearmanr(share, lengths).statistic) < 6.5 / math.sqrt(rows)
        corners = (draws[:, :2] > 0) @ [1, 2]
        assert stats.chisquare(np.bincount(corners, minlength=4)).pvalue > ALPHA


@pytest.mark.parametrize(("dim", "rows"), [(701, 800), (32_896, 6)])
def test_length_of_ball_noise_in_many_dimensions(dim, rows):
    """Lengths add up to a gamma number; each coordinate squared is 1 / dim of them."""
    draws = ReplayedNoise(14).ball(Fraction(2**20), rows, dim) / 2.0**20
    lengths = np.sqrt((draws**2).sum(axis=1))
    tail = stats.gamma(rows * dim).cdf(lengths.sum())
    assert ALPHA / 2 < tail < 1 - ALPHA / 2
    for wrong in WRONG:
        assert not ALPHA / 2 < stats.gamma(rows * dim).cdf(lengths.sum() * wrong) < 1 - ALPHA / 2
    cosines = (draws / lengths[:, None] * math.sqrt(dim)).ravel()
    assert stats.kstest(cosines, "norm").pvalue > ALPHA


def count_cdf(dim):
    """P(G V <= x) of a gamma number of dim + 2 and a uniform one."""
    return lambda x: stats.gamma.cdf(x, dim + 2) + x / (dim + 1) * stats.gamma.sf(x, dim + 1)


def sums_cdf(dim):
    """P(G V^(1/dim) <= x)."""

    def cdf(x):
        power = np.exp(dim * np.log(x) - math.lgamma(dim + 2))
        return stats.gamma.cdf(x, dim + 2) + power * stats.gamma.sf(x, 2)

    return cdf


@pytest.mark.parametrize(("dim", "lines"), [(1, 20_000), (2, 20_000), (5, 20_000), (60, 4000)])
def test_cylinder_noise_with_a_scale_for_every_line(dim, lines):
    scales = [Fraction(2**12 * (3 * j % 101 + 1), 3) for j in range(lines)]
    height = Fraction(2**10, 7)
    draws = ReplayedNoise(15).cylinder(scales, height, dim)
    counts = draws[:, 0] / float(height)
    sums = draws[:, 1:] / np.array([float(scale) for scale in scales])[:, None]
    lengths = np.sqrt((sums**2).sum(axis=1))
    assert agrees(np.abs(counts), count_cdf(dim))
    assert agrees(lengths, sums_cdf(dim))
    assert agrees(np.maximum(lengths, np.abs(counts)), stats.gamma(dim + 1).cdf)
    assert stats.binomtest(int((counts > 0).sum()), lines).pvalue > ALPHA
    for part in (slice(0, lines // 2), slice(lines // 2, None)):
        assert stats.kstest(lengths[part], sums_cdf(dim)).pvalue > ALPHA
    if dim > 1:
        towards = stats.beta(0.5, (dim - 1) / 2).cdf
        for column in (0, dim - 1):
            assert stats.kstest((sums[:, column] / lengths) ** 2, towards).pvalue > ALPHA


def variance_fits(sample, std):
    """Whether the mean square is within 6.1 of its own deviations: 1e-9 on both sides."""
    squares = sample.astype(float) ** 2
    return abs(squares.mean() - std**2) < 6.1 * squares.std() / math.sqrt(squares.size)


@pytest.mark.parametrize("dim", [1, 2, 3, 8])
def test_stated_deviations(dim):
    lines = 60_000
    noise = ReplayedNoise(16)
    drawn = {
        "ball": (Ball(Fraction(1, 2)), lambda law, f: law.std_in(dim) * f, (lines, dim), 0),
        "sums": (
            Cylinder((Fraction(2, 3),) * lines, Fraction(9)),
            lambda law, f: law.std_in(dim) * f,
            (lines, dim + 1),
            dim,
        ),
        "count": (
            Cylinder((Fraction(9),) * lines, Fraction(2, 3)),
            lambda law, f: law.count_std_in(dim) * f,
            (lines, dim + 1),
            0,
        ),
    }
    for law, std, shape, column in drawn.values():
        sample = law.draw(noise, shape)[:, column]
        assert variance_fits(sample, std(law, 1.0))
        for wrong in WRONG:
            assert not variance_fits(sample, std(law, wrong))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_lines_have_the_noise_of_their_scale(law):
    few = [Fraction(5), Fraction(900, 7), Fraction(5), Fraction(40_000)]
    draws = PerCellNoise(law, tuple(few)).draw(ReplayedNoise(17), (4, 40_000))
    for line, scale in zip(draws, few, strict=True):
        alone = PerCellNoise(law, (scale,))
        assert variance_fits(line, alone.std)
        for wrong in WRONG:
            assert not variance_fits(line, alone.std * wrong)
    assert not np.array_equal(draws[0], draws[2])
