"""Rounded ball and cylinder noise: joint noise on the lines of an answer, exact to the last bit.

A line is a gamma length times a point drawn uniformly inside a body, rounded to nearest integers.
The body is the unit ball, or a cylinder: the ball for the sums times an interval for the count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sfumato.box import Floats, Ints
from sfumato.curator.samplers import check_scale
from sfumato.curator.settle import arithmetic, as_real, settle
from sfumato.curator.stream import Stream

MAX_ROUND_DIM = 2**16
"""Most dimensions of the ball: a symmetric matrix of 361 columns."""

MAX_SPREAD = 2**52
"""Largest scale times dimension: no draw reaches 2^62 then."""

ROUND_BAND = 2.0**-42

_CHUNK = 1 << 16
_FEWEST = 8
_FACTORS = 15  # a product of 15 numbers of at least 2^-64 cannot underflow
_TERMS = 128
_FLAT = 2.0**-20


def check_ball(scale: Fraction, dim: int) -> None:
    """Refuse a pair of scale and dimension that ball noise doesn't support."""
    check_scale(scale)
    if not 1 <= dim <= MAX_ROUND_DIM:
        raise ValueError(f"ball noise supports 1 to {MAX_ROUND_DIM} dimensions, got {dim}")
    if scale * (dim + 2) > MAX_SPREAD:
        raise ValueError(
            f"ball noise of scale {float(scale):.3g} in {dim} dimensions could overflow 64 bits; "
            f"scale times (dimensions + 2) may be 2^52: a larger epsilon would work"
        )


def check_cylinder(scales: Sequence[Fraction], height: Fraction, dim: int) -> None:
    """Refuse scales, a height or a dimension that cylinder noise doesn't support."""
    if len(scales) == 0:
        raise ValueError("cylinder noise needs the scale of at least one line, got none")
    for scale in {*scales, height}:
        check_ball(scale, dim)


def ball(stream: Stream, scale: Fraction, rows: int, dim: int, *, band: float = ROUND_BAND) -> Ints:
    """Draw rows of rounded ball noise: the nearest integers to a density exp(-|z|_2 / scale).

    Guarantee: post-processing of the K-norm mechanism of the ball, for round(x + z) = x + round(z)
    if x is an integer; for a row that shifts by at most s in L2, scale s / epsilon is epsilon-DP.
    Every draw is rounded as exact arithmetic would round it (docs/proofs/ball-noise.md), except
    that one row in 2^800 raises.
    """
    check_ball(scale, dim)
    return _rounded(stream, _Body(dim, None), [scale] * rows, float(scale), band)


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
    floats = np.array([float(scale) for scale in scales])
    return _rounded(stream, _Body(dim, height), scales, floats, band)


@dataclass(frozen=True)
class _Body:
    """What is filled uniformly, and which uniform number of a line is used for what.

    In order: `gammas` for the length, one per pair of coordinates and one more for their squared
    lengths, one per pair for their angles, and one for the count.
    """

    dim: int
    height: Fraction | None

    @property
    def counts(self) -> int:
        """Columns before the sums."""
        return 0 if self.height is None else 1

    @property
    def gammas(self) -> int:
        """A point of a body in n dimensions comes at a length of n + 1 exponentials."""
        return self.dim + self.counts + 1

    @property
    def pairs(self) -> int:
        """Pairs of normal numbers that hold the sums; the last sine of an odd dimension is lost."""
        return (self.dim + 1) // 2

    @property
    def logged(self) -> int:
        """How many of the uniform numbers go through a logarithm."""
        return self.gammas + self.pairs + 1

    @property
    def size(self) -> int:
        """Uniform numbers for one line."""
        return self.logged + self.pairs + self.counts


def _rounded(
    stream: Stream, body: _Body, exact: Sequence[Fraction], floats: Floats | float, band: float
) -> Ints:
    scales = np.broadcast_to(floats, len(exact))
    out = np.empty((len(exact), body.counts + body.dim), np.int64)
    step = max(_FEWEST, _CHUNK // body.size)
    for start in range(0, len(exact), step):
        part = slice(start, start + step)
        out[part] = _draw(stream, body, exact[part], scales[part], band)
    return out


def _draw(
    stream: Stream, body: _Body, exact: Sequence[Fraction], scales: Floats, band: float
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
        decide = partial(_exact_line, body, exact[j], columns)
        draws[j, columns] = settle(stream, places.tolist(), decide)
    return draws


def _in_float(body: _Body, uniforms: Floats, scales: Floats) -> tuple[Floats, Floats]:
    """Evaluate lines in float64, one to the column, and their errors in units of the band."""
    k, m, counts, half = body.gammas, body.pairs, body.counts, body.dim // 2
    products = np.multiply.reduceat(uniforms[:k], np.arange(0, k, _FACTORS), axis=0)
    gamma = _total(np.abs(np.log(products)))
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
    lengths = np.abs(np.log(uniforms))  # abs: -log(1.0) is -0.0
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
    """Add up along the first axis in two levels, which keeps the roundings few."""
    total: Floats = np.add.reduceat(terms, np.arange(0, len(terms), _TERMS), axis=0).sum(axis=0)
    return total


def _exact_line(
    body: _Body, scale: Fraction, columns: list[int], raws: list[int], bits: int
) -> list[int] | None:
    edge = (bits - 120) // 2
    least = 1 << (bits - edge)
    if not all(least <= raw < (1 << bits) - least for raw in raws[: body.logged]):
        return None
    context = arithmetic(bits)
    uniforms = [context.ldexp(context.mpf(2 * raw + 1), -bits - 1) for raw in raws]
    gamma = -context.log(context.fprod(uniforms[: body.gammas]))
    whole = _exact_squares(context, body, uniforms)
    found = []
    for column in columns:
        unit, share = _exact_share(context, body, scale, uniforms, whole, column)
        shifted = unit * gamma * share + context.mpf(0.5)
        floor = context.floor(shifted)
        tolerance = context.ldexp(unit * (gamma + body.gammas), edge + 60 - bits)
        if not tolerance < shifted - floor < 1 - tolerance:
            return None
        found.append(int(floor))
    return found


def _exact_squares(context: Any, body: _Body, uniforms: list[Any]) -> Any:  # noqa: ANN401
    lengths = uniforms[body.gammas : body.logged]
    if body.dim % 2 == 0:
        return -context.log(context.fprod(lengths))
    last = (
        context.log(lengths.pop(-2)) * context.cospi(2 * uniforms[body.size - 1 - body.counts]) ** 2
    )
    return -context.log(context.fprod(lengths)) - last


def _exact_share(
    context: Any,  # noqa: ANN401
    body: _Body,
    scale: Fraction,
    uniforms: list[Any],
    whole: Any,  # noqa: ANN401
    column: int,
) -> tuple[Any, Any]:
    if body.height is not None and column == 0:
        return as_real(context, body.height), 2 * uniforms[-1] - 1
    pair, sine = divmod(column - body.counts, 2)
    length = context.sqrt(-context.log(uniforms[body.gammas + pair]) / whole)
    turn = context.sinpi if sine else context.cospi
    return as_real(context, scale), length * turn(2 * uniforms[body.logged + pair])
