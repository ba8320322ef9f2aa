"""Exact choices from uniform numbers: Bernoulli draws, random rounding, subsets, signs."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints
from sfumato._core.sampling.exact import arithmetic, as_real, settle, uniform_below
from sfumato._core.sampling.stream import WORD_BITS, Stream

Flags = NDArray[np.bool_]

CHANCE_BITS = 256
"""Bits to which an irrational probability or an exponential is rounded down."""

LARGEST = Fraction(64)
"""Epsilon is capped at 64."""


@lru_cache(maxsize=256)
def exp_below(epsilon: Fraction) -> Fraction:
    """Return a fraction just below e^epsilon, or below e^64 if that is smaller.

    Guarantee: never above e^epsilon, and short of it by less than 2^-254: a mechanism whose ratio
    is at most this is epsilon-private.
    """
    context = arithmetic(CHANCE_BITS)
    power = context.exp(as_real(context, min(Fraction(epsilon), LARGEST)))
    return Fraction(int(context.floor(context.ldexp(power, CHANCE_BITS))) - 1, 1 << CHANCE_BITS)


def bernoulli(stream: Stream, chance: Fraction, size: int) -> Flags:
    """Draw `size` Bernoulli variables, each true with the probability `chance`, any fraction.

    Guarantee: a uniform real number is compared with the fraction. The first 64 bits decide unless
    they are those of the fraction itself; then more bits do, in whole numbers.
    """
    if not 0 <= chance <= 1:
        raise ValueError(f"a probability must be from 0 to 1, got {float(chance):.3g}")
    if chance == 1:
        return np.ones(size, np.bool_)
    head = np.uint64((chance.numerator << WORD_BITS) // chance.denominator)
    first = stream.position
    words = stream.words(size)
    drawn: Flags = words < head
    for j in np.flatnonzero(words == head).tolist():
        drawn[j] = settle(stream, [first + j], partial(below, chance))
    return drawn


def below(chance: Fraction, raws: list[int], bits: int) -> bool | None:
    """Say whether a uniform number lies below a fraction, or None if its next bits matter."""
    limit = chance.numerator << bits
    first = raws[0] * chance.denominator < limit
    return first if first == ((raws[0] + 1) * chance.denominator <= limit) else None


def divide_at_random(stream: Stream, values: Ints, divisor: int) -> Ints:
    """Round values / divisor up or down at random, so that the mean is the quotient.

    Guarantee: floor((value + u) / divisor) with u uniform on 0 ... divisor - 1: up with a
    probability that is exactly the remainder over the divisor.
    """
    if divisor == 1:
        return values
    moved = uniform_below(stream, np.full(values.size, divisor, np.int64)).reshape(values.shape)
    rounded: Ints = (values + moved) // divisor
    return rounded


def subsets(stream: Stream, rows: int, most: int, size: int) -> Ints:
    """Draw, for every row, a uniform subset of `size` of the numbers 0 ... most - 1: (rows, size).

    Guarantee: the first steps of a Fisher-Yates shuffle, each with an exactly uniform number.
    """
    numbers = np.tile(np.arange(most), (rows, 1))
    every = np.arange(rows)
    for place in range(size):
        other = place + uniform_below(stream, np.full(rows, most - place, np.int64))
        taken = numbers[every, other]
        numbers[every, other] = numbers[:, place]
        numbers[:, place] = taken
    return numbers[:, :size]


def fair_signs(stream: Stream, shape: tuple[int, int]) -> Ints:
    """Draw signs, +1 or -1 with probability 1/2 each."""
    flat = stream.fair_bits(shape[0] * shape[1])
    return np.where(flat, 1, -1).astype(np.int64).reshape(shape)


def majority_signs(stream: Stream, rows: int, size: int) -> Ints:
    """Draw rows of signs uniformly from all those with more +1 than -1: (rows, size).

    Guarantee: fair signs, negated where -1 leads, drawn again where neither does; by symmetry all
    rows in which +1 leads are equally likely. No row of data is read.
    """
    out = np.empty((rows, size), np.int64)
    again = np.arange(rows)
    while again.size:
        drawn = fair_signs(stream, (again.size, size))
        lead = np.sign(drawn.sum(axis=1))
        out[again] = drawn * lead[:, None]
        again = again[lead == 0]
    return out
