"""Distributions from noisy counts: consistent sizes, shares that are distributions, error bars.

All of it is post-processing of released counts whose noise is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato._base.types import Floats
from sfumato._schema.levels import on_simplex


@dataclass(frozen=True)
class Sizes:
    """Sizes of the clusters (k,), and one standard deviation of their noise."""

    values: Floats
    std: float

    @property
    def safe(self) -> Floats:
        """Sizes to divide by: at least the deviation, and at least 1."""
        return np.maximum(self.values, max(self.std, 1.0))


@dataclass(frozen=True)
class Shares:
    """The shares of bins in every cluster (k, bins), and one standard deviation of their noise.

    `rest` has the shares of all clusters but each one.
    """

    values: Floats
    std: Floats
    rest: Floats
    rest_std: Floats


def sizes_of(counts: Sequence[Floats], std: float) -> Sizes:
    """The sizes that agree best with the counts (k, bins) of all columns, which add up to them.

    Each column's total has the variance bins·std²: they are weighted by its inverse.
    """
    weights = np.array([1 / table.shape[1] for table in counts])
    totals = np.array([table.sum(axis=1) for table in counts])
    return Sizes(weights @ totals / weights.sum(), float(std / np.sqrt(weights.sum())))


def shares_of(counts: Floats, std: float, sizes: Sizes) -> Shares:
    """The shares of one column's bins, from its counts (k, bins) and the sizes of all columns.

    Counts move by equal parts until they add up to the size, which is least squares. Shares are
    then drawn towards those of the whole, as far as noise is what sets them apart (James and
    Stein). The nearest distributions to that are returned.
    """
    bins = counts.shape[1]
    settled = counts + ((sizes.values - counts.sum(axis=1)) / bins)[:, np.newaxis]
    raw, whole = _per_row(settled, sizes.safe), _per_row(settled.sum(axis=0, keepdims=True))
    error = _share_std(on_simplex(raw), std, sizes, bins)
    values = on_simplex(_towards(on_simplex(whole), raw, error))
    return Shares(values, error, *_rest(values, error, sizes.safe))


def differences(shares: Shares) -> tuple[Floats, Floats]:
    """How far each cluster (k,) is from the rest, in total variation, and the deviation of that."""
    apart = 0.5 * np.abs(shares.values - shares.rest).sum(axis=1)
    noise = 0.5 * np.sqrt((shares.std**2 + shares.rest_std**2).sum(axis=1))
    return apart, noise


def _per_row(counts: Floats, sizes: Floats | None = None) -> Floats:
    """Counts (k, bins) over sizes (k,); what the sizes have more is spread over all bins."""
    totals = counts.sum(axis=1)
    safe = np.maximum(totals, 1.0) if sizes is None else sizes
    found: Floats = (counts + ((safe - totals) / counts.shape[1])[:, np.newaxis]) / safe[:, None]
    return found


def _towards(target: Floats, shares: Floats, error: Floats) -> Floats:
    """Shares (k, bins), drawn towards a target by that part of the difference that noise makes."""
    apart = shares - target
    seen, noise = (np.square(part).sum(axis=1, keepdims=True) for part in (apart, error))
    drawn: Floats = target + (1 - np.minimum(noise / np.maximum(seen, 1e-300), 1)) * apart
    return drawn


def _share_std(shares: Floats, std: float, sizes: Sizes, bins: int) -> Floats:
    """One deviation of x/S: counts x after least squares, the size S that they add up to."""
    of_size = sizes.std**2
    of_count = std**2 * (1 - 1 / bins) + of_size / bins**2
    variance = of_count - 2 * shares * of_size / bins + shares**2 * of_size
    found: Floats = np.sqrt(np.maximum(variance, 0)) / sizes.safe[:, np.newaxis]
    return found


def _rest(values: Floats, error: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Shares (k, bins) of all clusters but each one; of a cluster alone, its own."""
    if len(values) == 1:
        return values, error
    others = (1 - np.eye(len(values))) * sizes
    others /= others.sum(axis=1, keepdims=True)
    return others @ values, np.sqrt(np.square(others) @ np.square(error))
