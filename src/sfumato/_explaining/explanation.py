"""Explanations: distributions from noisy counts, with error bars.

All of it is post-processing of released counts whose noise is known: sizes that agree with every
column, and shares that are distributions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats
from sfumato._explaining.columns import Binned
from sfumato._schema.levels import on_simplex


@dataclass(frozen=True)
class ExplainedColumn:
    """One column in every cluster: noisy distributions, and what they say.

    All arrays have one line for each cluster; `share_std` and other deviations are one standard
    deviation of the noise. Shares are of the rows that have a value. Columns without an order have
    no median. Within a bin, values are taken to be spread evenly: `median_std` is at least an
    eighth of the bin that the median lies in.
    `score` is how far a cluster is from the rest, from 0 (alike) to 1 (nothing in common).
    """

    binned: Binned
    counts: Floats
    shares: Floats
    share_std: Floats
    rest: Floats
    rest_std: Floats
    score: Floats
    score_std: Floats
    missing: Floats | None = None
    missing_std: Floats | None = None
    rest_missing: Floats | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.binned.name

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each bin."""
        return self.binned.labels

    @property
    def median(self) -> Floats | None:
        """The median of every cluster, as a code of the column; dates are days since 1970."""
        return self._quantiles(self.shares, np.zeros(len(self.shares)))

    @property
    def median_low(self) -> Floats | None:
        """The median, less one deviation of the noise."""
        return self._quantiles(self.shares, -self._half_std)

    @property
    def median_high(self) -> Floats | None:
        """The median, and one deviation of the noise more."""
        return self._quantiles(self.shares, self._half_std)

    @property
    def median_std(self) -> Floats | None:
        """One deviation of the median, in units of its code."""
        low, high = self.median_low, self.median_high
        if low is None or high is None:
            return None
        grain = np.array([self.binned.grain(line) for line in self.shares])
        found: Floats = np.maximum((high - low) / 2, grain)
        return found

    @property
    def rest_median(self) -> Floats | None:
        """The median of all clusters but each one."""
        return self._quantiles(self.rest, np.zeros(len(self.rest)))

    @property
    def _half_std(self) -> Floats:
        """The deviation of the share below the median, at most."""
        found: Floats = np.minimum(0.5 * np.sqrt(np.square(self.share_std).sum(axis=1)), 0.5)
        return found

    def _quantiles(self, shares: Floats, moved: Floats) -> Floats | None:
        if not self.binned.ordered:
            return None
        pairs = zip(shares, moved, strict=True)
        return np.array([self.binned.quantile(line, 0.5 + float(m)) for line, m in pairs])

    def to_dict(self) -> dict[str, Any]:
        """The column as plain values."""
        found = {
            "name": self.name,
            "kind": self.binned.column.kind,
            "bins": list(self.labels),
            "counts": self.counts,
            "shares": self.shares,
            "share_std": self.share_std,
            "score": self.score,
            "score_std": self.score_std,
            "missing": self.missing,
            "missing_std": self.missing_std,
            "median": self.median,
            "median_std": self.median_std,
        }
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in found.items()}


@dataclass(frozen=True)
class Explanation:
    """What tells clusters apart. Prints as sentences and a table; `to_json` gives the same as data.

    Attributes
    ----------
    sizes, size_std : ndarray of shape (k,), float
        Noisy sizes of the clusters, and one standard deviation of their noise.
    columns : tuple of ExplainedColumn
        The columns that were counted.
    left_out : tuple of str
        Columns that tell clusters apart less, and were not counted to keep the noise of the others
        small. Name them in `columns` to see them.
    unit : {"people", "rows"}
        What is counted.
    receipt : Receipt
        What was asked, what each query cost, and the guarantee.

    """

    sizes: Floats
    size_std: float
    columns: tuple[ExplainedColumn, ...]
    left_out: tuple[str, ...]
    unit: str
    receipt: Receipt

    def __getitem__(self, name: str) -> ExplainedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        listed = ", ".join(column.name for column in self.columns)
        raise KeyError(f"{name!r} was not explained; what was: {listed}")

    def ranked(self, cluster: int) -> list[tuple[str, float, float]]:
        """The columns by how far a cluster is from the rest in them: (name, score, deviation)."""
        self._check(cluster)
        found = [
            (c.name, float(c.score[cluster]), float(c.score_std[cluster])) for c in self.columns
        ]
        return sorted(found, key=lambda line: -line[1])

    def sentences(self, cluster: int) -> tuple[str, str]:
        """Two sentences about a cluster, for readers who know nothing of statistics."""
        from sfumato._explaining.words import sentences_of

        self._check(cluster)
        return sentences_of(self, cluster)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values."""
        clusters = [
            {
                "size": float(size),
                "size_std": self.size_std,
                "ranked": [name for name, _, _ in self.ranked(i)],
                "sentences": list(self.sentences(i)),
            }
            for i, size in enumerate(self.sizes)
        ]
        return {
            "unit": self.unit,
            "clusters": clusters,
            "columns": [column.to_dict() for column in self.columns],
            "left_out": list(self.left_out),
            "receipt": self.receipt.to_dict(),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The explanation as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        from sfumato._explaining.words import rendered

        return rendered(self)

    def _check(self, cluster: int) -> None:
        if not 0 <= cluster < len(self.sizes):
            raise IndexError(f"there are clusters 0 to {len(self.sizes) - 1}, got {cluster}")


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


def explained(binned: Binned, counts: Floats, std: float, sizes: Sizes) -> ExplainedColumn:
    """One column, from its noisy counts (k, bins) with noise of one deviation `std`."""
    shares = shares_of(counts, std, sizes)
    score, score_std = differences(shares)
    m = len(binned.labels)
    there, rest_there = shares.values[:, :m], shares.rest[:, :m]
    found = _of_values(there, shares.std[:, :m]), _of_values(rest_there, shares.rest_std[:, :m])
    missing = {}
    if binned.with_missing:
        pair = shares.values[:, m], shares.std[:, m]
        missing = dict(missing=pair[0], missing_std=pair[1], rest_missing=shares.rest[:, m])
    whole = np.maximum(sizes.values, 0)[:, np.newaxis] * there
    return ExplainedColumn(binned, whole, *found[0], *found[1], score, score_std, **missing)


def _of_values(shares: Floats, std: Floats) -> tuple[Floats, Floats]:
    """Shares (k, bins) of the rows that have a value; equal ones where none seems to have any."""
    have = shares.sum(axis=1, keepdims=True)
    least = 1e-6
    equal = np.full_like(shares, 1 / shares.shape[1])
    values = np.where(have > least, shares / np.maximum(have, least), equal)
    return values, np.minimum(std / np.maximum(have, least), 1.0)
