"""Intervals against the true law of the noise, over many draws."""

import numpy as np
import pytest

from sfumato._core.mechanisms import Cube
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato._quality.intervals import CubeNoise, GaussianNoise, ratio_interval, spread_of

RUNS = 4000


def lines_of(kind, k, std, seed):
    """Noise of deviation std, in rows, on k lines of three numbers, RUNS times."""
    if kind == "gaussian":
        return np.random.default_rng(seed).normal(0, std, (RUNS, k, 3))
    scale = round(std * REACH / np.sqrt(20 / 3))
    drawn = Cube(scale).draw(ReplayedNoise(seed), (RUNS * k, 3))
    return drawn.reshape(RUNS, k, 3) / REACH


NOISES = {"gaussian": GaussianNoise, "cube": CubeNoise}
kinds = pytest.mark.parametrize("kind", NOISES)


@kinds
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("k", [1, 5])
def test_quantiles_are_those_of_the_noise(kind, level, k):
    """Seeded: the share of draws beyond is the same in every run."""
    weights = np.random.default_rng(k).uniform(-1, 1, (k, 3))
    sums = np.einsum("nkj,kj->n", lines_of(kind, k, 50.0, 3), weights)
    inside = (np.abs(sums) <= NOISES[kind](50.0).quantile(weights, level)).mean()
    assert abs(inside - level) < 0.02


@kinds
@pytest.mark.parametrize("size", [2000.0, 150.0, 20.0])
def test_ratios_are_covered_also_where_the_denominator_drowns(kind, size):
    true, level = 0.3, 0.9
    top, bottom = np.array([[0.0, 1, 0]]), np.array([[1.0, 0, 0]])
    spread = spread_of(NOISES[kind](50.0), top, bottom, (-1.0, 1.0), level)
    noise = lines_of(kind, 1, 50.0, 5)[:1000, 0]
    found = np.array(
        [ratio_interval(true * size + b, size + a, (-1.0, 1.0), spread) for a, b, _ in noise]
    )
    covered = ((found[:, 1] <= true) & (true <= found[:, 2])).mean()
    assert covered > level - 0.04
    if size == 2000:
        assert covered < level + 0.04
        assert (found[:, 2] - found[:, 1]).max() < 0.12


def test_what_cannot_be_is_not_claimed():
    spread = spread_of(GaussianNoise(1.0), np.eye(1, 3, 1), np.eye(1, 3), (0.0, 1.0), 0.95)
    assert ratio_interval(5.0, -3.0, (0.0, 1.0), spread) == (0.5, 0.0, 1.0)
    assert ratio_interval(900.0, 100.0, (0.0, 1.0), spread) == (1.0, 1.0, 1.0)
    value, low, high = ratio_interval(100.5, 100.0, (0.0, 1.0), spread)
    assert value == high == 1.0
    assert 0.9 < low < 1
