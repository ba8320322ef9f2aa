"""Exact laws of local mechanisms, written down from their definitions."""

from fractions import Fraction
from itertools import combinations, product
from math import floor, prod

import mpmath

from sfumato._core.local.ldp import leading


def values(reach, columns):
    """All lattice rows of a small domain."""
    return list(product(range(-reach, reach + 1), repeat=columns))


def row_chances(law, row):
    """Chances of all reports of a row under a piece for each of some columns."""
    stretch, found = Fraction(law.columns, law.sampled), {}
    chosen = list(combinations(range(law.columns), law.sampled))
    stretched = [_stretched(law.piece.chances(value), stretch) for value in row]
    for columns in chosen:
        for picks in product(*(stretched[column].items() for column in columns)):
            report = [0] * law.columns
            for column, (value, _) in zip(columns, picks, strict=True):
                report[column] = value
            chance = prod(chance for _, chance in picks) / Fraction(len(chosen))
            found[tuple(report)] = found.get(tuple(report), 0) + chance
    return found


def _stretched(chances, stretch):
    found = {}
    for value, chance in chances.items():
        low = floor(value * stretch)
        up = value * stretch - low
        for report, part in ((low, 1 - up), (low + 1, up)):
            if part:
                found[report] = found.get(report, 0) + chance * part
    return found


def duchi_chances(law, row):
    """Chances of all reports of a row: a corner, then reports that agree with it or any."""
    corners = list(product((-1, 1), repeat=law.columns))
    found = {}
    for signs in corners:
        chance = Fraction(0)
        for corner in corners:
            weight = prod(
                Fraction(law.reach + side * value, 2 * law.reach)
                for side, value in zip(corner, row, strict=True)
            )
            agrees = sum(a * b for a, b in zip(signs, corner, strict=True)) > 0
            ahead = law.lean / leading(law.columns) if agrees else 0
            chance += weight * ((1 - law.lean) / 2**law.columns + ahead)
        found[tuple(law.height * sign for sign in signs)] = chance
    return found


def staircase_level(z, width, tread):
    """How often the chances of staircase noise have fallen at z."""
    return 0 if abs(z) < tread else 1 + (abs(z) - tread) // width


def largest_ratio(laws):
    """Largest ratio of the chances of one report, over all pairs of rows."""
    reports = set().union(*laws)
    ratios = []
    for report in reports:
        chances = [law.get(report, 0) for law in laws]
        assert min(chances) > 0, "a report that some row never gives"
        ratios.append(max(chances) / min(chances))
    return max(ratios)


def log(ratio):
    """Logarithm of a fraction, to 100 digits."""
    with mpmath.workdps(120):
        return mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)


def at_most(ratio, epsilon):
    """Whether a fraction is at most e^epsilon, decided with 120 digits."""
    with mpmath.workdps(120):
        limit = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        return mpmath.mpf(ratio.numerator) / ratio.denominator <= limit
