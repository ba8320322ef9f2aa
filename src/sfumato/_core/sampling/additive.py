"""Three distributions of integer noise, sampled exactly from a stream of random bits."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints
from sfumato._core.sampling.exact import UNSETTLED, arithmetic, as_real, settle, uniform_below
from sfumato._core.sampling.stream import Stream, counter_mode_slack

MAX_SCALE = 2**44
"""Largest scale, in lattice steps: no draw of Laplace or Gaussian noise reaches 2^51 then."""

MAX_DIM = 2**14 - 1
"""Most dimensions of cube noise."""

MAX_DIM_PER_SCALE = 20
"""Cube noise accepts a proposal with probability exp(-dim / 2 scale) or more; e^-10 is enough."""

GEOMETRIC_SLACK = 2.0**-127
"""Distance of one geometric draw from its distribution, at most."""

GAUSSIAN_BAND = 2.0**-42
CUBE_BAND = 2.0**-48

_CHUNK = 1 << 15
_DIGIT_BITS = 256
_HEAD_BITS = 16
_TAIL_BITS = _DIGIT_BITS - _HEAD_BITS
_SMALLEST_DIGIT = 2**-128


def check_scale(scale: Fraction) -> None:
    """Refuse a scale of noise that the samplers don't support."""
    if isinstance(scale, bool) or not isinstance(scale, int | Fraction):
        raise TypeError(f"a noise scale must be a Fraction, got {type(scale).__name__}")
    if scale <= 0:
        raise ValueError(f"a noise scale must be positive, got {scale}")
    if scale > MAX_SCALE:
        log = math.log2(math.ceil(scale))
        raise ValueError(
            f"noise of scale 2^{log:.1f} lattice steps was asked for, at most 2^44 is supported; "
            f"a larger epsilon needs less noise: 2^{log - 44:.1f} times this one would do"
        )


def check_cube(scale: Fraction, dim: int) -> None:
    """Refuse a pair of scale and dimension that cube noise doesn't support."""
    check_scale(scale)
    if not 1 <= dim <= MAX_DIM:
        raise ValueError(
            f"cube noise supports 1 to {MAX_DIM} dimensions, got {dim}: fewer columns would work, "
            "or Laplace or Gaussian noise"
        )
    if dim > MAX_DIM_PER_SCALE * scale:
        raise ValueError(
            f"cube noise in {dim} dimensions needs a scale of at least {dim}/{MAX_DIM_PER_SCALE} "
            f"lattice steps, got {float(scale):.3g}; a smaller epsilon or Laplace noise would work"
        )
    if (dim + 1) << len(digit_probabilities(scale)) > 2**62:
        raise ValueError(
            f"cube noise of scale 2^{math.log2(math.ceil(scale)):.1f} in {dim} dimensions could "
            "overflow 64 bits; a larger epsilon would work: 2^41 is safe in every dimension"
        )


def laplace(stream: Stream, scale: Fraction, size: int) -> Ints:
    """Draw discrete Laplace noise, P(z) proportional to exp(-|z| / scale).

    Guarantee: a geometric magnitude and a fair sign, where minus zero is drawn again. Nothing is
    rounded; each draw is within 2^-126 of that distribution in statistical distance (docs/proofs/
    discrete-laplace.md), and with shift s and scale s / epsilon the mechanism is epsilon-DP.
    """
    check_scale(scale)
    out = np.empty(size, np.int64)
    for start in range(0, size, _CHUNK):
        part = out[start : start + _CHUNK]
        again = np.arange(part.size)
        while again.size:
            magnitude = geometric(stream, scale, again.size)
            negative = stream.fair_bits(again.size)
            part[again] = np.where(negative, -magnitude, magnitude)
            again = again[negative & (magnitude == 0)]
    return out


def geometric(stream: Stream, scale: Fraction, size: int) -> Ints:
    """Draw from P(g) proportional to exp(-g / scale) on 0, 1, 2, ...

    Guarantee: the binary digits of g are independent (Dwork et al. 2006), digit i being one with
    probability 1 / (1 + exp(2^i / scale)). Each is compared to 256 bits; the digits that are one
    with probability below 2^-128 are left at zero. Statistical distance below 2^-127 a draw.
    """
    probabilities = digit_probabilities(scale)
    first, count = stream.position, len(probabilities) * size
    heads = np.array([p >> _TAIL_BITS for p in probabilities], np.uint16)[:, None]
    drawn = stream.words(-(-count // 4)).view("<u2")[:count].reshape(heads.size, size)
    digits = (drawn < heads).view(np.uint8)
    for tie in np.flatnonzero(drawn == heads).tolist():
        lane = 2 * (tie % 4)
        place = np.full(2, first + tie // 4)
        tail = stream.blocks(np.array([1 + lane, 2 + lane]), place).tobytes()
        below = probabilities[tie // size] % (1 << _TAIL_BITS)
        digits.flat[tie] = int.from_bytes(tail[: _TAIL_BITS // 8], "big") < below
    return _from_digits(digits)


@lru_cache(maxsize=256)
def digit_probabilities(scale: Fraction) -> tuple[int, ...]:
    """Return 2^256 P(digit i is one) for the binary digits of a geometric number, rounded down."""
    context = arithmetic(_DIGIT_BITS)
    rate = 1 / as_real(context, Fraction(scale))
    found: list[int] = []
    while (chance := 1 / (1 + context.exp(rate * 2 ** len(found)))) >= _SMALLEST_DIGIT:
        found.append(int(context.floor(context.ldexp(chance, _DIGIT_BITS))))
    return tuple(found)


def _from_digits(digits: NDArray[np.uint8]) -> Ints:
    """Read each column as a binary number, lowest digit first, eight digits to the byte."""
    total = np.zeros(digits.shape[1], np.int64)
    for start in reversed(range(0, len(digits), 8)):
        byte = np.zeros(digits.shape[1], np.uint8)
        for digit in digits[start : start + 8][::-1]:
            byte += byte
            byte |= digit
        total <<= 8
        total |= byte
    return total


def gaussian(stream: Stream, sigma: Fraction, size: int, *, band: float = GAUSSIAN_BAND) -> Ints:
    """Draw rounded Gaussian noise: the nearest integer to Z ~ N(0, sigma^2).

    Guarantee: post-processing of the Gaussian mechanism, for round(x + Z) = x + round(Z) if x is
    an integer; an L2 shift of s is exactly (s / sigma)-GDP. Every draw is rounded as exact
    arithmetic would round it (docs/proofs/rounded-gaussian.md), except that one in 2^800 raises.
    """
    check_scale(sigma)
    out = np.empty(size + size % 2, np.int64)
    for start in range(0, out.size, 2 * _CHUNK):
        part = out[start : start + 2 * _CHUNK]
        part[:] = _box_muller(stream, Fraction(sigma), part.size // 2, band)
    return out[:size]


def _box_muller(stream: Stream, sigma: Fraction, pairs: int, band: float) -> Ints:
    first, uniforms = stream.uniforms(2 * pairs)
    with np.errstate(all="ignore"):
        # abs: -log(1.0) is -0.0, and 1 / -0.0 would make the band -inf
        radius = np.sqrt(2.0 * np.abs(np.log(uniforms[:pairs])))
        angle = 2.0 * math.pi * uniforms[pairs:]
        values = np.stack([np.cos(angle), np.sin(angle)])
        values *= float(sigma) * radius
        nearest = np.rint(values)
        reach = band * float(sigma) * (radius + 0.0625 / radius)
        undecided = ~(np.abs(values - nearest) < 0.5 - reach)  # true for NaN as well
    nearest[undecided] = 0.0
    draws: Ints = nearest.astype(np.int64).ravel()
    for j in np.flatnonzero(undecided).tolist():
        places = [first + j % pairs, first + pairs + j % pairs]
        draws[j] = settle(stream, places, partial(_exact_normal, sigma, j >= pairs))
    return draws


def _exact_normal(sigma: Fraction, sine: bool, raws: list[int], bits: int) -> int | None:
    edge = (bits - 120) // 2
    if not 1 << (bits - edge) <= raws[0] < (1 << bits) - (1 << (bits - edge)):
        return None
    context = arithmetic(bits)
    first, second = (context.ldexp(context.mpf(2 * raw + 1), -bits - 1) for raw in raws)
    length = as_real(context, sigma) * context.sqrt(-2 * context.log(first))
    shifted = length * (context.sinpi if sine else context.cospi)(2 * second) + context.mpf(0.5)
    whole = context.floor(shifted)
    tolerance = context.ldexp(as_real(context, sigma), edge + 60 - bits)
    return int(whole) if tolerance < shifted - whole < 1 - tolerance else None


def cube(stream: Stream, scale: Fraction, rows: int, dim: int) -> Ints:
    """Draw rows of cube noise, P(z) proportional to exp(-max|z_i| / scale).

    Guarantee: z is uniform in a full cube {-m ... m}^dim whose radius has P(m) proportional to
    (2m + 1)^dim exp(-m / scale), which makes exactly this distribution (docs/proofs/cube-noise.md):
    for a row that shifts by at most s in each coordinate, scale s / epsilon is epsilon-DP. Each row
    is within (dim + 1) 2^-127 exp(dim / 2 scale) of that distribution in statistical distance.
    """
    check_cube(scale, dim)
    out, done = np.empty((rows, dim), np.int64), 0
    surplus = math.floor(Fraction(3 * dim) / (4 * scale))
    while done < rows:
        proposals = min((rows - done) << surplus, max(1, _CHUNK // (dim + 1)))
        sums = geometric(stream, scale, (dim + 1) * proposals).reshape(dim + 1, -1).sum(axis=0)
        radii = sums[accept_radii(stream, sums, dim)][: rows - done]
        sides = np.repeat(2 * radii + 1, dim)
        inside = uniform_below(stream, sides).reshape(-1, dim) - radii[:, None]
        out[done : done + radii.size] = inside
        done += radii.size
    return out


def accept_radii(
    stream: Stream, radii: Ints, dim: int, *, band: float = CUBE_BAND
) -> NDArray[np.bool_]:
    """Accept each radius m with probability prod_{i = 1 ... dim} (m + 1/2) / (m + i), exactly."""
    first, uniforms = stream.uniforms(radii.size)
    with np.errstate(all="ignore"):
        chance = np.divide(radii + 0.5, radii + np.arange(1, dim + 1)[:, None]).prod(axis=0)
        undecided = ~(np.abs(uniforms - chance) > band * (dim + 1) * chance)
    accepted: NDArray[np.bool_] = uniforms < chance
    for j in np.flatnonzero(undecided | (uniforms == 0.0)).tolist():
        accepted[j] = settle(stream, [first + j], partial(_below_chance, int(radii[j]), dim))
    return accepted


def _below_chance(radius: int, dim: int, raws: list[int], bits: int) -> bool | None:
    numerator = (2 * radius + 1) ** dim << bits
    denominator = math.prod(range(2 * radius + 2, 2 * (radius + dim) + 1, 2))
    below = raws[0] * denominator < numerator
    return below if below == ((raws[0] + 1) * denominator <= numerator) else None


def laplace_slack(size: int) -> float:
    """Bound the distance of `size` draws of discrete Laplace noise from their distribution."""
    # A geometric per proposal and at most two proposals per draw on average. A proposal reads at
    # most 8 blocks; the root mean square of the proposals for n draws is at most n sqrt(6).
    return 2.0 * size * GEOMETRIC_SLACK + counter_mode_slack(20.0 * size)


def gaussian_slack(size: int) -> float:
    """Bound the distance of `size` draws of rounded Gaussian noise from their distribution."""
    # A pair of draws reads one block in order and, where it is settled, two for each uniform.
    return size * UNSETTLED + counter_mode_slack(4.0 * (size + 1))


def cube_slack(scale: Fraction, rows: int, dim: int) -> float:
    """Bound the distance of `rows` rows of cube noise from their distribution."""
    tries = math.exp(dim / (2 * float(scale)))
    digits = len(digit_probabilities(scale))
    per_proposal = (dim + 1) * (digits + 1) / 8 + 3
    blocks = 3 * rows * tries * per_proposal + rows * (3 * dim + 1)
    return (
        rows * (dim + 1) * tries * GEOMETRIC_SLACK
        + rows * dim * UNSETTLED
        + counter_mode_slack(blocks)
    )
