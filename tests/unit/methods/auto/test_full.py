"""Radii of steps in all columns, and centres that are put elsewhere on the way."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import PrivateKMeans
from sfumato._accounting.budget import Caps
from sfumato._lattice.box import REACH
from sfumato.methods._auto.full import divided
from sfumato.methods._auto.refine import Clusters, radius_of_each
from tests.laws.harness import without_noise


def clusters(sizes):
    centers = np.arange(len(sizes) * 3, dtype=float).reshape(-1, 3) * 1000
    return Clusters(centers, np.array(sizes, dtype=float), np.full(len(sizes), 500.0))


def test_an_empty_centre_goes_beside_the_one_with_the_rows_of_two():
    found = clusters([100, 5, 190, 110])
    apart, moved = divided(found, np.random.default_rng(0))
    assert moved.tolist() == [False, True, True, False]
    np.testing.assert_array_equal(apart.centers[[0, 3]], found.centers[[0, 3]])
    np.testing.assert_allclose(apart.centers[[1, 2]].mean(axis=0), found.centers[2])
    away = np.linalg.norm(apart.centers[[1, 2]] - found.centers[2], axis=1)
    np.testing.assert_allclose(away, 0.01 * 500)
    assert apart.sizes.tolist() == [100, 95, 95, 110]
    assert found.sizes.tolist() == [100, 5, 190, 110]


def test_several_empty_centres_go_to_the_fullest_one_after_another():
    apart, moved = divided(clusters([0, 0, 100, 400, 100]), np.random.default_rng(0))
    assert moved.tolist() == [True, True, False, True, False]
    assert sorted(apart.sizes) == [100, 100, 100, 100, 200]


@pytest.mark.parametrize("sizes", [[100, 60, 140], [100, 5, 120, 120], [100, 70, 300, 100]])
def test_without_an_empty_centre_and_a_double_one_nothing_moves(sizes):
    found = clusters(sizes)
    apart, moved = divided(found, np.random.default_rng(0))
    assert not moved.any()
    np.testing.assert_array_equal(apart.centers, found.centers)


def test_every_cluster_gets_its_own_radius():
    far = np.array([[0.0, 0.0], [0.02, 0.0]])
    rows = np.vstack([np.tile([[0.2, -2.0]], (60, 1)) + np.resize(far, (60, 2)), [[0.8, 2.0]] * 9])
    curator = without_noise(rows)
    centers = curator.box.to_lattice(np.array([[0.2, -2.0], [0.8, 2.0]])).astype(float)
    share = curator.reserve("test", Caps(pure=Fraction(1))).rest("pure")
    radii = radius_of_each(curator, centers, share, np.array([3.0, 1.0]), 40.0)
    assert 0.04 * REACH <= radii[0] < 0.05 * REACH
    assert 40 <= radii[1] < 120


@pytest.mark.parametrize(("n", "each"), [(20_000, True), (1000, False)])
def test_clusters_have_radii_of_their_own_where_there_are_rows_enough(n, each):
    rows = np.random.default_rng(0).normal(0, 0.1, (n, 4))
    model = PrivateKMeans(3, epsilon=1.0, bounds=(-1, 1), n_rows=n, random_state=0).fit(rows)
    searches = [line.query for line in model.receipt_.lines if "from 3 nearest" in line.query]
    assert len(searches) == 1
    assert ("each by itself" in searches[0]) == each
