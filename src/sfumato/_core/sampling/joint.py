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

from sfumato._base.types import Floats, Ints
from sfumato._core.sampling.additive import MAX_SCALE, check_scale
from sfumato._core.sampling.exact import UNSETTLED, arithmetic, as_real, settle
from sfumato._core.sampling.stream import Stream, counter_mode_slack

_FACTORS = 8


@dataclass(frozen=True)
class Body:
    """The unit ball or, with a height, the ball times an interval: the sums and the count.

    It also says which uniform numbers of a line are used for what. In order: `gammas` for the
    length; one for each pair of sums and one more for their squared lengths; one for the angle of
    each pair; and one for the count.
    """

    dim: int
    height: Fraction | None = None

    @property
    def counts(self) -> int:
        """Columns before the sums."""
        return 0 if self.height is None else 1

    @property
    def gammas(self) -> int:
        """Exponentials in the length: one more than the body has dimensions."""
        return self.dim + self.counts + 1

    @property
    def pairs(self) -> int:
        """Pairs of sums; the last of an odd dimension has a cosine only."""
        return (self.dim + 1) // 2

    @property
    def logged(self) -> int:
        """How many of the uniform numbers go through a logarithm."""
        return self.gammas + self.pairs + 1

    @property
    def size(self) -> int:
        """Uniform numbers for one line."""
        return self.logged + self.pairs + self.counts


def exact_line(
    body: Body, scale: Fraction, columns: Sequence[int], raws: list[int], bits: int
) -> list[int] | None:
    """Round some columns of a line whose uniform numbers are known to so many bits, or None."""
    edge = (bits - 120) // 2
    logged, least = raws[: body.logged], 1 << (bits - edge)
    if min(logged) < least or max(logged) >= (1 << bits) - least:
        return None
    line = _Line(body, raws, bits)
    gamma, whole = line.log(slice(0, body.gammas)), line.squares()
    rounded = []
    for column in columns:
        unit, share = line.coordinate(column, scale, whole)
        shifted = unit * gamma * share + line.context.mpf(0.5)
        floor = line.context.floor(shifted)
        tolerance = line.context.ldexp(unit * (gamma + body.gammas), edge + 60 - bits)
        if not tolerance < shifted - floor < 1 - tolerance:
            return None
        rounded.append(int(floor))
    return rounded


class _Line:
    """The uniform numbers of a line, each in the middle of what is known about it."""

    def __init__(self, body: Body, raws: list[int], bits: int) -> None:
        self.body, self.bits, self.context = body, bits + 1, arithmetic(bits)
        self.middles = [2 * raw + 1 for raw in raws]

    def log(self, places: slice) -> Any:  # noqa: ANN401
        """Return -ln of the product of the uniform numbers at these places."""
        # Some factors at a time in whole numbers: far faster than each as a real number.
        few = self.middles[places]
        groups = (math.prod(few[i : i + _FACTORS]) for i in range(0, len(few), _FACTORS))
        product = self.context.fprod(self.context.mpf(group) for group in groups)
        return -self.context.log(self.context.ldexp(product, -self.bits * len(few)))

    def at(self, place: int) -> Any:  # noqa: ANN401
        """Return the uniform number at this place."""
        return self.context.ldexp(self.context.mpf(self.middles[place]), -self.bits)

    def squares(self) -> Any:  # noqa: ANN401
        """Return half the squared length of the normal numbers, of which the sums are a part."""
        first, rest = self.body.gammas, self.body.logged - 1
        if self.body.dim % 2 == 0:
            return self.log(slice(first, rest + 1))
        last = self.log(slice(rest - 1, rest)) * self._turn(rest + self.body.pairs, sine=False) ** 2
        return self.log(slice(first, rest - 1)) + last + self.log(slice(rest, rest + 1))

    def coordinate(self, column: int, scale: Fraction, whole: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """Return the unit of a column and the coordinate of the point in the body."""
        if self.body.height is not None and column == 0:
            return as_real(self.context, self.body.height), 2 * self.at(self.body.size - 1) - 1
        pair, sine = divmod(column - self.body.counts, 2)
        place = self.body.gammas + pair
        length = self.context.sqrt(self.log(slice(place, place + 1)) / whole)
        turn = self._turn(self.body.logged + pair, sine=sine == 1)
        return as_real(self.context, scale), length * turn

    def _turn(self, place: int, *, sine: bool) -> Any:  # noqa: ANN401
        turn = self.context.sinpi if sine else self.context.cospi
        return turn(2 * self.at(place))


MAX_ROUND_DIM = 2**16
"""Most dimensions of the ball: a symmetric matrix of 361 columns."""

MAX_SPREAD = 2**52
"""Largest scale times dimension: no draw reaches 2^62 then."""

ROUND_BAND = 2.0**-42

_CHUNK = 1 << 16
_FEWEST = 8
_FLOAT_FACTORS = 15  # a product of 15 numbers of at least 2^-64 cannot underflow
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
    gamma = _total(_exponentials(_fold(np.multiply, uniforms[:k], _FLOAT_FACTORS)))
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


def ball_slack(rows: int, dim: int) -> float:
    """Bound the distance of `rows` rows of rounded ball noise from their distribution."""
    # A row takes at most 2 dim + 3 uniform numbers: half a block each in order and, where it is
    # settled, two more.
    return rows * UNSETTLED + counter_mode_slack(3.0 * rows * (2 * dim + 3))


def cylinder_slack(lines: int, dim: int) -> float:
    """Bound the distance of `lines` lines of a count and `dim` sums from their distribution."""
    return lines * UNSETTLED + counter_mode_slack(3.0 * lines * (2 * dim + 5))
