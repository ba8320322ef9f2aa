"""The owner's measures of a local clustering, against numbers that can be worked out."""

import math

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from sfumato import LocalClustering, NDLaplace
from sfumato.evaluate import agreement, center_error, displacement, evaluate, shape

X, _ = make_blobs(200, 2, centers=4, cluster_std=0.6, random_state=0)
FOUR = KMeans(4, n_init=3, random_state=0)
BOUNDS = (-12, 12)


def test_agreement_is_one_for_renamed_clusters_and_about_zero_by_chance():
    same = agreement([0, 0, 1, 1, 2], [7, 7, 3, 3, 5])
    assert (same.ari, same.ami, same.nmi) == pytest.approx((1, 1, 1))
    rng = np.random.default_rng(0)
    chance = agreement(rng.integers(0, 4, 2000), rng.integers(0, 4, 2000))
    assert abs(chance.ari) < 0.02
    assert abs(chance.ami) < 0.02
    assert 0 <= chance.nmi < 0.02


def test_shape_of_two_clusters_on_a_line():
    found = shape([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    assert found.silhouette == pytest.approx((1 - 1 / 10.5 + 1 - 1 / 9.5) / 2)
    assert found.calinski_harabasz == pytest.approx(100 / (1 / 2))
    assert found.davies_bouldin == pytest.approx(0.1)


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_shape_needs_two_clusters_and_a_pair(labels):
    found = shape([[0.0], [1.0], [2.0]], labels)
    assert math.isnan(found.silhouette)
    assert math.isnan(found.davies_bouldin)


def test_displacement_is_the_mean_distance():
    assert displacement([[0, 0], [1, 1]], [[3, 4], [1, 2]]) == pytest.approx(3)


def test_center_error_matches_centres_first():
    reference = np.array([[0.0, 0.0], [4.0, 0.0]])
    assert center_error(reference[::-1], reference) == 0
    assert center_error(reference + np.array([0, 1]), reference) == pytest.approx(2 / 4)
    assert center_error(reference + 100, reference + 100) == 0
    assert center_error(reference + np.array([0, 1]), reference, origin=[0, 0]) == pytest.approx(
        2 / 4
    )
    assert center_error(reference[:1], reference) == pytest.approx(2 / 4)
    assert math.isnan(center_error([[1.0]], [[2.0]]))


def test_evaluation_of_sharp_reports_is_that_of_the_rows():
    for scale in (False, True):
        model = LocalClustering(FOUR, perturbation=NDLaplace(1e4, bounds=BOUNDS), scale=scale)
        found = evaluate(model.fit(X), X)
        assert found.agreement.ari > 0.95
        assert found.center_error < 0.01
        assert found.displacement < 0.01
        assert found.on_rows.silhouette == pytest.approx(found.on_reports.silhouette, abs=0.01)
        points = StandardScaler().fit_transform(X) if scale else X
        assert found.on_rows.silhouette == pytest.approx(
            shape(X, FOUR.fit(points).labels_).silhouette, abs=0.01
        )


def test_evaluation_of_noisy_reports_sees_the_noise():
    # With ε = 0.2 a report is 10 away on average before clamping; the clusters are 3 to 6 apart.
    model = LocalClustering(FOUR, perturbation=NDLaplace(0.2, bounds=BOUNDS)).fit(X)
    found = evaluate(model, X)
    assert found.agreement.ari < 0.5
    assert found.center_error > 0.5
    assert 3 < found.displacement < 20
    assert found.on_rows.silhouette < found.on_reports.silhouette
    assert found.to_dict()["agreement"]["ari"] == found.agreement.ari


def test_a_clusterer_without_centres_has_no_error_of_centres():
    model = LocalClustering(DBSCAN(eps=0.9), perturbation=NDLaplace(100.0, bounds=BOUNDS)).fit(X)
    assert math.isnan(evaluate(model, X).center_error)


def test_other_rows_are_refused():
    model = LocalClustering(FOUR, perturbation=NDLaplace(100.0, bounds=BOUNDS)).fit(X)
    with pytest.raises(ValueError, match=r"\(200, 2\) reports, got rows of shape \(100, 2\)"):
        evaluate(model, X[:100])


def test_missing_cells_are_where_the_mechanism_puts_them():
    holes, middle = X.copy(), np.mean(BOUNDS, axis=0)
    holes[::9, 0] = np.nan
    masked = np.ma.array(X, mask=np.isnan(holes))
    filled = np.where(np.isnan(holes), middle, X)
    model = LocalClustering(FOUR, perturbation=NDLaplace(1e4, bounds=BOUNDS)).fit(holes)
    expected = evaluate(model, filled)
    assert expected.displacement < 0.01
    for rows in (holes, masked):
        assert evaluate(model, rows) == expected
        np.testing.assert_array_equal(model.predict(rows), model.predict(filled))
        np.testing.assert_array_equal(model.transform(rows), model.transform(filled))
