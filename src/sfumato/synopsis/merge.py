"""Many small clusters made few."""

from __future__ import annotations

import numpy as np

from sfumato.box import Floats
from sfumato.synopsis.distances import nearest
from sfumato.synopsis.weighted import weighted_kmeans

_STARTS = 20
_PATIENCE = 6


def merge(
    centers: Floats, weights: Floats, radii: Floats, k: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Merge clusters to k by weighted k-means on their centres; returns centres and radii.

    A merged radius is the root mean square of what it holds: how far the old centres are from the
    new one, and the old radii. Where nothing is held it is the median of the old ones.
    """
    weights = np.maximum(weights, 1e-9)
    merged, _ = weighted_kmeans(centers, weights, k, rng, n_starts=_STARTS, patience=_PATIENCE)
    own, squares = nearest(centers, merged)
    held = np.bincount(own, weights, k)
    spread = np.bincount(own, weights * (squares + np.square(radii)), k)
    pooled = np.sqrt(spread / np.where(held > 0, held, 1.0))
    return merged, np.where(held > 0, pooled, np.median(radii))
