"""The exponential mechanism over more candidates than can be listed: by classes of equal score."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import partial
from itertools import accumulate

import numpy as np

from sfumato.box import Floats, Ints
from sfumato.curator.select import CHOICE_BAND, _exponents, cumulative
from sfumato.curator.settle import exp_fixed, settle
from sfumato.curator.stream import Stream

_SPARE_BITS = 64


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
    numbers (docs/proofs/max-cover.md); slack: `selection_slack`.
    """
    place, (uniform,) = stream.uniforms(1)
    sums = cumulative(_weights(scores, many, size, rate))
    doubt = band * (math.isqrt(sums.size) + 5 + 2 * size.bit_length()) * sums[-1]
    point, last = uniform * sums[-1], sums.size - 1
    i = int(np.searchsorted(sums, point, side="right"))
    above = i == 0 or point - sums[i - 1] > doubt
    below = i == last or (i < last and sums[i] - point > doubt)
    exact = partial(_exact_class, scores, many, size, rate)
    return i if above and below else settle(stream, [place], exact)


def _weights(scores: Ints, many: Ints, size: int, rate: Fraction) -> Floats:
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
    error, last = 6 * size, len(sums) - 1
    i = bisect_right(sums, raws[0] * sums[-1] >> bits)
    if i > 0 and raws[0] * (sums[-1] - error) < (sums[i - 1] + error) << bits:
        return None
    if i < last and (raws[0] + 1) * (sums[-1] + error) > (sums[i] - error) << bits:
        return None
    return i
