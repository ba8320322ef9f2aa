"""Types of arrays that every layer speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Numbers after a release, or as they come from a file or a user."""

Ints = NDArray[np.int64]
"""Exact numbers: counts, sums, distances, all below 2^63."""

Lattice = NDArray[np.int16]
"""Rows on the lattice, of shape (rows, columns), in steps of the half width over 32,767."""

Mask = NDArray[np.bool_]
"""Which of some rows or cells are meant."""

Rng = np.random.Generator
"""Public randomness: starts, projections. Noise never comes from it."""
