"""Draws by classes of equal score: settled, usual and brute-force answers agree."""

import math
from fractions import Fraction
from itertools import accumulate

import mpmath
import numpy as np
import pytest

from sfumato._core.sampling.choice import choose_class
from sfumato._core.sampling.stream import Stream
from tests.unit.core.sampling.test_choice_settle import NEAR, Placed, key

F = Fraction
CASES = {
    "none": ([], [], 7),
    "one": ([5], [1], 7),
    "full": ([1, 2], [3, 4], 7),
    "huge": ([1, 2, 30, 31], [10**6, 10**5, 7, 1], 65_535**9),
    "far": ([1, 4000], [10**9, 3], 65_535**16),
    "many": (list(range(1, 90)), list(range(90, 1, -1)), 10**13),
}
RATES = [F(1, 7), F(1, 10**6), F(3), F(1, 2**600)]


def arrays(case):
    scores, many, size = case
    return np.array(scores, dtype=np.int64), np.array(many, dtype=np.int64), size


def parts(scores, many, size, rate):
    """The parts of the mixture, in as many digits as mpmath is set to."""
    tilt = mpmath.mpf(rate.numerator) / rate.denominator
    raised = [int(m) * mpmath.expm1(tilt * int(s)) for s, m in zip(scores, many, strict=True)]
    return [mpmath.mpf(size), *raised]


@pytest.mark.parametrize("rate", RATES, ids=["1/7", "1e-6", "3", "2^-600"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_settled_usual_and_brute_force_draws_agree(case, rate):
    given = arrays(case)
    for number in range(8):
        usual = choose_class(Stream(key(number)), *given, rate)
        assert usual == choose_class(Stream(key(number)), *given, rate, band=math.inf)
        with mpmath.workprec(20_000 if rate * max(case[0], default=0) > 400 else 2000):
            (raw,) = Stream(key(number)).bits(np.array([0]), 6)
            weights = parts(*given, rate)
            point = mpmath.mpf(raw) / mpmath.mpf(2) ** 832 * mpmath.fsum(weights)
            assert usual == sum(total <= point for total in accumulate(weights))


def test_a_draw_next_to_a_boundary_is_settled():
    given, rate = arrays(([1, 2, 9], [50, 20, 1], 10**6)), F(1)
    with mpmath.workprec(400):
        weights = parts(*given, rate)
        total = mpmath.fsum(weights)
        for i in range(len(weights) - 1):
            edge = mpmath.fsum(weights[: i + 1]) / total
            for step in NEAR:
                head = int(mpmath.floor(edge * 2**64)) + step
                assert choose_class(Placed([head]), *given, rate) == (i if step < 0 else i + 1)


def test_the_mixture_is_the_exponential_mechanism():
    """A point of any score is e^(rate·score) as likely as one that covers nothing."""
    scores, many, size = arrays(([1, 4, 6], [5, 2, 1], 12))
    with mpmath.workdps(50):
        weights = parts(scores, many, size, F(1, 3))
        whole = weights[0] / size
        for s, m, part in zip(scores, many, weights[1:], strict=True):
            each = whole + part / int(m)
            assert abs(each / whole - mpmath.exp(mpmath.mpf(int(s)) / 3)) < 1e-45


def test_draws_are_as_frequent_as_their_weights():
    """6,000 draws; false alarms below 1e-9 (normal approximation, 6.2 deviations)."""
    given, rate = arrays(([1, 3], [40, 5], 200)), F(4, 5)
    drawn = [choose_class(Stream(key(i)), *given, rate) for i in range(6000)]
    weights = [float(w) for w in parts(*given, rate)]
    other = [float(w) for w in parts(*given, rate * F(115, 100))]
    wrong = 0
    for i, (weight, stretched) in enumerate(zip(weights, other, strict=True)):
        chance, off = weight / sum(weights), stretched / sum(other)
        seen = drawn.count(i) / len(drawn)
        deviation = math.sqrt(chance * (1 - chance) / len(drawn))
        assert abs(seen - chance) < 6.2 * deviation
        wrong = max(wrong, abs(seen - off) / deviation)
    assert wrong > 6.2
