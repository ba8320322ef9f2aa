"""Empirical Bayes: counts and values behind noisy ones."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from sfumato._synopsis import denoise as prior
from sfumato._synopsis.denoise import counts_behind, values_behind, values_between


def error(found, truth):
    return float(np.mean((found - truth) ** 2))


def test_two_clear_counts_are_recovered():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(2000) < 0.1, 50.0, 0.0)
    found = counts_behind(truth + rng.laplace(0, 2, 2000), 2.0)
    assert np.count_nonzero(found[truth == 0]) < 20
    np.testing.assert_allclose(found[truth > 0], 50, atol=2)
    assert found.sum() == pytest.approx(truth.sum(), rel=0.01)


@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
def test_nothing_but_noise_is_taken_for_next_to_nothing(scale):
    rng = np.random.default_rng(1)
    found = counts_behind(rng.laplace(0, scale, 3000), scale)
    assert np.count_nonzero(found) <= 1
    without = counts_behind(rng.laplace(0, scale, 3000), scale, kappa=0.0, doubt=1.1)
    assert np.count_nonzero(without) > 100


def test_large_counts_stay_as_they_are():
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(2000) < 0.5, rng.geometric(1e-4, 2000), 0).astype(float)
    noisy = truth + rng.laplace(0, 2, 2000)
    found = counts_behind(noisy, 2.0)
    assert error(found, truth) < 0.7 * error(noisy, truth)
    large = noisy > 2000
    np.testing.assert_allclose(found[large], noisy[large], atol=2)


def test_more_noise_means_more_doubt():
    noisy = np.concatenate([np.zeros(500), np.full(5, 12.0)])
    assert counts_behind(noisy, 1.0)[-1] > 9
    assert counts_behind(noisy, 8.0)[-1] == 0


def test_counts_never_fall_as_the_noisy_ones_rise():
    rng = np.random.default_rng(3)
    noisy = np.sort(rng.poisson(3, 1000) * (rng.random(1000) < 0.3) + rng.laplace(0, 1.5, 1000))
    found = counts_behind(noisy, 1.5)
    assert (found >= 0).all()
    assert (np.diff(found) >= -1e-9).all()


def test_steps_of_the_prior_are_integrated_exactly():
    seen, edges, scale = np.array([0.0, 2.5, 30.0]), np.array([1.0, 2.0, 4.0, 20.0]), 1.5
    likelihood, means = prior._laplace_pieces(seen, edges, scale)
    for i, x in enumerate(seen):
        for j, (low, high) in enumerate(pairwise(edges), start=1):
            density = lambda c, x=x: np.exp(-abs(x - c) / scale) / 2
            mass = quad(density, low, high, points=[x])[0]
            moment = quad(lambda c, f=density: c * f(c), low, high, points=[x])[0]
            assert likelihood[i, j] * (high - low) / scale == pytest.approx(mass / scale)
            assert means[i, j] == pytest.approx(moment / mass)
        assert likelihood[i, 0] == pytest.approx(np.exp(-x / scale) / 2)


@pytest.mark.parametrize("noisy", [[], [5.0], [-3.0], [0.0] * 7, [-1e6, 1e9]])
def test_few_or_odd_counts(noisy):
    found = counts_behind(np.array(noisy), 1.0)
    assert found.shape == (len(noisy),)
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_counts_without_noise_are_left_alone():
    np.testing.assert_array_equal(counts_behind(np.array([-1.0, 0.0, 7.0]), 0.0), [0, 0, 7])


def test_two_clear_values_are_recovered():
    rng = np.random.default_rng(4)
    truth = rng.choice([-1.0, 2.0], 3000)
    found = values_behind(truth + rng.normal(0, 0.3, 3000), 0.3)
    assert error(found, truth) < 0.01


def test_sparse_values_lose_most_of_their_noise():
    rng = np.random.default_rng(5)
    truth = np.where(rng.random(5000) < 0.05, rng.normal(0, 3, 5000), 0.0)
    stds = rng.uniform(0.2, 1.0, 5000)
    noisy = truth + rng.normal(size=5000) * stds
    assert error(values_behind(noisy, stds), truth) < 0.2 * error(noisy, truth)


def test_each_value_is_judged_by_its_own_noise():
    rng = np.random.default_rng(6)
    noisy = np.append(rng.normal(0, 1, 400), [3.0, 3.0])
    found = values_behind(noisy, np.append(np.ones(400), [0.01, 10.0]))
    assert found[-2] == pytest.approx(3, abs=0.1)
    assert abs(found[-1]) < 1


@pytest.mark.parametrize("std", [1e-6, 1e-3, 0.02])
def test_fine_noise_leaves_values_where_they_are(std):
    rng = np.random.default_rng(7)
    truth = rng.uniform(-1, 1, 500)
    noisy = truth + rng.normal(0, std, 500)
    for found in (values_behind(noisy, std), values_between(noisy, std, -1, 1)):
        assert error(found, truth) < 1.3 * std**2


def test_values_at_the_end_of_their_range_are_found_there():
    rng = np.random.default_rng(8)
    truth = np.where(rng.random(800) < 0.5, -1.0, rng.uniform(-1, 1, 800))
    noisy = truth + rng.normal(0, 0.1, 800)
    found = values_between(noisy, 0.1, -1, 1)
    assert np.abs(found).max() <= 1
    assert error(found, truth) < 0.7 * error(noisy, truth)


def test_many_values_are_fitted_on_some_of_them(monkeypatch):
    rng = np.random.default_rng(9)
    noisy = np.where(rng.random(6000) < 0.2, rng.normal(0, 3, 6000), 0) + rng.normal(size=6000)
    all_of_them = values_behind(noisy, 1.0)
    monkeypatch.setattr(prior, "_FITTED", 1000)
    some_of_them = values_behind(noisy, 1.0)
    assert not np.array_equal(some_of_them, all_of_them)
    np.testing.assert_allclose(
        some_of_them[np.abs(noisy) < 5], all_of_them[np.abs(noisy) < 5], atol=0.1
    )


@pytest.mark.parametrize("noisy", [[], [3.0], [0.0, 0.0], [5.0, 6.0], [-1e9, 1e-9]])
@pytest.mark.parametrize("std", [0.0, 1.0])
def test_few_or_odd_values(noisy, std):
    found = values_behind(np.array(noisy), std)
    assert found.shape == (len(noisy),)
    assert np.isfinite(found).all()
