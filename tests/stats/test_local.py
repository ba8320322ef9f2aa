"""Reports of the local model against their distributions, with a false alarm rate of 1e-9 each."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from sfumato import NDLaplace, mean_displacement
from sfumato._core.local.lattice import LatticeNDLaplace
from sfumato._core.local.randomizer import Randomizer
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import Box
from tests.laws.ball_chances import chances, reports
from tests.laws.test_local import small

ALPHA = 1e-9
ROWS = 40_000
WRONG = (1.15, 1 / 1.15)


def displaced(epsilon, dim, *, units="data", key=1, rows=ROWS):
    """Reports minus their rows, in the unit that distances are measured in."""
    half = 0.5 if units == "data" else 20.0
    box = Box((-half,) * dim, (half,) * dim)
    randomizer = Randomizer(box, units=units, noise=ReplayedNoise(key))
    mechanism = LatticeNDLaplace(randomizer.lattice, Fraction(epsilon))
    X = np.tile(np.linspace(-half, half, dim + 2)[1:-1], (rows, 1))
    return (
        randomizer.perturb(X, mechanism)
        - randomizer.lattice.from_lattice(randomizer.lattice.to_lattice(X), clamp=False)
    ) / (1.0 if units == "data" else half)


def agrees(sample, cdf):
    """Kolmogorov–Smirnov, which must also reject a sample that is too wide or too narrow."""
    fits = stats.kstest(sample, cdf).pvalue > ALPHA
    return fits and all(stats.kstest(sample * wrong, cdf).pvalue < ALPHA for wrong in WRONG)


@pytest.mark.parametrize("units", ["data", "box"])
@pytest.mark.parametrize("dim", [1, 2, 3, 10])
def test_radii_are_gamma(dim, units):
    lengths = np.sqrt((displaced(20, dim, units=units) ** 2).sum(axis=1))
    assert agrees(20 * lengths, stats.gamma(dim).cdf)


def inverse_in_the_plane(p, epsilon):
    """The radius of a planar Laplace report at level p (Andrés et al. 2013, §5)."""
    return -(special.lambertw((p - 1) / math.e, -1).real + 1) / epsilon


def test_radii_in_the_plane_follow_the_lambert_w_inverse():
    levels = np.linspace(0.001, 0.999, 500)
    np.testing.assert_allclose(
        inverse_in_the_plane(levels, 20), stats.gamma(2, scale=1 / 20).ppf(levels), rtol=1e-9
    )
    lengths = np.sort(np.sqrt((displaced(20, 2, key=2) ** 2).sum(axis=1)))
    wanted = inverse_in_the_plane((np.arange(ROWS) + 0.5) / ROWS, 20)

    def distance(found):
        return stats.ks_2samp(found, wanted, method="asymp").pvalue

    assert distance(lengths) > ALPHA
    for wrong in WRONG:
        assert distance(lengths * wrong) < ALPHA


def test_directions_are_uniform_on_the_whole_circle():
    moved = displaced(20, 2, key=3)
    angles = np.arctan2(moved[:, 1], moved[:, 0])
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > ALPHA
    quarter = np.abs(moved)
    angles = np.arctan2(quarter[:, 1], quarter[:, 0])
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue < ALPHA


def test_directions_are_uniform_on_the_sphere():
    moved = displaced(20, 3, key=4)
    heights = moved[:, 2] / np.sqrt((moved**2).sum(axis=1))
    assert stats.kstest(heights, stats.uniform(-1, 2).cdf).pvalue > ALPHA
    angles = np.arctan2(moved[:, 1], moved[:, 0])
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > ALPHA


def test_directions_in_ten_dimensions():
    moved = displaced(20, 10, key=5)
    lengths = np.sqrt((moved**2).sum(axis=1))
    for column in range(10):
        share = (moved[:, column] / lengths) ** 2
        assert stats.kstest(share, stats.beta(0.5, 4.5).cdf).pvalue > ALPHA
    corners = np.bincount((moved > 0) @ (1 << np.arange(10)), minlength=1024)
    assert stats.chisquare(corners).pvalue > ALPHA


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_mean_displacement_is_the_measured_one(dim):
    """A mean of ROWS Gamma(d) lengths, within 6.2 deviations: 1e-9 on both sides."""
    lengths = np.sqrt((displaced(20, dim, key=6) ** 2).sum(axis=1))
    off = 6.2 * math.sqrt(dim) / 20 / math.sqrt(ROWS)
    assert mean_displacement(20, dim) == dim / 20
    assert abs(lengths.mean() - mean_displacement(20, dim)) < off
    for wrong in WRONG:
        assert abs(lengths.mean() * wrong - mean_displacement(20, dim)) > off


def p_value(drawn, law):
    """Chi-square over the points of a small box, those that expect few draws merged into one."""
    reach = [side // 2 for side in law.shape]
    seen = np.zeros(law.shape)
    np.add.at(seen, tuple((drawn + reach).T), 1)
    hoped = law * len(drawn)
    often = hoped >= 25
    assert often.sum() > 3
    seen = np.append(seen[often], len(drawn) - seen[often].sum())
    hoped = np.append(hoped[often], len(drawn) - hoped[often].sum())
    kept = hoped > 1e-6
    return stats.chi2.sf(((seen - hoped)[kept] ** 2 / hoped[kept]).sum(), kept.sum() - 1)


@pytest.mark.parametrize("row", [(0, 0), (4, 3), (-4, 1)])
@pytest.mark.parametrize("kind", ["clamp", "resample"])
def test_truncated_reports_follow_their_enumerated_law(row, kind):
    mechanism = small(2, resample=kind == "resample")
    noise = ReplayedNoise(7)
    # Few rows in a call get several draws at once, many rows get one.
    sizes = [ROWS // 2, *[500] * (ROWS // 1000)]
    drawn = np.concatenate([mechanism.draw(noise, np.tile(row, (size, 1))) for size in sizes])
    if kind == "clamp":
        drawn = np.clip(drawn, -mechanism.lattice.reach, mechanism.lattice.reach)

    def exact(scale):
        return reports(chances(scale, 2, 16 + math.ceil(20 * scale)), row, (4, 3), kind)

    # By hand: steps of 1/2, ε = 2 per unit, so a scale of 1 step; of 2 if half of ε is drawn with.
    scale = 2.0 if kind == "resample" else 1.0
    assert p_value(drawn, exact(scale)) > ALPHA
    wrong = (2.0, 0.5) if kind == "resample" else WRONG
    for factor in wrong:
        assert p_value(drawn, exact(scale * factor)) < ALPHA


def test_rows_have_noise_of_their_own():
    """Neither neighbours in a block nor two calls share noise."""
    X = np.zeros((ROWS, 2))
    model = NDLaplace(epsilon=20, bounds=(-1, 1), truncation="none").fit(X)
    first, second = model.transform(X), model.transform(X)
    assert len(np.unique(first, axis=0)) > ROWS * 0.99
    limit = 6.5 / math.sqrt(ROWS)
    assert abs(stats.spearmanr(first[:, 0], second[:, 0]).statistic) < limit
    assert abs(stats.spearmanr(first[1:, 0], first[:-1, 0]).statistic) < limit
