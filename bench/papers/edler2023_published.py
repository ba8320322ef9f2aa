"""Edler 2023, Algorithms 1 to 13, with the noise that they print: what its numbers came from.

This is a simulation that is not private. Averages get noise for one column instead of all of
them, projected rows are not clipped to a ball, and rows are counted without noise where a random
draw decides. The swaps are a random choice, as §5.3 finds them to be. It serves one purpose: to
separate the cost of the corrected arithmetic from differences of data and code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bench.utility_data import Sample
from sfumato._base.types import Floats

FAILURE = 0.1
PARTITIONS = 3
ROUNDS = 3


@dataclass(frozen=True)
class Setting:
    """Parts of ε for candidates, recovery and rounds; γ's factor; whether deep cubes are kept."""

    candidates: float
    recover: float
    rounds: float
    gamma: float
    deepest: bool


SETTINGS = {
    "matlab": Setting(4 / 9, 1 / 9, 1 / 3, 2.0, False),
    "edler": Setting(0.7, 0.04, 0.2, 1.0, True),
}


def centers(data: Sample, k: int, epsilon: float, preset: str, seed: int) -> Floats:
    """Centres of one run, in the units of the rows."""
    rng, setting = np.random.default_rng(seed), SETTINGS[preset]
    # Half of the digits take half of the time, and noise hides the others.
    rows = data.rows.astype(np.float32)
    n, d = rows.shape
    reach = float(data.upper[0] - data.lower[0])
    p = int(math.log(n) / 2)
    low = rows @ rng.normal(0, 1 / math.sqrt(p), (d, p)) / math.sqrt(d)
    share = epsilon * setting.candidates / PARTITIONS
    found = [_partition(low, reach, k, share, setting, rng) for _ in range(PARTITIONS)]
    pool = np.concatenate(found)
    chosen = pool[rng.choice(len(pool), k, replace=len(pool) < k)]
    points = _averages(rows, _nearest(low, chosen), k, epsilon * setting.recover, reach, rng)
    for _ in range(ROUNDS):
        labels = _nearest(rows, points)
        points = _averages(rows, labels, k, epsilon * setting.rounds / ROUNDS, reach, rng)
    return points


def _partition(
    low: Floats, reach: float, k: int, share: float, setting: Setting, rng: np.random.Generator
) -> Floats:
    """Middles of the cubes that were cut (Algorithms 3 and 10)."""
    n, p = low.shape
    depths = math.log(n)
    per_depth = share / (2 * depths)
    gamma = setting.gamma / per_depth * math.log(n * PARTITIONS / FAILURE)
    corner = rng.uniform(-reach, reach, p) - reach
    inside = ((low >= corner) & (low < corner + 2 * reach)).all(axis=1)
    place, side = low[inside] - corner, 2 * reach
    levels, codes = [(corner + side / 2)[None]], np.zeros(len(place), dtype=np.int64)
    corners, depth = corner[None], 0
    while depth <= depths and len(corners):
        depth, side = depth + 1, side / 2
        upper = ((place / side).astype(np.int64) & 1) @ (1 << np.arange(p))
        codes = codes * 2**p + upper
        counts = np.bincount(codes, minlength=len(corners) * 2**p).astype(float)
        kept = np.flatnonzero(rng.random(len(counts)) < _chance(counts, gamma, per_depth))
        bits = (kept[:, None] % 2**p >> np.arange(p)) & 1
        corners = corners[kept // 2**p] + bits * side
        number = np.full(len(counts), -1)
        number[kept] = np.arange(len(kept))
        codes = number[codes]
        place, codes = place[codes >= 0], codes[codes >= 0]
        if len(corners):
            levels.append(corners + side / 2)
    return _deepest(levels, k) if setting.deepest else np.concatenate(levels)


def _chance(counts: Floats, gamma: float, per_depth: float) -> Floats:
    low = 0.5 * np.exp(-per_depth * np.maximum(gamma - counts, 0))
    return np.where(counts <= gamma, low, 1 - 0.5 * np.exp(-per_depth * (counts - gamma).clip(0)))


def _deepest(levels: list[Floats], k: int) -> Floats:
    kept: list[Floats] = []
    for level in reversed(levels):
        kept.append(level)
        if sum(map(len, kept)) >= k:
            break
    return np.concatenate(kept)


def _nearest(rows: Floats, points: Floats) -> np.ndarray:
    return np.argmin(
        np.square(points).sum(axis=1) - rows @ (2 * points.astype(rows.dtype).T), axis=1
    )


def _averages(
    rows: Floats,
    labels: np.ndarray,
    k: int,
    epsilon: float,
    reach: float,
    rng: np.random.Generator,
) -> Floats:
    """Algorithms 5 and 6: the exact mean, and noise for the range of a single column."""
    sizes = np.bincount(labels, minlength=k)
    picked = np.zeros((k, len(rows)), dtype=rows.dtype)
    picked[labels, np.arange(len(rows))] = 1
    means = picked @ rows / np.maximum(sizes, 1)[:, None]
    noisy = np.maximum(sizes + rng.laplace(0, 2 / epsilon, k), 1)
    return means + rng.laplace(0, 1, means.shape) * (2 * reach / (epsilon * noisy))[:, None]
