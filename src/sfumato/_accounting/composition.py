"""What pure and Gaussian answers are worth together, rounded towards less privacy claimed.

Parts with fixed caps ε₁ … ε_m of pure ε and μ² of Gaussian DP, however their answers interleave,
are no easier to tell apart than randomised response with each εᵢ and one draw of N(0, 1) or N(μ, 1)
(docs/proofs/composition.md). So together they are (ε, δ)-DP for

    δ(ε) = Σ over signs s of Π P(sᵢ) · δ_G(ε − Σ sᵢεᵢ),   P(+) = e^εᵢ / (1 + e^εᵢ),

where δ_G(x) = Φ(μ/2 − x/μ) − e^x Φ(−μ/2 − x/μ) for x of any sign.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from sfumato._accounting.gaussian_dp import _bisect, _delta, _mp, _real, _round

MAX_TERMS = 4096
"""At most so many sums of signs are added up: caps that are equal share theirs."""


_BITS = 24


def _losses(pure: tuple[Fraction, ...]) -> list[tuple[Any, Any]]:
    """The sums Σ sᵢεᵢ with their probabilities, equal sums together."""
    found: dict[Fraction, Any] = {Fraction(0): _mp.mpf(1)}
    for epsilon in pure:
        up = 1 / (1 + _mp.exp(-_real(epsilon)))
        after: dict[Fraction, Any] = {}
        for loss, chance in found.items():
            after[loss + epsilon] = after.get(loss + epsilon, 0) + chance * up
            after[loss - epsilon] = after.get(loss - epsilon, 0) + chance * (1 - up)
        if len(after) > MAX_TERMS:
            raise ValueError(f"{len(pure)} different caps are too many to compose: use fewer")
        found = after
    return [(_real(loss), chance) for loss, chance in found.items()]


def _delta_beside(losses: list[tuple[Any, Any]], mu: Any, epsilon: Any) -> Any:  # noqa: ANN401
    if not mu:
        return _mp.fsum(chance * max(0, 1 - _mp.exp(epsilon - loss)) for loss, chance in losses)
    return _mp.fsum(chance * _delta(mu, epsilon - loss) for loss, chance in losses)


def _estimate(losses: list[tuple[Any, Any]], epsilon: float, delta: float) -> float:
    """μ² in floating point, near the largest: to be checked before it is used."""
    loss, chance = (np.array(each, dtype=float) for each in zip(*losses, strict=True))
    shift = epsilon - loss

    def excess(log_mu: float) -> float:
        mu = math.exp(log_mu)
        upper, lower = log_ndtr(mu / 2 - shift / mu), log_ndtr(-mu / 2 - shift / mu) + shift
        return float((chance * np.exp(upper) * -np.expm1(lower - upper)).sum()) - delta

    try:
        return math.exp(2 * brentq(excess, -60.0, 12.0, xtol=1e-12))
    except (ValueError, FloatingPointError):
        return 0.0


@lru_cache(256)
def mu2_beside(pure: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest μ² that (ε, δ) can carry beside these caps of pure ε, rounded down to 24 bits.

    Guarantee: caps `pure` and this μ² together are (ε, δ)-DP; `epsilon` is that of all parts. The
    search is in floating point, and what it finds is checked with 320 bits.
    """
    if min((*pure, delta)) < 0 or sum(pure) > epsilon or not 0 < delta < 1:
        raise ValueError("caps of pure ε lie between 0 and ε together, and δ between 0 and 1")
    losses, total = _losses(tuple(cap for cap in pure if cap)), _real(epsilon)

    def holds(mu: Any) -> bool:  # noqa: ANN401
        kept: bool = _delta_beside(losses, mu, total) <= _real(delta)
        return kept

    guess = _estimate(losses, float(epsilon), float(delta))
    for _ in range(2 if guess else 0):
        found = _round(_mp.mpf(guess), _BITS, up=False)
        if holds(_mp.sqrt(_real(found))):
            return found
        guess *= 1 - 2.0**-_BITS
    mu, _ = _bisect(holds)
    return _round(mu * mu, _BITS, up=False)


@lru_cache(256)
def epsilon_beside(pure: tuple[Fraction, ...], mu2: Fraction, delta: Fraction) -> Fraction:
    """The smallest ε such that these caps together are (ε, δ)-DP, rounded up."""
    if min((*pure, mu2)) < 0 or not 0 < delta < 1:
        raise ValueError("caps are at least 0, and δ lies between 0 and 1")
    losses, mu = _losses(tuple(cap for cap in pure if cap)), _mp.sqrt(_real(mu2))
    if _delta_beside(losses, mu, _mp.mpf(0)) <= _real(delta):
        return Fraction(0)
    _, epsilon = _bisect(lambda epsilon: _delta_beside(losses, mu, epsilon) > _real(delta))
    return _round(epsilon, 64, up=True)


def _log_delta(rho: Any, epsilon: Any, log_delta: Any) -> Any:  # noqa: ANN401
    """The logarithm of a δ for which ρ-zCDP is (ε, δ)-DP.

    It is exp((α − 1)(αρ − ε)) / (α − 1) · (1 − 1/α)^α for any α > 1 (Canonne, Kamath, Steinke 2020,
    Corollary 13). This α is the best for the simpler bound of Bun and Steinke (2016).
    """
    alpha = 1 + _mp.sqrt(-log_delta / rho)
    first = (alpha - 1) * (alpha * rho - epsilon) - _mp.log(alpha - 1)
    return first + alpha * _mp.log(1 - 1 / alpha)


@lru_cache(256)
def rho_beside(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ of zero-concentrated DP that this bound makes (ε, δ)-DP, rounded down."""
    if epsilon <= 0 or not 0 < delta < 1:
        raise ValueError("ρ needs ε > 0 and 0 < δ < 1")
    total, wanted = _real(epsilon), _mp.log(_real(delta))
    rho, _ = _bisect(lambda rho: _log_delta(rho, total, wanted) <= wanted)
    return _round(rho, 50, up=False)


@lru_cache(256)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """The smallest ε such that this bound makes ρ-zCDP (ε, δ)-DP, rounded up."""
    if not rho:
        return Fraction(0)
    exact, wanted = _real(rho), _mp.log(_real(delta))
    if _log_delta(exact, _mp.mpf(0), wanted) <= wanted:
        return Fraction(0)
    _, epsilon = _bisect(lambda epsilon: _log_delta(exact, epsilon, wanted) > wanted)
    return _round(epsilon, 64, up=True)
