"""Steps in front of a private fit: which of them learn from rows, and what to use instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler, SkewedChi2Sampler
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from sfumato._base.types import Floats, Ints
from sfumato._released_model import ReleasedModel
from sfumato._rowwise import UnsafeStep, name_of, tried
from sfumato.local._transformer import LocalTransformer


@dataclass(frozen=True)
class Habit:
    """Steps that learn from rows: as the documentation writes them, what they take, what to do."""

    steps: str
    habit: str
    takes: str
    instead: str


HABITS = (
    Habit(
        "StandardScaler RobustScaler",
        "`StandardScaler`, `RobustScaler`, `(df - df.mean()) / df.std()`",
        "mean and spread",
        "nothing: columns are scaled by their public bounds; `weight` says how much each counts",
    ),
    Habit(
        "MinMaxScaler MaxAbsScaler",
        "`MinMaxScaler`, `MaxAbsScaler`",
        "the extremes: two people's values, exactly",
        "`Number(lower, upper)`; [private bounds]"
        "(the-promise.md#bounds-that-are-estimated-privately) where none are known",
    ),
    Habit(
        "PowerTransformer QuantileTransformer SplineTransformer",
        "`PowerTransformer`, `QuantileTransformer`, `SplineTransformer`, `df.rank()`",
        "the distribution; of ranks, everybody's place",
        '`Number(…, scale="log")`, `"sqrt"`, `"asinh"`',
    ),
    Habit(
        "SimpleImputer KNNImputer IterativeImputer MissingIndicator",
        "`SimpleImputer`, `KNNImputer`, `IterativeImputer`, `MissingIndicator`, "
        "`df.fillna(df.mean())`",
        "a mean, whole neighbours (a missing cell becomes a copy of somebody else's), or which "
        "columns have gaps",
        '`missing="ignore"`, or a public value ([missing cells](schema.md#missing-cells))',
    ),
    Habit(
        "OneHotEncoder OrdinalEncoder LabelEncoder LabelBinarizer MultiLabelBinarizer "
        "DictVectorizer CountVectorizer",
        "`OneHotEncoder`, `OrdinalEncoder`, `LabelEncoder`, `LabelBinarizer`, "
        "`MultiLabelBinarizer`, `DictVectorizer`, `CountVectorizer`, `pd.get_dummies`, fitted on "
        "the rows",
        "the set of levels: the one person with a rare level adds a column, which is published",
        "`Category(…)`, `Ordinal(…)` with the levels of the form; "
        '`OneHotEncoder(categories=[…], handle_unknown="ignore")` with a public list is fine too; '
        "`HashingVectorizer` for words",
    ),
    Habit(
        "TargetEncoder TfidfTransformer TfidfVectorizer",
        "`TargetEncoder`, `TfidfTransformer`, `TfidfVectorizer`, frequencies of levels",
        "means of a column, or counts, over other rows",
        "`Category(…)`; `HashingVectorizer` for words",
    ),
    Habit(
        "PCA IncrementalPCA KernelPCA SparsePCA MiniBatchSparsePCA TruncatedSVD FastICA NMF "
        "MiniBatchNMF FactorAnalysis DictionaryLearning MiniBatchDictionaryLearning Isomap TSNE "
        "LocallyLinearEmbedding LatentDirichletAllocation BernoulliRBM Nystroem "
        "FeatureAgglomeration RandomTreesEmbedding LinearDiscriminantAnalysis "
        "NeighborhoodComponentsAnalysis KernelCenterer CCA PLSCanonical PLSRegression PLSSVD UMAP",
        "`PCA`, `TruncatedSVD`, `NMF`, `Nystroem`, `UMAP`, an autoencoder trained on the rows",
        "axes",
        "nothing: `auto` estimates axes privately; or a random projection "
        "(`GaussianRandomProjection(n_components=8)`), which looks at no row",
    ),
    Habit(
        "VarianceThreshold SelectKBest SelectPercentile SelectFpr SelectFdr SelectFwe "
        "GenericUnivariateSelect SelectFromModel RFE RFECV SequentialFeatureSelector",
        '`VarianceThreshold`, `SelectKBest`, `RFE`, dropping columns "that say nothing"',
        "which columns look useful",
        "choose columns by what they mean; `weight=0` for the others, and "
        "[explain](tutorial-hospital.md#10-explain-the-clusters-by-a-column-that-took-no-part)",
    ),
    Habit(
        "IsolationForest LocalOutlierFactor EllipticEnvelope OneClassSVM",
        "`IsolationForest`, `LocalOutlierFactor`, z-scores, cutting at the 99 % quantile",
        "whether a row stays depends on the others",
        'bounds clip; a public rule for one row is fine ("age below 0 is an error")',
    ),
    Habit(
        "KBinsDiscretizer",
        "`KBinsDiscretizer`, `pd.qcut`",
        "quantiles or extremes",
        "bins at public edges, `pd.cut(x, [0, 18, 65, 105])`",
    ),
    Habit(
        "KMeans MiniBatchKMeans BisectingKMeans Birch KNeighborsTransformer "
        "RadiusNeighborsTransformer StackingClassifier StackingRegressor VotingClassifier "
        "VotingRegressor IsotonicRegression",
        "`KMeans`, `KNeighborsTransformer`, distances to other rows, a model trained on the rows",
        "other rows, or centres of them",
        "leave it out; or a model that was fitted on public rows (`FrozenEstimator`)",
    ),
)
"""What to do in place of steps that learn from rows; the table of docs/pipelines.md has it too."""

_OTHERWISE = (
    "a rule for one row at a time (FunctionTransformer), a Schema, or a step that was fitted on "
    "public rows (FrozenEstimator, with fitted_on_public_rows=True)"
)


def _always(_: Any) -> str:  # noqa: ANN401
    return ""


def _given_width(step: Any) -> str:  # noqa: ANN401
    return "" if step.n_components != "auto" else "n_components='auto' counts rows: give a number"


def _given_gamma(step: Any) -> str:  # noqa: ANN401
    return (
        "gamma='scale' is the variance of the rows: give a number" if step.gamma == "scale" else ""
    )


def _given_levels(step: Any) -> str:  # noqa: ANN401
    if isinstance(step.categories, str):
        return "categories='auto' are the levels of the rows: give public lists"
    if getattr(step, "min_frequency", None) or getattr(step, "max_categories", None):
        return "min_frequency and max_categories count rows: leave them out"
    if step.handle_unknown == "error":
        other = "ignore" if isinstance(step, OneHotEncoder) else "use_encoded_value"
        return f"a row with another level would raise an error: handle_unknown={other!r}"
    return ""


# Steps whose fit looks at the number of columns and at public randomness alone, by exact type, and
# what must be true of their parameters.
_PUBLIC_FITS: dict[type, Callable[[Any], str]] = {
    GaussianRandomProjection: _given_width,
    SparseRandomProjection: _given_width,
    FeatureHasher: _always,  # stateless, which older versions do not say
    HashingVectorizer: _always,
    PolynomialFeatures: _always,
    PolynomialCountSketch: _always,
    RBFSampler: _given_gamma,
    SkewedChi2Sampler: _always,
    OneHotEncoder: _given_levels,
    OrdinalEncoder: _given_levels,
}
# Products of matrices: the last bits of a row depend on how many rows are multiplied together.
_PRODUCTS = (
    GaussianRandomProjection,
    SparseRandomProjection,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)


def pipeline(*steps: Any, fitted_on_public_rows: bool = False) -> RowPipeline:  # noqa: ANN401
    """Put steps in front of a private fit, and refuse those that learn from rows.

    Parameters
    ----------
    *steps : transformers, then a PrivateKMeans
        Steps that look at one row at a time: stateless ones, random projections, polynomials,
        encoders with public levels, local mechanisms, and `ColumnTransformer`, `FeatureUnion` or
        `Pipeline` of such. The bounds or the schema of the last step are about the columns that
        the steps make.
    fitted_on_public_rows : bool, default=False
        Declares that steps in a `FrozenEstimator` were fitted on public rows, never on those of
        this fit. Nothing can check it.

    Returns
    -------
    pipeline : RowPipeline
        A scikit-learn `Pipeline`. Its steps are fitted on made-up rows and tried on them, before
        rows are looked at; a row that a step fails on has missing cells from there on.

    Raises
    ------
    UnsafeStep
        If a step learns from rows; it says what to use instead.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import Normalizer
    >>> import sfumato
    >>> X = np.random.default_rng(0).uniform(size=(1000, 3))
    >>> model = sfumato.PrivateKMeans(2, epsilon=1.0, bounds=(0, 1))
    >>> sfumato.pipeline(Normalizer(), model).fit(X).predict(X[:5]).shape
    (5,)

    """
    if not steps:
        raise TypeError("a pipeline needs a private model as its last step: PrivateKMeans(…)")
    *before, last = steps
    _check_last(last)
    guarded = [s if _is_local(s) else RowByRow(s, fitted_on_public_rows) for s in before]
    for step in guarded:
        _check_guarded(step)
    names = [name for name, _ in make_pipeline(*before, last).steps]
    return RowPipeline(list(zip(names, [*guarded, last], strict=True)))


class RowPipeline(Pipeline):
    """A scikit-learn `Pipeline` in front of a private fit; made by `sfumato.pipeline`."""

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        super().__init__(steps)

    def fit(
        self,
        X: Any,  # noqa: ANN401
        y: None = None,
        *,
        groups: Any = None,  # noqa: ANN401
        request: str | None = None,
    ) -> Self:
        """Fit the last step privately on what the steps make of `X`, (n, d) or texts.

        groups: array-like of shape (n_samples,), whose rows are whose. request: as in
        `PrivateKMeans.fit`. Without steps `X` may be all that `PrivateKMeans.fit` takes.
        """
        self._check(groups)
        return super().fit(X, y, **self._routed(groups=groups, request=request))  # type: ignore[no-any-return]

    def fit_predict(self, X: Any, y: None = None, *, groups: Any = None) -> Ints:  # noqa: ANN401
        """Fit, then predict on the caller's own rows: for their owner, not a release."""
        self._check(groups)
        return super().fit_predict(X, y, **self._routed(groups=groups))  # type: ignore[no-any-return]

    def fit_transform(self, X: Any, y: None = None, *, groups: Any = None) -> Floats:  # noqa: ANN401
        """Fit, then transform the caller's own rows: for their owner, not a release."""
        self._check(groups)
        return super().fit_transform(X, y, **self._routed(groups=groups))  # type: ignore[no-any-return]

    def __getitem__(self, ind: Any) -> Any:  # noqa: ANN401
        # Some of the steps are a plain pipeline: they end in no private model.
        return Pipeline(self.steps[ind]) if isinstance(ind, slice) else super().__getitem__(ind)

    def _check(self, groups: Any) -> None:  # noqa: ANN401
        """Look at the steps again: they can be replaced by `set_params`."""
        *before, last = [step for _, step in self.steps]
        _check_last(last)
        for step in before:
            _check_guarded(step)
        if before and isinstance(groups, str):
            raise TypeError(
                "steps change columns: pass the labels of the groups as an array, fit(X, "
                f"groups=labels), got the name {groups!r}"
            )

    def _routed(self, groups: Any, request: str | None = None) -> dict[str, Any]:  # noqa: ANN401
        given = {"groups": groups, "request": request}
        return {f"{self.steps[-1][0]}__{k}": v for k, v in given.items() if v is not None}


class RowByRow(TransformerMixin, BaseEstimator):
    """A step that sees one row at a time, and is fitted on made-up rows.

    `step` is a transformer. `fitted_on_public_rows` declares what steps in a `FrozenEstimator` were
    fitted on.
    """

    def __init__(self, step: Any, fitted_on_public_rows: bool = False) -> None:  # noqa: ANN401
        self.step = step
        self.fitted_on_public_rows = fitted_on_public_rows

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ANN401
        """Fit and try the step on made-up rows of the type and the columns of `X`."""
        _check_step(self.step, self.fitted_on_public_rows)
        self.tried_ = tried(self.step, X, single=_has_products(self.step))
        return self

    def transform(self, X: Any) -> Any:  # noqa: ANN401
        """Transform every row by itself; one that the step fails on gets missing cells."""
        check_is_fitted(self)
        return self.tried_.transform(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.step).input_tags
        tags.input_tags.allow_nan = True
        return tags


def _check_last(step: Any) -> None:  # noqa: ANN401
    if not isinstance(step, ReleasedModel):
        raise TypeError(
            f"the last step must be a private model, PrivateKMeans(…), got {name_of(step)}"
        )


def _check_guarded(step: Any) -> None:  # noqa: ANN401
    """Refuse what `pipeline` would not have put in front."""
    if isinstance(step, RowByRow):
        _check_step(step.step, step.fitted_on_public_rows)
    elif not _is_local(step):
        _check_step(step, False)
        raise UnsafeStep(
            f"{name_of(step)} runs on all rows together: sfumato.pipeline(…) guards it"
        )


def _check_step(step: Any, public: bool) -> None:  # noqa: ANN401
    """Refuse a step that learns from rows, by its type and its parameters."""
    if isinstance(step, type) or not hasattr(step, "transform"):
        raise UnsafeStep(f"a step must be a transformer, got {name_of(step)}{_instead(step)}")
    if type(step) in (ColumnTransformer, FeatureUnion, Pipeline):
        for part in _parts(step):
            _check_step(part, public)
        return
    if _is_local(step):
        raise UnsafeStep(f"{name_of(step)} draws noise: make it a step of its own in the pipeline")
    if problem := _problem(step, public):
        raise UnsafeStep(f"{name_of(step)}{problem}")


def _problem(step: Any, public: bool) -> str:  # noqa: ANN401
    """Why one step learns from rows, and what to do instead; nothing if it does not."""
    if isinstance(step, FrozenEstimator):
        told = (
            f" of {name_of(step.estimator)} was fitted before, and nothing shows on which rows. If "
            "they were public, say so: pipeline(…, fitted_on_public_rows=True)"
        )
        return "" if public else told
    if type(step) in _PUBLIC_FITS:
        problem = _PUBLIC_FITS[type(step)](step)
        return f" learns from rows: {problem}; see docs/pipelines.md" if problem else ""
    return f" learns from rows{_instead(step)}" if get_tags(step).requires_fit else ""


def _instead(step: Any) -> str:  # noqa: ANN401
    """What a step takes from other rows, and what to use, without the links of the page."""
    name = step.__name__ if isinstance(step, type) else type(step).__name__
    for habit in HABITS:
        if name in habit.steps.split():
            plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", habit.instead)
            return f" ({habit.takes}). Instead: {plain}; see docs/pipelines.md"
    return f". Instead: {_OTHERWISE}; see docs/pipelines.md"


def _parts(step: Any) -> list[Any]:  # noqa: ANN401
    """The steps that a step is made of."""
    if isinstance(step, FrozenEstimator):
        return [step.estimator]
    if type(step) is ColumnTransformer:
        found = [step.remainder, *(part for _, part, _ in step.transformers)]
    elif type(step) is FeatureUnion:
        found = [part for _, part in step.transformer_list]
    else:
        found = [part for _, part in step.steps] if type(step) is Pipeline else []
    return [part for part in found if part is not None and not isinstance(part, str)]


def _has_products(step: Any) -> bool:  # noqa: ANN401
    return isinstance(step, _PRODUCTS) or any(_has_products(part) for part in _parts(step))


def _is_local(step: Any) -> bool:  # noqa: ANN401
    return isinstance(step, LocalTransformer)
