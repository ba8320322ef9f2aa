"""Private selection over integer scores: the exponential mechanism and permute-and-flip."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints
from sfumato._core.sampling.exact import UNSETTLED, arithmetic, as_real, settle, uniform_below
from sfumato._core.sampling.source import Noise
from sfumato._core.sampling.stream import Stream, counter_mode_slack

Selector = Literal["exponential", "permute_and_flip"]
Scores = Ints | NDArray[np.object_] | Sequence[int]
Gaps = NDArray[Any]

CHOICE_BAND = 2.0**-47
FLIP_BAND = 2.0**-47

_FAR = 4096
_TAME = Fraction(2) ** 500
_SPARE_BITS = 64


def selection_rate(epsilon: Fraction, sensitivity: int, monotone: bool) -> Fraction:
    """Return what a point of score weighs: epsilon / 2 sensitivity, or twice that if monotone.

    Scores are monotone if adding a row moves none of them down (or none of them up).
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | Fraction) or epsilon <= 0:
        raise ValueError(f"a selection needs a positive Fraction as epsilon, got {epsilon!r}")
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int) or sensitivity < 1:
        raise ValueError(f"a selection needs a sensitivity of 1, 2, 3, ..., got {sensitivity!r}")
    return Fraction(epsilon) / (sensitivity if monotone else 2 * sensitivity)


def exponential(
    noise: Noise, scores: Scores, *, epsilon: Fraction, sensitivity: int, monotone: bool
) -> int:
    """Select candidate i with probability proportional to exp(epsilon score_i / 2 sensitivity).

    The 2 falls away for monotone scores.

    Guarantee: epsilon-DP if a neighbour moves no score by more than `sensitivity`. One uniform
    number is compared with the cumulative weights, as exactly as with real numbers
    (docs/proofs/selection.md); slack: `selection_slack`.
    """
    rate, gaps = selection_rate(epsilon, sensitivity, monotone), _gaps(scores)
    stream = noise.stream()
    return _first_best(gaps) if stream is None else choose(stream, gaps, rate)


def permute_and_flip(
    noise: Noise, scores: Scores, *, epsilon: Fraction, sensitivity: int, monotone: bool
) -> int:
    """Visit candidates in random order, take one with chance exp(-epsilon gap / 2 sensitivity).

    A gap is the distance to the best score. The 2 falls away for monotone scores.

    Guarantee: epsilon-DP if a neighbour moves no score by more than `sensitivity` (McKenna and
    Sheldon 2020), with an expected gap never above that of the exponential mechanism. The
    chances don't depend on the order of the visits, so all are drawn first and one of those taken
    is drawn uniformly: the same distribution. All draws are exact; slack: `selection_slack`.
    """
    rate, gaps = selection_rate(epsilon, sensitivity, monotone), _gaps(scores)
    stream = noise.stream()
    if stream is None:
        return _first_best(gaps)
    taken = np.flatnonzero(flip(stream, gaps, rate))
    return int(taken[uniform_below(stream, np.array([taken.size]))[0]])


def _gaps(scores: Scores) -> Gaps:
    """Return how far each score lies below the best, exactly."""
    # NumPy would pick the type of a list by the values in it, and with it what is refused.
    values = scores if isinstance(scores, np.ndarray) else np.array(scores, dtype=np.object_)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"a selection needs one score per candidate, got shape {values.shape}")
    if values.dtype == np.object_:
        whole = [index(value) for value in values]
        best = max(whole)
        return np.array([best - value for value in whole], dtype=np.object_)
    if not np.issubdtype(values.dtype, np.signedinteger):
        raise TypeError(f"scores must be signed integers, got {values.dtype}")
    # The difference of two int64 fits uint64, where subtraction wraps to the right value.
    wide = values.astype(np.int64).astype(np.uint64)
    return np.asarray(wide[np.argmax(values)] - wide)


def _first_best(gaps: Gaps) -> int:
    return int(np.flatnonzero(gaps == 0)[0])


def _exponents(gaps: Gaps, rate: Fraction) -> Floats:
    """Return rate * gap with relative error below 2^-51; anything beyond _FAR may read _FAR."""
    if gaps.dtype == np.object_ or not 1 / _TAME < rate < _TAME:
        # A quotient of Python integers is rounded once, whatever their size.
        above, below = rate.numerator, rate.denominator
        return np.array([min(above * int(gap), _FAR * below) / below for gap in gaps])
    return gaps.astype(np.float64) * float(rate)


def _weights(gaps: Gaps, rate: Fraction) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(np.exp(-_exponents(gaps, rate)))


def choose(stream: Stream, gaps: Gaps, rate: Fraction, *, band: float = CHOICE_BAND) -> int:
    """Draw i with probability proportional to exp(-rate * gap_i)."""
    place, (uniform,) = stream.uniforms(1)
    sums = cumulative(_weights(gaps, rate))
    point, reach = uniform * sums[-1], band * (math.isqrt(gaps.size) + 5) * sums[-1]
    i, last = int(np.searchsorted(sums, point, side="right")), gaps.size - 1
    above = i == 0 or point - sums[i - 1] > reach
    below = i == last or (i < last and sums[i] - point > reach)
    return i if above and below else settle(stream, [place], partial(_exact_choice, gaps, rate))


def cumulative(weights: Floats) -> Floats:
    """Return running sums in two levels, so that each is the end of 2 sqrt(n) + 1 additions."""
    side = math.isqrt(weights.size - 1) + 1
    padded = np.zeros(side * side)
    padded[: weights.size] = weights
    within = padded.reshape(side, side).cumsum(axis=1)
    before = np.concatenate([[0.0], within[:-1, -1].cumsum()])
    sums: Floats = (within + before[:, None]).ravel()[: weights.size]
    return sums


def _exact_choice(gaps: Gaps, rate: Fraction, raws: list[int], bits: int) -> int | None:
    precision = bits + _SPARE_BITS
    weight = {gap: exp_fixed(rate * gap, precision) for gap in set(gaps.tolist())}
    sums = list(accumulate(weight[gap] for gap in gaps.tolist()))
    return _place(sums, 2 * len(sums), raws[0], bits)


def _place(sums: list[int], error: int, raw: int, bits: int) -> int | None:
    """Find the sum that a uniform number of so many bits lies below, of sums off by `error`."""
    i = bisect_right(sums, raw * sums[-1] >> bits)
    if i > 0 and raw * (sums[-1] - error) < (sums[i - 1] + error) << bits:
        return None
    if i < len(sums) - 1 and (raw + 1) * (sums[-1] + error) > (sums[i] - error) << bits:
        return None
    return i


def flip(
    stream: Stream, gaps: Gaps, rate: Fraction, *, band: float = FLIP_BAND
) -> NDArray[np.bool_]:
    """Draw a Bernoulli number for each gap, 1 with probability exp(-rate * gap), exactly."""
    first, uniforms = stream.uniforms(gaps.size)
    chances = _weights(gaps, rate)
    best = np.asarray(gaps == 0, np.bool_)
    came_up: NDArray[np.bool_] = (uniforms < chances) | best
    undecided = (np.abs(uniforms - chances) <= band) & ~best
    for j in np.flatnonzero(undecided).tolist():
        exponent = rate * int(gaps[j])
        came_up[j] = settle(stream, [first + j], partial(_exact_flip, exponent))
    return came_up


def _exact_flip(exponent: Fraction, raws: list[int], bits: int) -> bool | None:
    chance = exp_fixed(exponent, bits + _SPARE_BITS)
    if (raws[0] + 1) << _SPARE_BITS <= chance - 2:
        return True
    return False if raws[0] << _SPARE_BITS >= chance + 2 else None


def choose_class(
    stream: Stream,
    scores: Ints,
    many: Ints,
    size: int,
    rate: Fraction,
    *,
    band: float = CHOICE_BAND,
) -> int:
    """Draw where the next candidate comes from: 0 is all `size` of them, i the class i − 1.

    Of `size` candidates `many[j]` have the score `scores[j]`, ascending from 1; all others have 0.
    The parts of a mixture: all candidates with weight 1 each, and those of class j once more with
    e^(rate·score) − 1 each, so that a candidate of any score has e^(rate·score) altogether.

    Guarantee: one uniform number is compared with the cumulative weights, as exactly as with real
    numbers (docs/proofs/max_cover.md); slack: `selection_slack`.
    """
    place, (uniform,) = stream.uniforms(1)
    sums = cumulative(_class_weights(scores, many, size, rate))
    doubt = band * (math.isqrt(sums.size) + 5 + 2 * size.bit_length()) * sums[-1]
    point, last = uniform * sums[-1], sums.size - 1
    i = int(np.searchsorted(sums, point, side="right"))
    above = i == 0 or point - sums[i - 1] > doubt
    below = i == last or (i < last and sums[i] - point > doubt)
    exact = partial(_exact_class, scores, many, size, rate)
    return i if above and below else settle(stream, [place], exact)


def _class_weights(scores: Ints, many: Ints, size: int, rate: Fraction) -> Floats:
    """The parts of the mixture, over e^(rate·best)."""
    best = scores[-1:] if scores.size else np.zeros(1, dtype=np.int64)
    with np.errstate(all="ignore"):
        whole = float(size) * np.exp(-_exponents(best, rate))
        lesser = np.exp(-_exponents(best - scores, rate))
        parts = many * lesser * -np.expm1(-_exponents(scores, rate))
    return np.concatenate([whole, parts])


def _exact_class(
    scores: Ints, many: Ints, size: int, rate: Fraction, raws: list[int], bits: int
) -> int | None:
    precision = bits + _SPARE_BITS + size.bit_length()
    listed = scores.tolist()
    best = listed[-1] if listed else 0
    floor = exp_fixed(rate * best, precision)
    parts = [
        int(m) * max(0, exp_fixed(rate * (best - s), precision) - floor)
        for s, m in zip(listed, many.tolist(), strict=True)
    ]
    sums = list(accumulate([size * floor, *parts]))
    # An exponential is off by less than 2, and no more candidates have a score than there are.
    return _place(sums, 6 * size, raws[0], bits)


def exp_fixed(exponent: Fraction, bits: int) -> int:
    """Return 2^bits * e^-exponent as an integer, off by less than 2."""
    if exponent > bits:
        return 0
    context = arithmetic(bits)
    return int(context.floor(context.ldexp(context.exp(-as_real(context, exponent)), bits)))


def selection_slack(candidates: int) -> float:
    """Bound the distance of one selection among `candidates` from its distribution."""
    return (candidates + 1) * UNSETTLED + counter_mode_slack(3.0 * (candidates + 1))
