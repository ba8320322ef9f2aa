"""Intervals of ratios of noisy sums, from the law of the noise alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np

from sfumato._base.types import Floats

_DRAWS, _NODES, _STEPS = 2**14, 21, 40

# Sums of more lines than this are as good as normal.
_MANY = 24

Spread = Callable[[float], float]
"""For a value of a ratio, how far the noise takes its numerator from its denominator's part."""


@dataclass(frozen=True)
class GaussianNoise:
    """Independent noise of one deviation `std`, in rows, on each of three numbers of a line."""

    std: float

    def quantile(self, weights: Floats, level: float) -> float:
        """The size that Σ weights·noise stays below with chance `level`: weights (k, 3)."""
        return _normal(level) * self.std * float(np.sqrt(np.square(weights).sum()))


@dataclass(frozen=True)
class CubeNoise:
    """Cube noise of one deviation `std`, in rows, on lines of three numbers."""

    std: float

    def quantile(self, weights: Floats, level: float) -> float:
        """The size that Σ weights·noise stays below with chance `level`: weights (k, 3).

        By draws that are always the same; the sum over many lines is taken as normal.
        """
        used = np.ascontiguousarray(weights[np.abs(weights).sum(axis=1) > 0])
        if len(used) > _MANY:
            return _normal(level) * self.std * float(np.sqrt(np.square(weights).sum()))
        return self.std * _cube_quantile(used.tobytes(), level)


@lru_cache(maxsize=1024)
def _cube_quantile(weights: bytes, level: float) -> float:
    """As `CubeNoise.quantile`, of deviation 1."""
    used = np.frombuffer(weights).reshape(-1, 3)
    sums = np.tensordot(_drawn()[:, : len(used)], used, axes=2)
    return float(np.quantile(np.abs(sums), level))


Noise = GaussianNoise | CubeNoise


@cache
def _drawn() -> Floats:
    """Draws of exp(−‖z‖∞) on lines of three numbers, of deviation 1: (draws, lines, 3)."""
    rng = np.random.default_rng(0)
    shape = (_DRAWS, _MANY)
    lines = rng.uniform(-1, 1, (*shape, 3))
    largest = rng.integers(3, size=shape)[..., None]
    np.put_along_axis(lines, largest, np.where(rng.random((*shape, 1)) < 0.5, -1.0, 1.0), axis=2)
    # The largest entry has the density r²·exp(−r) / 2.
    drawn: Floats = lines * rng.gamma(3.0, size=shape)[..., None] / math.sqrt(20 / 3)
    return drawn


def _normal(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def spread_of(
    noise: Noise, top: Floats, bottom: Floats, ends: tuple[float, float], level: float
) -> Spread:
    """How far noise takes Σ(top − θ·bottom)·line from its true value, for every θ between ends.

    `top` and `bottom` are the weights (k, 3) of a numerator and a denominator.
    """
    nodes = np.linspace(*ends, _NODES)
    sizes = [noise.quantile(top - theta * bottom, level) for theta in nodes]
    return lambda theta: float(np.interp(theta, nodes, sizes))


def ratio_interval(
    above: float, below: float, ends: tuple[float, float], spread: Spread
) -> tuple[float, float, float]:
    """Estimate above/below, and return (estimate, low, high), all between the ends.

    The interval holds all θ for which above − θ·below is no larger than noise makes it (Fieller
    1954): it is right also where the denominator is small, and then as wide as the ends.
    """
    low, high = ends
    if below <= 0:
        return (low + high) / 2, low, high
    guess = min(max(above / below, low), high)

    def is_too_far(theta: float) -> bool:
        return abs(above - theta * below) > spread(theta)

    if is_too_far(guess):
        # What was released lies outside of what is possible by more than noise explains.
        return guess, guess, guess
    return guess, _edge(guess, low, is_too_far), _edge(guess, high, is_too_far)


def _edge(inside: float, end: float, is_too_far: Callable[[float], bool]) -> float:
    """The last value between a point that is inside and an end that may not be."""
    if not is_too_far(end):
        return end
    outside = end
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if is_too_far(middle):
            outside = middle
        else:
            inside = middle
    return outside
