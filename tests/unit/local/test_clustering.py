"""LocalClustering: the contract, what is perturbed and when, batches, and centres without noise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AffinityPropagation, KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from sfumato import LocalClustering, NDLaplace
from sfumato._core.testing import ReplayedNoise
from sfumato.evaluate import center_error
from sfumato.local._clustering import noise_widths, sampled, without_noise
from sfumato.local._mechanisms import LaplaceMechanism
from sfumato.local._ndlaplace import PlanarLaplace

X, Y = make_blobs(600, 2, centers=4, cluster_std=0.6, random_state=0)
BOUNDS = (-12, 12)
SHARP = NDLaplace(1000.0, bounds=BOUNDS)
EXPECTED_FAILURES = {
    "check_fit_idempotent": "two fits never draw the same noise",
    "check_dtype_object": "an object array has no public numeric type: refused unread",
}


def four(**settings):
    return KMeans(**{"n_clusters": 4, "n_init": 3, "random_state": 0, **settings})


def test_scikit_learn_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            LocalClustering(KMeans(3, n_init=3, random_state=0), perturbation=SHARP, scale=True),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}


def test_clusters_of_sharp_reports_are_those_of_the_rows():
    for clusterer in (
        four(),
        DBSCAN(eps=0.9, min_samples=4),
        AffinityPropagation(preference=-200, damping=0.9, random_state=0),
    ):
        model = LocalClustering(clusterer, perturbation=SHARP).fit(X)
        clean = clone(clusterer).fit(X)
        assert adjusted_rand_score(clean.labels_, model.labels_) > 0.9
        assert len(model.labels_) == len(X)
        assert hasattr(model, "predict") == hasattr(clusterer, "predict")
        assert hasattr(model, "transform") == hasattr(clusterer, "transform")


def test_rows_are_perturbed_with_new_noise_and_labels_are_of_the_reports():
    model = LocalClustering(four(), perturbation=NDLaplace(1.0, bounds=BOUNDS))
    first = model.fit(X).reports_
    second = model.fit(X).reports_
    # The chance that a coordinate comes out the same twice is below 1e-4.
    assert (first == second).mean() < 0.02
    assert 1.5 < np.linalg.norm(first - X, axis=1).mean() < 2.5
    assert np.array_equal(model.labels_, model.predict(second))
    assert not hasattr(model, "rows_")


def test_the_guarantee_is_that_of_the_reports():
    model = LocalClustering(four(), perturbation=NDLaplace(0.5, bounds=BOUNDS)).fit(X)
    assert model.guarantee_.kind == "metric"
    assert float(model.guarantee_.amount) == 0.5
    assert "exp(0.5·r)" in str(model.receipt_)


def test_a_server_clusters_reports_as_they_are():
    reports = NDLaplace(1.0, bounds=BOUNDS).fit_transform(X)
    model = LocalClustering(four(), perturbation="done").fit(reports)
    assert np.array_equal(model.reports_, reports)
    assert np.array_equal(model.labels_, four().fit(reports).labels_)
    with pytest.raises(AttributeError, match="made by the clients"):
        _ = model.guarantee_


def test_scaling_happens_after_the_perturbation_and_centres_come_back():
    wide = X * [1, 1000]
    mechanism = NDLaplace(1000.0, bounds=([-12, -12e3], [12, 12e3]), units="box")
    model = LocalClustering(four(), perturbation=mechanism, scale=True).fit(wide)
    assert np.allclose(model.scaler_.mean_, model.reports_.mean(axis=0))
    assert adjusted_rand_score(Y, model.labels_) > 0.8
    means = [model.reports_[model.labels_ == k].mean(axis=0) for k in range(4)]
    assert np.allclose(model.cluster_centers_, means)
    assert np.array_equal(model.predict(model.reports_), model.labels_)
    assert model.transform(wide).shape == (600, 4)


def test_names_of_columns_are_kept():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = LocalClustering(four(), perturbation=SHARP).fit(frame)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert len(model.predict(frame)) == len(frame)


def test_batches_for_a_clusterer_that_learns_from_them():
    model = LocalClustering(MiniBatchKMeans(4, random_state=0, n_init=3), perturbation=SHARP)
    for start in range(0, 600, 100):
        model.partial_fit(X[start : start + 100])
    assert model.n_reports_seen_ == 600
    assert len(model.reports_) == len(model.labels_) == 100
    assert center_error(model.cluster_centers_, four().fit(X).cluster_centers_) < 0.2


def test_batches_for_any_other_clusterer_go_through_a_reservoir():
    model = LocalClustering(four(), perturbation="done", reservoir=150, random_state=1)
    for start in range(0, 600, 100):
        model.partial_fit(X[start : start + 100])
    assert model.n_reports_seen_ == 600
    assert len(model.reports_) == len(model.labels_) == 150
    assert {tuple(row) for row in model.reports_} <= {tuple(row) for row in X}
    assert center_error(model.cluster_centers_, four().fit(X).cluster_centers_) < 0.2
    model.fit(X)
    assert len(model.reports_) == 600
    model.partial_fit(X[:10])
    assert len(model.reports_) == 150
    assert model.n_reports_seen_ == 610


def test_the_reservoir_is_an_even_sample():
    rng, counts, size, runs = np.random.default_rng(0), np.zeros(60), 20, 3000
    rows = np.arange(60.0)[:, None]
    for _ in range(runs):
        kept, seen = rows[:0], 0
        for batch in (rows[:7], rows[7:30], rows[30:31], rows[31:]):
            kept, seen = sampled(kept, batch, seen, size, rng=rng), seen + len(batch)
        assert len(np.unique(kept)) == size
        counts[kept[:, 0].astype(int)] += 1
    expected = runs * size / 60
    # Seven standard deviations of a count: below 1e-9 for all sixty of them.
    assert np.abs(counts - expected).max() < 7 * np.sqrt(expected * (1 - size / 60))


def test_batches_are_perturbed_too():
    model = LocalClustering(four(), perturbation=NDLaplace(1.0, bounds=BOUNDS))
    model.partial_fit(X[:300])
    assert 1.5 < np.linalg.norm(model.reports_ - X[:300], axis=1).mean() < 2.5


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"perturbation": None}, "perturbation must be"),
        ({"perturbation": "none"}, "perturbation must be"),
        ({"estimator": DBSCAN(), "denoise": True}, "denoise needs k-means"),
        ({"perturbation": "done", "denoise": True}, "denoise needs k-means"),
        ({"reservoir": 0}, "reservoir must be"),
    ],
)
def test_settings_are_refused_before_a_row_is_perturbed(settings, said):
    model = LocalClustering(**{"estimator": four(), "perturbation": SHARP, **settings})
    with pytest.raises(ValueError, match=said):
        model.fit(X)
    assert not hasattr(model, "reports_")


def test_denoising_other_noise_is_refused():
    remapped = PlanarLaplace(1.0, bounds=BOUNDS, remap=X[:5]).fit(X)
    for other in (four(), LaplaceMechanism(1.0, bounds=BOUNDS).fit(X), remapped):
        with pytest.raises(TypeError, match="is not known as a density"):
            noise_widths(other)
    model = LocalClustering(four(), perturbation=LaplaceMechanism(1.0, bounds=BOUNDS), denoise=True)
    with pytest.raises(TypeError, match="is not known as a density"):
        model.fit(X)
    assert not hasattr(model, "reports_")


def test_widths_of_the_noise_follow_units_and_truncation():
    box = ([-12, -120], [12, 120])
    assert np.allclose(noise_widths(NDLaplace(2.0, bounds=box).fit(X)), 0.5)
    assert np.allclose(noise_widths(NDLaplace(2.0, bounds=box, truncation="resample").fit(X)), 1.0)
    assert np.allclose(noise_widths(NDLaplace(2.0, bounds=box, units="box").fit(X)), [6, 60])


def replayed(rows, epsilon, key):
    """Reports whose noise comes out the same in every test run."""
    from sfumato._core.local.randomizer import Randomizer
    from sfumato._lattice.box import Box

    mechanism = NDLaplace(epsilon, bounds=BOUNDS).fit(rows)
    randomizer = Randomizer(Box.of(BOUNDS, rows.shape[1]), units="data", noise=ReplayedNoise(key))
    return randomizer.perturb(rows, mechanism.plan_.mechanism, clamp=True), noise_widths(mechanism)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_centres_without_noise_are_nearer_the_truth(epsilon):
    rows, _ = make_blobs(2000, 2, centers=4, cluster_std=0.6, random_state=0)
    truth = four().fit(rows).cluster_centers_
    before, after = [], []
    for run in range(3):
        reports, widths = replayed(rows, epsilon, bytes([run]) * 32)
        centers = four().fit(reports).cluster_centers_
        before.append(center_error(centers, truth))
        after.append(center_error(without_noise(reports, centers, widths), truth))
    assert np.mean(after) < 0.6 * np.mean(before)


def test_wide_clusters_keep_their_centres():
    reports, widths = replayed(X, 20.0, bytes(32))
    centers = four().fit(reports).cluster_centers_
    assert without_noise(reports, centers, widths) is centers


def test_denoise_moves_centres_and_labels_together():
    mechanism = NDLaplace(0.5, bounds=BOUNDS)
    model = LocalClustering(four(), perturbation=mechanism, scale=True, denoise=True).fit(X)
    plain = LocalClustering(four(), perturbation="done", scale=True).fit(model.reports_)
    assert center_error(model.cluster_centers_, plain.cluster_centers_) > 0.05
    assert np.array_equal(model.predict(model.reports_), model.labels_)
    assert (np.abs(model.cluster_centers_) <= 12).all()
