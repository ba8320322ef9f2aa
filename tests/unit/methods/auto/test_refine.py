"""How far clusters reach, how steps are shrunk, and how clusters are merged."""

import numpy as np
import pytest

from sfumato._core.answers import Answer, CellTotals
from sfumato.methods._auto.refine import (
    Clusters,
    clipped_errors,
    merge,
    radii_of,
    shortened,
    towards_each_other,
    towards_zero,
)

RNG = np.random.default_rng(0)


def test_radii_hold_their_share_of_the_weight():
    centers = np.array([[0.0, 0.0], [10.0, 0.0]])
    points = np.array([[i, 0.0] for i in (0, 1, 2, 3)] + [[10.0, i] for i in (0.5, 1, 4)])
    weights = np.array([5.0, 3.0, 1.0, 1.0, 1.0, 1.0, 2.0])
    assert radii_of(points, weights, 0.0, centers, 0.5) == pytest.approx([0.3, 1.0])
    np.testing.assert_allclose(radii_of(points, weights, 0.0, centers, 0.8), [1.0, 4.0])
    np.testing.assert_allclose(radii_of(points, weights, 0.0, centers, 0.85), [2.0, 4.0])
    np.testing.assert_allclose(radii_of(points, weights, 0.0, centers, 1.0), [3.0, 4.0])


def test_cells_reach_as_far_as_they_are_large():
    points, weights = RNG.uniform(-1, 1, (200, 3)), np.ones(200)
    centers = RNG.uniform(-1, 1, (4, 3))
    alike = radii_of(points, weights, 0.3, centers, 0.9)
    plain = radii_of(points, weights, 0.0, centers, 0.9)
    np.testing.assert_allclose(alike**2, plain**2 + 0.1)
    np.testing.assert_array_equal(alike, radii_of(points, weights, np.full(200, 0.3), centers, 0.9))


def test_clusters_without_weight_get_the_radius_of_all():
    points = np.array([[0.0], [1.0], [2.0], [50.0]])
    weights = np.array([1.0, 1.0, 1.0, 0.0])
    radii = radii_of(points, weights, 0.0, np.array([[0.0], [50.0], [99.0]]), 1.0)
    np.testing.assert_allclose(radii, [2.0, 2.0, 2.0])
    np.testing.assert_allclose(
        radii_of(points, np.zeros(4), 0.0, np.array([[0.0], [50.0]]), 1.0), [2.0, 0.6]
    )


def test_no_cluster_is_taken_for_very_small():
    points = np.array([[0.0], [0.001], [5.0], [7.0], [8.0]])
    radii = radii_of(points, np.ones(5), 0.0, np.array([[0.0], [6.0]]), 1.0)
    np.testing.assert_allclose(radii, [0.6, 2.0])


def test_the_radius_of_all_does_not_depend_on_whose_the_points_are():
    points, weights = RNG.normal(size=(300, 2)), RNG.exponential(size=300)
    centers = np.array([[0.0, 0.0], [90.0, 90.0]])
    reach = np.sqrt(np.square(points).sum(axis=1))
    order = reach.argsort()
    sums = weights[order].cumsum()
    expected = reach[order][np.searchsorted(sums, 0.7 * sums[-1])]
    np.testing.assert_allclose(radii_of(points, weights, 0.0, centers, 0.7), [expected] * 2)


def test_steps_of_noise_are_shrunk_and_clear_ones_are_not():
    rng = np.random.default_rng(1)
    truth = np.zeros((40, 30))
    truth[:5] = 10
    variances = np.linspace(0.5, 2, 40)
    noisy = truth + rng.normal(size=truth.shape) * np.sqrt(variances)[:, None]
    pooled = towards_each_other(noisy, variances, rng.normal(size=truth.shape))
    for shrunk in (towards_zero(noisy, variances), pooled):
        np.testing.assert_allclose(shrunk[:5], noisy[:5], atol=4)
        assert np.square(shrunk - truth).sum() < 0.35 * np.square(noisy - truth).sum()


def test_columns_in_which_centres_hardly_differ_are_shrunk_by_themselves():
    rng = np.random.default_rng(2)
    width = np.repeat([0.01, 1.0, 3.0], 40)
    centers, truth = rng.normal(size=(2, 10, 120)) * width
    noisy = truth + rng.normal(size=truth.shape)

    def lost(centers):
        shrunk = towards_each_other(noisy, np.ones(10), centers)
        return np.square(shrunk - truth).sum() / np.square(noisy - truth).sum()

    # As one prior does, where the centres say nothing: all columns are equally wide.
    alone = lost(rng.normal(size=centers.shape))
    assert lost(centers) < 0.55 < 0.6 < alone
    # Too few coordinates for more than one prior.
    few = towards_each_other(noisy[:, :19], np.ones(10), centers[:, :19])
    again = towards_each_other(noisy[:, :19], np.ones(10), centers[:, 18::-1])
    np.testing.assert_allclose(few, again)


def test_james_and_stein():
    shifts = np.array([[3.0, 4.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    shrunk = towards_zero(shifts, np.array([2.5, 1.0, 1.0]))
    np.testing.assert_allclose(shrunk, [[2.4, 3.2, 0, 0], [0] * 4, [0] * 4])
    # In one or two dimensions one degree of freedom is left.
    np.testing.assert_allclose(towards_zero(np.array([[2.0]]), np.array([1.0])), [[1.5]])
    # A step of nothing at all under wide noise: no overflow, which a filter may make an error.
    np.testing.assert_array_equal(
        towards_zero(np.zeros((1, 12)), np.array([1e9])), np.zeros((1, 12))
    )


def test_steps_are_cut_to_a_length():
    shifts = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(shortened(shifts), [[0.6, 0.8], [0.3, 0.4], [0, 0]])
    lengths = np.array([10.0, 0.25, 1.0])
    np.testing.assert_allclose(shortened(shifts, lengths), [[3, 4], [0.15, 0.2], [0, 0]])


def test_merging_brings_together_what_lies_together():
    homes = np.array([[-0.8, 0.0], [0.0, 0.8], [0.7, -0.5]])
    centers = np.repeat(homes, 4, axis=0) + RNG.normal(0, 0.02, (12, 2))
    weights, radii = RNG.uniform(1, 3, 12), RNG.uniform(0.05, 0.1, 12)
    found = merge(Clusters(centers, weights, radii), 3, np.random.default_rng(0))
    merged, pooled = found.centers, found.radii
    for j, home in enumerate(homes):
        part = slice(4 * j, 4 * j + 4)
        found = int(np.square(merged - home).sum(axis=1).argmin())
        mean = np.average(centers[part], axis=0, weights=weights[part])
        squares = np.square(centers[part] - mean).sum(axis=1) + radii[part] ** 2
        np.testing.assert_allclose(merged[found], mean)
        assert pooled[found] == pytest.approx(np.average(squares, weights=weights[part]) ** 0.5)


def test_few_enough_clusters_stay_as_they_are():
    few = Clusters(RNG.uniform(-1, 1, (3, 2)), np.ones(3), np.array([0.1, 0.2, 0.4]))
    assert merge(few, 5, RNG) is few
    assert merge(few, 3, RNG) is few


def test_clusters_in_fewer_places_than_are_asked_for():
    places, radii = RNG.uniform(-1, 1, (3, 2)), np.repeat([0.1, 0.2, 0.4], 2)
    found = merge(Clusters(np.repeat(places, 2, axis=0), np.ones(6), radii), 5, RNG)
    assert found.centers.shape == (5, 2)
    np.testing.assert_allclose(np.sort(found.sizes), [0, 0, 2, 2, 2])
    np.testing.assert_allclose(found.radii[found.sizes == 0], np.median(radii))
    np.testing.assert_allclose(np.sort(found.radii[found.sizes > 0]), [0.1, 0.2, 0.4])


def test_clusters_of_negative_size_merge_too():
    found = Clusters(RNG.uniform(-1, 1, (9, 2)), -np.ones(9), np.full(9, 0.1))
    found = merge(found, 4, RNG)
    merged, pooled = found.centers, found.radii
    assert merged.shape == (4, 2)
    assert np.isfinite(pooled).all()


def test_error_bars_are_around_the_step_before_it_is_shrunk():
    totals = CellTotals(
        Answer(np.array([[50.0, -20.0], [8.0, 4.0], [9.0, 9.0]]), 30.0),
        Answer(np.array([100.0, 40.0, 3.0]), 2.0),
    )
    start = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]])
    rates = np.array([1.0, 2.0, 1.0])
    found = Clusters(start, np.ones(3), np.array([12.0, 6.0, 12.0]), rates)
    bars = clipped_errors(totals, found, (12, 6, 12), "pure")
    # The third count is within its noise: the centre stays, as unsure as its radius.
    moved = start + np.array([[0.5, -0.2], [0.4, 0.2], [0.0, 0.0]])
    np.testing.assert_allclose(bars.centers.values, moved)
    stds = [
        [np.hypot(30, 0.5 * 2) / 100, np.hypot(30, 0.2 * 2) / 100],
        [np.hypot(30 / 2 * 2, 0.4 * 2) / 40, np.hypot(30 / 2 * 2, 0.2 * 2) / 40],
        [12.0, 12.0],
    ]
    np.testing.assert_allclose(bars.centers.stds, stds)
    assert (bars.centers.law, bars.sizes.law, bars.centers.columns) == ("ball", "cube", 2)
    assert bars.sizes.stds.tolist() == [2.0, 2.0, 2.0]
    assert clipped_errors(totals, found, (12, 6, 12), "gdp").centers.law == "gaussian"
