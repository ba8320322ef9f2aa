"""NDLaplace: scikit-learn's contract, its receipt, and input that is refused before a draw."""

import json
import math
import pickle
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import sfumato
from sfumato import NDLaplace, local_epsilon, mean_displacement
from sfumato._accounting.budget import Caps, Share
from sfumato._accounting.guarantee import Guarantee
from sfumato.local._transformer import LocalReceipt

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(300, 2))
SECRET = 73.219884

EXPECTED_FAILURES = {
    "check_dtype_object": "an object array has no public numeric type: refused before a draw",
    "check_estimators_pickle": "two transforms never draw the same noise",
    "check_fit_idempotent": "two transforms never draw the same noise",
}


def model(**settings):
    return NDLaplace(**{"epsilon": 10.0, "bounds": (0, 1), **settings})


def test_scikit_learn_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            NDLaplace(epsilon=1.0, bounds=(-10, 10)),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    xfailed = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert xfailed == set(EXPECTED_FAILURES), "an entry that no longer fails must go"


def test_works_in_a_pipeline_before_scaling():
    pipeline = make_pipeline(model(), StandardScaler(), KMeans(2, n_init=1, random_state=0))
    assert pipeline.fit(X).predict(X).shape == (len(X),)
    assert pipeline[:-1].get_feature_names_out().tolist() == ["x0", "x1"]


def test_clone_and_get_params_are_plain_values():
    original = model(truncation="none", units="box", nan="keep")
    assert clone(original).get_params() == original.get_params()
    assert clone(model(epsilon=None, level=1, radius=0.1)).fit(X).receipt_.epsilon == 10


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_keeps_names(container):
    frame = pd.DataFrame(X, columns=["a", "b"], index=range(7, 307))
    reports = model().set_output(transform=container).fit(frame).transform(frame)
    assert list(reports.columns) == ["a", "b"]
    assert reports.shape == X.shape
    if container == "pandas":
        assert reports.index.tolist() == list(range(7, 307))


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame(X, columns=["a", "b"]),
        pl.DataFrame(X, schema=["a", "b"]),
        pa.table({"a": X[:, 0], "b": X[:, 1]}),
        X.astype(np.float32),
        X.tolist(),
    ],
    ids=["pandas", "polars", "arrow", "float32", "lists"],
)
def test_takes_what_a_fit_takes(data):
    # So little noise that a report is its row, up to a few lattice steps.
    reports = model(epsilon=1e6).fit_transform(data)
    np.testing.assert_allclose(reports, X, atol=1e-3)


@pytest.mark.parametrize("truncation", ["clamp", "resample"])
def test_truncated_reports_lie_in_the_bounds(truncation):
    bounds = ([-3.3, 0.1], [1.7, 0.4])
    reports = model(epsilon=3, bounds=bounds, truncation=truncation).fit_transform(
        RNG.uniform(*bounds, (5000, 2))
    )
    assert (reports >= bounds[0]).all()
    assert (reports <= bounds[1]).all()
    wide = model(epsilon=3, bounds=bounds, truncation="none").fit_transform(np.ones((5000, 2)))
    assert wide[:, 1].max() > 0.4


def test_missing_cells_go_to_the_centre_or_stay_missing():
    rows = np.array([[np.nan, 0.25], [0.75, np.inf], [0.25, 0.75]])
    centered = model(epsilon=1e6).fit_transform(rows)
    np.testing.assert_allclose(centered, [[0.5, 0.25], [0.75, 0.5], [0.25, 0.75]], atol=1e-3)
    kept = model(epsilon=1e6, nan="keep").fit(rows)
    reports = kept.transform(rows)
    np.testing.assert_allclose(reports, [[np.nan, 0.25], [0.75, np.nan], [0.25, 0.75]], atol=1e-3)
    assert "missing is not hidden" in str(kept.receipt_)
    assert "missing" not in str(model().fit(rows).receipt_)


def test_a_fit_reads_no_value():
    class Closed:
        """Rows that say their shape and nothing else."""

        shape, ndim = (3, 2), 2

        def __array__(self, dtype=None, copy=None):
            return np.full((3, 2), np.nan)

    assert model().fit(Closed()).receipt_ == model().fit(X).receipt_


def test_the_receipt_explains_the_metric_guarantee():
    receipt = model(epsilon=0.5, bounds=(0, 100)).fit(X).receipt_
    assert receipt.guarantee.kind == "metric"
    assert receipt.guarantee.amount == Fraction(1, 2)
    text = str(receipt)
    assert (
        "Two points r apart, in the units of the data, look alike within a factor exp(0.5·r)"
        in text
    )
    assert "ε = 0.5 per unit of distance" in text
    assert "never adds" in text
    assert "4 from its row on average" in text
    assert receipt.between_any_two == pytest.approx(50 * math.sqrt(2), rel=1e-4)
    assert receipt.slack < 1e-20
    assert LocalReceipt.from_dict(json.loads(receipt.to_json())) == receipt
    assert "half-widths" in str(model(units="box").fit(X).receipt_)


def test_the_factors_of_the_receipt_are_those_of_the_promise():
    guarantee = model(epsilon=2, bounds=(0, 100)).fit(X).guarantee_
    text = str(model(epsilon=2, bounds=(0, 100)).fit(X).receipt_)
    apart = float(text.split("Factors: ")[1].split(" apart within 2,")[0])
    assert 2 * (apart + guarantee.snap) == pytest.approx(math.log(2), rel=1e-3)


def test_resampling_says_that_it_draws_with_half_of_epsilon():
    half = model(epsilon=8, truncation="resample").fit(X).receipt_
    assert half.guarantee == model(epsilon=8).fit(X).receipt_.guarantee
    assert "exp(−4·distance)" in half.mechanism
    assert "ε/2" in str(half)
    assert "0.5 from its row" in str(half)
    assert "exp(−8·distance)" in model(epsilon=8).fit(X).receipt_.mechanism


def test_metric_guarantees_never_become_budget():
    promise = model().fit(X).guarantee_
    with pytest.raises(TypeError, match="do not add up"):
        promise + Guarantee("pure", Fraction(1))
    with pytest.raises(TypeError, match="do not add up"):
        promise + Guarantee("local", Fraction(1))
    with pytest.raises(TypeError, match="metric"):
        promise.as_epsilon_delta()
    with pytest.raises(TypeError):
        Caps(pure=Fraction(1)).of(promise.kind)
    curator = sfumato.Curator(X, bounds=(0, 1), epsilon=1.0)
    account = curator.reserve("test", Caps(pure=Fraction(1)))
    with pytest.raises(TypeError, match="metric"):
        curator.block_means(2, blocks=3, share=Share("metric", Fraction(1), account=account), key=1)
    assert account.entries == ()


def test_reports_of_the_same_row_add_up():
    once = model().fit(X).guarantee_
    assert (once + once).amount == 20
    assert (once + once).snap == once.snap
    with pytest.raises(TypeError):
        once + model(units="box").fit(X).guarantee_


def test_level_and_radius():
    assert model(epsilon=None, level=1, radius=0.1).fit(X).receipt_.epsilon == 10
    exact = model(epsilon=None, level=0.1, radius=0.3).fit(X).guarantee_.amount
    assert exact == Fraction(1, 3)


def test_closed_forms():
    assert mean_displacement(0.5, 2) == 4
    assert local_epsilon(2, ([0, 0], [3, 4])) == pytest.approx(10, rel=1e-4)
    assert local_epsilon(2, (0, 1)) == pytest.approx(2)
    assert local_epsilon(2, (0, 1), d=9) == pytest.approx(6)
    assert local_epsilon(2, ([0, 0], [3, 4]), units="box") == pytest.approx(4 * math.sqrt(2))
    assert model(bounds=([0, 0], [3, 4])).fit(X).receipt_.between_any_two == local_epsilon(
        10, ([0, 0], [3, 4])
    )


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"epsilon": 0}, ValueError, "epsilon must be a positive"),
        ({"epsilon": "1"}, TypeError, "epsilon must be a positive"),
        ({"epsilon": math.inf}, ValueError, "epsilon"),
        ({"epsilon": None}, ValueError, "either epsilon, or level and radius"),
        ({"level": 1, "radius": 1}, ValueError, "epsilon=10.0, level=1, radius=1"),
        ({"epsilon": None, "level": 1}, ValueError, "got level=1"),
        ({"epsilon": None, "level": 1, "radius": -1}, ValueError, "radius must be a positive"),
        ({"epsilon": None, "level": True, "radius": 1}, TypeError, "level must be a positive"),
        ({"bounds": None}, ValueError, "bounds are required"),
        ({"bounds": (1, 0)}, ValueError, "lower bound of column 0"),
        ({"bounds": ([0, 0, 0], 1)}, ValueError, "one number or 2"),
        ({"bounds": ([0, 0], [1, 1e9])}, ValueError, "units='box'"),
        ({"truncation": "fold"}, ValueError, "'clamp', 'resample' or 'none', got 'fold'"),
        ({"units": "metres"}, ValueError, "'data' or 'box', got 'metres'"),
        ({"nan": "drop"}, ValueError, "'center' or 'keep', got 'drop'"),
        ({"epsilon": 1e-300}, ValueError, "scale"),
        ({"epsilon": 1e-6, "truncation": "resample"}, ValueError, "truncation='clamp' would work"),
    ],
)
def test_bad_settings_are_refused_in_fit(settings, error, said):
    with pytest.raises(error, match=said.replace("(", r"\(")):
        model(**settings).fit(X)


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        ([["a", "b"], [SECRET, "c"]], TypeError, "type"),
        (np.array([[SECRET, None]], dtype=object), TypeError, "type object"),
        (np.array([SECRET, 2.0]), ValueError, "Expected 2D array"),
        (np.array([[SECRET + 1j, 2.0]]), ValueError, "Complex"),
        ([[SECRET, 1.0], [2.0]], ValueError, "unequal length"),
        (np.full((3, 3), SECRET), ValueError, "3 features"),
        (np.empty((0, 2)), ValueError, "0 sample"),
        (pd.DataFrame({"a": [SECRET], "b": ["x"]}), TypeError, "type"),
        ("people.csv", TypeError, "type"),
    ],
)
def test_bad_rows_are_refused_without_an_echo(rows, error, said, monkeypatch):
    fitted = model().fit(X)

    def no_noise(*_):
        raise AssertionError("something was drawn")

    monkeypatch.setattr("sfumato._core.sampling.source.SecureNoise.ball", no_noise)
    with pytest.raises(error, match=said) as caught:
        fitted.transform(rows)
    assert "73.2" not in str(caught.value)


def test_other_names_of_columns_are_refused():
    fitted = model().fit(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(pd.DataFrame(X, columns=["b", "a"]))


def test_no_row_raises_or_warns():
    strange = np.array([[np.nan, np.inf], [-np.inf, 1e308], [-1e308, 5e-324], [1e300, -0.0]])
    for truncation in ("clamp", "resample", "none"):
        with np.errstate(all="raise"):
            reports = model(truncation=truncation).fit_transform(strange)
        assert np.isfinite(reports).all()


def test_a_fitted_model_can_be_pickled_and_holds_no_rows():
    fitted = model().fit(np.full((3, 2), SECRET))
    dumped = pickle.dumps(fitted)
    assert np.float64(SECRET).tobytes() not in dumped
    assert pickle.loads(dumped).transform(X).shape == X.shape


def test_the_page_shows_the_receipt_as_it_is_printed():
    page = (Path(__file__).parents[3] / "docs" / "local-model.md").read_text("utf-8")
    shown = re.search(r"```text example\n(.*?)```", page, re.DOTALL).group(1)
    receipt = NDLaplace(level=1, radius=0.5, bounds=(0, 20)).fit(X).receipt_
    assert " ".join(shown.split()) == " ".join(str(receipt).split())
