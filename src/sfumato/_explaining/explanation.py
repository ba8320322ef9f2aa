"""Explanations: what was estimated of every cluster and column, as data and as a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats
from sfumato._explaining.columns import Binned
from sfumato._explaining.estimate import Sizes, differences, shares_of


@dataclass(frozen=True)
class ExplainedColumn:
    """One column in every cluster: noisy distributions, and what they say.

    All arrays have one line for each cluster; `share_std` and other deviations are one standard
    deviation of the noise. Shares are of the rows that have a value. A median lies between
    `median_low` and `median_high`, within one deviation; columns without an order have none.
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
        """The median, less one deviation."""
        return self._quantiles(self.shares, -self._half_std)

    @property
    def median_high(self) -> Floats | None:
        """The median, and one deviation more."""
        return self._quantiles(self.shares, self._half_std)

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
            "median_low": self.median_low,
            "median_high": self.median_high,
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
