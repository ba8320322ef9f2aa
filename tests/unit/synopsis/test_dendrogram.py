"""Ward's method on weighted points, against SciPy's on rows."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, is_valid_linkage, linkage
from sklearn.metrics import adjusted_rand_score

from sfumato._synopsis.dendrogram import Dendrogram, ward_linkage

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(120, 3))


def tree(points=POINTS, weights=None):
    weights = np.ones(len(points)) if weights is None else weights
    return Dendrogram(points, weights, ward_linkage(points, weights))


def test_equal_weights_are_joined_as_by_scipy():
    expected = linkage(POINTS, "ward")
    found = tree().linkage
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert is_valid_linkage(found)


def test_a_weight_is_as_many_equal_rows():
    points, weights = RNG.normal(size=(40, 2)), RNG.integers(1, 6, 40)
    rows = linkage(np.repeat(points, weights, axis=0), "ward")
    found = ward_linkage(points, weights)
    np.testing.assert_allclose(found[:, 2], rows[-39:, 2], rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 7, 119, 120])
def test_cuts_are_those_of_scipy(k):
    labels = tree().cut(k)
    assert set(labels) == set(range(k))
    assert adjusted_rand_score(labels, cut_tree(linkage(POINTS, "ward"), k).ravel()) == 1


def test_clusters_are_numbered_by_falling_weight():
    points = np.array([[0.0], [0.1], [5.0], [9.0]])
    labels = tree(points, np.array([1.0, 1.0, 7.0, 3.0])).cut(3)
    assert labels.tolist() == [2, 2, 0, 1]


def test_equal_points_join_at_height_0():
    found = ward_linkage(np.zeros((5, 2)), np.ones(5))
    assert found[:, 2].tolist() == [0.0] * 4
    assert is_valid_linkage(found)


def test_one_leaf_is_a_tree_without_joins():
    one = tree(np.zeros((1, 2)))
    assert one.linkage.shape == (0, 4)
    assert one.cut(1).tolist() == [0]


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (121, ValueError), (2.0, TypeError)])
def test_cuts_that_do_not_exist_are_refused(k, error):
    with pytest.raises(error):
        tree().cut(k)


def test_a_tree_that_does_not_fit_its_leaves_is_refused():
    with pytest.raises(ValueError, match="m leaves"):
        Dendrogram(POINTS, np.ones(3), tree().linkage)
