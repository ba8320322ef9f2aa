"""What a grid or a tree of cells released about a dataset, and everything that it is good for."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato._base.files import read_whole, write_whole
from sfumato._base.types import Floats, Ints, Rng
from sfumato._base.validation import check_positive, check_whole
from sfumato._lattice.box import REACH, Box
from sfumato._schema.schema import Schema
from sfumato._synopsis.cells import Cells, GridCells, cells_from_dict, frozen
from sfumato._synopsis.curve import Criterion, KCurve, curve_of
from sfumato._synopsis.dendrogram import Dendrogram, gathered, ward_linkage
from sfumato._synopsis.denoise import denoise_cells
from sfumato._synopsis.kmeans import nearest
from sfumato._synopsis.kmedian import weighted_kmedian
from sfumato._synopsis.mixture import (
    CovarianceType,
    Mixture,
    check_covariance_type,
    mixture_of_cells,
)
from sfumato._synopsis.regions import dense_regions
from sfumato._synopsis.signed_kmeans import Clusters, SignedKMeans

FORMAT = 1


class Spans(NamedTuple):
    """Density clusters of a grid: the region of every cell, (n_cells,), −1 outside of all.

    Regions are numbered by falling noisy size, `sizes` (n_regions,).
    """

    labels: Ints
    sizes: Floats


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
        object.__setattr__(self, "weights", _checked(self))

    def __repr__(self) -> str:
        return (
            f"Synopsis({len(self):,} cells, {self.box.n_features} columns, "
            f"± {self.noise_std:.3g} rows each)"
        )

    def _repr_html_(self) -> str:
        from sfumato._synopsis.picture import shown

        return shown(self)

    def __len__(self) -> int:
        return len(self.layout)

    @property
    def cells(self) -> Floats:
        """The middle of every cell, in the user's units: (n_cells, n_features)."""
        return self.in_units(self.layout[:])

    def in_units(self, points: Floats) -> Floats:
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

    def kmeans(
        self,
        k: int,
        *,
        n_starts: int = 30,
        swaps: bool = True,
        random_state: Any = None,  # noqa: ANN401
    ) -> Clusters:
        """Find k centres of the cells, in the user's units; negative weights count.

        The start with the lowest cost on the synopsis wins. Without `swaps` nothing but Lloyd steps
        is done from each start, as Su et al. do.
        """
        numbers = check_whole(k, "k"), check_whole(n_starts, "n_starts")
        return _means_of(self, *numbers, np.random.default_rng(random_state), swaps=swaps)

    def kmedian(self, k: int, *, random_state: Any = None) -> Clusters:  # noqa: ANN401
        """Find k centres of the denoised cells that lower the sum of distances, not of squares.

        Sizes are denoised weights; the cost counts distances in the cube that the bounds span.
        """
        return _medians_of(self, check_whole(k, "k"), np.random.default_rng(random_state))

    def mixture(
        self,
        k: int,
        covariance_type: CovarianceType = "full",
        *,
        random_state: Any = None,  # noqa: ANN401
    ) -> Mixture:
        """Fit a mixture of k normal distributions to the denoised cells, by EM.

        In the user's units; with a schema, in those of the cube. Cells blur what is narrower than
        they are: `PrivateGaussianMixture` asks for moments instead.
        """
        check_covariance_type(covariance_type)
        rng = np.random.default_rng(random_state)
        return _mixture_of(self, check_whole(k, "k"), covariance_type, rng)

    def k_curve(
        self,
        k_range: tuple[int, int] = (2, 20),
        by: Criterion = "elbow",
        *,
        random_state: Any = None,  # noqa: ANN401
    ) -> KCurve:
        """Score every number of clusters from k_range[0] to k_range[1], for a plot.

        "elbow" is the jump of cost^(−d/2) (Sugar, James 2003), which cannot tell one cluster from
        none; "silhouette" the mean silhouette; "gap" the gap statistic; "stability" how alike the
        clusters of two draws of the cells and of their noise are (the adjusted Rand index), where
        the largest k is taken that is nearly as stable as the best: the slowest, some seconds. All
        look at the cells that stand out from the noise; where none does every score is 0 and the
        least k is taken.
        """
        rng = np.random.default_rng(random_state)
        return curve_of(self.layout, self.weights, self.noise_std, k_range, by, rng)

    def choose_k(
        self,
        k_range: tuple[int, int] = (2, 20),
        by: Criterion = "elbow",
        *,
        random_state: Any = None,  # noqa: ANN401
    ) -> int:
        """Return the number of clusters in the range that scores best: see `k_curve`."""
        return self.k_curve(k_range, by, random_state=random_state).best

    def denoised(self) -> Floats:
        """Estimates of the weights before the noise, (n_cells,), none below 0.

        Empirical Bayes from all released weights together: see `sfumato._synopsis.denoise`.
        """
        if not self.noise_std:
            return np.maximum(self.weights, 0)
        return denoise_cells(self.layout, self.weights, self.noise_std / math.sqrt(2))

    def dendrogram(
        self,
        n_leaves: int = 256,
        *,
        random_state: Any = None,  # noqa: ANN401
    ) -> Dendrogram:
        """Build the tree of clusters of Ward's method over at most `n_leaves` small clusters.

        These are k-means centres of the denoised cells. The tree can be cut at any k.
        """
        rng, most = np.random.default_rng(random_state), check_whole(n_leaves, "n_leaves")
        points, weights = gathered(self.layout[:], self.denoised(), most, rng)
        return Dendrogram(self.in_units(points), weights, ward_linkage(points, weights))

    def spans(self, min_cluster_size: float | None = None) -> Spans:
        """Find density clusters of a grid: regions of connected dense cells, of any shape.

        A region has at least `min_cluster_size` rows, by default a hundredth of all weight, and
        more than noise explains. Of clusters whose density differs only those that stand out from
        each other are apart.
        """
        return _spans_of(self, min_cluster_size)

    def sample(self, n: int, *, random_state: Any = None) -> Any:  # noqa: ANN401
        """Draw n synthetic rows: a cell by the positive part of its weight, uniform inside it.

        Where no weight is positive all cells are alike. Returns an array (n, d) in the user's
        units; with a schema, the cells of every column by its name, as a data frame takes them.
        """
        rng = np.random.default_rng(random_state)
        points = _drawn(self, check_whole(n, "n"), rng)
        return self.schema.cells(points) if self.schema else self.in_units(points)

    def plot_data(self) -> Picture:
        """Return the weights of a grid in two or three dimensions, ready for a picture."""
        return _picture(self)

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
        where = Path(path)
        try:
            data = json.loads(read_whole(where))
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict) or data.get("synopsis_format") != FORMAT:
            raise ValueError(f"{where} is not a sfumato synopsis of format {FORMAT}")
        try:
            return cls.from_dict(data)
        except (LookupError, TypeError, AttributeError, ArithmeticError):
            raise ValueError(f"{where} is a damaged sfumato synopsis") from None


def _means_of(synopsis: Synopsis, k: int, n_starts: int, rng: Rng, *, swaps: bool) -> Clusters:
    solver = SignedKMeans(synopsis.layout, synopsis.weights, synopsis.noise_std)
    solve = solver.solve if swaps else solver.solve_by_lloyd
    found = solve(k, n_starts=n_starts, rng=rng)
    return found._replace(centers=synopsis.in_units(found.centers))


def _medians_of(synopsis: Synopsis, k: int, rng: Rng) -> Clusters:
    """See `Synopsis.kmedian`."""
    points, weights = synopsis.layout[:], synopsis.denoised()
    squares = np.square(synopsis.layout.widths).sum(axis=1) / 12
    centers, cost = weighted_kmedian(points, weights, k, rng, widths=squares)
    own, _ = nearest(points, centers)
    sizes = np.bincount(own, weights, k).astype(np.float64)
    return Clusters(synopsis.in_units(centers), sizes, cost)


def _mixture_of(synopsis: Synopsis, k: int, kind: CovarianceType, rng: Rng) -> Mixture:
    """See `Synopsis.mixture`."""
    found = mixture_of_cells(synopsis.layout, synopsis.denoised(), k, kind, rng)
    if synopsis.schema:
        return found
    low, high = (np.array(edge) for edge in (synopsis.box.lower, synopsis.box.upper))
    return found.moved(np.diag((high - low) / 2), (high + low) / 2)


def _spans_of(synopsis: Synopsis, min_cluster_size: float | None) -> Spans:
    """See `Synopsis.spans`."""
    if not isinstance(synopsis.layout, GridCells):
        raise ValueError(
            "density clusters need the cells of a grid, and this synopsis is a tree: "
            "PrivateDBSCAN releases a grid"
        )
    least = max(0.0, 0.01 * float(synopsis.weights.sum()))
    if min_cluster_size is not None:
        least = float(check_positive(min_cluster_size, "min_cluster_size"))
    grid = synopsis.weights.reshape(synopsis.layout.shape)
    labels = dense_regions(grid, synopsis.noise_std, least).ravel()
    inside = labels >= 0
    sizes = np.bincount(labels[inside], synopsis.weights[inside]).astype(np.float64)
    return Spans(labels, sizes)


def _drawn(synopsis: Synopsis, n: int, rng: Rng) -> Floats:
    """Points (n, d) of the cube: see `Synopsis.sample`."""
    positive = np.maximum(synopsis.weights, 0)
    total = positive.sum()
    chances = positive / total if total > 0 else None
    picked = synopsis.layout.take(rng.choice(len(synopsis), n, p=chances))
    inside = rng.uniform(-0.5, 0.5, picked.middles.shape)
    drawn: Floats = picked.middles + inside * picked.widths
    return drawn


def _picture(synopsis: Synopsis) -> Picture:
    """See `Synopsis.plot_data`."""
    if not isinstance(synopsis.layout, GridCells) or synopsis.box.n_features not in (2, 3):
        kind = "a grid" if isinstance(synopsis.layout, GridCells) else "loose cells"
        raise ValueError(
            f"a picture needs a grid in 2 or 3 dimensions, this synopsis is {kind} in "
            f"{synopsis.box.n_features}; plot `sample(n)` instead"
        )
    values = synopsis.weights.reshape(synopsis.layout.shape)
    edges = zip(synopsis.box.lower, synopsis.box.upper, strict=True)
    extent = tuple(edge for pair in edges for edge in pair)
    return Picture(values.T if values.ndim == 2 else values, extent)


def _checked(synopsis: Synopsis) -> Floats:
    """Weights that fit the cells, which fit the bounds, with noise that is a number."""
    weights = frozen(synopsis.weights)
    if synopsis.layout.n_features != synopsis.box.n_features:
        raise ValueError(
            f"the cells have {synopsis.layout.n_features} columns, the bounds "
            f"{synopsis.box.n_features}"
        )
    if weights.shape != (len(synopsis.layout),) or not np.isfinite(weights).all():
        raise ValueError(
            f"{len(synopsis.layout):,} cells need as many finite weights, got an array of shape "
            f"{weights.shape}"
        )
    if not 0 <= synopsis.noise_std < float("inf"):
        raise ValueError(f"noise_std must be a number of at least 0, got {synopsis.noise_std!r}")
    return weights
