"""What to expect before anything is spent, and lessons: made-up data alone, never rows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato import METHODS, PrivateKMeans, nonprivate, plan
from sfumato.studio._errors import Refusal
from sfumato.studio._pictures import SIDE

_EPSILONS = 25
_MOST_CELLS = 100_000
_TAUGHT = 15
_TAUGHT_ROWS = 5000


def curve(*, n: int, d: int, k: int, delta: float, most: float, protects: int = 1) -> Any:  # noqa: ANN401
    """Predicted error of every method, for ε from a hundredth of the largest to the largest.

    A person with several rows is protected as a whole: a prediction for the ε of one row, that is
    ε divided by so many.
    """
    top = min(max(most, 0.1), 10.0)
    epsilons = [float(f"{e:.3g}") for e in np.geomspace(top / 100, top, _EPSILONS)]
    plans = [plan(n=n, d=d, k=k, epsilon=e / protects, delta=delta) for e in epsilons]
    lines = {
        name: [each.rows[i].error if each.rows[i].predicted else None for each in plans]
        for i, name in enumerate(METHODS)
    }
    return {"epsilons": epsilons, "errors": lines, "middle": d / 3}


def at(*, n: int, d: int, k: int, epsilon: float, delta: float, protects: int = 1) -> Any:  # noqa: ANN401
    """Every method at one ε: predicted error, passes, and why one cannot run."""
    found = plan(n=n, d=d, k=k, epsilon=epsilon / protects, delta=delta).to_dict()
    names = ("method", "error", "noise", "passes", "note", "why_not", "fits")
    return {
        "best": found["best"],
        "default": found["default"],
        "drowned": found["drowned"],
        "methods": [{name: row[name] for name in names} for row in found["methods"]],
    }


def simulated(
    *,
    n: int,
    d: int,
    k: int,
    epsilon: float,
    delta: float,
    method: str,
    draw: int,
    protects: int = 1,
) -> dict[str, Any]:
    """How noisy a picture of so many made-up rows is: clouds at random places, fitted for real.

    Above so many cells fewer rows are made, with ε enlarged in proportion: the noise of a centre
    goes by n·ε. A person with several rows is protected as a whole, as in `curve`.
    """
    rng = np.random.default_rng(draw)
    rows = max(min(n, _MOST_CELLS // d), min(n, 100))
    middles = _apart(rng, k, d)
    spread = 0.35 / max(k, 2) ** (1 / min(d, 3))
    points = middles[rng.integers(k, size=rows)] + rng.normal(0, spread, (rows, d))
    points = np.clip(points, -1, 1)
    model = PrivateKMeans(
        k, epsilon=epsilon / protects * n / rows, delta=delta, bounds=(-1, 1), method=method
    )
    model.fit(points)
    return {
        "rows": rows,
        "raster": _counts(points),
        "true": _two(middles),
        "private": _two(model.cluster_centers_),
    }


def _apart(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    """Places (k, d) that keep some distance from each other."""
    found = rng.uniform(-0.8, 0.8, (1, d))
    while len(found) < k:
        tried = rng.uniform(-0.8, 0.8, (16, d))
        far = ((tried[:, None] - found[None]) ** 2).sum(axis=2).min(axis=1)
        found = np.vstack([found, tried[far.argmax()]])
    return found


def _two(points: np.ndarray) -> list[list[float]]:
    """The first two coordinates of points (k, d) of the cube, from 0 to 1."""
    pair = points[:, [0, min(1, points.shape[1] - 1)]]
    found: list[list[float]] = np.clip(pair / 2 + 0.5, 0, 1).round(5).tolist()
    return found


def _counts(points: np.ndarray) -> list[list[int]]:
    """Made-up rows counted on squares, lowest row first."""
    pair = np.array(_two(points))
    counts, _, _ = np.histogram2d(pair[:, 1], pair[:, 0], SIDE, [(0, 1), (0, 1)])
    found: list[list[int]] = counts.astype(int).tolist()
    return found


@lru_cache(maxsize=1)
def _lesson() -> tuple[np.ndarray, np.ndarray]:
    """Fifteen clouds of made-up rows in two columns, as in the benchmark set S1, and their cost."""
    rng = np.random.default_rng(15)
    middles = _apart(rng, _TAUGHT, 2)
    points = middles[rng.integers(_TAUGHT, size=_TAUGHT_ROWS)]
    return np.clip(points + rng.normal(0, 0.06, points.shape), -1, 1), middles


@lru_cache(maxsize=32)
def _true_centers(k: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(k, n_init=5, random_state=0).fit(_lesson()[0]).cluster_centers_)


def lesson(*, k: int, epsilon: float, method: str) -> dict[str, Any]:
    """Private and true centres of public made-up rows, side by side."""
    if method == "maxcover":
        raise Refusal("maxcover needs a δ above 0, and lessons are taught with δ = 0.")
    points, _ = _lesson()
    true = _true_centers(k)
    model = PrivateKMeans(k, epsilon=epsilon, bounds=(-1, 1), method=method).fit(points)
    # The rows are made up: exact numbers about them are nobody's secret.
    exact = nonprivate.nicv(points, true)
    private = nonprivate.nicv(points, model.cluster_centers_)
    return {
        "rows": len(points),
        "raster": _counts(points),
        "true": _two(true),
        "private": _two(model.cluster_centers_),
        "sizes": np.round(model.cluster_sizes_).tolist(),
        "cost": {"true": round(exact, 5), "private": round(private, 5)},
        "chance": 1 / (1 + math.exp(-min(epsilon, 700))),
    }
