"""A mixture that was released: densities of rows that the caller brings, and synthetic rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sfumato._base.types import Floats, Ints
from sfumato._base.validation import check_whole
from sfumato._lattice.box import REACH
from sfumato._released_model import ReleasedModel
from sfumato._schema.kinds import Date, Number
from sfumato._synopsis.mixture import CovarianceType, Mixture, log_sums


class ReleasedMixture(ReleasedModel):
    """A mixture that was released, and what can be done with it at no further cost.

    A subclass has `fit`, which sets weights, means, covariances and `box_`.
    """

    covariance_type: CovarianceType
    random_state: Any
    weights_: Floats
    means_: Floats
    covariances_: Floats
    encoded_means_: Floats

    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the most likely component of rows that the caller brings, (n,).

        Rows are clipped into the bounds. Missing cells say nothing: a row is judged by the columns
        it has, unless the model was fitted with `nan="center"` or "drop", where missing cells are
        at the centre of their column.
        """
        return super().predict(X)

    def predict_proba(self, X: Any) -> Floats:  # noqa: ANN401
        """Return how likely each component is for rows that the caller brings, (n, k)."""
        joint = self._joint(X)
        chances: Floats = np.exp(joint - log_sums(joint)[:, np.newaxis])
        return chances

    def score_samples(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the log density of rows that the caller brings, in the units of `covariances_`.

        Rows are clipped into the bounds, and judged by the columns they have, as in `predict`.
        """
        return log_sums(self._joint(X))

    def score(self, X: Any, y: None = None) -> float:  # noqa: ANN401
        """Return the mean log density of rows that the caller brings."""
        return float(self.score_samples(X).mean())

    def aic(self, X: Any) -> float:  # noqa: ANN401
        """Return Akaike's criterion for rows that the caller brings: the lower, the better."""
        densities = self.score_samples(X)
        return -2 * float(densities.sum()) + 2 * self._n_parameters()

    def bic(self, X: Any) -> float:  # noqa: ANN401
        """Return the Bayesian criterion for rows that the caller brings: the lower, the better."""
        densities = self.score_samples(X)
        return -2 * float(densities.sum()) + self._n_parameters() * math.log(len(densities))

    def sample(self, n_samples: int = 1) -> tuple[Any, Ints]:
        """Draw synthetic rows, and the component of each; they are clipped into the bounds.

        Rows are an array (n, d) in the user's units; with a schema, the cells of every column by
        its name, as a data frame takes them.
        """
        check_is_fitted(self)
        n = check_whole(n_samples, "n_samples")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        points, own = self._mixture.sample(n, rng)
        cube = np.clip(points / self._units, -1, 1)
        if self.schema_ is not None:
            return self.schema_.cells(cube), own
        return self.box_.from_lattice(cube * REACH), own

    @property
    def precisions_(self) -> Floats:
        """The inverses of the covariances."""
        if self.covariance_type == "full":
            return np.asarray(np.linalg.inv(self.covariances_), dtype=np.float64)
        return np.asarray(1 / self.covariances_)

    @property
    def _units(self) -> Floats:
        """The user's units in one unit of the cube, (d,); 1 where a column is not linear."""
        schema = self.schema_
        if schema is None:
            return np.asarray(self.box_.step * REACH)
        units = np.ones(schema.dimensions)
        for name, place in schema.places.items():
            column = schema.columns[name]
            if isinstance(column, Number | Date) and column.weight == 1:
                low, high = column.ends
                linear = isinstance(column, Date) or column.scale == "linear"
                units[place] = high / 2 - low / 2 if linear else 1.0
        return units

    @property
    def _mixture(self) -> Mixture:
        """The mixture in the units of the covariances, about the middle of the bounds."""
        plain = self.schema_ is None
        means = self.box_.to_cube(self.means_ if plain else self.encoded_means_) * self._units
        d = means.shape[1]
        spread = self.covariances_
        if self.covariance_type == "diag":
            spread = spread[:, :, np.newaxis] * np.eye(d)
        elif self.covariance_type == "spherical":
            spread = spread[:, np.newaxis, np.newaxis] * np.eye(d)
        return Mixture(self.weights_, means, spread)

    def _joint(self, X: Any) -> Floats:  # noqa: ANN401
        blocks = self._points(X)
        mixture = self._mixture
        return np.concatenate([mixture.log_densities(block * self._units) for block in blocks])

    def _labels(self, points: Floats) -> Ints:
        labels: Ints = self._mixture.log_densities(points * self._units).argmax(axis=1)
        return labels

    def _n_parameters(self) -> int:
        k, d = len(self.weights_), len(self._units)
        each = {"full": d * (d + 1) // 2, "diag": d, "spherical": 1}[self.covariance_type]
        return k * (each + d) + k - 1

    def _released(self) -> dict[str, Any]:
        encoded = {}
        if self.schema_ is not None:
            encoded = {"encoded_means": self.encoded_means_.tolist()}
        return {
            "weights": self.weights_.tolist(),
            "means": self.means_.tolist(),
            **encoded,
            "covariances": self.covariances_.tolist(),
        }

    def _restore(self, data: dict[str, Any]) -> None:
        self.weights_, self.means_, self.covariances_ = (
            np.array(data[name], dtype=np.float64) for name in ("weights", "means", "covariances")
        )
        if self.schema_ is not None:
            self.encoded_means_ = np.array(data["encoded_means"], dtype=np.float64)
