"""Gaussian differential privacy: what μ² is worth in (ε, δ), rounded towards less privacy claimed.

A mechanism is μ-GDP when telling neighbours apart is no easier than telling N(0, 1) from N(μ, 1).
μ² simply adds over adaptive steps (Dong, Roth, Su 2022, Corollary 2), and μ-GDP is (ε, δ)-DP for
δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) and for no smaller δ (Balle, Wang 2018, Theorem 8).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import mpmath

# A context of its own: mpmath's global precision is anybody's to change, from any thread.
_mp: Any = mpmath.MPContext()
_mp.prec = 320
_STEPS = 90


def _real(value: Fraction) -> Any:  # noqa: ANN401  (mpmath numbers have no types)
    return _mp.mpf(value.numerator) / value.denominator


def _delta(mu: Any, epsilon: Any) -> Any:  # noqa: ANN401
    upper = _mp.ncdf(mu / 2 - epsilon / mu)
    return upper - _mp.exp(epsilon) * _mp.ncdf(-mu / 2 - epsilon / mu)


def _bisect(holds: Callable[[Any], bool]) -> tuple[Any, Any]:
    """Neighbouring positive numbers (yes, no) where `holds` turns from true to false."""
    yes, no = _mp.mpf(1), _mp.mpf(1)
    while not holds(yes):
        yes /= 2
    while holds(no):
        no *= 2
    for _ in range(_STEPS):
        middle = (yes + no) / 2
        yes, no = (middle, no) if holds(middle) else (yes, middle)
    return yes, no


def _round(value: Any, bits: int, up: bool) -> Fraction:  # noqa: ANN401
    """`value` as a fraction with `bits` significant bits, rounded up or down."""
    shift = bits - int(_mp.ceil(_mp.log(value, 2)))
    whole = (_mp.ceil if up else _mp.floor)(_mp.ldexp(value, shift))
    return Fraction(int(whole)) / Fraction(2) ** shift


@lru_cache(256)
def mu2_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest μ² that (ε, δ) can carry, rounded down."""
    if epsilon < 0 or not 0 < delta < 1:
        raise ValueError(f"μ² needs ε ≥ 0 and 0 < δ < 1, got ({float(epsilon)}, {float(delta)})")
    mu, _ = _bisect(lambda mu: _delta(mu, _real(epsilon)) <= _real(delta))
    return _round(mu * mu, 50, up=False)


@lru_cache(256)
def epsilon_of(mu2: Fraction, delta: Fraction) -> Fraction:
    """Return the smallest ε such that √μ²-GDP implies (ε, δ)-DP, rounded up."""
    if mu2 <= 0 or not 0 < delta < 1:
        raise ValueError(f"ε needs μ² > 0 and 0 < δ < 1, got ({float(mu2)}, {float(delta)})")
    mu = _mp.sqrt(_real(mu2))
    if _delta(mu, _mp.mpf(0)) <= _real(delta):
        return Fraction(0)
    _, epsilon = _bisect(lambda epsilon: _delta(mu, epsilon) > _real(delta))
    return _round(epsilon, 64, up=True)


def rho_of(mu2: Fraction) -> Fraction:
    """Return ρ of the zero-concentrated DP that μ-GDP implies: μ²/2."""
    return mu2 / 2


def root_above(square: Fraction, bits: int = 128) -> Fraction:
    """Return a fraction at or above √square, less than one part in 2^(bits/2) too large."""
    shift = _even_shift(square, bits)
    scaled = -((-square.numerator << shift) // square.denominator)
    root = isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << (shift // 2))


def root_below(square: Fraction, bits: int = 400) -> Fraction:
    """Return a fraction at or below √square, less than one part in 2^(bits/2) too small."""
    shift = _even_shift(square, bits)
    return Fraction(isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))


def _even_shift(square: Fraction, bits: int) -> int:
    """An even number of places after which √square has at least bits/2 of them."""
    shift = max(0, bits - square.numerator.bit_length() + square.denominator.bit_length())
    return shift + shift % 2
