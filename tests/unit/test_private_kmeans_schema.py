"""PrivateKMeans on tables with a schema: centres in users' units, weights, missing cells."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from sfumato import (
    Category,
    Curator,
    Cycle,
    Date,
    Flag,
    Number,
    Ordinal,
    PrivateKMeans,
    Schema,
    Weight,
)
from sfumato._core.testing import ReplayedNoise
from sfumato.engines._memory import ArrayRows
from tests.no_noise import NoNoise
from tests.unit.test_private_kmeans import EXPECTED_FAILURES

SCHEMA = Schema(
    age=Number(0, 100),
    sex=Category("F", "M"),
    grade=Ordinal("mild", "moderate", "severe"),
    ill=Flag(),
    day=Date("2020-01-01", "2021-01-01"),
    hour=Cycle(24),
)


def table(n=4000, seed=0):
    """Two kinds of people, in every kind of column."""
    rng = np.random.default_rng(seed)
    old = np.arange(n) % 2 == 1
    return pd.DataFrame(
        {
            "note": "free text",
            "day": np.where(old, "2020-10-01", "2020-03-01"),
            "age": np.where(old, 70, 30) + rng.normal(0, 3, n),
            "sex": np.where(rng.random(n) < np.where(old, 0.9, 0.2), "F", "M"),
            "grade": np.where(old, "severe", "mild"),
            "ill": np.where(old, "yes", "no"),
            "hour": np.mod(np.where(old, 23, 11) + rng.normal(0, 1, n), 24),
            "who": np.arange(n) // 4,
        }
    )


TABLE = table()


def model(**settings):
    return PrivateKMeans(**{"n_clusters": 2, "schema": SCHEMA, "random_state": 0, **settings})


def exact(data, schema=SCHEMA, *, k=2, method="dplloyd", **settings):
    """A fit without noise."""
    curator = Curator(data, schema=schema, epsilon=1.0, noise=NoNoise(), **settings)
    return PrivateKMeans(k, method=method, random_state=0).fit(curator)


def test_centres_are_in_the_users_units_and_words():
    fitted = model(epsilon=20.0).fit(TABLE)
    assert fitted.schema_ is SCHEMA
    assert fitted.encoded_centers_.shape == (2, SCHEMA.dimensions)
    assert fitted.cluster_centers_.shape == (2, len(SCHEMA.number_names))
    young, old = sorted(fitted.cluster_profiles_, key=lambda words: words["age"])
    assert (young["age"], old["age"]) == (pytest.approx(30, abs=8), pytest.approx(70, abs=8))
    assert (young["sex"]["leading"], old["sex"]["leading"]) == ("M", "F")
    assert (young["grade"]["level"], old["grade"]["level"]) == ("mild", "severe")
    assert young["ill"] < 0.2 < 0.8 < old["ill"]
    assert young["day"] < "2020-05" < "2020-08" < old["day"]
    assert abs(young["hour"] - 11) < 2
    assert min(old["hour"], 24 - old["hour"]) < 2, "23 is as near to 1 as to 21"
    assert list(fitted.feature_names_in_) == list(SCHEMA.features)
    assert fitted.n_features_in_ == len(SCHEMA.features)


@pytest.mark.parametrize("method", ["auto", "dplloyd", "eugkm"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_shares_of_levels_are_distributions_whatever_the_noise(method, epsilon):
    schema = Schema(age=Number(0, 100), sex=Category("F", "M", "X", weight=0.3))
    fitted = model(schema=schema, method=method, epsilon=epsilon, n_clusters=4).fit(TABLE[:50])
    shares = fitted.cluster_centers_[:, 1:]
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    # What is saved and labelled by is the same point.
    np.testing.assert_allclose(schema.decode(fitted.encoded_centers_), fitted.cluster_centers_)
    coordinates = fitted.encoded_centers_[:, 1:] / (np.sqrt(0.5) * 0.3)
    np.testing.assert_allclose((coordinates + 1).sum(axis=1), 2)


def test_the_receipt_says_what_was_declared_and_names_the_chapter():
    schema = Schema(age=Number(0, 100, source="the law"), w=Weight(0, 3, source="survey"))
    fitted = model(schema=schema).fit(TABLE.assign(w=1))
    assert "declared of age: 0 to 100 (the law)" in fitted.receipt_.notes
    assert "declared of w: weights of 0 to 3, in steps of 1 (survey)" in fitted.receipt_.notes
    assert "Tables with a schema" in fitted.receipt_.chapters
    plain = model(schema=None, bounds=(0, 100)).fit(TABLE[["age"]])
    assert "Tables with a schema" not in plain.receipt_.chapters
    assert plain.schema_ is None
    with pytest.raises(AttributeError, match="where the columns have a schema"):
        plain.cluster_profiles_  # noqa: B018


def test_numbers_with_a_linear_scale_are_fitted_as_bounds_are():
    """One encoding, one set of bits: names alone change nothing."""
    rows = TABLE[["age", "hour"]]

    def fit(**facts):
        noise = ReplayedNoise(5)
        return PrivateKMeans(3, random_state=1).fit(
            Curator(rows, epsilon=1.0, noise=noise, **facts)
        )

    one = fit(bounds=([0, 0], [100, 24]))
    for other in (
        fit(bounds={"age": (0, 100), "hour": (0, 24)}),
        fit(schema=Schema(age=Number(0, 100), hour=Number(0, 24))),
    ):
        np.testing.assert_allclose(other.cluster_centers_, one.cluster_centers_, rtol=1e-12)
        np.testing.assert_array_equal(other.cluster_sizes_, one.cluster_sizes_)


def test_refitting_without_a_schema_forgets_it():
    fitted = model().fit(TABLE)
    fitted.set_params(schema=None, bounds=(0, 100)).fit(TABLE[["age"]])
    assert fitted.schema_ is None
    assert not hasattr(fitted, "encoded_centers_")
    assert fitted.predict(TABLE[["age"]]).shape == (len(TABLE),)


# Refusals: nothing is charged.


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"bounds": (0, 1)}, "leave bounds out"),
        ({"bounds": "private"}, "leave bounds out"),
        ({"nan": "drop"}, "missing=…"),
        ({"max_rows_per_group": "private"}, "needs groups"),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
        ({"schema": Schema(planet=Number(0, 1))}, "planet"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        model(**settings).fit(TABLE)


def test_a_curator_has_a_schema_of_its_own():
    curator = Curator(TABLE, schema=SCHEMA, epsilon=2.0)
    assert model().fit(curator).schema_ is SCHEMA
    with pytest.raises(ValueError, match="a schema of its own"):
        model(schema=Schema(age=Number(0, 100))).fit(curator)
    other = Schema({n: SCHEMA.columns[n] for n in reversed(SCHEMA.features)})
    with pytest.raises(ValueError, match="a schema of its own"):
        model(schema=other).fit(curator)
    assert curator.ledger.spent == (1, 0)


def test_rows_per_group_are_chosen_with_a_schema():
    schema = Schema(age=Number(0, 100), w=Weight(0, 2), groups="who")
    fitted = model(schema=schema, max_rows_per_group="private", epsilon=20.0).fit(TABLE.assign(w=1))
    (note,) = (n for n in fitted.receipt_.notes if n.startswith("max_rows_per_group"))
    kept = int(note.split()[1].strip(","))
    assert kept > 1
    assert fitted.receipt_.guarantee.neighbours == f"one group of at most {kept} rows"
    assert float(fitted.receipt_.guarantee.amount) == 20


# Weights.

WHOLE = Schema(age=Number(0, 100), hour=Number(0, 24), w=Weight(0, 3))
COPIES = np.arange(600) % 4
WEIGHTED = TABLE[:600].assign(w=COPIES)


@pytest.mark.parametrize("method", ["dplloyd", "eugkm", "balcan", "auto"])
def test_weights_are_as_good_as_repeating_rows(method):
    repeated = WEIGHTED.loc[WEIGHTED.index.repeat(COPIES)]
    if method == "auto":
        # Noise for three copies makes other choices: the same ones for groups of three.
        grouped = {"groups": np.arange(len(repeated)), "max_rows_per_group": 3}
        other = exact(repeated, WHOLE.unweighted, method=method, **grouped)
    else:
        other = exact(repeated, WHOLE.unweighted, method=method)
    one = exact(WEIGHTED, WHOLE, method=method)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(one.cluster_sizes_, other.cluster_sizes_)
    assert one.cluster_sizes_.sum() == COPIES.sum()


def test_sizes_and_synopses_are_in_units_of_weight():
    tenths = Schema(age=Number(0, 100), hour=Number(0, 24), w=Weight(0, 30, steps=3))
    one = exact(WEIGHTED.assign(w=10 * COPIES), tenths, method="eugkm")
    other = exact(WEIGHTED, WHOLE, method="eugkm")
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_allclose(one.cluster_sizes_, 10 * other.cluster_sizes_)
    np.testing.assert_allclose(one.synopsis_.weights, 10 * other.synopsis_.weights)
    assert one.synopsis_.noise_std == pytest.approx(10 * other.synopsis_.noise_std)
    assert one.synopsis_.weights.sum() == pytest.approx(10 * COPIES.sum())


def test_a_declared_number_of_rows_is_the_sum_of_weights(monkeypatch):
    seen = []

    class Watched:
        def caps(self, task):
            seen.append((task.n_rows, task.max_rows_per_group, task.n_features))
            raise InterruptedError

    monkeypatch.setattr("sfumato._private_kmeans.method_of", lambda _: Watched())
    monkeypatch.setattr("sfumato._private_kmeans.clusters_of", lambda k, _: (k, False))
    schema = Schema(age=Number(0, 100), w=Weight(0, 30, steps=3))
    for rows in (1000, None):
        with pytest.raises(InterruptedError):
            model(schema=schema, n_rows=rows).fit(TABLE.assign(w=1))
    assert seen == [(100, 3, 1), (None, 3, 1)]


def test_noise_is_that_of_all_copies():
    def scale(weight):
        curator = Curator(WEIGHTED, schema=Schema(age=Number(0, 100), w=weight), epsilon=1.0)
        fitted = PrivateKMeans(2, method="eugkm").fit(curator)
        return fitted.synopsis_.noise_std

    assert scale(Weight(0, 6)) == pytest.approx(2 * scale(Weight(0, 3)), rel=1e-3)
    # In units of weight ten steps of 0.3 are as noisy as three of 1.
    assert scale(Weight(0, 3, steps=10)) == pytest.approx(scale(Weight(0, 3)), rel=0.05)


# Missing cells: the story of age and income, with a schema.

TRUE = np.array([[25, 20_000], [30, 75_000], [60, 30_000], [65, 85_000]])
WIDTHS = np.array([100, 100_000])


def people(n=8000, missing=0.15):
    rng = np.random.default_rng(0)
    rows = TRUE[rng.integers(4, size=n)] + rng.normal(0, [2.5, 4000], (n, 2))
    rows[rng.random(n) < missing, 1] = np.nan
    return pd.DataFrame(rows, columns=["age", "income"]).assign(name="somebody")


def test_missing_incomes_make_no_cluster():
    schema = Schema(age=Number(0, 100), income=Number(0, 100_000))
    for method in ("auto", "dplloyd"):
        found = exact(people(), schema, k=4, method=method).cluster_centers_
        found = found[np.lexsort((found[:, 1], found[:, 0] > 45))]
        np.testing.assert_allclose(found / WIDTHS, TRUE / WIDTHS, atol=0.01)
        five = exact(people(), schema, k=5, method=method).cluster_centers_
        assert np.abs(five[:, 1] - 50_000).min() > 15_000, "no ghost where missing cells would be"
    ghost = Schema(age=Number(0, 100), income=Number(0, 100_000, missing="center"))
    five = exact(people(), ghost, k=5, method="auto").cluster_centers_
    assert np.abs(five[:, 1] - 50_000).min() < 1500


# scikit-learn's contract.


def test_scikit_learn_contract_with_threads_and_without():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            PrivateKMeans(n_clusters=3, bounds=(-10, 10), n_jobs=1, schema=None),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_parameters_are_plain_and_can_be_set_and_cloned():
    original = model(n_jobs=2, verbose=1)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert copy.get_params()["schema"] == SCHEMA
    other = Schema(age=Number(0, 100))
    assert copy.set_params(schema=other, n_jobs=None).schema is other
    assert original.schema is SCHEMA
    assert repr(original)


def test_a_pipeline_and_frames_of_output():
    pipeline = make_pipeline(FunctionTransformer(), model())
    assert pipeline.fit(TABLE).predict(TABLE).shape == (len(TABLE),)
    frame = model().set_output(transform="pandas").fit(TABLE).transform(TABLE[:5])
    assert list(frame.columns) == ["privatekmeans0", "privatekmeans1"]
    assert len(frame) == 5
    framed = model().set_output(transform="polars").fit(TABLE).transform(TABLE[:5])
    assert isinstance(framed, pl.DataFrame)


def test_the_number_of_threads_is_that_of_rows_opened_in_the_fit(monkeypatch):
    seen = []
    plain = ArrayRows.__init__

    def noted(self, *args, **settings):
        plain(self, *args, **settings)
        seen.append(self._threads)

    monkeypatch.setenv("SFUMATO_THREADS", "5")
    monkeypatch.setattr(ArrayRows, "__init__", noted)
    for jobs in (None, -1, 1, 3):
        model(n_jobs=jobs).fit(TABLE)
    assert seen == [5, 5, 1, 3]


def test_verbose_prints_passes_and_nothing_of_the_rows(capsys):
    def lines(data):
        curator = Curator(data, schema=SCHEMA, epsilon=1.0, noise=NoNoise())
        PrivateKMeans(2, method="dplloyd", random_state=0, verbose=1).fit(curator)
        printed = capsys.readouterr()
        assert printed.out == ""
        return printed.err.splitlines()

    found = lines(TABLE)
    assert found == [f"[sfumato] pass {i} over the rows: done" for i in range(1, len(found) + 1)]
    assert found
    assert lines(TABLE[:3]) == lines(TABLE[:0]) == found
    model().fit(TABLE)
    assert capsys.readouterr().err == ""
