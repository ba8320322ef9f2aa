"""Deviations that hold a part of the noise, and means with error bars, against the samplers."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.testing import ReplayedNoise
from sfumato._uncertainty import (
    Errors,
    Estimate,
    NoisyCounts,
    deviations,
    joined_errors,
    of_ratio,
)

N = 20_000


def drawn(law, columns):
    """One number of the noise that a law is about, from the samplers, in deviations."""
    noise, scale = ReplayedNoise(5), Fraction(1000)
    if law == "gaussian":
        return noise.gaussian(scale, N) / 1000
    if law == "laplace":
        return noise.laplace(scale, N) / (1000 * 2**0.5)
    if law == "cube":
        found = noise.cube(scale, N, columns + 1)[:, 0]
        return found / (1000 * ((columns + 2) * (columns + 3) / 3) ** 0.5)
    lines = noise.cylinder((scale,) * N, Fraction(1000), columns)
    return lines[:, 1] / (1000 * (columns + 3) ** 0.5)


@pytest.mark.parametrize("law", ["gaussian", "laplace", "cube", "ball"])
@pytest.mark.parametrize("columns", [1, 2, 8])
def test_deviations_hold_their_part_of_the_noise(law, columns):
    found = np.abs(drawn(law, columns))
    for level in (0.5, 0.95, 0.99):
        # Replayed noise: five deviations of a share of N draws.
        doubt = 5 * (level * (1 - level) / N) ** 0.5
        assert abs((found <= deviations(law, columns, level)).mean() - level) < doubt


def test_a_mean_has_the_noise_of_its_sum_and_its_count():
    counts = NoisyCounts(np.array([100.0, 50.0]), 2.0)
    values, stds = of_ratio(
        np.array([[300.0], [0.0]]), 4.0, counts, start=np.array([[1.0], [2.0]]), widest=9.0
    )
    assert values.tolist() == [[4.0], [2.0]]
    assert stds[:, 0] == pytest.approx([np.hypot(4, 3 * 2) / 100, 4 / 50])


def test_a_count_within_its_noise_says_nothing():
    counts = NoisyCounts(np.array([7.9, -3.0, 8.1]), 2.0)
    start = np.array([[1.0], [2.0], [3.0]])
    values, stds = of_ratio(np.full((3, 1), 5.0), 1e-9, counts, start=start, widest=9.0)
    assert values[:2].tolist() == [[1.0], [2.0]]
    assert stds[:2].tolist() == [[9.0], [9.0]]
    assert values[2, 0] == pytest.approx(3 + 5 / 8.1)


def test_intervals_widen_with_the_level_and_are_around_the_values():
    bars = Estimate(np.array([[1.0, 2.0]]), np.array([[0.5, 0.0]]), "gaussian")
    near, far = bars.interval(0.5), bars.interval(0.99)
    assert near.shape == (1, 2, 2)
    assert near.mean(axis=-1) == pytest.approx(np.array([[1.0, 2.0]]))
    assert far[0, 0, 1] > near[0, 0, 1]
    assert far[0, 1].tolist() == [2.0, 2.0]
    assert far[0, 0, 1] - 1 == pytest.approx(0.5 * 2.5758, abs=1e-4)


def test_repeated_centres_divide_their_sizes():
    errors = Errors(
        Estimate(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), "laplace"),
        Estimate(np.array([10.0, 20.0]), np.array([2.0, 2.0]), "laplace"),
    )
    again = errors.take(np.array([0, 1, 1]), np.array([1, 2, 2]))
    assert again.centers.values.ravel().tolist() == [1.0, 2.0, 2.0]
    assert again.centers.stds.ravel().tolist() == [3.0, 4.0, 4.0]
    assert again.sizes.values.tolist() == [10.0, 10.0, 10.0]
    assert again.sizes.stds.tolist() == [2.0, 1.0, 1.0]
    assert errors.times(3.0).sizes.stds.tolist() == [6.0, 6.0]
    assert Errors(None, None).take(np.array([0]), np.array([1])) == Errors(None, None)


def test_error_bars_come_back_from_plain_values():
    errors = Errors(None, Estimate(np.array([10.0, 20.0]), np.array([2.0, 2.5]), "cube", columns=4))
    again = Errors.from_dict(errors.to_dict(), 2, 7)
    assert again.centers is None
    assert again.to_dict() == errors.to_dict()
    with pytest.raises(TypeError):
        Errors.from_dict(errors.to_dict(), 3, 7)
    wrong = {"centers": None, "sizes": {**errors.to_dict()["sizes"], "law": "none"}}
    with pytest.raises(TypeError, match="law of noise"):
        Errors.from_dict(wrong, 2, 7)


def test_clusters_of_clusters_move_as_their_parts_do():
    """The deviations are those of many draws of the noise of the parts."""
    rng, own = np.random.default_rng(0), np.array([0, 1, 0, 1, 0])
    places, rows = rng.uniform(-9, 9, (5, 2)), rng.uniform(500, 900, 5)
    stds, counts = np.full((5, 2), 0.3), np.full(5, 20.0)
    parts = Errors(Estimate(places, stds, "cube", 2), Estimate(rows, counts, "cube", 2))
    found = joined_errors(parts, own, 2)
    drawn = []
    for _ in range(4000):
        weights = rows + rng.normal(0, counts)
        moved = (places + rng.normal(0, stds)) * weights[:, None]
        wholes = [weights[own == i].sum() for i in (0, 1)]
        means = [moved[own == i].sum(axis=0) / wholes[i] for i in (0, 1)]
        drawn.append(np.concatenate([*means, wholes]))
    seen = np.std(drawn, axis=0)
    np.testing.assert_allclose(np.ravel(found.centers.stds), seen[:4], rtol=0.1)
    np.testing.assert_allclose(found.sizes.stds, seen[4:], rtol=0.1)
    assert joined_errors(Errors(None, parts.sizes), own, 2) is None
