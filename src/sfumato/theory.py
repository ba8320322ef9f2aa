"""What theory says about private k-means, in public numbers: Nguyen, Chaturvedi, Xu 2021.

Costs are sums of squared distances in units of Δ², the squared diameter of the domain, unless Δ² is
given. Lower bounds have the constants that their proofs give; upper bounds hide theirs in O(…), and
the terms here are what stands inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import entr

# In more columns not every distance of a code is tried.
_DISTANCES = 512


@dataclass(frozen=True)
class LowerBound:
    """An expected cost that no private method stays below on all datasets of up to so many rows.

    `distance` is the least part of all columns in which two places of that family differ.
    """

    cost: float
    rows: int
    distance: float


NOTHING = LowerBound(0.0, 0, 0.0)


def approximate_floor(
    k: int, d: int, epsilon: float, delta: float, *, diameter2: float = 1.0, n: int | None = None
) -> LowerBound:
    """Theorem 5: k·⌊L⌋·Δ²·t/(8d) with L = ln((e^ε − 1)/(4δ))/(2ε), for (ε, δ)-DP.

    k of |W| corners of the cube hold L rows each, and the corners differ in t columns or more. A
    method finds half of them at most, if |W| ≥ k·(1 + (e^ε − 1)/δ). (The paper asks for
    k/((e^ε − 1)·δ), which is too few from ε = ln 2 on.) With fewer rows, n, L is n/k.
    """
    # ln(e^ε − 1), where e^ε may be larger than any float.
    ratio = (math.log(math.expm1(epsilon)) if epsilon < 50 else epsilon) - math.log(delta)
    times = (ratio - math.log(4)) / (2 * epsilon)
    needed = math.log(k) + (math.log1p(math.exp(ratio)) if ratio < 50 else ratio)
    found = [t for t, size in _codes(d) if size >= needed]
    return _floor(k, d, times, max(found, default=0), diameter2, n)


def pure_floor(
    k: int, d: int, epsilon: float, *, diameter2: float = 1.0, n: int | None = None
) -> LowerBound:
    """Theorem 6: the same cost with L = ln((|W| − k)/(2k))/(2ε), for ε-DP.

    The best of the codes is taken: corners further apart are fewer.
    """
    floors = []
    for t, size in _codes(d):
        if size > math.log(3 * k):
            left = size + math.log1p(-math.exp(math.log(k) - size))
            times = (left - math.log(2 * k)) / (2 * epsilon)
            floors.append(_floor(k, d, times, t, diameter2, n))
    return max(floors, key=lambda floor: floor.cost, default=NOTHING)


def cube_floor(n: int, k: int, d: int, epsilon: float, delta: float = 0.0) -> LowerBound:
    """The one of the two that fits, for n rows in the cube [−1, 1]^d, where Δ² = 4d."""
    if delta:
        return approximate_floor(k, d, epsilon, delta, diameter2=4.0 * d, n=n)
    return pure_floor(k, d, epsilon, diameter2=4.0 * d, n=n)


def _codes(d: int) -> list[tuple[int, float]]:
    """Distances t, and ln|W| of corners of a cube that differ in t of d columns (Gilbert 1952).

    |W| ≥ 2^d / Σ_{i<t} C(d, i) ≥ 2^(d·(1 − H((t − 1)/d))), H the binary entropy.
    """
    largest = max(1, d // 2)
    step = max(1, largest // _DISTANCES)
    sizes = []
    for t in range(1, largest + 1, step):
        part = (t - 1) / d
        size = d * (math.log(2) - entr(part) - entr(1 - part))
        # A code has whole many words.
        sizes.append((t, math.log(max(1, int(math.exp(size) + 1e-9))) if size < 20 else size))
    return sizes


def _floor(k: int, d: int, times: float, t: int, diameter2: float, n: int | None) -> LowerBound:
    # For a tiny ε the number of copies could overflow.
    whole = math.floor(min(times, 1e15))
    if n is not None:
        whole = min(whole, n // k)
    if whole < 1 or t < 1:
        return NOTHING
    return LowerBound(k * whole * diameter2 * t / (8 * d), k * whole, t / d)


@dataclass(frozen=True)
class Bound:
    """cost ≤ multiplicative · (the best cost) + O(the sum of `additive`), by name."""

    multiplicative: float
    additive: dict[str, float]


def max_cover_bound(
    n: float,
    k: int,
    d: int,
    *,
    alpha: float,
    shares: tuple[float, float, float],
    delta: float,
    failure: float = 0.05,
    solver: float = 1.0,
) -> Bound:
    """Theorem 15: what max cover promises, its additive terms in units of Δ² without constants.

    `shares` are ε_E of each pick, ε_L of the counts and ε_G of the averages, `delta` is δ_G.
    `solver` is the factor by which the k-means on the picked points is off, `failure` a probability
    with which the cover misses. From α = 0.618 on, where 1 − α − α² is no longer positive, the
    theorem promises nothing: an infinite factor.
    """
    picks, counts, averages = shares
    margin = 1 - alpha - alpha**2
    factor = (1 + alpha) * (8 + 12 * alpha / margin) * (solver + 1) if margin > 0 else math.inf
    return Bound(
        factor,
        {
            "cover": k * math.log(n) * math.log(n / failure) / picks,
            "counts": k * math.log(n) / counts,
            "averages": k * math.sqrt(d * math.log(1 / delta)) / averages,
            "sizes": k * math.log(n / delta) / averages,
        },
    )


def smallest_radius_cost(n: float, r_min: float, alpha: float) -> float:
    """What a smallest radius above 1/n can add to the movement of the rows, in units of Δ².

    A row within r_min of its centre may be moved to a point (1 + α)·r_min away, in a ball whose
    radius is (1 + α)·Δ/2.
    """
    return n * ((1 + alpha) * r_min * (1 + alpha) / 2) ** 2


def additive_errors(k: int, d: int, gamma: float = 0.1) -> dict[str, tuple[str, float]]:
    """Table 1: multiplicative and additive error of four methods, without logarithms and Δ².

    `gamma` is the exponent that two of them trade for their multiplicative error.
    """
    return {
        "Balcan et al. 2017": ("log³ n", float(k**2 + d)),
        "Stemmer, Kaplan 2018": ("1/γ", k**1.5 + d ** (0.5 + gamma) * k ** (1 + gamma)),
        "Jones et al. 2020": ("1/γ", k + d ** (0.5 + gamma) * k ** (1 + gamma)),
        "max cover": ("1", k * math.sqrt(d)),
    }


def running_noise(batch: int, batches: int, *, gaussian: bool = False) -> tuple[float, float]:
    """Noise of a running total after one of `batches` batches, by adding up and by a tree.

    In deviations of the noise of one batch that is asked with the whole budget. Adding up: a row
    is in one batch, so each is asked with the whole budget, and `batch` noises add. Tree (Dwork et
    al. 2010; Chan, Shi, Song 2011): a row is in one sum at each of ⌊log2 batches⌋ + 1 levels, which
    share the budget, and a total takes as many sums as `batch` has binary ones.
    """
    levels, sums = batches.bit_length(), batch.bit_count()
    each = math.sqrt(levels) if gaussian else float(levels)
    return math.sqrt(batch), math.sqrt(sums) * each
