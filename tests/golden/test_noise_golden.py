"""Draws are functions of the key alone: the same on every machine, NumPy and libm."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.sampling import additive as samplers
from sfumato._core.sampling.choice import exponential, permute_and_flip
from sfumato._core.sampling.stream import Stream
from sfumato._core.testing import ReplayedNoise

SHORT = {
    "laplace": [-245, -1299, 87, 1080, -1889, 553, -713, 1364],
    "gaussian": [601, 121, -243, 461, -1005, 450, 922, -1031],
    "cube": [[1787, -193], [112, 1054], [1090, -2454]],
}
LONG = {
    "long laplace": "4ee9f46cd402b1c3",
    "small laplace": "d5c9554b6d195d1b",
    "long gaussian": "6e39b6e46ec0bd17",
    "small gaussian": "39f3da25dde100f4",
    "long cube": "be5aed0d92b4f2e4",
    "small cube": "061457b3acb947ef",
    "wide cube": "3c6cd0b0ca8bda86",
}
CHOICES = {
    "exponential": [512, 148, 170, 234, 830, 192, 827, 464],
    "permute_and_flip": [512, 89, 790, 353, 776, 836, 871, 322],
}
SETTLED = "f3522f2127c5e6f9"

CALLS = {
    "laplace": lambda noise: noise.laplace(Fraction(1000), 8),
    "gaussian": lambda noise: noise.gaussian(Fraction(1000), 8),
    "cube": lambda noise: noise.cube(Fraction(1000), 3, 2),
    "long laplace": lambda noise: noise.laplace(Fraction(2**20, 3), 100_001),
    "small laplace": lambda noise: noise.laplace(Fraction(1, 2), 100_001),
    "long gaussian": lambda noise: noise.gaussian(Fraction(2**30), 100_001),
    "small gaussian": lambda noise: noise.gaussian(Fraction(1, 3), 100_001),
    "long cube": lambda noise: noise.cube(Fraction(2**20), 1000, 10),
    "small cube": lambda noise: noise.cube(Fraction(7, 2), 5000, 9),
    "wide cube": lambda noise: noise.cube(Fraction(2**15), 3, 2000),
}
SELECTIONS = {"exponential": exponential, "permute_and_flip": permute_and_flip}


def digest(draws):
    return hashlib.sha256(np.ascontiguousarray(draws, "<i8").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("call", SHORT)
def test_short_draws(call):
    assert CALLS[call](ReplayedNoise(1)).tolist() == SHORT[call]


@pytest.mark.parametrize("call", LONG)
def test_long_draws(call):
    assert digest(CALLS[call](ReplayedNoise(1))) == LONG[call]


@pytest.mark.parametrize("law", SELECTIONS)
def test_selections(law):
    noise, scores = ReplayedNoise(1), np.arange(1000) ** 2 % 997
    options = {"epsilon": Fraction(1, 10), "sensitivity": 3, "monotone": True}
    assert [SELECTIONS[law](noise, scores, **options) for _ in range(8)] == CHOICES[law]


def test_the_key_of_a_call_is_a_hash_of_key_and_count():
    noise = ReplayedNoise(1)
    for call in range(3):
        key = hashlib.sha256((1).to_bytes(32, "big") + call.to_bytes(8, "big")).digest()
        assert np.array_equal(noise.stream().words(4), Stream(key).words(4))


def test_settling_everything_gives_the_same_integers():
    usual = samplers.gaussian(Stream(bytes(32)), Fraction(2**30), 2001)
    settled = samplers.gaussian(Stream(bytes(32)), Fraction(2**30), 2001, band=math.inf)
    assert digest(usual) == digest(settled) == SETTLED


@pytest.mark.parametrize("seed", range(3))
def test_a_mathematical_library_three_ulp_worse_gives_the_same_integers(monkeypatch, seed):
    def worse(function):
        def off(values):
            right = function(values)
            ulps = np.random.default_rng(seed).integers(-3, 4, right.shape)
            return right + ulps * np.spacing(np.abs(right))

        return off

    for name in ("log", "cos", "sin", "exp"):
        monkeypatch.setattr(np, name, worse(getattr(np, name)))
    for call in ("long gaussian", "small gaussian", "small cube"):
        assert digest(CALLS[call](ReplayedNoise(1))) == LONG[call]
    for law in SELECTIONS:
        test_selections(law)
