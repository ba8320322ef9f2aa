"""Which steps may stand in front of a private fit."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils import all_estimators, get_tags

from sfumato import (
    Category,
    Curator,
    NDLaplace,
    Number,
    PrivateKMeans,
    Schema,
    UnsafeStep,
    pipeline,
)
from sfumato._pipeline import HABITS, RowByRow

PAGE = Path(__file__).parents[2] / "docs" / "pipelines.md"
ROWS = np.random.default_rng(0).uniform(size=(60, 3))
TEXTS = ["a b", "c", "", "d e f"] * 15
# Estimators that need arguments; none of them is safe.
NEED_ARGUMENTS = {
    *("ColumnTransformer", "FeatureUnion", "RFE", "RFECV", "SelectFromModel", "SparseCoder"),
    *("SequentialFeatureSelector", "StackingClassifier", "StackingRegressor"),
    *("VotingClassifier", "VotingRegressor"),
}
TRANSFORMERS = [n for n, _ in all_estimators(type_filter="transformer") if n not in NEED_ARGUMENTS]
GIVEN = {
    "OneHotEncoder": {"categories": [[0, 1]] * 3, "handle_unknown": "ignore"},
    "OrdinalEncoder": {
        "categories": [[0, 1]] * 3,
        "handle_unknown": "use_encoded_value",
        "unknown_value": -1,
    },
    "GaussianRandomProjection": {"n_components": 2},
    "SparseRandomProjection": {"n_components": 2},
    "HashingVectorizer": {"n_features": 16},
    "FeatureHasher": {"n_features": 16},
}
SAFE = {
    *("AdditiveChi2Sampler", "Binarizer", "FeatureHasher", "FunctionTransformer", "Normalizer"),
    *("HashingVectorizer", "GaussianRandomProjection", "SparseRandomProjection", "RBFSampler"),
    *("PolynomialFeatures", "PolynomialCountSketch", "SkewedChi2Sampler"),
    *("OneHotEncoder", "OrdinalEncoder"),
}


def model(**settings):
    return PrivateKMeans(2, **{"epsilon": 1.0, "bounds": (0, 1), "method": "dplloyd", **settings})


def rows_for(name):
    return {"HashingVectorizer": TEXTS, "FeatureHasher": [{"a": 1}, {"b": 2.5}] * 30}.get(
        name, ROWS
    )


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_transformer_of_scikit_learn_is_safe_or_refused_with_an_alternative(name):
    step = dict(all_estimators(type_filter="transformer"))[name](**GIVEN.get(name, {}))
    rows = rows_for(name)
    if name in SAFE:
        fitted = pipeline(step, model()).fit(rows)
        assert fitted.predict(rows).shape == (60,)
    elif name == "PatchExtractor":  # stateless, but one image becomes many rows
        with pytest.raises(UnsafeStep, match="PatchExtractor"):
            pipeline(step, model()).fit(rows)
    else:
        with pytest.raises(UnsafeStep, match=rf"{name}.*Instead: .*docs/pipelines\.md"):
            pipeline(step, model())


def test_what_scikit_learn_calls_stateless_is_known_here():
    found = dict(all_estimators(type_filter="transformer"))
    stateless = {n for n in TRANSFORMERS if not get_tags(found[n]()).requires_fit}
    assert stateless <= SAFE | {"PatchExtractor"}


def test_the_page_says_what_the_code_says():
    table = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    ours = [f"| {habit.habit} | {habit.takes} | {habit.instead} |" for habit in HABITS]
    assert [line for line in table if line in ours] == ours
    # A step that the page names in a row of its own must be one of the code.
    steps = {step for habit in HABITS for step in habit.steps.split()}
    others = [line for line in table if line not in ours]
    assert not [line for line in others if set(re.findall(r"\w+", line.split("|")[1])) & steps]


def test_every_refused_step_has_its_own_advice():
    known = {step for habit in HABITS for step in habit.steps.split()}
    assert {n for n in TRANSFORMERS if n not in SAFE} - known == {"PatchExtractor"}


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (StandardScaler(), r"StandardScaler learns from rows \(mean and spread\)"),
        (StandardScaler(with_mean=False, with_std=False), "StandardScaler learns from rows"),
        (CountVectorizer(), "CountVectorizer learns from rows.*HashingVectorizer"),
        (GaussianRandomProjection(), "n_components='auto' counts rows"),
        (SparseRandomProjection(), "n_components='auto' counts rows"),
        (RBFSampler(gamma="scale"), "gamma='scale' is the variance of the rows"),
        (OneHotEncoder(), "categories='auto' are the levels of the rows"),
        (OneHotEncoder(categories=[["a"]]), "handle_unknown='ignore'"),
        (OrdinalEncoder(categories=[["a"]]), "handle_unknown='use_encoded_value'"),
        (
            OneHotEncoder(categories=[["a"]], handle_unknown="ignore", min_frequency=2),
            "min_frequency and max_categories count rows",
        ),
        (make_pipeline(Normalizer(), StandardScaler()), "StandardScaler learns from rows"),
        (FeatureUnion([("a", Normalizer()), ("b", StandardScaler())]), "StandardScaler"),
        (ColumnTransformer([("a", StandardScaler(), [0])]), "StandardScaler learns from rows"),
        (ColumnTransformer([("a", Normalizer(), [0])], remainder=StandardScaler()), "Standard"),
        (FrozenEstimator(StandardScaler().fit(ROWS)), "fitted_on_public_rows=True"),
        (ColumnTransformer([("a", NDLaplace(bounds=(0, 1)), [0])]), "NDLaplace draws noise"),
        (PrivateKMeans(2), "PrivateKMeans learns from rows.*Instead"),
        (Normalizer, "a step must be a transformer"),
        ("passthrough", "a step must be a transformer, got 'passthrough'"),
    ],
)
def test_steps_that_learn_are_refused_before_any_row(step, message):
    with pytest.raises(UnsafeStep, match=message):
        pipeline(step, model())


def test_the_last_step_is_a_private_model():
    with pytest.raises(TypeError, match=r"the last step must be a private model, .*got Normalizer"):
        pipeline(Normalizer())
    with pytest.raises(TypeError, match="as its last step"):
        pipeline()


def test_parts_of_safe_steps_are_safe():
    both = ColumnTransformer(
        [
            ("poly", make_pipeline(Binarizer(threshold=0.5), PolynomialFeatures(2)), [0, 1]),
            ("same", "passthrough", [2]),
        ]
    )
    fitted = pipeline(both, model()).fit(ROWS)
    assert fitted[:-1].transform(ROWS).shape == (60, 7)
    union = FeatureUnion([("a", Normalizer()), ("b", RBFSampler(n_components=3))])
    fitted = pipeline(union, model()).fit(ROWS)
    assert fitted[:-1].transform(ROWS).shape == (60, 6)
    assert fitted[0].tried_.single  # a part multiplies matrices


def test_a_step_that_was_fitted_on_public_rows_needs_a_word():
    census = np.random.default_rng(1).normal(5, 2, size=(100, 3))
    scaler = StandardScaler().fit(census)
    steps = (FrozenEstimator(scaler), model(bounds=(-3, 3)))
    fitted = pipeline(*steps, fitted_on_public_rows=True).fit(ROWS)
    np.testing.assert_array_equal(fitted[:-1].transform(ROWS), scaler.transform(ROWS))
    assert clone(fitted)[0].fitted_on_public_rows
    gaps = np.array([[np.nan, 1, 2], [np.inf, 1, 2]])
    assert np.isnan(fitted[0].transform(gaps)).tolist() == [[True, False, False], [True] * 3]


def test_a_step_never_sees_the_rows_when_it_is_fitted():
    seen = []

    class Watched(FunctionTransformer):
        def fit(self, X, y=None):
            seen.append(np.array(X))
            return self

    pipeline(Watched(), model()).fit(ROWS)
    assert len(seen) == 1
    assert not np.isin(seen[0], ROWS).any()


def test_bounds_are_about_the_columns_that_the_steps_make():
    fitted = pipeline(FunctionTransformer(lambda rows: rows * 10), model(bounds=(0, 10))).fit(ROWS)
    lower, upper = fitted[-1].bounds_
    assert (lower == 0).all()
    assert (upper == 10).all()
    assert fitted.predict(ROWS).shape == (60,)


def test_it_clones_and_has_parameters():
    made = pipeline(Normalizer(), model())
    copy = clone(made).set_params(normalizer__step__norm="l1", privatekmeans__epsilon=2.0)
    assert isinstance(copy, Pipeline)
    assert (copy[0].step.norm, copy[-1].epsilon) == ("l1", 2.0)
    assert (made[0].step.norm, made[-1].epsilon) == ("l2", 1.0)
    search = GridSearchCV(made, {"normalizer__step__norm": ["l1", "l2"]}, cv=KFold(2))
    assert search.fit(ROWS).best_estimator_.predict(ROWS).shape == (60,)


def test_steps_that_were_replaced_are_looked_at_again():
    with pytest.raises(UnsafeStep, match="StandardScaler learns from rows"):
        pipeline(Normalizer(), model()).set_params(normalizer=StandardScaler()).fit(ROWS)
    with pytest.raises(UnsafeStep, match="StandardScaler learns from rows"):
        pipeline(Normalizer(), model()).set_params(normalizer__step=StandardScaler()).fit(ROWS)
    with pytest.raises(UnsafeStep, match="guards it"):
        pipeline(Normalizer(), model()).set_params(normalizer=Binarizer()).fit(ROWS)
    with pytest.raises(UnsafeStep, match="StandardScaler learns from rows"):
        RowByRow(StandardScaler()).fit(ROWS)


def test_groups_and_requests_reach_the_fit():
    people = np.repeat(np.arange(20), 3)
    made = pipeline(Normalizer(), model(max_rows_per_group=2))
    assert "group of at most 2 rows" in str(made.fit(ROWS, groups=people)[-1].receipt_)
    assert made.fit_predict(ROWS, groups=people).shape == (60,)
    assert made.fit_transform(ROWS, groups=people).shape == (60, 2)
    with pytest.raises(TypeError, match="pass the labels of the groups as an array"):
        made.fit(pd.DataFrame(ROWS, columns=list("abc")), groups="a")
    with pytest.raises(ValueError, match="a request is named with a Curator"):
        made.fit(ROWS, request="one")


def test_without_steps_all_is_as_in_a_fit():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=1.0)
    assert pipeline(model()).fit(curator)[-1].cluster_centers_.shape == (2, 3)
    with pytest.raises(TypeError, match="steps run on rows in memory"):
        pipeline(Normalizer(), model()).fit(Curator(ROWS, bounds=(0, 1), epsilon=1.0))


def test_local_mechanisms_are_steps():
    made = pipeline(NDLaplace(epsilon=5, bounds=(0, 1)), model()).fit(ROWS)
    assert made.predict(ROWS).shape == (60,)


def test_frames_go_through_to_a_schema():
    schema = Schema(age=Number(0, 105), sex=Category("F", "M"))
    table = pd.DataFrame({"years": [30, 40, 50] * 20, "sex": ["f", "m", "other"] * 20})

    def in_words(frame):
        return pd.DataFrame({"age": frame["years"], "sex": frame["sex"].str.upper()})

    made = pipeline(FunctionTransformer(in_words), model(schema=schema, bounds=None)).fit(table)
    assert made[-1].n_features_in_ == 2
    assert made.predict(table).shape == (60,)


@pytest.mark.parametrize("step", [HashingVectorizer(n_features=8), FeatureHasher(8)])
def test_texts_are_steps_too(step):
    rows = rows_for(type(step).__name__)
    broken = [*rows[:-1], None]
    fitted = pipeline(step, model(bounds=(-1, 1))).fit(broken)
    made = fitted[0].transform(broken)
    assert np.isnan(made[-1]).all()
    assert np.isfinite(made[:-1]).all()
    with pytest.raises(TypeError, match="takes a list of texts or dicts"):
        fitted[0].transform(ROWS)
