"""Densities of mixtures, points of blobs, and EM on them."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from sfumato._synopsis.mixture import (
    Mixture,
    Points,
    check_covariance_type,
    fit_mixture,
    log_sums,
    of_type,
    points_of,
)

MIXTURE = Mixture(
    np.array([0.3, 0.7]),
    np.array([[0.0, 0.0, 1.0], [4.0, 1.0, -1.0]]),
    np.array([np.diag([1.0, 2.0, 0.5]), [[1.0, 0.4, 0.0], [0.4, 1.0, 0.2], [0.0, 0.2, 2.0]]]),
)


def test_log_densities_are_those_of_scipy():
    points = np.random.default_rng(0).normal(size=(20, 3))
    found = MIXTURE.log_densities(points)
    for j in (0, 1):
        law = multivariate_normal(MIXTURE.means[j], MIXTURE.covariances[j])
        np.testing.assert_allclose(found[:, j], np.log(MIXTURE.weights[j]) + law.logpdf(points))
    points[3, 1] = np.nan
    law = multivariate_normal(MIXTURE.means[1][[0, 2]], MIXTURE.covariances[1][[0, 2]][:, [0, 2]])
    expected = np.log(0.7) + law.logpdf(points[3, [0, 2]])
    assert MIXTURE.log_densities(points)[3, 1] == pytest.approx(expected)


def test_log_sums_do_not_overflow():
    values = np.array([[1000.0, 1000.0], [-1000.0, -1000.0]])
    np.testing.assert_allclose(log_sums(values), [1000 + np.log(2), -1000 + np.log(2)])


def test_points_have_exactly_the_moments_of_their_blobs():
    points = points_of(MIXTURE, 500, np.random.default_rng(0))
    assert points.weights.sum() == pytest.approx(1)
    whole = np.average(points.places, axis=0, weights=points.weights)
    np.testing.assert_allclose(whole, MIXTURE.weights @ MIXTURE.means)
    apart = points.places - whole
    spread = (apart.T * points.weights) @ apart
    between = MIXTURE.means - whole
    expected = np.einsum("b,bij->ij", MIXTURE.weights, MIXTURE.covariances)
    expected += (between.T * MIXTURE.weights) @ between
    np.testing.assert_allclose(spread, expected)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_em_is_as_likely_as_that_of_scikit_learn(kind):
    rows, _ = MIXTURE.sample(3000, np.random.default_rng(1))
    best = GaussianMixture(2, covariance_type=kind, random_state=0, tol=1e-6).fit(rows)
    points = Points(rows, np.full(len(rows), 1 / len(rows)))
    found = fit_mixture(points, 2, kind, np.random.default_rng(0))
    assert log_sums(found.log_densities(rows)).mean() > best.score(rows) - 1e-3
    for covariance in found.covariances:
        np.testing.assert_allclose(of_type(covariance, kind), covariance)


def test_em_survives_points_that_are_all_alike():
    points = Points(np.zeros((50, 2)), np.ones(50))
    found = fit_mixture(points, 3, "full", np.random.default_rng(0))
    np.linalg.cholesky(found.covariances)
    assert np.isfinite(found.means).all()


def test_a_moved_mixture_has_moved_points():
    matrix, offset = np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 3.0, 1.0]]), np.arange(3.0)
    moved = MIXTURE.moved(matrix, offset)
    points = np.random.default_rng(0).normal(size=(10, 3))
    there = points @ matrix.T + offset
    log_det = np.log(abs(np.linalg.det(matrix)))
    expected = MIXTURE.log_densities(points) - log_det
    np.testing.assert_allclose(moved.log_densities(there), expected)


def test_unknown_types_are_refused():
    with pytest.raises(ValueError, match="full, diag, spherical"):
        check_covariance_type("tied")
