"""Rounded ball and cylinder noise: joint noise on the lines of an answer, exact to the last bit.

A line is a gamma length times a point drawn uniformly inside a body, rounded to nearest integers.
The body is the unit ball, or a cylinder: the ball for the sums times an interval for the count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from sfumato.box import Floats, Ints
from sfumato.curator.bodies import Body, exact_line
from sfumato.curator.samplers import MAX_SCALE, check_scale
from sfumato.curator.settle import settle
from sfumato.curator.stream import Stream

MAX_ROUND_DIM = 2**16
"""Most dimensions of the ball: a symmetric matrix of 361 columns."""

MAX_SPREAD = 2**52
"""Largest scale times dimension: no draw reaches 2^62 then."""

ROUND_BAND = 2.0**-42

_CHUNK = 1 << 16
_FEWEST = 8
_FACTORS = 15  # a product of 15 numbers of at least 2^-64 cannot underflow
_TERMS = 16
_FLAT = 2.0**-20


def check_ball(scale: Fraction, dim: int) -> None:
    """Refuse a pair of scale and dimension that ball noise doesn't support."""
    check_scale(scale)
    if not 1 <= dim <= MAX_ROUND_DIM:
        raise ValueError(
            f"ball and cylinder noise support 1 to {MAX_ROUND_DIM} dimensions, got {dim}"
        )
    if scale * (dim + 2) > MAX_SPREAD:
        raise ValueError(
            f"joint noise of scale {float(scale):.3g} in {dim} dimensions could overflow 64 bits; "
            f"scale times (dimensions + 2) may be 2^52: a larger epsilon would work"
        )


def check_cylinder(scales: Sequence[Fraction], height: Fraction, dim: int) -> None:
    """Refuse scales, a height or a dimension that cylinder noise doesn't support."""
    if len(scales) == 0:
        raise ValueError("cylinder noise needs the scale of at least one line, got none")
    check_ball(height, dim)
    most = min(MAX_SCALE, MAX_SPREAD // (dim + 2))
    for scale in scales:
        # In whole numbers: to compare fractions would take longer than to draw with them.
        if type(scale) is not Fraction or not 0 < scale.numerator <= most * scale.denominator:
            check_ball(scale, dim)


def ball(stream: Stream, scale: Fraction, rows: int, dim: int, *, band: float = ROUND_BAND) -> Ints:
    """Draw rows of rounded ball noise: the nearest integers to a density exp(-|z|_2 / scale).

    Guarantee: post-processing of the K-norm mechanism of the ball, for round(x + z) = x + round(z)
    if x is an integer; for a row that shifts by at most s in L2, scale s / epsilon is epsilon-DP.
    Every draw is rounded as exact arithmetic would round it (docs/proofs/ball-noise.md), except
    that one row in 2^800 raises.
    """
    check_ball(scale, dim)
    return _rounded(stream, Body(dim), [scale] * rows, float(scale), band)


def cylinder(
    stream: Stream,
    scales: Sequence[Fraction],
    height: Fraction,
    dim: int,
    *,
    band: float = ROUND_BAND,
) -> Ints:
    """Draw a line (b, a_1 ... a_dim) of rounded cylinder noise for each of the scales.

    The density is proportional to exp(-max(|a|_2 / scale, |b| / height)).

    Guarantee: post-processing of the K-norm mechanism of a cylinder: for a line of which the sums
    shift by at most s in L2 and the count by at most h, scale s / epsilon and height h / epsilon
    are epsilon-DP together. Every draw is rounded as exact arithmetic would round it
    (docs/proofs/cylinder-noise.md), except that one line in 2^800 raises.
    """
    check_cylinder(scales, height, dim)
    floats = np.array([scale.numerator / scale.denominator for scale in scales])
    return _rounded(stream, Body(dim, height), scales, floats, band)


def _rounded(
    stream: Stream, body: Body, exact: Sequence[Fraction], floats: Floats | float, band: float
) -> Ints:
    scales = np.broadcast_to(floats, len(exact))
    out = np.empty((len(exact), body.counts + body.dim), np.int64)
    step = max(_FEWEST, _CHUNK // body.size)
    for start in range(0, len(exact), step):
        part = slice(start, start + step)
        out[part] = _draw(stream, body, exact[part], scales[part], band)
    return out


def _draw(
    stream: Stream, body: Body, exact: Sequence[Fraction], scales: Floats, band: float
) -> Ints:
    lines = len(exact)
    first, uniforms = stream.uniforms(body.size * lines)
    with np.errstate(all="ignore"):
        values, doubts = _in_float(body, uniforms.reshape(body.size, lines), scales)
        nearest = np.rint(values)
        undecided = ~(np.abs(values - nearest) < 0.5 - band * doubts)  # true for NaN as well
    nearest[undecided] = 0.0
    draws: Ints = nearest.astype(np.int64).T
    for j in np.flatnonzero(undecided.any(axis=0)).tolist():
        columns = np.flatnonzero(undecided[:, j]).tolist()
        places = first + j + lines * np.arange(body.size)
        decide = partial(exact_line, body, exact[j], columns)
        draws[j, columns] = settle(stream, places.tolist(), decide)
    return draws


def _in_float(body: Body, uniforms: Floats, scales: Floats) -> tuple[Floats, Floats]:
    """Evaluate lines in float64, one to the column, and their errors in units of the band."""
    k, m, counts, half = body.gammas, body.pairs, body.counts, body.dim // 2
    gamma = _total(_exponentials(_fold(np.multiply, uniforms[:k], _FACTORS)))
    doubt = gamma + k / 16
    values, doubts = (np.empty((counts + body.dim, scales.size)) for _ in range(2))
    if body.height is not None:
        values[0] = float(body.height) * gamma * (2.0 * uniforms[-1] - 1.0)
        doubts[0] = float(body.height) * doubt
    angles = 2.0 * math.pi * uniforms[body.logged : body.logged + m]
    cosines = np.cos(angles)
    shares, spread = _shares(uniforms[k : body.logged], cosines, odd=half < m)
    shares *= scales * gamma
    spread *= scales * doubt
    np.multiply(shares, cosines, out=values[counts::2])
    np.multiply(shares[:half], np.sin(angles[:half]), out=values[counts + 1 :: 2])
    doubts[counts::2], doubts[counts + 1 :: 2] = spread, spread[:half]
    return values, doubts


def _shares(uniforms: Floats, cosines: Floats, *, odd: bool) -> tuple[Floats, Floats]:
    """Return the length of each pair of coordinates of a point in the unit ball, and its error."""
    lengths = _exponentials(uniforms)
    m = len(lengths) - 1
    squares = lengths.copy() if odd else lengths
    if odd:
        squares[m - 1] *= cosines[-1] ** 2
    whole = _total(squares)
    whole[whole < _FLAT * m] = math.nan
    shares = np.sqrt(lengths[:m] / whole)
    spread = shares + (m * shares + 1.0 / shares) / (16.0 * whole)
    if odd:
        spread *= 1.0 + shares[-1]
    return shares, spread


def _total(terms: Floats) -> Floats:
    """Add up along the first axis, level by level, which keeps the roundings few."""
    while len(terms) > 1:
        terms = _fold(np.add, terms, _TERMS)
    sums: Floats = terms[0]
    return sums


def _fold(combine: np.ufunc, terms: Floats, most: int) -> Floats:
    """Combine terms along the first axis, up to `most` into one."""
    groups = -(-len(terms) // most)
    folded = terms[:groups].copy()
    for start in range(groups, len(terms), groups):
        part = terms[start : start + groups]
        combine(folded[: len(part)], part, out=folded[: len(part)])
    return folded


def _exponentials(uniforms: Floats) -> Floats:
    found: Floats = np.log(uniforms)
    return np.abs(found, out=found)  # -log(1.0) is -0.0, and 1 / -0.0 would make the band -inf
