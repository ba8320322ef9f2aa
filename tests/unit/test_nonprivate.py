"""The owner's tools against slow definitions and scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from sfumato import nonprivate

X, Y = make_blobs(300, centers=4, n_features=3, random_state=0)
CENTERS = np.array([X[Y == j].mean(axis=0) for j in range(4)])


def test_labels_and_inertia_match_scikit_learn():
    model = KMeans(4, n_init=1, random_state=0).fit(X)
    assert nonprivate.inertia(X, model.cluster_centers_) == pytest.approx(model.inertia_)
    assert nonprivate.nicv(X, model.cluster_centers_) == pytest.approx(model.inertia_ / len(X))
    np.testing.assert_array_equal(nonprivate.labels(X, model.cluster_centers_), model.labels_)


def test_bounds_scale_every_column_to_the_cube():
    wide = X * [1, 10, 100]
    bounds = (np.array([-15, -150, -1500.0]), np.array([15, 150, 1500.0]))
    scaled = nonprivate.nicv(wide, CENTERS * [1, 10, 100], bounds=bounds)
    assert scaled == pytest.approx(nonprivate.nicv(X / 15, CENTERS / 15))


def test_blocks_do_not_show(monkeypatch):
    whole = nonprivate.inertia(X, CENTERS)
    monkeypatch.setattr(nonprivate, "_BLOCK", 7)
    assert nonprivate.inertia(X, CENTERS) == pytest.approx(whole)


@pytest.mark.parametrize(
    "score",
    [
        nonprivate.adjusted_rand,
        nonprivate.adjusted_mutual_information,
        nonprivate.normalized_mutual_information,
    ],
)
def test_agreement_is_one_for_renamed_labels_and_low_for_noise(score):
    assert score(Y, (Y + 1) % 4) == pytest.approx(1)
    assert score(Y, np.random.default_rng(0).integers(4, size=len(Y))) < 0.1


def test_internal_scores_prefer_the_truth():
    wrong = np.random.default_rng(0).integers(4, size=len(Y))
    assert nonprivate.silhouette(X, Y) > nonprivate.silhouette(X, wrong)
    assert nonprivate.calinski_harabasz(X, Y) > nonprivate.calinski_harabasz(X, wrong)
    assert nonprivate.davies_bouldin(X, Y) < nonprivate.davies_bouldin(X, wrong)


def test_clusters_with_members_counts_populated_centres_only():
    far = np.vstack([CENTERS, [[1e3, 1e3, 1e3]]])
    assert nonprivate.clusters_with_members(X, CENTERS) == 4
    assert nonprivate.clusters_with_members(X, far) == 4


def test_centroid_index():
    assert nonprivate.centroid_index(CENTERS, CENTERS[::-1]) == 0
    doubled = CENTERS.copy()
    doubled[0] = doubled[1] + 0.01
    assert nonprivate.centroid_index(doubled, CENTERS) == 1


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="same number of columns"):
        nonprivate.labels(X, CENTERS[:, :2])
