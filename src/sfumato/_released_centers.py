"""Centres that were released: the nearest of them, distances to them, what tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sfumato._base.distances import squared_distances
from sfumato._base.files import array_in
from sfumato._base.types import Floats, Ints
from sfumato._core.curator import Curator
from sfumato._error_bars import (
    check_level,
    doubts,
    evidence_in_cells,
    evidence_in_numbers,
    intervals_of,
    size_intervals,
    std_of,
)
from sfumato._lattice.box import REACH
from sfumato._released_model import ReleasedModel, check_own_rows
from sfumato._uncertainty import Errors

if TYPE_CHECKING:
    from sfumato._explaining import Explanation
    from sfumato._quality import Quality


class ReleasedBars(ReleasedModel):
    """Error bars of what was released, from the known noise, at no further cost."""

    cluster_centers_: Floats
    cluster_sizes_: Floats
    _errors_: Errors | None = None

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Intervals of the centres and of the sizes, from the known noise, at no further cost.

        What the last step of the method would have given without its noise, with all that came
        before as it was, lies inside with probability `level`, each number by itself. How rows
        were sampled from a population is no part of it: docs/error-bars.md.

        Parameters
        ----------
        level : float, default=0.95
            The probability, between 0 and 1.

        Returns
        -------
        centers : ndarray of shape (n_clusters, n_features, 2)
            Lower and upper ends, in the units and columns of `cluster_centers_`.
        sizes : ndarray of shape (n_clusters, 2)
            Lower and upper ends, in those of `cluster_sizes_`; none is below 0.

        """
        check_is_fitted(self)
        level = check_level(level)
        errors = self._bars() or Errors(None, None)
        if errors.centers is None or errors.sizes is None:
            raise AttributeError(_unknown(self, "intervals"))
        found = intervals_of(errors.centers, self.cluster_centers_, level, self.box_, self.schema_)
        return found, size_intervals(errors.sizes, self.cluster_sizes_, level)

    @property
    def cluster_centers_std_(self) -> Floats:
        """The deviation of the noise on each number of the centres, before any shrinking."""
        errors = self._bars()
        if errors is None or errors.centers is None:
            raise AttributeError
        return std_of(errors.centers, self.box_, self.schema_)

    @property
    def cluster_sizes_std_(self) -> Floats:
        """The deviation of the noise on each size, (k,)."""
        errors = self._bars()
        if errors is None or errors.sizes is None:
            raise AttributeError
        return errors.sizes.stds

    def _bars(self) -> Errors | None:
        return self._errors_

    def __getattr__(self, name: str) -> NoReturn:
        if name in _STDS and hasattr(self, "cluster_sizes_"):
            raise AttributeError(_unknown(self, name))
        super().__getattr__(name)


class ReleasedCenters(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ReleasedBars):
    """Centres that were released, and what can be done with them at no further cost.

    A subclass has `fit`, which sets `cluster_centers_`, (k, d) in the user's units, and `box_`.
    """

    cluster_centers_: Floats
    encoded_centers_: Floats
    _cost_power: Literal[1, 2] = 2
    """What the cost of a row is: its squared distance to the nearest centre, or its distance."""

    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the index of the nearest centre for rows that the caller brings.

        Near is meant as in the fit: columns scaled by their bounds, rows clipped into them. Masked
        cells and those that are not finite numbers are missing: distances are over the columns that
        a row has, unless the model was fitted with `nan="center"` or "drop", where missing cells
        are at the centre of their column. A row that has none is nearest to the first centre. With
        a schema, columns of a data frame go by name; weights of rows are not looked at.
        """
        return super().predict(X)

    def transform(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the distances to every centre, in the cube [−1, 1]^d that the bounds span."""
        return np.concatenate([np.sqrt(squared) for squared in self._distances(X)])

    def score(self, X: Any, y: None = None) -> float:  # noqa: ANN401
        """Return minus the sum of squared distances to the nearest centre, as scikit-learn does.

        For rows that the caller brings; distances are those of `transform`.
        """
        return -float(sum(squared.min(axis=1).sum() for squared in self._distances(X)))

    def fit_transform(self, X: Any, y: None = None, *, groups: Any = None) -> Floats:  # noqa: ANN401
        """Fit, then transform the caller's own rows: for their owner, not a release."""
        check_own_rows(X)
        distances: Floats = self.fit(X, groups=groups).transform(X)
        return distances

    def explain(
        self,
        curator: Curator,
        columns: Iterable[str] | None = None,
        *,
        epsilon: float = 0.2,
        delta: float = 0.0,
    ) -> Explanation:
        """Say what tells the clusters apart, from new answers about the rows of a curator.

        It costs (epsilon, delta) of the curator's budget.

        Parameters
        ----------
        curator : Curator
            The rows, with the schema or the bounds of this model. A schema may have more columns
            than the model's: clusters can be explained by columns that took no part in the fit.
        columns : list of str, optional
            The columns to explain by. By default all are looked at; where there are too many to
            count each with little noise, those that tell the clusters apart best are chosen.
        epsilon : float, default=0.2
            The privacy budget ε of the explanation.
        delta : float, default=0.0
            0 is pure ε-DP; a δ above 0 allows Gaussian noise, where that is less.

        Returns
        -------
        explanation : Explanation
            Noisy distributions with error bars, columns in order, sentences, and a receipt.

        """
        from sfumato._explaining import explain

        self._check_charged(curator, "an explanation")
        plain = self.schema_ is None
        return explain(
            curator,
            self._cube_centers if plain else self.encoded_centers_,
            sizes=self.cluster_sizes_,
            box=self.box_ if plain else None,
            schema=self.schema_,
            columns=columns,
            epsilon=epsilon,
            delta=delta,
        )

    @property
    def evidence_(self) -> Floats:
        """How surely each cluster is real, (k,), from 0 to 1; worked out at the first look.

        With a synopsis: 1 − the chance that one clump, and noise, show such valleys of density
        around the centre. Without: sizes and distances of centres against their noise alone.
        `print(model)` says which clusters are below 0.95.
        """
        found = self.__dict__.get("_evidence_")
        if found is None:
            by_numbers = self.__dict__.get("synopsis_") is None
            if by_numbers and (self._errors_ is None or self._errors_.sizes is None):
                raise AttributeError
            self._evidence_ = found = _evidence(self)
        return found

    def __str__(self) -> str:
        # Not a warning of `fit`: a filter that makes errors of warnings would lose what was paid.
        text = repr(self)
        known = hasattr(self, "cluster_centers_") and hasattr(self, "evidence_")
        sentence = doubts(self.evidence_) if known else ""
        return f"{text}\nWarning: {sentence}" if sentence else text

    def quality(
        self,
        curator: Curator,
        *,
        epsilon: float = 0.05,
        delta: float = 0.0,
        level: float = 0.95,
        clip: float | None = None,
    ) -> Quality:
        """Measure how good the clusters are for the rows of a curator, with intervals.

        It costs (epsilon, delta) of the curator's budget.

        Parameters
        ----------
        curator : Curator
            The rows, with the schema or the bounds of this model: those of the fit, or others.
        epsilon : float, default=0.05
            The privacy budget ε of the measurement.
        delta : float, default=0.0
            0 is pure ε-DP; a δ above 0 allows Gaussian noise, where that is less.
        level : float, default=0.95
            The chance that an interval holds the value without noise.
        clip : float, optional
            The distance in the cube [−1, 1]^d at which rows are cut for the cost: the smaller, the
            less noise. By default three quarters of the way from each centre to its nearest other.

        Returns
        -------
        quality : Quality
            Share of rows, clipped cost and silhouette of every cluster, and a receipt.

        """
        from sfumato._quality import quality

        self._check_charged(curator, "the quality of clusters")
        plain = self.schema_ is None
        return quality(
            curator,
            self._cube_centers if plain else self.encoded_centers_,
            power=self._cost_power,
            box=self.box_ if plain else None,
            schema=self.schema_,
            epsilon=epsilon,
            delta=delta,
            level=level,
            clip=clip,
        )

    def _check_charged(self, curator: object, what: str) -> None:
        check_is_fitted(self)
        if not isinstance(curator, Curator):
            raise TypeError(
                f"{what} is charged to the budget of the rows: pass their Curator, got "
                f"{type(curator).__name__}"
            )

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    @property
    def cluster_profiles_(self) -> list[dict[str, Any]]:
        """With a schema: every centre in the user's words, by column."""
        if self.schema_ is None:
            raise AttributeError
        return self.schema_.in_words(self.encoded_centers_)

    def __getattr__(self, name: str) -> NoReturn:
        if name == "cluster_profiles_" and hasattr(self, "cluster_centers_"):
            raise AttributeError("centres have words where the columns have a schema: schema=…")
        super().__getattr__(name)

    def _labels(self, points: Floats) -> Ints:
        nearest: Ints = squared_distances(points, self._cube_centers).argmin(axis=1)
        return nearest

    def _distances(self, X: Any) -> Iterator[Floats]:  # noqa: ANN401
        """Squared distances to the centres, in the cube, over the columns that a row has."""
        return (squared_distances(points, self._cube_centers) for points in self._points(X))

    @property
    def _cube_centers(self) -> Floats:
        """The centres (k, d) in the cube that the bounds span."""
        plain = self.schema_ is None
        return self.box_.to_cube(self.cluster_centers_ if plain else self.encoded_centers_)

    def _released(self) -> dict[str, Any]:
        encoded: dict[str, Any] = {}
        if self.schema_ is not None:
            words, points = self.cluster_profiles_, self.encoded_centers_.tolist()
            encoded = {"profiles": words, "encoded_centers": points}
        if self._errors_ is not None:
            encoded["errors"] = self._errors_.to_dict()
        return {
            **encoded,
            "cluster_centers": self.cluster_centers_.tolist(),
            "cluster_sizes": self.cluster_sizes_.tolist(),
        }

    def _restore(self, data: dict[str, Any]) -> None:
        schema = self.schema_
        if schema is not None:
            self.encoded_centers_ = array_in(data["encoded_centers"], None, schema.dimensions)
        width = len(schema.number_names) if schema else self.box_.n_features
        self.cluster_centers_ = array_in(data["cluster_centers"], None, width)
        k = len(self.cluster_centers_)
        self.cluster_sizes_ = array_in(data["cluster_sizes"], k)
        if "errors" in data:
            self._errors_ = Errors.from_dict(data["errors"], k, self.box_.n_features)


def _evidence(model: Any) -> Floats:  # noqa: ANN401
    """Evidence of clusters (k,), by released cells where there are any."""
    synopsis, centers = model.__dict__.get("synopsis_"), model._cube_centers  # noqa: SLF001
    if synopsis is None:
        return evidence_in_numbers(model._errors_, centers * REACH)
    schema, seed = model.schema_, getattr(model, "random_state", None)
    unit = schema.weights.unit if schema is not None and schema.weights else 1.0
    number = int(seed) if isinstance(seed, int | np.integer) else 0
    return evidence_in_cells(synopsis, centers, unit, number)


_STDS = ("cluster_centers_std_", "cluster_sizes_std_", "evidence_")


def _unknown(model: Any, name: str) -> str:  # noqa: ANN401
    """Why a model has no error bars, and what has."""
    return (
        f"this model has no {name}: its method does not say how noise moves what it finds, or it "
        "was saved by an earlier version; method='auto' says, and so do all that end with noisy "
        "means or counts. The noise of every query is in receipt_"
    )
