"""NOT PRIVATE: small estimators, each with one known bug, for audits to find.

`Means` is the correct one: noisy counts and sums of k cells, once. Each bug below was seen in code
that was published as differentially private. Noise is NumPy's: nothing here is for real rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import PrivateKMeans, audit
from sfumato.audit import Pair, World

Array = Any
K = 2


def new_rng() -> np.random.Generator:
    """Randomness of one fit."""
    return np.random.default_rng()


@dataclass
class Means:
    """One private step of k-means in the cube [−1, 1]^d, around declared centres: correct.

    Half of ε pays for the counts, half for the sums, whose L1 sensitivity is d.
    """

    epsilon: float = 1.0
    n_steps: int = 1

    def fit(self, X: Array, y: None = None) -> Means:
        """Find the means of the cells of the starting centres; every cell gets noise."""
        self.rng = new_rng()
        rows = self.bounded(np.asarray(X, dtype=np.float64))
        centers = np.linspace(-0.5, 0.5, K)[:, np.newaxis] * np.ones(rows.shape[1])
        for _ in range(self.n_steps):
            centers = self.step(rows, centers)
        self.cluster_centers_ = centers
        del self.rng
        return self

    def bounded(self, rows: Array) -> Array:
        """Cells that are no numbers go to the middle, all others into the declared bounds."""
        return np.clip(np.where(np.isfinite(rows), rows, 0.0), -1, 1)

    def step(self, rows: Array, centers: Array) -> Array:
        """Noisy sums over noisy counts."""
        own = self.assigned(rows, centers)
        share = self.epsilon / self.n_steps / 2
        counts = np.bincount(own, minlength=K) + self.noise(1 / share, (K,))
        sums = np.array([rows[own == j].sum(axis=0) for j in range(K)])
        sums = sums + self.noise(rows.shape[1] / share, sums.shape)
        self.cluster_sizes_ = counts
        return sums / np.maximum(counts, 1.0)[:, np.newaxis]

    def assigned(self, rows: Array, centers: Array) -> Array:
        """The nearest centre of every row."""
        return np.square(rows[:, np.newaxis] - centers).sum(axis=2).argmin(axis=1)

    def noise(self, scale: float, shape: tuple[int, ...]) -> Array:
        """Laplace noise of this scale."""
        return self.rng.laplace(0.0, scale, shape)


class GaussianMeans(Means):
    """The same with Gaussian noise, (ε, 10⁻⁶)-DP by the classical calibration: correct."""

    def noise(self, scale: float, shape: tuple[int, ...]) -> Array:
        """Gaussian noise; `scale` is sensitivity / ε."""
        return self.rng.normal(0.0, scale * np.sqrt(2 * np.log(1.25 / 5e-7)), shape)


class VarianceForDeviation(GaussianMeans):
    """Sums are kept in thousands of rows, and σ² is drawn where σ is meant."""

    def noise(self, scale: float, shape: tuple[int, ...]) -> Array:
        """Noise with the square of the deviation that it should have."""
        sigma = scale * np.sqrt(2 * np.log(1.25 / 5e-7)) / 1000
        return 1000 * self.rng.normal(0.0, sigma**2, shape)


class ExactCount(Means):
    """Sums are noisy, but are divided by exact counts."""

    def step(self, rows: Array, centers: Array) -> Array:
        """Noisy sums over exact counts."""
        own = self.assigned(rows, centers)
        sums = np.array([rows[own == j].sum(axis=0) for j in range(K)])
        sums = sums + self.noise(rows.shape[1] / self.epsilon, sums.shape)
        return sums / np.maximum(np.bincount(own, minlength=K), 1)[:, np.newaxis]


class SkippedEmpty(Means):
    """A cluster without rows keeps its centre, without noise."""

    def step(self, rows: Array, centers: Array) -> Array:
        """As it should be, but for clusters that are exactly empty."""
        full = np.bincount(self.assigned(rows, centers), minlength=K) > 0
        return np.where(full[:, np.newaxis], super().step(rows, centers), centers)


class SameNoise(Means):
    """The generator of the noise has a constant seed: each fit uses the same noise again."""

    def noise(self, scale: float, shape: tuple[int, ...]) -> Array:
        """The same draws in every fit."""
        return np.random.default_rng(0).laplace(0.0, scale, shape)


class SpendsEachTime(Means):
    """Two steps are charged ε / 2 each, and each spends ε: sizes at the start, and at the end."""

    def fit(self, X: Array, y: None = None) -> SpendsEachTime:
        """Noisy counts twice; the centres stay where they were declared."""
        self.rng = new_rng()
        rows = self.bounded(np.asarray(X, dtype=np.float64))
        self.cluster_centers_ = np.linspace(-0.5, 0.5, K)[:, np.newaxis] * np.ones(rows.shape[1])
        counts = np.bincount(self.assigned(rows, self.cluster_centers_), minlength=K)
        self.start_sizes_ = counts + self.noise(1 / self.epsilon, (K,))
        self.cluster_sizes_ = counts + self.noise(1 / self.epsilon, (K,))
        del self.rng
        return self


class BoundsFromRows(Means):
    """Bounds are the extremes of the rows."""

    def bounded(self, rows: Array) -> Array:
        """Rows in the cube of their own extremes."""
        rows = np.where(np.isfinite(rows), rows, 0.0)
        low, high = rows.min(axis=0), rows.max(axis=0)
        return 2 * (rows - low) / np.maximum(high - low, 1e-9) - 1


class SomeRowsRaise(Means):
    """An error that only some rows raise."""

    def bounded(self, rows: Array) -> Array:
        """Refuse rows outside of the bounds, by an error."""
        if np.abs(rows[np.isfinite(rows)]).max(initial=0) > 1:
            raise ValueError("a row lies outside of the bounds")
        return super().bounded(rows)


class StopsOnRows(Means):
    """Stops when the exact assignment of rows does not change; the number of steps shows."""

    def fit(self, X: Array, y: None = None) -> StopsOnRows:
        """Private steps, as many as the rows need."""
        self.rng = new_rng()
        rows = self.bounded(np.asarray(X, dtype=np.float64))
        centers, self.n_iter_ = np.linspace(-0.5, 0.5, K)[:, np.newaxis] * np.ones(2), 0
        before = None
        while self.n_iter_ < 20:
            own = self.assigned(rows, centers)
            if before is not None and np.array_equal(own, before):
                break
            sums = np.array([rows[own == j].sum(axis=0) for j in range(K)])
            centers = sums / np.maximum(np.bincount(own, minlength=K), 1)[:, np.newaxis]
            before, self.n_iter_ = own, self.n_iter_ + 1
        self.cluster_centers_ = self.step(rows, np.array([[-0.5] * 2, [0.5] * 2]))
        del self.rng
        return self


class OneScalar(Means):
    """One number of noise is added to every entry of a vector."""

    def noise(self, scale: float, shape: tuple[int, ...]) -> Array:
        """The same draw for each entry."""
        return np.full(shape, self.rng.laplace(0.0, scale))


class ExactSize(Means):
    """The exact number of rows is released."""

    def fit(self, X: Array, y: None = None) -> ExactSize:
        """As it should be, and the number of rows."""
        super().fit(X)
        self.n_samples_ = len(X)
        return self


class MissingShows(Means):
    """One missing cell makes centres that are no numbers."""

    def bounded(self, rows: Array) -> Array:
        """Clip; a missing cell stays one."""
        return np.clip(rows, -1, 1)


def scaled(epsilon: float = 1.0) -> Any:
    """A scaler that is fitted to the rows, in front of a private estimator."""
    return make_pipeline(
        StandardScaler(), PrivateKMeans(K, epsilon=epsilon, bounds=(-3.0, 3.0), method="sukpisit")
    )


BROKEN: dict[str, tuple[Any, float]] = {
    "σ² for σ": (VarianceForDeviation, 1e-6),
    "an exact count as divisor": (ExactCount, 0.0),
    "no noise for an empty cluster": (SkippedEmpty, 0.0),
    "a scaler fitted to the rows": (scaled, 0.0),
    "noise used twice": (SameNoise, 0.0),
    "ε / 2 charged for each of two steps, ε spent": (SpendsEachTime, 0.0),
    "bounds read from the rows": (BoundsFromRows, 0.0),
    "an error that only some rows raise": (SomeRowsRaise, 0.0),
    "a loop that ends by the rows": (StopsOnRows, 0.0),
    "one number of noise for a vector": (OneScalar, 0.0),
    "the exact number of rows": (ExactSize, 0.0),
    "a missing cell that shows": (MissingShows, 0.0),
}
"""What is wrong, who does it, and the δ that it claims."""

CORRECT: dict[str, tuple[Any, float]] = {
    "correct, Laplace noise": (Means, 0.0),
    "correct, Gaussian noise": (GaussianMeans, 1e-6),
}
"""Their correct twins."""


def pairs() -> list[Pair]:
    """Pairs in the square [−1, 1]² on which these bugs show."""
    chain, corner = np.repeat(np.linspace(-1.0, 0.2, 40)[:, np.newaxis], 2, axis=1), np.ones((1, 2))
    twin = corner / 2
    more = (
        Pair("twin", World(twin), World(np.vstack([twin, twin])), "a second row beside one"),
        Pair("chain", World(chain), World(np.vstack([chain, corner])), "a row beyond a chain"),
    )
    known = [pair for pair in audit.pairs(2, (-1.0, 1.0)) if pair.name not in ("group", "quoting")]
    return [*known, *more]
