"""What a grid or a tree of cells released about a dataset, and everything that it is good for."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from sfumato._base.files import write_whole
from sfumato._base.types import Floats, Ints, Rng
from sfumato._base.validation import check_whole
from sfumato._lattice.box import REACH, Box
from sfumato._schema.schema import Schema
from sfumato._synopsis.cells import (
    Cells,
    GridCells,
    LooseCells,
    cells_from_dict,
    coarser,
    cut,
    frozen,
    whole,
)
from sfumato._synopsis.signed_kmeans import Clusters, SignedKMeans

FORMAT = 1


Criterion = Literal["elbow", "silhouette", "gap"]

_STARTS = 10
_PIECES = 32
_COMPARED = 2**11
_SHOWN = 4


@dataclass(frozen=True, eq=False)
class KCurve:
    """What a criterion says about every number of clusters; `best` is the one it takes.

    `costs` is the cost per unit of weight: of the cells that stand out, in the cube [−1, 1]^d, or
    of rows, in their own units.
    """

    ks: Ints
    scores: Floats
    costs: Floats
    criterion: Criterion
    best: int


def check_range(k_range: object) -> tuple[int, int]:
    """Read a pair (least, most) of numbers of clusters."""
    if not isinstance(k_range, tuple | list) or len(k_range) != 2:
        raise ValueError(f"k_range must be a pair (least, most) such as (2, 20), got {k_range!r}")
    least = check_whole(k_range[0], "the first number of k_range")
    return least, check_whole(k_range[1], "the second number of k_range", least=least)


def check_criterion(criterion: object) -> None:
    """Refuse a word that is not a criterion."""
    if criterion not in get_args(Criterion):
        raise ValueError(
            f"k is chosen by one of {', '.join(get_args(Criterion))}, got {criterion!r}"
        )


class Picture(NamedTuple):
    """Weights of a grid as an array, and (low, high) of every axis one after the other.

    In two dimensions `values` has one row per slice of the second column, lowest first:
    `imshow(values, extent=extent, origin="lower")`. In three it is indexed by the columns in order.
    """

    values: Floats
    extent: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Synopsis:
    """Cells and their noisy weights: released once, reusable as often as wanted at no cost.

    Every method reads released numbers and public randomness only: it is post-processing.

    Parameters
    ----------
    box : Box
        The public bounds.
    layout : GridCells or LooseCells
        Where the cells lie in the cube [−1, 1]^d that the bounds span.
    weights : array of shape (n_cells,)
        Noisy counts as they were released: signed, not rounded.
    noise_std : float
        The standard deviation of the noise on each weight.
    schema : Schema, optional
        What coordinates mean, where the box is the cube of a schema.

    """

    box: Box
    layout: Cells
    weights: Floats
    noise_std: float
    schema: Schema | None = None

    def __post_init__(self) -> None:
        weights = frozen(self.weights)
        if self.layout.n_features != self.box.n_features:
            raise ValueError(
                f"the cells have {self.layout.n_features} columns, the bounds {self.box.n_features}"
            )
        if weights.shape != (len(self.layout),) or not np.isfinite(weights).all():
            raise ValueError(
                f"{len(self.layout):,} cells need as many finite weights, got an array of shape "
                f"{weights.shape}"
            )
        if not 0 <= self.noise_std < float("inf"):
            raise ValueError(f"noise_std must be a number of at least 0, got {self.noise_std!r}")
        object.__setattr__(self, "weights", weights)

    def __repr__(self) -> str:
        return (
            f"Synopsis({len(self):,} cells, {self.box.n_features} columns, "
            f"± {self.noise_std:.3g} rows each)"
        )

    def __len__(self) -> int:
        return len(self.layout)

    @property
    def cells(self) -> Floats:
        """The middle of every cell, in the user's units: (n_cells, n_features)."""
        return self._in_units(self.layout[:])

    def _in_units(self, points: Floats) -> Floats:
        """Points of the cube [−1, 1]^d in the user's units, with a schema as it decodes them."""
        return self.schema.decode(points) if self.schema else self.box.from_lattice(points * REACH)

    @property
    def widths(self) -> Floats:
        """The widths of every cell in the user's units, or one row where all are alike.

        With a schema, whose columns need not be linear, they are those of the cube.
        """
        return self.layout.widths * (REACH * self.box.step)

    def times(self, unit: float) -> Synopsis:
        """The same cells with weights in another unit."""
        if unit == 1:
            return self
        return replace(self, weights=self.weights * unit, noise_std=self.noise_std * unit)

    def kmeans(self, k: int, *, n_starts: int = 30, random_state: Any = None) -> Clusters:  # noqa: ANN401
        """Find k centres of the cells, in the user's units; negative weights count.

        The start with the lowest cost on the synopsis wins.
        """
        rng = np.random.default_rng(random_state)
        solver = SignedKMeans(self.layout, self.weights, self.noise_std)
        starts = check_whole(n_starts, "n_starts")
        found = solver.solve(check_whole(k, "k"), n_starts=starts, rng=rng)
        return found._replace(centers=self._in_units(found.centers))

    def k_curve(
        self,
        k_range: tuple[int, int] = (2, 20),
        method: Criterion = "elbow",
        *,
        random_state: Any = None,  # noqa: ANN401
    ) -> KCurve:
        """Score every number of clusters from k_range[0] to k_range[1], for a plot.

        "elbow" is the jump of cost^(−d/2) (Sugar, James 2003), which cannot tell one cluster from
        none; "silhouette" the mean silhouette; "gap" the gap statistic, the slowest. All look at
        the cells that stand out from the noise; where none does every score is 0 and the least k is
        taken.
        """
        check_criterion(method)
        least, largest = check_range(k_range)
        ks, rng = np.arange(least, largest + 1), np.random.default_rng(random_state)
        # Of empty cells, under Laplace noise, an expected half of one passes this.
        clear = self.weights > self.noise_std / math.sqrt(2) * math.log(len(self))
        if not clear.any():
            return KCurve(ks, np.zeros(len(ks)), np.zeros(len(ks)), method, least)
        pieces = cut(self.layout.take(np.flatnonzero(clear)), _PIECES * largest)
        share = int(clear.sum()) / len(pieces)
        parts = np.repeat(self.weights[clear] * share, round(1 / share))
        solved = _solve_all(pieces, parts, range(max(least - 1, 1), largest + 1), rng)
        scores = _SCORES[method](solved, rng)[-len(ks) :]
        return KCurve(ks, scores, solved.costs[-len(ks) :], method, int(ks[scores.argmax()]))

    def choose_k(
        self,
        k_range: tuple[int, int] = (2, 20),
        method: Criterion = "elbow",
        *,
        random_state: Any = None,  # noqa: ANN401
    ) -> int:
        """Return the number of clusters in the range that scores best: see `k_curve`."""
        return self.k_curve(k_range, method, random_state=random_state).best

    def sample(self, n: int, *, random_state: Any = None) -> Any:  # noqa: ANN401
        """Draw n synthetic rows: a cell by the positive part of its weight, uniform inside it.

        Where no weight is positive all cells are alike. Returns an array (n, d) in the user's
        units; with a schema, the cells of every column by its name, as a data frame takes them.
        """
        rng = np.random.default_rng(random_state)
        positive = np.maximum(self.weights, 0)
        total = positive.sum()
        chances = positive / total if total > 0 else None
        chosen = rng.choice(len(self), check_whole(n, "n"), p=chances)
        picked = self.layout.take(chosen)
        inside = rng.uniform(-0.5, 0.5, picked.middles.shape)
        points = picked.middles + inside * picked.widths
        return self.schema.cells(points) if self.schema else self._in_units(points)

    def plot_data(self) -> Picture:
        """Return the weights of a grid in two or three dimensions, ready for a picture."""
        if not isinstance(self.layout, GridCells) or self.box.n_features not in (2, 3):
            kind = "a grid" if isinstance(self.layout, GridCells) else "loose cells"
            raise ValueError(
                f"a picture needs a grid in 2 or 3 dimensions, this synopsis is {kind} in "
                f"{self.box.n_features}; plot `sample(n)` instead"
            )
        values = self.weights.reshape(self.layout.shape)
        edges = zip(self.box.lower, self.box.upper, strict=True)
        extent = tuple(edge for pair in edges for edge in pair)
        return Picture(values.T if values.ndim == 2 else values, extent)

    def to_dict(self) -> dict[str, Any]:
        """The synopsis as plain values."""
        counts = np.array_equal(self.weights, np.rint(self.weights))
        small = np.abs(self.weights).max() < 2**53
        weights = self.weights.astype(np.int64) if counts and small else self.weights
        return {
            "synopsis_format": FORMAT,
            "bounds": {"lower": list(self.box.lower), "upper": list(self.box.upper)},
            "nan": self.box.nan,
            "cells": self.layout.to_dict(),
            "noise_std": self.noise_std,
            "weights": weights.tolist(),
            **({"schema": self.schema.to_dict()} if self.schema else {}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Synopsis:
        """Read back what `to_dict` wrote."""
        lower, upper = data["bounds"]["lower"], data["bounds"]["upper"]
        box = Box(tuple(lower), tuple(upper), data["nan"])
        schema = Schema.from_dict(data["schema"]) if "schema" in data else None
        cells = cells_from_dict(data["cells"])
        return cls(box, cells, data["weights"], data["noise_std"], schema)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the synopsis as JSON; the file appears whole or not at all."""
        write_whole(path, json.dumps(self.to_dict()) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Synopsis:
        """Read a synopsis that `save` wrote."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError):
            data = None
        if not isinstance(data, dict) or data.get("synopsis_format") != FORMAT:
            raise ValueError(f"{os.fspath(path)} is not a sfumato synopsis of format {FORMAT}")
        return cls.from_dict(data)


@dataclass(frozen=True)
class _Solved:
    """Clear cells in pieces, and their solution for every k asked for."""

    cells: LooseCells
    weights: Floats
    ks: range
    centers: list[Floats]
    costs: Floats


def _solve_all(cells: LooseCells, weights: Floats, ks: range, rng: Rng) -> _Solved:
    """k-means on pieces with weights (n,), for every k."""
    solver = SignedKMeans(cells, weights, 0.0)
    found = [solver.solve(k, n_starts=_STARTS, rng=rng) for k in ks]
    # A piece is as spread out as its width says: w²/12 along each axis.
    inside = float(weights @ np.broadcast_to((cells.widths**2).sum(axis=1) / 12, len(cells)))
    costs = np.array([max(solution.cost, 0.0) + inside for solution in found])
    return _Solved(cells, weights, ks, [s.centers for s in found], costs / weights.sum())


def _elbow(solved: _Solved, rng: Rng) -> Floats:
    # Cells are too coarse to show more dimensions: a higher power would magnify their edges.
    return jumps(solved.costs, min(solved.cells.n_features, _SHOWN))


def jumps(costs: Floats, n_features: int) -> Floats:
    """How far costs (m,) to the power −d/2 jump at each k: Sugar, James 2003.

    The first k is there to jump from, unless it is 1, which jumps from nothing.
    """
    return np.diff(costs ** (-n_features / 2), prepend=0.0)


def _silhouette(solved: _Solved, rng: Rng) -> Floats:
    """The mean silhouette of weighted points: Rousseeuw 1987. Of one cluster it is 0."""
    mass = whole(solved.cells, solved.weights, 0.0)
    if len(solved.weights) > _COMPARED:
        mass = coarser(mass, _COMPARED)
    points, weights = mass.points[:], mass.weights
    gaps = _distances(points, points)
    return np.array([_mean_silhouette(points, weights, gaps, c) for c in solved.centers])


def _mean_silhouette(points: Floats, weights: Floats, gaps: Floats, centers: Floats) -> float:
    """points: (n, d), weights: (n,), gaps: distances (n, n), centers: (k, d)."""
    rows, own = np.arange(len(points)), _distances(points, centers).argmin(axis=1)
    members = np.zeros((len(points), len(centers)))
    members[rows, own] = weights
    sizes = members.sum(axis=0)
    means = np.where(sizes > 0, gaps @ members / np.where(sizes > 0, sizes, 1.0), np.inf)
    inside = means[rows, own]
    means[rows, own] = np.inf
    outside = means.min(axis=1)
    if not np.isfinite(outside).all():
        return 0.0
    larger = np.maximum(np.maximum(inside, outside), 1e-12)
    return float(weights @ ((outside - inside) / larger) / weights.sum())


def _gap(solved: _Solved, rng: Rng) -> Floats:
    half = solved.cells.widths / 2
    low = (solved.cells.middles - half).min(axis=0)
    high = (solved.cells.middles + half).max(axis=0)
    even = LooseCells(rng.uniform(low, high, (_COMPARED, len(low))), (high - low)[None])
    solver = SignedKMeans(even, np.full(_COMPARED, 1 / _COMPARED), 0.0)
    costs = [solver.solve(k, n_starts=_STARTS, rng=rng).cost for k in solved.ks]
    return gaps(solved.costs, np.array(costs))


def gaps(costs: Floats, even: Floats) -> Floats:
    """How much lower log cost (m,) lies than for points without clusters: Tibshirani et al. 2001.

    The largest gap is taken; the paper's first local one stops at clusters of clusters.
    """
    return np.log(np.maximum(even, 1e-12)) - np.log(costs)


def _distances(points: Floats, others: Floats) -> Floats:
    """Distances (n, m) of points (n, d) to others (m, d)."""
    squares = np.square(points).sum(axis=1)[:, None] + np.square(others).sum(axis=1)
    distances: Floats = np.sqrt(np.maximum(squares - 2 * points @ others.T, 0))
    return distances


_SCORES = {"elbow": _elbow, "silhouette": _silhouette, "gap": _gap}
