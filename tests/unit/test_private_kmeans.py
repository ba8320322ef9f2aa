"""PrivateKMeans: scikit-learn's contract, saving, errors before the charge, what stays hidden."""

import json
import re
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import sfumato
from sfumato import Curator, Overspent, PrivateKMeans
from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import Grid
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import Box
from sfumato._released_model import to_dict
from sfumato.methods import NEEDS_DELTA, DPLloyd
from tests.no_noise import NoNoise

RNG = np.random.default_rng(0)
X = RNG.normal([[0.2, 0.3]] * 300 + [[0.8, 0.7]] * 300, 0.05)

EXPECTED_FAILURES = {
    "check_clustering": "labels_ of the training rows would betray them and does not exist",
    "check_estimators_empty_data_messages": "0 rows are a neighbour of 1 row: charged and answered",
    "check_fit_idempotent": "two fits never draw the same noise",
    "check_dtype_object": "an object array has no public numeric type: refused before the charge",
}


def model(**settings):
    return PrivateKMeans(**{"n_clusters": 2, "bounds": (0, 1), "random_state": 0, **settings})


def test_scikit_learn_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            PrivateKMeans(n_clusters=3, bounds=(-10, 10)),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    xfailed = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert xfailed == set(EXPECTED_FAILURES), "an entry that no longer fails must go"


def test_finds_two_clear_clusters():
    fitted = model(epsilon=5.0, random_state=3).fit(X)
    centers = fitted.cluster_centers_[np.argsort(fitted.cluster_centers_[:, 0])]
    np.testing.assert_allclose(centers, [[0.2, 0.3], [0.8, 0.7]], atol=0.1)
    np.testing.assert_allclose(fitted.cluster_sizes_, [300, 300], atol=60)


def test_clone_and_get_params_are_plain_values():
    original = model(method=DPLloyd(iterations=3))
    assert clone(original).get_params() == original.get_params()
    assert original.get_params()["method"] == DPLloyd(iterations=3)


def test_works_in_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(), model())
    assert pipeline.fit(X).predict(X).shape == (len(X),)
    assert pipeline.transform(X).shape == (len(X), 2)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(X, columns=["a", "b"]),
        pl.DataFrame(X, schema=["a", "b"]),
        pa.table({"a": X[:, 0], "b": X[:, 1]}),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_frames_give_the_same_as_arrays_and_keep_names(frame):
    def fit(data):
        return model().fit(Curator(data, bounds=(0, 1), epsilon=1.0, noise=ReplayedNoise(1)))

    np.testing.assert_array_equal(fit(frame).cluster_centers_, fit(X).cluster_centers_)
    fitted = model().fit(frame)
    assert fitted.n_features_in_ == 2
    assert names_are_kept(fitted, frame)


def names_are_kept(fitted, frame):
    """Which frames scikit-learn can read names from, besides pandas, depends on its version."""
    names = getattr(fitted, "feature_names_in_", np.array([])).tolist()
    return names == ["a", "b"] or (names == [] and not isinstance(frame, pd.DataFrame))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_groups_by_column_name(frame):
    data = frame({"a": X[:, 0], "who": [f"p{i % 50}" for i in range(len(X))], "b": X[:, 1]})
    fitted = model(max_rows_per_group=4).fit(data, groups="who")
    assert names_are_kept(fitted, data)
    assert fitted.n_features_in_ == 2
    assert "one group of at most 4 rows" in str(fitted.receipt_)
    same = model(max_rows_per_group=4).fit(X, groups=np.arange(len(X)) % 50)
    assert same.receipt_.guarantee == fitted.receipt_.guarantee
    with pytest.raises(ValueError, match="'nobody'"):
        model().fit(data, groups="nobody")


def huge_ids():
    """Ids that float64 cannot tell apart, and a missing one."""
    ids = [2**60, 2**60 + 1, None] * 2
    yield pd.DataFrame({"a": np.zeros(6), "who": pd.array(ids, dtype="Int64")})
    yield pl.DataFrame({"a": np.zeros(6), "who": ids})
    yield pa.table({"a": np.zeros(6), "who": pa.array(ids)})


@pytest.mark.parametrize("frame", [*huge_ids()], ids=["pandas", "polars", "arrow"])
def test_people_with_almost_equal_ids_stay_apart(frame):
    curator = Curator(
        frame, bounds=(0, 1), epsilon=1.0, groups="who", max_rows_per_group=1, noise=NoNoise()
    )
    share = curator.reserve("test", Caps(pure=Fraction(1))).rest("pure")
    assert curator.counts(Grid(1, 1), share=share).values.tolist() == [3.0]


@pytest.mark.parametrize(
    ("method", "delta"),
    [(m, d) for m in sfumato.METHODS for d in (0.0, 1e-6) if d or m not in NEEDS_DELTA],
)
def test_save_and_load(tmp_path, method, delta):
    fitted = model(method=method, delta=delta).fit(pd.DataFrame(X, columns=["a", "b"]))
    fitted.save(tmp_path / "model.json")
    loaded = sfumato.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.cluster_centers_, fitted.cluster_centers_)
    np.testing.assert_array_equal(loaded.cluster_sizes_, fitted.cluster_sizes_)
    assert loaded.receipt_ == fitted.receipt_
    assert str(loaded.receipt_) == str(fitted.receipt_)
    named = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(loaded.predict(named), fitted.predict(named))
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    assert loaded.get_params()["method"] == method


def test_configured_methods_are_saved(tmp_path):
    fitted = model(method=DPLloyd(iterations=2, noise="laplace")).fit(X)
    fitted.save(tmp_path / "model.json")
    assert sfumato.load(tmp_path / "model.json").method == DPLloyd(iterations=2, noise="laplace")


def test_only_sfumato_models_are_loaded(tmp_path):
    path = tmp_path / "other.json"
    for text in ("[]", "{}", "not json", '{"format": 99}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="not a sfumato model"):
            sfumato.load(path)
    with pytest.raises(FileNotFoundError):
        sfumato.load(tmp_path / "missing.json")


def test_nothing_is_half_written(tmp_path):
    fitted = model().fit(X)
    with pytest.raises(OSError, match="missing"):
        fitted.save(tmp_path / "missing" / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_a_model_holds_no_rows():
    """What a fitted model and its file say about rows with tell-tale values: nothing."""
    secret = X.copy()
    secret[0] = [0.123456789, 0.987654321]
    fitted = model().fit(secret)
    shown = json.dumps(to_dict(fitted)) + str(vars(fitted)) + str(fitted.receipt_)
    assert "0.12345678" not in shown
    assert "0.98765432" not in shown
    public = {"cluster_centers_", "cluster_sizes_", "receipt_", "n_features_in_", "box_", "stream_"}
    released = public | {"synopsis_", "_errors_"}
    assert {name for name in vars(fitted) if name.endswith("_")} == released


@pytest.mark.parametrize("name", ["labels_", "inertia_"])
def test_hidden_attributes_explain_themselves(name):
    fitted = model().fit(X)
    with pytest.raises(AttributeError, match=r"betray rows.*predict\(X\).*nonprivate"):
        getattr(fitted, name)
    assert not hasattr(fitted, "anything_else")


def test_one_curator_keeps_one_budget_across_fits():
    curator = Curator(X, bounds=(0, 1), epsilon=1.0)
    for _ in range(10):
        model(epsilon=0.1).fit(curator)
    with pytest.raises(Overspent, match=r"total \(1, 0\), spent \(1, 0\)"):
        model(epsilon=0.1).fit(curator)


def test_a_fit_refused_before_its_first_query_costs_nothing():
    curator = Curator(X, bounds=(0, 1), epsilon=1.0)
    for settings in ({"epsilon": 1e-15}, {"n_clusters": 10**9}):
        with pytest.raises(ValueError, match=r"epsilon|clusters"):
            model(**settings).fit(curator)
    assert curator.ledger.spent == (0, 0)


def test_receipt_is_a_table_with_the_promise():
    text = str(model(epsilon=0.5, method="dplloyd").fit(X).receipt_)
    assert "counts and sums of 2 nearest-centre cells" in text
    assert "5 × ε 0.1 " in text
    halving = str(model(method=DPLloyd(3, schedule="halving")).fit(X).receipt_)
    assert re.search(r"│ +ε 0.5 │", halving)
    assert "2 × ε 0.25" in halving
    assert "Adding or removing one row" in text
    assert "rows" in text
    assert max(len(line) for line in text.splitlines()) <= 100
    approximate = model(n_clusters=1, delta=1e-6, method=DPLloyd(noise="gaussian")).fit(X)
    assert "μ²" in str(approximate.receipt_)
    assert "δ = 1e-06" in str(approximate.receipt_)
    parsed = json.loads(approximate.receipt_.to_json())
    assert parsed["guarantee"]["kind"] == "approximate"
    assert parsed["rho_zcdp_cap"] > 0


BAD_SETTINGS = [
    ({"epsilon": 0}, ValueError),
    ({"epsilon": -1.0}, ValueError),
    ({"epsilon": float("nan")}, ValueError),
    ({"epsilon": float("inf")}, ValueError),
    ({"epsilon": "1"}, TypeError),
    ({"epsilon": True}, TypeError),
    ({"epsilon": 1e-300}, ValueError),
    ({"delta": 1.0}, ValueError),
    ({"delta": -1e-9}, ValueError),
    ({"delta": "0"}, TypeError),
    ({"n_clusters": 0}, ValueError),
    ({"n_clusters": -1}, ValueError),
    ({"n_clusters": 2.5}, TypeError),
    ({"n_clusters": True}, TypeError),
    ({"n_clusters": "many"}, ValueError),
    ({"n_clusters": "auto", "method": "dplloyd"}, ValueError),
    ({"n_clusters": 10**9}, ValueError),
    ({"bounds": None}, ValueError),
    ({"bounds": (1, 0)}, ValueError),
    ({"bounds": (0, 0)}, ValueError),
    ({"bounds": (0, np.inf)}, ValueError),
    ({"bounds": ([0, 0, 0], 1)}, ValueError),
    ({"method": "magic"}, ValueError),
    ({"method": 3}, TypeError),
    ({"n_rows": -1}, ValueError),
    ({"n_rows": 2.5}, TypeError),
    ({"nan": "zero"}, ValueError),
    ({"max_rows_per_group": 0}, ValueError),
    ({"max_rows_per_group": "some"}, TypeError),
    ({"max_rows_per_group": "private"}, ValueError),
]


@pytest.mark.parametrize(("settings", "kind"), BAD_SETTINGS, ids=str)
def test_bad_settings_are_refused_before_anything_is_read(settings, kind, monkeypatch):
    monkeypatch.setattr(
        sfumato.engines._memory.ArrayRows,
        "fold",
        lambda *_: pytest.fail("a row was read"),
    )
    with pytest.raises(kind) as error:
        model(**settings).fit(X)
    assert str(error.value)


BAD_DATA = {
    "sparse": (sparse.csr_matrix(X), TypeError),
    "complex": (X + 0j, ValueError),
    "objects": (X.astype(object), (TypeError, ValueError)),
    "text": (np.array([["a", "b"]]), (TypeError, ValueError)),
    "dates": (np.zeros((3, 2), dtype="datetime64[s]"), (TypeError, ValueError)),
    "one dimension": (X[:, 0], ValueError),
    "three dimensions": (X[None], ValueError),
    "no columns": (X[:, :0], ValueError),
    "nothing": (None, (TypeError, ValueError)),
    "missing file": ("nowhere.csv", FileNotFoundError),
    "unknown file": ("data.xyz", (ValueError, FileNotFoundError)),
}


@pytest.mark.parametrize(("data", "kind"), BAD_DATA.values(), ids=BAD_DATA.keys())
def test_bad_data_is_refused_with_a_typed_error(data, kind):
    with pytest.raises(kind) as error:
        model().fit(data)
    assert str(error.value)


def test_groups_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="groups"):
        model().fit(X, groups=np.arange(3))
    with pytest.raises(ValueError, match="belong to the Curator"):
        model().fit(Curator(X, bounds=(0, 1), epsilon=1.0), groups=np.arange(len(X)))


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows_are_not_an_error(rows):
    fitted = model(n_clusters=5).fit(X[:rows])
    assert fitted.cluster_centers_.shape == (5, 2)
    assert len(fitted.receipt_.lines) >= 2


def test_cells_that_are_not_numbers_are_not_an_error():
    holes = X.copy()
    holes[::7] = np.nan
    holes[1::7, 0] = np.inf
    for nan in ("ignore", "center", "drop"):
        fitted = model(nan=nan).fit(holes)
        assert np.isfinite(fitted.cluster_centers_).all()
        assert fitted.predict(holes).shape == (len(holes),)


def test_receipts_say_what_became_of_missing_cells():
    words = {
        "ignore": "were ignored: a row counts with the columns it has",
        "center": "were put at the centre of their column",
        "drop": "were left out",
    }
    for nan, said in words.items():
        assert said in model(nan=nan).fit(X).receipt_.notes[-1]
    assert words["ignore"] in model().fit(X).receipt_.notes[-1]


def test_predict_looks_at_the_columns_that_a_row_has():
    fitted = model(bounds=([0, -1], [1, 1])).fit(X)
    fitted.cluster_centers_ = np.array([[0.1, 0.9], [0.8, -0.1]])
    rows = np.array([[np.nan, 0.95], [0.2, np.inf], [np.nan, np.nan], [0.8, 0.0]])
    distances = [[0.05, 1.05], [0.2, 1.2], [0, 0], [np.hypot(1.4, 0.9), 0.1]]
    assert fitted.predict(rows).tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(fitted.transform(rows), distances, atol=1e-9)
    masked = np.ma.array(np.where(np.isfinite(rows), rows, 0.8), mask=~np.isfinite(rows))
    assert fitted.predict(masked).tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(fitted.transform(masked), distances, atol=1e-9)
    for nan in ("center", "drop"):
        fitted.box_ = Box(fitted.box_.lower, fitted.box_.upper, nan)
        np.testing.assert_allclose(
            fitted.transform(rows), fitted.transform(np.where(np.isfinite(rows), rows, [0.5, 0.0]))
        )


@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
def test_saved_models_keep_what_becomes_of_missing_cells(nan, tmp_path):
    fitted = model(nan=nan).fit(X)
    fitted.save(tmp_path / "model.json")
    again = sfumato.load(tmp_path / "model.json")
    assert (again.nan, again.box_.nan) == (nan, nan)
    rows = [[np.nan, 0.1], [0.9, np.nan]]
    np.testing.assert_array_equal(again.transform(rows), fitted.transform(rows))


def test_predict_is_near_in_the_cube_of_the_bounds():
    wide = X * [1, 1000]
    fitted = model(bounds=([0, 0], [1, 1000]), epsilon=20.0, random_state=3).fit(wide)
    labels = fitted.predict(wide)
    assert {*labels[:300]} != {*labels[300:]}
    assert len({*labels[:300]}) == len({*labels[300:]}) == 1
    np.testing.assert_array_equal(fitted.transform(wide).argmin(axis=1), labels)


def test_fit_predict_and_fit_transform_take_rows_only(tmp_path):
    assert model().fit_predict(X).shape == (len(X),)
    assert model().fit_transform(X).shape == (len(X), 2)
    for call in (model().fit_predict, model().fit_transform):
        with pytest.raises(TypeError, match="caller brings"):
            call(Curator(X, bounds=(0, 1), epsilon=1.0))


def test_set_output_names_the_distances():
    frame = model().set_output(transform="pandas").fit(X).transform(X)
    assert list(frame.columns) == ["privatekmeans0", "privatekmeans1"]
