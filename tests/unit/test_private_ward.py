"""PrivateWard: a tree of small clusters, cut anywhere."""

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from sfumato import Category, Number, PrivateWard, Schema, load
from sfumato._core.testing import RecordingCurator, ReplayedNoise
from tests.unit.test_private_kmeans import EXPECTED_FAILURES

RNG = np.random.default_rng(1)


def blobs(d, n=4000):
    middles = RNG.uniform(-4, 4, (5, d))
    return middles[RNG.integers(5, size=n)] + RNG.normal(0, 0.3, (n, d))


@pytest.fixture(scope="module", params=[2, 6], ids=["on a grid", "by centres"])
def both(request):
    rows = blobs(request.param)
    return rows, PrivateWard(5, epsilon=5.0, bounds=(-6, 6), random_state=0).fit(rows)


def test_scikit_learn_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            PrivateWard(3, bounds=(-10, 10)),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_cuts_agree_with_ward_on_the_rows(both):
    rows, model = both
    for k in (2, 5):
        expected = AgglomerativeClustering(k).fit(rows[:2000]).labels_
        assert adjusted_rand_score(expected, model.predict(rows[:2000], k)) > 0.9
    assert (model.predict(rows) == model.predict(rows, 5)).all()


def test_the_tree_is_as_scipy_has_it(both):
    _, model = both
    assert is_valid_linkage(model.linkage_)
    assert model.linkage_.shape == (model.n_leaves_ - 1, 4)
    assert len(dendrogram(model.linkage_, no_plot=True)["leaves"]) == model.n_leaves_
    assert model.dendrogram_.leaves.shape == (model.n_leaves_, model.n_features_in_)


def test_clusters_have_means_and_sizes(both):
    rows, model = both
    assert model.cluster_sizes_.shape == (5,)
    assert model.cluster_centers_.shape == (5, rows.shape[1])
    np.testing.assert_allclose(model.cluster_sizes_.sum(), len(rows), rtol=0.1)
    labels = model.predict(rows)
    means = np.stack([rows[labels == k].mean(axis=0) for k in range(5)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=0.2)


def test_a_file_holds_what_was_released(both, tmp_path):
    rows, model = both
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert isinstance(again, PrivateWard)
    np.testing.assert_array_equal(again.predict(rows, 3), model.predict(rows, 3))
    np.testing.assert_array_equal(again.linkage_, model.linkage_)
    np.testing.assert_allclose(again.cluster_centers_, model.cluster_centers_)


def test_fewer_rows_than_clusters_are_no_error():
    for rows in (np.zeros((0, 2)), np.zeros((1, 2)), np.zeros((5000, 2))):
        model = PrivateWard(8, epsilon=9.0, bounds=(-1, 1)).fit(rows)
        assert 1 <= model.n_clusters_ <= 8
        assert len(model.cluster_sizes_) == model.n_clusters_
        assert model.predict([[0.0, 0.0]]).shape == (1,)


def test_the_number_of_leaves_can_be_chosen():
    assert PrivateWard(3, n_leaves=20, bounds=(-6, 6)).fit(blobs(2)).n_leaves_ <= 20
    assert PrivateWard(3, n_leaves=12, bounds=(-6, 6)).fit(blobs(5)).n_leaves_ <= 12
    with pytest.raises(ValueError, match="n_leaves"):
        PrivateWard(5, n_leaves=3, bounds=(-6, 6)).fit(blobs(2))


def test_categories_are_points_of_the_cube():
    import pandas as pd

    schema = Schema(x=Number(-1, 1), kind=Category("a", "b"))
    table = pd.DataFrame({"x": [-0.9, 0.9] * 1000, "kind": ["a", "b"] * 1000})
    model = PrivateWard(2, epsilon=5.0, schema=schema).fit(table)
    assert adjusted_rand_score([0, 1] * 1000, model.predict(table)) > 0.95


def test_intervals_hold_what_the_cells_have_without_noise():
    """At least as often as they say, about: twenty fits with replayed noise."""
    rng = np.random.default_rng(1)
    middles = np.array([[-4, -4], [4, -4], [0, 0], [-4, 4], [4, 4]])
    rows = middles[rng.integers(5, size=3000)] + rng.normal(0, 0.3, (3000, 2))
    held = []
    for seed in range(20):
        curator = RecordingCurator(rows, bounds=(-6, 6), epsilon=1.0, noise=ReplayedNoise(seed))
        model = PrivateWard(5, epsilon=1.0, random_state=seed).fit(curator)
        exact = np.asarray(curator.transcript.exact[-1])[:, 0].astype(float)
        own = model.predict(model.synopsis_.cells)
        sizes = np.bincount(own, exact, 5)
        sums = [np.bincount(own, exact * x, 5) for x in model.synopsis_.cells.T]
        true = (np.stack(sums, axis=1) / sizes[:, None], sizes)
        for ends, value in zip(model.intervals(), true, strict=True):
            held += ((ends[..., 0] <= value) & (value <= ends[..., 1])).ravel().tolist()
    assert len(held) == 20 * 15
    assert np.mean(held) > 0.91


def test_error_bars_follow_the_cut_and_are_in_files(both, tmp_path):
    rows, model = both
    model.save(tmp_path / "model.json")
    for one in (model, load(tmp_path / "model.json")):
        centers, sizes = one.intervals()
        assert centers.shape == (5, rows.shape[1], 2)
        assert (centers[..., 0] <= one.cluster_centers_).all()
        assert (one.cluster_centers_ <= centers[..., 1]).all()
        assert one.cluster_centers_std_.max() < 0.2
        assert ((sizes[:, 0] <= one.cluster_sizes_) & (one.cluster_sizes_ <= sizes[:, 1])).all()
        assert 0 < one.cluster_sizes_std_.max() < len(rows) / 10
        assert one.set_params(n_clusters=2).intervals()[1].shape == (2, 2)
        one.set_params(n_clusters=5)
