"""Reconstruction: the best guess at a row from its report, against the best guess without it.

Owner-side: reads raw rows. See `sfumato.attacks`. Rows, reports and points: (n, d), in the units
of the mechanism's bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.spatial.distance import cdist
from scipy.stats import qmc
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor

from sfumato._base.types import Floats
from sfumato._base.validation import check_whole
from sfumato._lattice.box import Box
from sfumato.attacks._membership import CONFIDENCE
from sfumato.local._clustering import has_known_noise, noise_widths

_OVERSHOOTS = 64
_RESAMPLES = 2000
_SIMULATED = 20_000
_NEIGHBOURS = 50


@dataclass(frozen=True, eq=False)
class Prior:
    """What the adversary believes about a row without a report: points (m, d), weights (m,)."""

    points: Floats
    weights: Floats

    @property
    def mean(self) -> Floats:
        """The best guess, by mean squared error, without a report."""
        guess: Floats = self.weights @ self.points
        return guess


def uniform_prior(bounds: Any, n_features: int, *, size: int = 4096) -> Prior:  # noqa: ANN401
    """Return a prior that knows the bounds only: points spread evenly over the box."""
    box = Box.of(bounds, check_whole(n_features, "n_features"))
    n = 2 ** int(np.ceil(np.log2(check_whole(size, "size"))))
    spread = qmc.Sobol(box.n_features, seed=np.random.default_rng(0)).random(n)
    return Prior(qmc.scale(spread, box.lower, box.upper), np.full(n, 1 / n))


def histogram_prior(points: ArrayLike, weights: ArrayLike) -> Prior:
    """Return a prior from a public histogram or a synopsis: points (m, d), weights (m,)."""
    places, heights = np.asarray(points, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    heights = np.maximum(heights, 0)
    if places.ndim != 2 or heights.shape != (len(places),) or not heights.sum() > 0:
        raise ValueError(
            "a histogram needs a table of points and one weight for each, not all of them zero, "
            f"got shapes {places.shape} and {heights.shape}"
        )
    return Prior(places, heights / heights.sum())


def estimates(perturbation: Any, reports: ArrayLike, prior: Prior) -> Floats:  # noqa: ANN401
    """Return the posterior mean of the row behind each report of a fitted mechanism.

    For nD-Laplace it is computed from the density, clamped reports included. For any other
    mechanism, and for truncation="resample", the adversary runs the mechanism on rows drawn from
    the prior, and averages those whose reports came out nearest.
    """
    seen = np.asarray(reports, dtype=np.float64)
    if has_known_noise(perturbation) and not perturbation.plan_.mechanism.resample:
        return _from_density(perturbation, seen, prior)
    return _from_simulation(perturbation, seen, prior)


@dataclass(frozen=True)
class Reconstruction:
    """Mean squared errors of guesses, in half-widths of the columns, with and without reports."""

    with_report: float
    without_report: float
    interval: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Error with the report over error without: 1 learns nothing, 0 learns the row."""
        return self.with_report / self.without_report


def reconstruction_attack(
    perturbation: Any,  # noqa: ANN401
    rows: ArrayLike,
    prior: Prior,
    *,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
) -> Reconstruction:
    """Perturb rows, guess each from its report, and compare with guessing without one.

    `perturbation` is a local mechanism with bounds. The interval is of the ratio, by bootstrap
    over the rows; its shuffling is fixed by `random_state`.
    """
    truth = np.asarray(rows, dtype=np.float64)
    mechanism = clone(perturbation).fit(truth)
    guesses = estimates(mechanism, np.asarray(mechanism.transform(truth)), prior)
    box = Box.of(mechanism.bounds, truth.shape[1])
    halves = (np.asarray(box.upper) - np.asarray(box.lower)) / 2
    after = np.square((guesses - truth) / halves).sum(axis=1)
    before = np.square((prior.mean - truth) / halves).sum(axis=1)
    rng = np.random.default_rng(random_state)
    drawn = rng.integers(0, len(truth), (_RESAMPLES, len(truth)))
    ratios = after[drawn].mean(axis=1) / before[drawn].mean(axis=1)
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Reconstruction(float(after.mean()), float(before.mean()), (float(low), float(high)))


def _from_density(perturbation: Any, reports: Floats, prior: Prior) -> Floats:  # noqa: ANN401
    widths, d = noise_widths(perturbation), reports.shape[1]
    lattice = perturbation.plan_.lattice
    lower, upper = (np.asarray(side) / widths for side in (lattice.box.lower, lattice.box.upper))
    seen, places = reports / widths, prior.points / widths
    edge = float(lattice.steps[0] / widths[0]) / 2
    out = (seen >= upper - edge).astype(int) - (seen <= lower + edge).astype(int)
    out *= perturbation.plan_.clamp
    # How far reports may have been beyond the bounds: quantiles of Exponential(1/√d). No density
    # of nD-Laplace falls faster along the axes, so that importance weights are bounded.
    even = qmc.Sobol(d, seed=np.random.default_rng(0)).random(_OVERSHOOTS)
    overshoots = -np.log1p(-even) * np.sqrt(d)
    found = np.empty_like(seen)
    for i, report in enumerate(seen):
        beyond = out[i] * (overshoots if out[i].any() else overshoots[:1])
        # Importance sampling: an overshoot t was drawn with density ∝ e^{−t/√d}.
        tilt = np.abs(beyond).sum(axis=1, keepdims=True) / np.sqrt(d)
        logs = special.logsumexp(tilt - cdist(report + beyond, places), axis=0)
        parts = prior.weights * np.exp(logs - logs.max())
        found[i] = parts @ prior.points / parts.sum()
    return found


def _from_simulation(perturbation: Any, reports: Floats, prior: Prior) -> Floats:  # noqa: ANN401
    rng = np.random.default_rng(0)
    rows = prior.points[rng.choice(len(prior.points), _SIMULATED, p=prior.weights)]
    made = np.asarray(perturbation.transform(rows))
    spread = np.maximum(made.std(axis=0), 1e-300)
    nearest = KNeighborsRegressor(_NEIGHBOURS).fit(made / spread, rows)
    guesses: Floats = nearest.predict(reports / spread)
    return guesses
