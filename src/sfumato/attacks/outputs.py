"""What an adversary sees of a model when it asks about a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from sfumato.box import Floats

Factory = Callable[[Floats], Any]
"""Rows in, fitted model out: with `transform` (distances), `predict_proba` or only `predict`."""

SEEN = 3
# Of a forest's probability no more than its hundred trees is known; and members may sit on their
# centre, where a logarithm would make much of nothing.
_DOUBT = 0.01
_CLOSE = 0.3


def outputs(model: Any, rows: Floats) -> Floats:  # noqa: ANN401
    """Return what the model says about each row, in an order that does not name clusters.

    The three least distances to centres, or the three largest probabilities; clusters are numbered
    anew in every fit, so only sizes can be compared between models. A model that has neither shows
    its labels.
    """
    if hasattr(model, "predict_proba"):
        return _first(-np.sort(-np.asarray(model.predict_proba(rows)), axis=1), 0.0)
    if hasattr(model, "transform"):
        return _first(np.sort(np.asarray(model.transform(rows)), axis=1), None)
    return np.asarray(model.predict(rows), dtype=np.float64)[:, None]


def score(model: Any, rows: Floats) -> Floats:  # noqa: ANN401
    """Return one number per row that tends to be smaller for members: log distance, or doubt."""
    first = outputs(model, rows)[:, 0]
    if hasattr(model, "predict_proba"):
        doubt: Floats = np.log(1 + _DOUBT - first) - np.log(first + _DOUBT)
        return doubt
    if hasattr(model, "transform"):
        return np.log(first + max(_CLOSE * float(first.mean()), 1e-300))
    return first


def pool_of(rows: ArrayLike) -> Floats:
    """Read the rows of an attack, of which there must be some for every part."""
    pool: Floats = check_array(rows, dtype=np.float64, ensure_min_samples=8)
    return pool


def _first(ordered: Floats, fill: float | None) -> Floats:
    missing = SEEN - ordered.shape[1]
    if missing <= 0:
        return ordered[:, :SEEN]
    if fill is None:
        return np.pad(ordered, ((0, 0), (0, missing)), mode="edge")
    return np.pad(ordered, ((0, 0), (0, missing)), constant_values=fill)
