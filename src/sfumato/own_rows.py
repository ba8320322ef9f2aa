"""Rows that a caller brings to a fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.metrics.pairwise import euclidean_distances

from sfumato.box import Box, Floats
from sfumato.curator.curator import Curator
from sfumato.engines.opening import is_elsewhere

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
