"""Streams that start as a test wants, and numbers by the book."""

from fractions import Fraction

import mpmath
import numpy as np

from sfumato._core.sampling.stream import Stream
from tests.unit.core.sampling.test_additive import key

F = Fraction
FIRST, ALL = 320, 832
"""Bits that settlement reads at its first stage, and those that are enough here."""

KEYS = range(8)


class Prepared(Stream):
    """Some uniform numbers start with given bits, 320 of them; what follows is usual."""

    def __init__(self, starts, number=0):
        super().__init__(key(number))
        self.starts = starts

    def words(self, size):
        first = self.position
        return self._start(super().words(size).copy(), range(first, first + size))

    def words_at(self, places):
        return self._start(super().words_at(places).copy(), places.tolist())

    def blocks(self, row, places):
        found = super().blocks(row, places).copy()
        if np.isscalar(row) and row in (1, 2):
            for i, place in enumerate(places.tolist()):
                if place in self.starts:
                    part = self.starts[place] >> 128 * (2 - row) & (1 << 128) - 1
                    found[i] = np.frombuffer(part.to_bytes(16, "big"), np.uint8)
        return found

    def _start(self, words, places):
        for i, place in enumerate(places):
            if place in self.starts:
                words[i] = self.starts[place] >> FIRST - 64
        return words


def start_of(number):
    """The first 320 bits of a fraction from 0 to 1."""
    return (number.numerator << FIRST) // number.denominator


def uniform(stream, bits):
    """The first uniform number of a stream, from so many of its bits."""
    return F(stream.bits(np.array([0]), (bits - 64) // 128)[0], 1 << bits)


def middles(stream, size, bits):
    raws = stream.bits(np.arange(size), (bits - 64) // 128)
    return [(mpmath.mpf(raw) + 0.5) / mpmath.mpf(2) ** bits for raw in raws]


def as_fraction(number):
    return F(int(mpmath.floor(mpmath.ldexp(number, 1000)))) / F(2) ** 1000


def nearest(number):
    return int(mpmath.floor(number + mpmath.mpf(0.5)))


def real(number):
    return mpmath.mpf(number.numerator) / number.denominator
