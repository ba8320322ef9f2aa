"""What a fitted model does with released numbers and with rows that the caller brings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato._base.types import Floats, Ints
from sfumato._core.curator import Curator
from sfumato._lattice.box import Box
from sfumato._serialization import save
from sfumato.engines._open import is_elsewhere

_BLOCK = 65_536


def squared_distances(X: Any, centers: Floats, box: Box) -> Iterator[Floats]:  # noqa: ANN401
    """Squared distances to the centres, in the cube that the bounds span, block by block."""
    points = box.to_cube(centers)
    for start in range(0, len(X), _BLOCK):
        block = box.to_cube(X[start : start + _BLOCK])
        yield euclidean_distances(block, points, squared=True)


def check_own_rows(X: Any) -> None:  # noqa: ANN401
    """Refuse to label rows that the caller has not brought."""
    if isinstance(X, Curator) or is_elsewhere(X):
        raise TypeError("labels and distances are for rows that the caller brings: pass an array")


class ReleasedModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Centres that were released, and what can be done with them at no further cost.

    A subclass has `fit`, which sets `cluster_centers_`, (k, d) in the user's units, and `box_`.
    """

    box_: Box
    cluster_centers_: Floats

    def predict(self, X: Any) -> Ints:  # noqa: ANN401
        """Return the index of the nearest centre for rows that the caller brings.

        Near is meant as in the fit: columns scaled by their bounds, rows clipped into them, cells
        that are not finite numbers at the centre of their column.
        """
        blocks = [scaled.argmin(axis=1) for scaled in self._distances(X)]
        return np.concatenate(blocks).astype(np.int64)

    def transform(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the distances to every centre, in the cube [−1, 1]^d that the bounds span."""
        return np.concatenate([np.sqrt(squared) for squared in self._distances(X)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was released, and the receipt, as JSON."""
        check_is_fitted(self)
        save(self, path)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    @property
    def bounds_(self) -> tuple[Floats, Floats]:
        """The bounds in use, declared or estimated."""
        return np.array(self.box_.lower), np.array(self.box_.upper)

    def _distances(self, X: Any) -> Iterator[Floats]:  # noqa: ANN401
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        return squared_distances(X, self.cluster_centers_, self.box_)
