"""Distances of rows that may miss cells: each over the columns that its row has."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from sfumato._base.types import Floats


def unmasked(X: Any) -> Any:  # noqa: ANN401
    """A masked array as floats with NaN in the masked cells; anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    with np.errstate(all="ignore"):
        return np.ma.filled(X.astype(np.float64), np.nan)


def squared_distances(rows: Floats, points: Floats) -> Floats:
    """Squared distances of rows (n, d) to points (k, d), over the finite cells of each row: (n, k).

    A row without one has the distance 0 to every point.
    """
    present = np.isfinite(rows)
    if present.all():
        found: Floats = euclidean_distances(rows, points, squared=True)
        return found
    values = np.where(present, rows, 0.0)
    found = present @ np.square(points).T - 2 * values @ points.T
    found += np.square(values).sum(axis=1)[:, np.newaxis]
    return np.maximum(found, 0.0)
