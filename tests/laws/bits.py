"""The exact chances of the bits that shape a tree."""

from fractions import Fraction
from functools import lru_cache

import mpmath

DIGITS = 50


@lru_cache(maxsize=2**16)
def log_chance(scale, biased, split):
    """Logarithm of the chance that a node with this biased count splits, or that it does not.

    The discrete Laplace law in closed form: P(noise ≥ t) = q^t / (1 + q) for t ≥ 1, where
    q = e^(−1/scale), and P(noise ≤ −t) is the same. A node splits if its noise is at least
    1 − biased, and does not if its noise is at most −biased.
    """
    with mpmath.workdps(DIGITS):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        t = 1 - biased if split else biased
        return mpmath.log(q**t / (1 + q) if t >= 1 else 1 - q ** (1 - t) / (1 + q))


def bits_loss(law, released, one, other):
    """How much more likely one dataset makes all these bits than the other, to forty digits."""
    with mpmath.workdps(DIGITS):
        total = mpmath.mpf(0)
        for bits, *counts in zip(released, one, other, strict=True):
            for bit, a, b in zip(bits, *counts, strict=True):
                if a != b:
                    here, there = (log_chance(law.scale, int(x), bool(bit)) for x in (a, b))
                    total += here - there
        return Fraction(mpmath.nstr(abs(total), DIGITS))
