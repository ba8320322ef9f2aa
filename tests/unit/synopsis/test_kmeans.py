"""k-means on points with weights of at least 0."""

import numpy as np
import pytest

from sfumato._synopsis import kmeans
from sfumato._synopsis.kmeans import Weighted, assign, lift, lloyd, move, nearest, weighted_kmeans

RNG = np.random.default_rng(0)


def cost_of(points, weights, centers):
    return weights @ ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1)


def planted(n_clusters, each, rng, d=2, width=0.01):
    centers = rng.uniform(-1, 1, (n_clusters, d))
    points = np.repeat(centers, each, axis=0) + rng.normal(0, width, (n_clusters * each, d))
    return points, rng.uniform(0.5, 2, len(points))


def test_finds_the_planted_optimum_where_lloyd_gets_stuck():
    found, stuck = 0, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points, weights = planted(25, 20, rng)
        best = lloyd(
            mass := Weighted.of(points, weights),
            assign(mass, np.stack([p.mean(axis=0) for p in np.split(points, 25)])),
            100,
        )
        _, cost = weighted_kmeans(points, weights, 25, rng)
        plain = lloyd(mass, assign(mass, points[rng.choice(500, 25, replace=False)]), 100)
        found += cost < 1.001 * best.cost
        stuck += plain.cost > 1.5 * best.cost
    assert found >= 19
    assert stuck >= 19


def test_swaps_do_what_one_start_cannot():
    points, weights = planted(60, 10, np.random.default_rng(1))
    optimum = cost_of(points, weights, np.stack([p.mean(axis=0) for p in np.split(points, 60)]))
    lazy, searched = [
        [
            weighted_kmeans(
                points, weights, 60, np.random.default_rng(s), n_starts=1, patience=patience
            )[1]
            for s in range(10)
        ]
        for patience in (0, 10)
    ]
    assert np.mean(np.array(searched) < 1.01 * optimum) >= 0.9
    assert np.mean(np.array(lazy) < 1.01 * optimum) <= 0.5


def test_the_cost_is_that_of_the_centres():
    points, weights = RNG.uniform(-1, 1, (400, 3)), RNG.exponential(size=400)
    centers, cost = weighted_kmeans(points, weights, 7, RNG)
    assert centers.shape == (7, 3)
    assert cost == pytest.approx(cost_of(points, weights, centers))


def test_one_centre_is_the_mean():
    points, weights = RNG.uniform(-1, 1, (50, 4)), RNG.exponential(size=50)
    centers, _ = weighted_kmeans(points, weights, 1, RNG)
    np.testing.assert_allclose(centers[0], weights @ points / weights.sum())


def test_points_without_weight_do_not_count():
    points, weights = planted(4, 30, np.random.default_rng(2))
    more = np.vstack([points, RNG.uniform(-50, 50, (500, 2))])
    padded = np.append(weights, np.zeros(500))
    expected = weighted_kmeans(points, weights, 4, np.random.default_rng(3))
    found = weighted_kmeans(more, padded, 4, np.random.default_rng(3))
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]


def test_where_the_points_lie_and_in_what_unit_makes_no_difference():
    points, weights = planted(6, 40, np.random.default_rng(4), width=0.1)
    centers, cost = weighted_kmeans(points, weights, 6, np.random.default_rng(5))
    far, far_cost = weighted_kmeans(points * 32767 + 1e7, weights, 6, np.random.default_rng(5))
    np.testing.assert_allclose((far - 1e7) / 32767, centers, atol=1e-6)
    assert far_cost == pytest.approx(cost * 32767**2, rel=1e-6)


def test_the_same_generator_gives_the_same_centres():
    points, weights = RNG.uniform(-1, 1, (900, 2)), RNG.exponential(size=900)
    one, same, other = (
        weighted_kmeans(points, weights, 30, np.random.default_rng(s))[0] for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_few_points_are_repeated(n):
    points = RNG.uniform(-1, 1, (n + 3, 2))
    weights = np.append(np.ones(n), np.zeros(3))
    centers, cost = weighted_kmeans(points, weights, 5, RNG)
    assert centers.shape == (5, 2)
    assert cost == 0
    assert {tuple(c) for c in centers} == {tuple(p) for p in points[:n]}


def test_points_in_fewer_places_than_centres():
    points = np.repeat([[0.0, 1.0], [0.5, -0.5]], 50, axis=0)
    centers, cost = weighted_kmeans(points, np.ones(100), 4, RNG)
    assert centers.shape == (4, 2)
    assert cost == pytest.approx(0, abs=1e-12)


def test_without_weight_all_points_count_alike():
    points, _ = planted(3, 30, np.random.default_rng(6))
    centers, cost = weighted_kmeans(points, np.zeros(90), 3, RNG)
    assert cost == 0
    assert cost_of(points, np.ones(90), centers) < 0.1
    assert weighted_kmeans(points[:1], np.zeros(1), 2, RNG)[0].shape == (2, 2)


def test_no_points_at_all_are_refused():
    with pytest.raises(ValueError, match="at least one point"):
        weighted_kmeans(np.empty((0, 2)), np.empty(0), 2, RNG)


@pytest.mark.parametrize("power", [1, 6, 12])
def test_very_uneven_weights(power):
    points, weights = RNG.uniform(-1, 1, (300, 2)), RNG.random(300) ** power * 10.0**power
    centers, cost = weighted_kmeans(points, weights, 20, RNG)
    assert np.abs(centers).max() <= 1
    assert cost == pytest.approx(cost_of(points, weights, centers), rel=1e-6, abs=1e-9)


def test_looking_at_what_moved_is_looking_at_everything(monkeypatch):
    monkeypatch.setattr(kmeans, "_SMALL", 0)
    mass = Weighted.of(RNG.uniform(-1, 1, (2000, 3)), RNG.exponential(size=2000))
    state = assign(mass, RNG.uniform(-1, 1, (40, 3)))
    for _ in range(20):
        moved = RNG.choice(40, 5, replace=False)
        state = move(mass, state, moved, RNG.uniform(-1, 1, (5, 3)))
        whole = assign(mass, state.centers)
        np.testing.assert_array_equal(state.own, whole.own)
        np.testing.assert_allclose(state.first, whole.first, atol=1e-12)
        np.testing.assert_allclose(state.sums, whole.sums, atol=1e-9)


def test_steps_never_raise_the_cost():
    mass = Weighted.of(RNG.uniform(-1, 1, (500, 2)), RNG.exponential(size=500))
    states = [assign(mass, RNG.uniform(-1, 1, (9, 2)))]
    for _ in range(30):
        states.append(lloyd(mass, states[-1], 1))
    costs = [state.cost for state in states]
    assert costs == sorted(costs, reverse=True)
    assert lloyd(mass, states[0], 30).cost == pytest.approx(costs[-1], rel=1e-4)


def test_steps_end_where_the_goal_is_out_of_reach():
    mass = Weighted.of(RNG.uniform(-1, 1, (500, 2)), np.ones(500))
    start = assign(mass, RNG.uniform(-1, 1, (9, 2)))
    once = lloyd(mass, start, 1)
    assert lloyd(mass, start, 30, goal=0.0).cost > lloyd(mass, start, 30).cost
    assert lloyd(mass, start, 30, goal=0.0).cost <= once.cost


def test_a_large_synopsis_is_searched_on_a_sample(monkeypatch):
    points, weights = planted(5, 2000, np.random.default_rng(7))
    optimum = cost_of(points, weights, np.stack([p.mean(axis=0) for p in np.split(points, 5)]))
    monkeypatch.setattr(kmeans, "_SEARCHED", 1000)
    seen = []
    search = kmeans._search
    monkeypatch.setattr(kmeans, "_search", lambda m, *rest: seen.append(len(m)) or search(m, *rest))
    _, cost = weighted_kmeans(points, weights, 5, np.random.default_rng(8))
    assert max(seen) <= 5 * 64
    assert cost == pytest.approx(optimum, rel=1e-3)


def test_a_sample_weighs_as_much_as_the_whole():
    points, weights = planted(8, 1000, np.random.default_rng(9))
    weights[0] = 1e5
    mass = Weighted.of(points - np.average(points, axis=0, weights=weights), weights)
    sample = kmeans._sample(mass, 2000, np.random.default_rng(10))
    assert 1000 < len(sample) <= 2000
    for row, expected in zip(sample.table, mass.table, strict=True):
        assert row.sum() == pytest.approx(expected.sum(), abs=0.01 * weights.sum())
    centers = points[::1000]
    assert assign(sample, centers).cost == pytest.approx(assign(mass, centers).cost, rel=0.1)


def test_distances_are_worked_out_in_blocks():
    points, centers = RNG.normal(size=(30_000, 5)), RNG.normal(size=(11, 5))
    gaps = ((points[:, None] - centers[None]) ** 2).sum(axis=2)
    own, first = nearest(points, centers)
    np.testing.assert_array_equal(own, gaps.argmin(axis=1))
    np.testing.assert_allclose(first, gaps.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(lift(points).to(centers).T, gaps, atol=1e-12)
    second = lift(points).second(centers, own)
    np.testing.assert_allclose(second, np.sort(gaps, axis=1)[:, 1], atol=1e-12)
    assert np.isinf(lift(points[:3]).second(centers[:1], np.zeros(3, dtype=int))).all()
