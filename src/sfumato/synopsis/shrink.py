"""Noisy steps of centres made shorter, so that they err less."""

from __future__ import annotations

import numpy as np

from sfumato.box import Floats
from sfumato.synopsis.prior import values_behind


def towards_zero(shifts: Floats, variances: Floats) -> Floats:
    """Shrink each of k steps by itself: the positive part of James, Stein 1961.

    `shifts` is (k, d); `variances` the variance of the noise on each coordinate of every step.
    """
    squares = np.square(shifts).sum(axis=1)
    freedom = max(shifts.shape[1] - 2, 1)
    kept = 1 - freedom * variances / np.maximum(squares, 1e-300)
    shrunk: Floats = shifts * np.maximum(kept, 0)[:, None]
    return shrunk


def towards_each_other(shifts: Floats, variances: Floats) -> Floats:
    """Shrink all coordinates of all steps by one prior fitted to them: see `values_behind`."""
    stds = np.repeat(np.sqrt(variances), shifts.shape[1])
    return values_behind(shifts.ravel(), stds).reshape(shifts.shape)


def shortened(shifts: Floats, longest: Floats | float = 1.0) -> Floats:
    """Cut steps to a length: one for all, or one for each."""
    lengths = np.sqrt(np.square(shifts).sum(axis=1))
    cut: Floats = shifts * np.minimum(1, longest / np.maximum(lengths, 1e-300))[:, None]
    return cut
