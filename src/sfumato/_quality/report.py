"""The quality of clusters: shares, clipped costs and silhouettes, each with an interval."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from sfumato._accounting.receipt import Receipt
from sfumato._base.types import Floats
from sfumato._core.queries.closeness import STEPS
from sfumato._quality.intervals import Noise, Spread, ratio_interval, spread_of

Power = Literal[1, 2]

ROUNDING = 0.5 / STEPS
"""How far the score of a row is rounded at most, as a part of its range."""


@dataclass(frozen=True)
class Estimate:
    """A number and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.value)} ({_short(self.low)} to {_short(self.high)})"


def _short(value: float) -> str:
    """A number in few characters."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class ClusterQuality:
    """One cluster. `radius` is the distance in the cube at which rows were cut for the cost."""

    size: Estimate
    share: Estimate
    cost: Estimate
    silhouette: Estimate | None
    radius: float


@dataclass(frozen=True)
class Quality:
    """How good clusters are for some rows. Prints as a table; `to_json` gives the same as data.

    Attributes
    ----------
    cost : Estimate
        The mean over rows of the squared distance to the nearest centre, or of the distance for
        k-median, in the cube [−1, 1]^d of the bounds, cut at the radius of the cluster.
    silhouette : Estimate or None
        The mean over rows of (b − a) / max(a, b), with a and b the distances to the nearest and to
        the next centre, from 0 to 1. None where there is one cluster.
    rows : Estimate
        How many rows are in a cluster, or the sum of their weights.
    clusters : tuple of ClusterQuality
        The same of every cluster, and its size and its share of the rows.
    level : float
        Each interval, by itself, holds the value without noise with this chance.
    power : {1, 2}
        Whether costs are distances or their squares.
    unit : {"people", "rows"}
        What is counted.
    receipt : Receipt
        What was asked, what it cost, and the guarantee.

    """

    cost: Estimate
    silhouette: Estimate | None
    rows: Estimate
    clusters: tuple[ClusterQuality, ...]
    level: float
    power: Power
    unit: str
    receipt: Receipt

    def to_dict(self) -> dict[str, Any]:
        """The quality as plain values."""
        found = {
            name: None if part is None else asdict(part)
            for name in ("cost", "silhouette", "rows")
            for part in [getattr(self, name)]
        }
        return found | {
            "clusters": [asdict(cluster) for cluster in self.clusters],
            "level": self.level,
            "power": self.power,
            "unit": self.unit,
            "receipt": self.receipt.to_dict(),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The quality as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=100, color_system=None, force_terminal=False, highlight=False)
        with console.capture() as captured:
            console.print(table_of(self))
            for sentence in sentences_of(self):
                console.print(sentence)
        return "\n".join(line.rstrip() for line in captured.get().splitlines())


def measured(
    lines: Floats,
    noise: Noise,
    *,
    radii: Floats,
    power: Power,
    level: float,
    unit: float,
    counted: str,
    receipt: Receipt,
) -> Quality:
    """Put together what noisy lines (k, 3) of counts and scores say: see `Curator.closeness`.

    `radii` (k,) are in the cube, `unit` is what a row that is counted weighs.
    """
    k, most = len(lines), radii**power
    counts = np.zeros((k, 3))
    counts[:, 0] = 1
    costs, ratios = counts.copy(), counts.copy()
    # A score s from −1 to 1 stands for (s + 1)/2 of the radius to the power, and of a/b.
    costs[:, :2] = most[:, None] / 2
    ratios[:, 0] = ratios[:, 2] = 0.5
    several = k > 1
    own, share = _spreads(noise, k, level)
    whole = _Whole(lines, noise, counts, level)
    top = float(most.max())
    clusters = tuple(
        ClusterQuality(
            size=_size(float(line[0]), noise, counts[:1], level, unit),
            share=_share(line, lines, share),
            cost=_scored(line[1], line[0], own, float(limit)),
            silhouette=_silhouette(_scored(line[2], line[0], own, 1.0)) if several else None,
            radius=float(radius),
        )
        for line, limit, radius in zip(lines, most, radii, strict=True)
    )
    return Quality(
        cost=_rounded(whole.mean(costs, top), top),
        silhouette=_silhouette(_rounded(whole.mean(ratios, 1.0), 1.0)) if several else None,
        rows=_size(float(lines[:, 0].sum()), noise, counts, level, unit),
        clusters=clusters,
        level=level,
        power=power,
        unit=counted,
        receipt=receipt,
    )


@dataclass(frozen=True)
class _Whole:
    """All lines (k, 3) together."""

    lines: Floats
    noise: Noise
    counts: Floats
    level: float

    def mean(self, weights: Floats, most: float) -> Estimate:
        """Σ weights·lines over the number of rows, from 0 to `most`."""
        above, below = (float((w * self.lines).sum()) for w in (weights, self.counts))
        ends = (0.0, most)
        spread = spread_of(self.noise, weights, self.counts, ends, self.level)
        return Estimate(*ratio_interval(above, below, ends, spread))


def _spreads(noise: Noise, k: int, level: float) -> tuple[Spread, Spread]:
    """Of a mean score of one cluster, from −1 to 1, and of its share of the rows of k."""
    line = np.zeros((1, 3))
    score, count = line.copy(), line.copy()
    score[0, 1] = count[0, 0] = 1
    one, all_of_them = np.zeros((k, 3)), np.zeros((k, 3))
    one[0, 0], all_of_them[:, 0] = 1, 1
    return (
        spread_of(noise, score, count, (-1.0, 1.0), level),
        spread_of(noise, one, all_of_them, (0.0, 1.0), level),
    )


def _scored(score: float, count: float, spread: Spread, most: float) -> Estimate:
    """A mean of one cluster from 0 to `most`, from the sum of a score from −1 to 1."""
    found = ratio_interval(float(score), float(count), (-1.0, 1.0), spread)
    return _rounded(Estimate(*(most * (x + 1) / 2 for x in found)), most)


def _rounded(found: Estimate, most: float) -> Estimate:
    """With what scores may be rounded by."""
    low, high = found.low - ROUNDING * most, found.high + ROUNDING * most
    return Estimate(found.value, max(low, 0.0), min(high, most))


def _silhouette(ratio: Estimate) -> Estimate:
    return Estimate(1 - ratio.value, 1 - ratio.high, 1 - ratio.low)


def _share(line: Floats, lines: Floats, spread: Spread) -> Estimate:
    ends = (0.0, 1.0)
    return Estimate(*ratio_interval(float(line[0]), float(lines[:, 0].sum()), ends, spread))


def _size(count: float, noise: Noise, weights: Floats, level: float, unit: float) -> Estimate:
    wide = noise.quantile(weights, level)
    return Estimate(*(max(0.0, x) * unit for x in (count, count - wide, count + wide)))


def table_of(quality: Quality) -> Any:  # noqa: ANN401  (rich is imported only where it prints)
    """The clusters as a rich table."""
    from rich.table import Table

    table = Table(padding=(0, 0, 0, 1))
    for heading in ("cluster", quality.unit, "share", "cost", "silhouette"):
        table.add_column(heading, justify="right")
    total = (quality.rows, None, quality.cost, quality.silhouette)
    lines = [(c.size, c.share, c.cost, c.silhouette) for c in quality.clusters]
    for name, parts in (*enumerate(lines), ("all", total)):
        table.add_row(
            str(name), *("–" if part is None else str(part).replace(" (", "\n(") for part in parts)
        )
    return table


def sentences_of(quality: Quality) -> list[str]:
    """What the columns are, in words."""
    kind = "squared distance" if quality.power == 2 else "distance"
    low, high = (f"{f(c.radius for c in quality.clusters):.2g}" for f in (min, max))
    radii = low if low == high else f"{low} to {high}"
    return [
        f"Each interval holds the value without noise with a chance of {quality.level:.0%}.",
        f"Cost: mean {kind} to the centre in the cube [−1, 1]^d, rows cut at {radii} from it. "
        "Silhouette: from 0 (between two centres) to 1 (at its own).",
    ]
