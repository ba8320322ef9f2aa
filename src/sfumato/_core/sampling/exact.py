"""Lazy settlement: floating point decides when it safely can, exact arithmetic when it can't.

A draw is a fixed function of uniform real numbers. Float64 evaluates it together with a proven
bound on its own error, the band. Where the band touches a decision, the draw is evaluated again
from more bits of the same uniform numbers. So the band decides the speed, never the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, TypeVar

import mpmath
import numpy as np
from mpmath.libmp import ln2_fixed, pi_fixed

from sfumato._base.types import Ints
from sfumato._core.sampling.stream import BLOCK_BITS, WORD_BITS, Stream, Words

Decision = TypeVar("Decision")

STAGES = (2, 6, 14)
"""Further blocks of each uniform number that settlement reads: 320, 832, then 1856 bits in all."""

_GUARD_BITS = 128

UNSETTLED = 2.0**-800
"""Above the probability that a draw is not settled by all these bits."""

# mpmath keeps pi and ln 2 in a cache that isn't safe to grow from two threads: grow it once, here.
for _constant in (pi_fixed, ln2_fixed):
    _constant(2 * (WORD_BITS + BLOCK_BITS * STAGES[-1]))


def settle(
    stream: Stream,
    places: Sequence[int],
    decide: Callable[[list[int], int], Decision | None],
) -> Decision:
    """Decide a draw from more and more bits of the uniform numbers at `places`.

    `decide(raws, bits)` sees every uniform number as an integer of that many bits, rounded down,
    and answers None if the missing bits could change its answer.
    """
    for rows in STAGES:
        bits = WORD_BITS + BLOCK_BITS * rows
        decision = decide(stream.bits(np.asarray(places, np.int64), rows), bits)
        if decision is not None:
            return decision
    raise ArithmeticError("a draw could not be settled; the chance of this is below 2^-800")


@lru_cache(maxsize=16)
def arithmetic(bits: int) -> Any:  # noqa: ANN401
    """Return an mpmath context of its own for numbers of `bits` bits, with bits to spare.

    mpmath's global context is anybody's to change, from any thread; this one never changes.
    """
    context = mpmath.MPContext()
    context.prec = bits + _GUARD_BITS
    return context


def as_real(context: Any, value: Fraction) -> Any:  # noqa: ANN401
    """Round a fraction to the precision of `context`."""
    return context.mpf(value.numerator) / context.mpf(value.denominator)


def uniform_below(stream: Stream, bounds: Ints) -> Ints:
    """Draw an integer uniformly from 0 ... bound - 1 for each bound from 1 to 2^63 - 1.

    Guarantee: floor(U * bound) of a uniform real U, to the last bit. The high half of the product
    of the first word with the bound is right unless later bits of U carry into it; those few
    are settled.
    """
    limits = bounds.astype(np.uint64)
    first = stream.position
    words = stream.words(limits.size)
    high = _high_product(words, limits)
    may_carry = np.flatnonzero(words * limits > np.uint64(0) - limits)
    for j in may_carry.tolist():
        high[j] = settle(stream, [first + j], partial(_floor, int(limits[j])))
    return high.astype(np.int64)


def _high_product(left: Words, right: Words) -> Words:
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b, c, d = left >> half, left & low, right >> half, right & low
    middle = a * d + (b * d >> half)
    high: Words = a * c + (middle >> half) + ((b * c + (middle & low)) >> half)
    return high


def _floor(bound: int, raws: list[int], bits: int) -> int | None:
    lowest, highest = raws[0] * bound >> bits, ((raws[0] + 1) * bound - 1) >> bits
    return lowest if lowest == highest else None
