"""Noisy steps of centres made shorter, so that they err less."""

from __future__ import annotations

import numpy as np

from sfumato.box import Floats, Ints
from sfumato.synopsis.prior import values_behind

# Kinds of columns that have a prior each, and coordinates that it takes to fit one.
_KINDS = 3
_COORDINATES = 100


def towards_zero(shifts: Floats, variances: Floats) -> Floats:
    """Shrink each of k steps by itself: the positive part of James, Stein 1961.

    `shifts` is (k, d); `variances` the variance of the noise on each coordinate of every step.
    """
    squares = np.square(shifts).sum(axis=1)
    freedom = max(shifts.shape[1] - 2, 1)
    kept = 1 - freedom * variances / np.maximum(squares, 1e-300)
    shrunk: Floats = shifts * np.maximum(kept, 0)[:, None]
    return shrunk


def towards_each_other(shifts: Floats, variances: Floats, centers: Floats | Ints) -> Floats:
    """Shrink all coordinates of all steps by priors fitted to them: see `values_behind`.

    Columns in which the centres are about equally far apart share one: where they hardly differ,
    as at the border of pictures, steps are short too.
    """
    stds = np.broadcast_to(np.sqrt(variances)[:, None], shifts.shape)
    kinds = min(max(shifts.size // _COORDINATES, 1), _KINDS)
    shrunk = np.empty_like(shifts)
    for columns in np.array_split(centers.std(axis=0).argsort(kind="stable"), kinds):
        own = values_behind(shifts[:, columns].ravel(), stds[:, columns].ravel())
        shrunk[:, columns] = own.reshape(len(shifts), -1)
    return shrunk


def shortened(shifts: Floats, longest: Floats | float = 1.0) -> Floats:
    """Cut steps to a length: one for all, or one for each."""
    lengths = np.sqrt(np.square(shifts).sum(axis=1))
    cut: Floats = shifts * np.minimum(1, longest / np.maximum(lengths, 1e-300))[:, None]
    return cut
