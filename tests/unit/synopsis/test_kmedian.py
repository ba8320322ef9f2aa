"""k-median on points with weights of at least 0."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sfumato._synopsis import kmedian
from sfumato._synopsis.kmeans import Weighted, weighted_kmeans
from sfumato._synopsis.kmedian import Points, weighted_kmedian, weiszfeld

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def cost_of(points, weights, centers, widths=0.0):
    gaps = ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1)
    return float(weights @ np.sqrt(gaps + widths))


def rng_of(seed):
    return np.random.default_rng(seed)


def test_one_centre_on_a_line_is_the_weighted_median():
    points = np.array([[0.0], [1.0], [2.0], [3.0], [50.0]])
    weights = np.array([1.0, 1.0, 4.0, 1.0, 2.0])
    found, cost = weighted_kmedian(points, weights, 1, rng_of(0))
    assert found[0, 0] == pytest.approx(2, abs=1e-3)
    assert cost == pytest.approx(2 + 1 + 1 + 96, abs=1e-3)


def test_one_centre_of_a_triangle_is_its_fermat_point():
    found, cost = weighted_kmedian(CORNERS, np.ones(3), 1, rng_of(0))
    # All sides are seen at 120°: Σ of unit vectors is 0.
    arms = CORNERS - found
    units = arms / np.sqrt((arms**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(units.sum(axis=0), 0, atol=0.01)
    assert cost == pytest.approx((1 + np.sqrt(3)) / np.sqrt(2), rel=1e-4)


def test_a_heavy_corner_is_the_median():
    found, _ = weighted_kmedian(CORNERS, np.array([1.0, 5.0, 1.0]), 1, rng_of(0))
    np.testing.assert_allclose(found, CORNERS[1:2], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_division_of_few_points_costs_less(seed):
    rng = rng_of(seed)
    points, weights = rng.uniform(-1, 1, (8, 2)), rng.uniform(0.5, 2, 8)
    best = np.inf
    for sides in product((0, 1), repeat=7):
        own = np.array([0, *sides])
        parts = [(points[own == j], weights[own == j]) for j in (0, 1)]
        best = min(best, sum(_median_cost(*part) for part in parts))
    _, cost = weighted_kmedian(points, weights, 2, rng, n_starts=8)
    assert best * (1 - 1e-6) <= cost <= best * 1.002


def _median_cost(points, weights):
    if not len(points):
        return 0.0
    starts = [cost_of(points, weights, p[None]) for p in points]
    middle = minimize(lambda c: cost_of(points, weights, c[None]), points.mean(axis=0)).fun
    return min(*starts, middle)


def test_far_points_take_no_centre():
    rng = rng_of(1)
    clumps = np.repeat([[0.0, 0.0], [0.5, 0.0]], 500, axis=0) + rng.normal(0, 0.02, (1000, 2))
    points = np.vstack([clumps, rng.uniform(8, 9, (10, 2))])
    ours, _ = weighted_kmedian(points, np.ones(1010), 2, rng)
    theirs, _ = weighted_kmeans(points, np.ones(1010), 2, rng)
    assert ours.max() < 0.6
    assert theirs.max() > 8


def test_a_weight_is_so_many_points():
    rng = rng_of(2)
    points, weights = rng.uniform(-1, 1, (60, 3)), rng.integers(1, 5, 60)
    centers, cost = weighted_kmedian(points, weights.astype(float), 3, rng)
    repeated = np.repeat(points, weights, axis=0)
    assert cost == pytest.approx(cost_of(repeated, np.ones(len(repeated)), centers))


def test_the_cost_is_that_of_spread_out_cells():
    rng = rng_of(3)
    points, weights = rng.uniform(-1, 1, (50, 2)), rng.uniform(1, 2, 50)
    widths = rng.uniform(0, 0.2, 50)
    centers, cost = weighted_kmedian(points, weights, 4, rng, widths=widths)
    assert cost == pytest.approx(cost_of(points, weights, centers, widths))


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
@example(0, 3, 2)
@settings(max_examples=25, deadline=None)
def test_no_step_raises_the_cost(seed, k, d):
    rng = rng_of(seed)
    points, weights = rng.normal(size=(40, d)), rng.exponential(size=40)
    held = Points(Weighted.of(points, weights), np.full(40, 0.01))
    state = held.assign(rng.normal(size=(k, d)))
    for _ in range(5):
        after = weiszfeld(held, state, 1)
        assert after.cost <= state.cost
        state = after
    assert state.cost == pytest.approx(cost_of(points, weights, state.centers, 0.01))


def test_few_points_and_no_weight_at_all():
    centers, cost = weighted_kmedian(CORNERS, np.ones(3), 5, rng_of(0))
    assert centers.shape == (5, 2)
    assert cost == 0
    centers, cost = weighted_kmedian(np.vstack([CORNERS] * 3), np.zeros(9), 2, rng_of(0))
    assert np.isfinite(centers).all()
    assert cost == 0
    with pytest.raises(ValueError, match="at least one point"):
        weighted_kmedian(CORNERS[:0], np.ones(0), 2, rng_of(0))


def test_a_sample_of_many_points_finds_the_same(monkeypatch):
    rng = rng_of(4)
    points = rng.uniform(-1, 1, (5, 2))[rng.integers(5, size=4000)] + rng.normal(0, 0.03, (4000, 2))
    _, whole = weighted_kmedian(points, np.ones(4000), 5, rng)
    monkeypatch.setattr(kmedian, "_SEARCHED", 2000)
    _, sampled = weighted_kmedian(points, np.ones(4000), 5, rng)
    assert sampled == pytest.approx(whole, rel=1e-3)


def test_centres_are_in_the_order_that_loops_over_rows_need():
    centers, _ = weighted_kmedian(rng_of(0).normal(size=(50, 3)), np.ones(50), 4, rng_of(0))
    assert centers.flags.c_contiguous
