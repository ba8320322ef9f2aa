"""Many centres: starts by cuts, and the nearest centre by a tree."""

import numpy as np
import pytest

from sfumato._synopsis.cells import GridCells
from sfumato._synopsis.kmeans import lift, weighted_kmeans
from sfumato._synopsis.many import MANY, nearest_by_tree, starts_by_cuts, uses_tree
from sfumato._synopsis.signed_kmeans import SignedKMeans, totals
from sfumato._synopsis.signed_kmeans import whole as whole_cells

RNG = np.random.default_rng


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_tree_finds_the_nearest(d):
    rng = RNG(d)
    points, centers = rng.normal(size=(300, d)), rng.normal(size=(MANY + 1, d))
    own, squares = nearest_by_tree(points, centers)
    gaps = np.square(points[:, None] - centers).sum(axis=2)
    np.testing.assert_array_equal(own, gaps.argmin(axis=1))
    np.testing.assert_allclose(squares, gaps.min(axis=1), rtol=1e-9)
    by_product = lift(points).nearest(centers[:MANY])
    gaps = gaps[:, :MANY]
    np.testing.assert_array_equal(by_product[0], gaps.argmin(axis=1))


def test_a_tree_is_used_for_many_centres_in_few_columns():
    assert uses_tree(MANY + 1, 5)
    assert not uses_tree(MANY, 5)
    assert not uses_tree(MANY + 1, 6)


def test_cuts_find_clusters_that_lie_apart():
    middles = np.array([[x, y] for x in (-9.0, -3.0, 3.0, 9.0) for y in (-9.0, -3.0, 3.0, 9.0)])
    points = (middles[:, None] + RNG(0).uniform(-1, 1, (16, 20, 2))).reshape(-1, 2)
    found = starts_by_cuts(points, np.ones(len(points)), 16)
    own, squares = nearest_by_tree(middles, found)
    assert len(set(own)) == 16
    assert squares.max() < 1


def test_cuts_give_means_of_the_weight_and_leave_out_what_has_none():
    points, weights = np.array([[0.0], [1.0], [10.0], [50.0]]), np.array([3.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(starts_by_cuts(points, weights, 1), [[11 / 5]])
    assert sorted(starts_by_cuts(points, weights, 2)[:, 0]) == [0.25, 10]


def test_where_nothing_can_be_cut_means_are_repeated():
    found = starts_by_cuts(np.zeros((4, 2)), np.ones(4), 3)
    np.testing.assert_array_equal(found, np.zeros((3, 2)))


def test_many_centres_cost_no_more_than_seeds_and_steps():
    """Against greedy seeding at the largest k at which that is done."""
    points = RNG(0).uniform(-1, 1, (6 * MANY, 2))
    weights = RNG(1).uniform(size=len(points))
    _, before = weighted_kmeans(points, weights, MANY, RNG(0))
    centers, after = weighted_kmeans(points, weights, MANY + 1, RNG(0))
    assert centers.shape == (MANY + 1, 2)
    assert after < 1.15 * before
    assert after == pytest.approx(float(weights @ nearest_by_tree(points, centers)[1]))


def test_totals_by_a_tree_are_those_of_all_pairs():
    cells = GridCells((40, 40))
    weights = RNG(0).normal(size=1600)
    mass = whole_cells(cells, weights, 1.0)
    centers = RNG(1).uniform(-1, 1, (1, MANY + 1, 2))
    own = np.square(cells[:][:, None] - centers[0]).sum(axis=2).argmin(axis=1)
    found = totals(mass, centers)[0]
    np.testing.assert_allclose(found[:, 0], np.bincount(own, weights, MANY + 1))
    np.testing.assert_allclose(found[:, 2], np.bincount(own, weights * cells[:][:, 0], MANY + 1))


@pytest.mark.parametrize("per_axis", [20, 100, 400])
@pytest.mark.parametrize("k", [501, 1200])
def test_signed_weights_have_many_centres_too(per_axis, k):
    cells = GridCells((per_axis, per_axis))
    weights = RNG(0).laplace(1.0, 2.0, len(cells))
    found = SignedKMeans(cells, weights, 2.8).solve(k, n_starts=30, rng=RNG(0))
    assert found.centers.shape == (k, 2)
    assert np.abs(found.centers).max() <= 1
    assert found.sizes.sum() == pytest.approx(weights.sum())


def test_weights_of_nothing_have_many_centres_too():
    cells = GridCells((30, 30))
    found = SignedKMeans(cells, np.full(900, -1.0), 1.0).solve(501, n_starts=1, rng=RNG(0))
    assert len(np.unique(found.centers, axis=0)) > 400
