"""PrivateKMedian: scikit-learn's contract, robustness, saving, what it shares with k-means."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import check_estimator

import sfumato
from sfumato import Category, Curator, Number, PrivateKMeans, PrivateKMedian, Schema, Weight
from sfumato._core.testing import ReplayedNoise
from sfumato._ledger.store import LedgerError
from sfumato._models import MODELS
from sfumato._released_model import settings_of
from tests.unit.test_private_kmeans import EXPECTED_FAILURES

RNG = np.random.default_rng(0)
X = RNG.normal([[0.2, 0.3]] * 2000 + [[0.5, 0.4]] * 2000, 0.03)
X[::16] = RNG.uniform(0.95, 1, (250, 2))
TRUTH = [[0.2, 0.3], [0.5, 0.4]]


def model(**settings):
    return PrivateKMedian(**{"n_clusters": 2, "bounds": (0, 1), "random_state": 0, **settings})


def sorted_centers(fitted):
    return fitted.cluster_centers_[np.argsort(fitted.cluster_centers_[:, 0])]


def test_scikit_learn_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            PrivateKMedian(n_clusters=3, bounds=(-10, 10)),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    xfailed = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert xfailed == set(EXPECTED_FAILURES)


def test_rows_in_a_corner_take_a_mean_but_no_median():
    np.testing.assert_allclose(sorted_centers(model(epsilon=3.0).fit(X)), TRUTH, atol=0.05)
    means = KMeans(2, n_init=10, random_state=0).fit(X)
    assert means.cluster_centers_.max() > 0.8


def test_a_second_of_five_columns_with_gaussian_noise():
    rows = np.hstack([X, X, X[:, :1]])
    found = sorted_centers(model(epsilon=4.0, delta=1e-6).fit(rows))
    np.testing.assert_allclose(found[:, :2], TRUTH, atol=0.05)


def test_score_is_minus_the_sum_of_distances():
    fitted = model().fit(X)
    distances = fitted.transform(X)
    assert fitted.score(X) == pytest.approx(-distances.min(axis=1).sum())
    cost = sfumato.nonprivate.kmedian_cost(X, fitted.cluster_centers_, bounds=(0, 1))
    assert fitted.score(X) == pytest.approx(-cost)
    np.testing.assert_array_equal(fitted.predict(X), distances.argmin(axis=1))


def test_a_missing_cell_adds_no_distance():
    fitted = model().fit(X)
    centers = fitted.cluster_centers_
    expected = np.abs(0.3 - centers[:, 0]).min() * 2
    assert fitted.score([[0.3, np.nan]]) == pytest.approx(-expected)


def test_saving_keeps_the_kind(tmp_path):
    fitted = model().fit(pd.DataFrame(X, columns=["a", "b"]))
    fitted.save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert data["model"] == "median"
    assert "method" not in data
    again = sfumato.load(tmp_path / "model.json")
    assert type(again) is PrivateKMedian is MODELS["median"]
    np.testing.assert_array_equal(again.cluster_centers_, fitted.cluster_centers_)
    assert again.receipt_ == fitted.receipt_
    assert again.feature_names_in_.tolist() == ["a", "b"]
    assert len(again.synopsis_) == len(fitted.synopsis_)
    assert again.n_clusters == 2


def test_parameters_and_what_stays_hidden():
    original = model(n_rows=4000)
    assert clone(original).get_params() == original.get_params()
    assert "method" not in original.get_params()
    fitted = original.fit(X)
    assert fitted.receipt_.method == "KMedian"
    assert "number of rows" not in str(fitted.receipt_)
    for name in ("labels_", "inertia_"):
        with pytest.raises(AttributeError, match="would betray rows"):
            getattr(fitted, name)


def test_the_number_of_clusters_can_be_chosen(tmp_path):
    fitted = model(n_clusters="auto", epsilon=5.0).fit(X)
    assert 2 <= len(fitted.cluster_centers_) <= 20
    assert "chosen on the released counts" in str(fitted.receipt_)
    fitted.save(tmp_path / "m.json")
    assert sfumato.load(tmp_path / "m.json").n_clusters == "auto"
    with pytest.raises(ValueError, match="n_clusters"):
        model(n_clusters=0).fit(X)


def test_private_bounds_and_groups():
    fitted = model(bounds="private", max_rows_per_group=2).fit(X, groups=np.arange(len(X)) // 2)
    assert "one group of at most 2 rows" in str(fitted.receipt_)
    assert fitted.receipt_.guarantee.amount == 1


def test_a_schema_with_a_category_and_weights():
    table = pd.DataFrame(X, columns=["a", "b"])
    table["ward"] = np.where(np.arange(len(X)) < 2000, "north", "south")
    table["w"] = 2.0
    columns = {"a": Number(0, 1), "b": Number(0, 1), "ward": Category("north", "south")}
    schema = Schema(columns, w=Weight(0, 2))
    fitted = PrivateKMedian(2, epsilon=8.0, schema=schema, random_state=0).fit(table)
    north = sorted(profile["ward"]["shares"]["north"] for profile in fitted.cluster_profiles_)
    assert north[0] < 0.2
    assert north[1] > 0.8
    assert fitted.cluster_sizes_.sum() == pytest.approx(8000, rel=0.2)
    labels = fitted.predict(table)
    assert sfumato.nonprivate.adjusted_rand(table.ward, labels) > 0.9


def test_clusters_can_be_explained():
    rows = pd.DataFrame(X, columns=["a", "b"])
    curator = Curator(rows, bounds=(0, 1), epsilon=3.0, noise=ReplayedNoise(1))
    explained = model().fit(curator).explain(curator, epsilon=1.0)
    assert "a" in str(explained)


def test_a_request_is_that_of_one_kind_of_model(tmp_path):
    ledger = sfumato.Ledger.create(tmp_path / "l.db", "clinic", epsilon=3.0)
    curator = Curator(X, bounds=(0, 1), ledger=ledger)
    fitted = model().fit(curator, request="first")
    again = model().fit(curator, request="first")
    np.testing.assert_array_equal(again.cluster_centers_, fitted.cluster_centers_)
    assert ledger.spent == (1, 0)
    assert json.loads(settings_of(fitted, curator))["model"] == "median"
    with pytest.raises(LedgerError, match="for another fit"):
        PrivateKMeans(2, bounds=(0, 1), random_state=0).fit(curator, request="first")
