"""Exact distributions of local mechanisms, written down from their definitions."""

from fractions import Fraction
from itertools import combinations, product
from math import floor, prod

import mpmath

from sfumato._core.local.ldp import leading
from sfumato._core.local.one_column import Mixture, TwoPoint


def made(mechanism, columns):
    """What a mechanism of `sfumato.local` does to rows of so many columns."""
    return mechanism._mechanism(Fraction(mechanism.epsilon), columns)


def values(reach, columns):
    """All lattice rows of a small domain."""
    return list(product(range(-reach, reach + 1), repeat=columns))


def column_chances(mechanism, value):
    """Chances of all reports of a value under a mechanism for one column."""
    if isinstance(mechanism, TwoPoint):
        up = Fraction(mechanism.height + value, 2 * mechanism.height)
        return {-mechanism.height: 1 - up, mechanism.height: up}
    if isinstance(mechanism, Mixture):
        found = {}
        for part, share in mechanism.parts:
            for report, chance in column_chances(part, value).items():
                found[report] = found.get(report, 0) + share * chance
        return found
    end = mechanism.stretch + mechanism.half
    found = dict.fromkeys(range(-end, end + 1), (1 - mechanism.near) / mechanism.range)
    centers = _stretched({value: Fraction(1)}, Fraction(mechanism.stretch, mechanism.reach))
    for center, chance in centers.items():
        for report in range(center - mechanism.half, center + mechanism.half + 1):
            found[report] += mechanism.near * chance / mechanism.window
    return found


def column_ratio(mechanism):
    """Largest ratio of the chances of one report under two values, as the proof states it."""
    if isinstance(mechanism, TwoPoint):
        return Fraction(mechanism.height + mechanism.reach, mechanism.height - mechanism.reach)
    if isinstance(mechanism, Mixture):
        return max(column_ratio(part) for part, _ in mechanism.parts)
    return 1 + mechanism.near / (1 - mechanism.near) * mechanism.range / mechanism.window


def duchi_ratio(mechanism):
    """Largest ratio of the chances of one report under two rows, as the proof states it."""
    odds = mechanism.lean / (1 - mechanism.lean)
    return 1 + odds * 2**mechanism.columns / leading(mechanism.columns)


def row_chances(mechanism, row):
    """Chances of all reports of a row under a mechanism for each of some columns."""
    stretch, found = Fraction(mechanism.columns, mechanism.sampled), {}
    chosen = list(combinations(range(mechanism.columns), mechanism.sampled))
    stretched = [_stretched(column_chances(mechanism.column, value), stretch) for value in row]
    for columns in chosen:
        for picks in product(*(stretched[column].items() for column in columns)):
            report = [0] * mechanism.columns
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


def duchi_chances(mechanism, row):
    """Chances of all reports of a row: a corner, then reports that agree with it or any."""
    corners = list(product((-1, 1), repeat=mechanism.columns))
    found = {}
    for signs in corners:
        chance = Fraction(0)
        for corner in corners:
            weight = prod(
                Fraction(mechanism.reach + side * value, 2 * mechanism.reach)
                for side, value in zip(corner, row, strict=True)
            )
            agrees = sum(a * b for a, b in zip(signs, corner, strict=True)) > 0
            ahead = mechanism.lean / leading(mechanism.columns) if agrees else 0
            chance += weight * ((1 - mechanism.lean) / 2**mechanism.columns + ahead)
        found[tuple(mechanism.height * sign for sign in signs)] = chance
    return found


def staircase_level(z, width, tread):
    """How often the chances of staircase noise have fallen at z."""
    return 0 if abs(z) < tread else 1 + (abs(z) - tread) // width


def largest_ratio(distributions):
    """Largest ratio of the chances of one report, over all pairs of rows."""
    reports = set().union(*distributions)
    ratios = []
    for report in reports:
        chances = [one.get(report, 0) for one in distributions]
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
