"""What a grid or a tree of cells released about a dataset, and everything that it is good for."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato._base.files import write_whole
from sfumato._base.types import Floats
from sfumato._base.validation import check_whole
from sfumato._lattice.box import REACH, Box
from sfumato._synopsis.cells import Cells, GridCells, cells_from_dict, frozen
from sfumato._synopsis.choose_k import Criterion, KCurve, k_curve
from sfumato._synopsis.signed_kmeans import Clusters, SignedKMeans

FORMAT = 1


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

    """

    box: Box
    layout: Cells
    weights: Floats
    noise_std: float

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
        return self.box.from_lattice(self.layout[:] * REACH)

    @property
    def widths(self) -> Floats:
        """The widths of every cell in the user's units, or one row where all are alike."""
        return self.layout.widths * (REACH * self.box.step)

    def kmeans(self, k: int, *, n_starts: int = 30, random_state: Any = None) -> Clusters:  # noqa: ANN401
        """Find k centres of the cells, in the user's units; negative weights count.

        The start with the lowest cost on the synopsis wins.
        """
        rng = np.random.default_rng(random_state)
        solver = SignedKMeans(self.layout, self.weights, self.noise_std)
        starts = check_whole(n_starts, "n_starts")
        found = solver.solve(check_whole(k, "k"), n_starts=starts, rng=rng)
        return found._replace(centers=self.box.from_lattice(found.centers * REACH))

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
        the cells that stand out from the noise.
        """
        return k_curve(
            self.layout,
            self.weights,
            self.noise_std,
            k_range=k_range,
            criterion=method,
            rng=np.random.default_rng(random_state),
        )

    def choose_k(
        self,
        k_range: tuple[int, int] = (2, 20),
        method: Criterion = "elbow",
        *,
        random_state: Any = None,  # noqa: ANN401
    ) -> int:
        """Return the number of clusters in the range that scores best: see `k_curve`."""
        return self.k_curve(k_range, method, random_state=random_state).best

    def sample(self, n: int, *, random_state: Any = None) -> Floats:  # noqa: ANN401
        """Draw n synthetic rows: a cell by the positive part of its weight, uniform inside it.

        Where no weight is positive all cells are alike.
        """
        rng = np.random.default_rng(random_state)
        positive = np.maximum(self.weights, 0)
        total = positive.sum()
        chances = positive / total if total > 0 else None
        chosen = rng.choice(len(self), check_whole(n, "n"), p=chances)
        picked = self.layout.take(chosen)
        inside = rng.uniform(-0.5, 0.5, picked.middles.shape)
        return self.box.from_lattice((picked.middles + inside * picked.widths) * REACH)

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
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Synopsis:
        """Read back what `to_dict` wrote."""
        lower, upper = data["bounds"]["lower"], data["bounds"]["upper"]
        box = Box(tuple(lower), tuple(upper), data["nan"])
        return cls(box, cells_from_dict(data["cells"]), data["weights"], data["noise_std"])

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
