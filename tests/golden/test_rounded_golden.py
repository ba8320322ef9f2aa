"""Joint noise is a function of the key alone: the same on every machine, NumPy and libm."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.testing import ReplayedNoise
from tests.golden.test_noise_golden import digest

SCALES = [Fraction(2**20, 3 * j % 17 + 1) for j in range(2000)]

SHORT = {
    "ball": [[-673, -2087], [-155, -312], [-548, 2530]],
    "odd ball": [[450, -2063, -786], [-580, -1799, -274]],
    "cylinder": [[24, -741, -1815], [17, -14, 4]],
}
LONG = {
    "long ball": "49a5fee077b052bf",
    "small ball": "ac8fb0f09872a970",
    "deep ball": "7320516e905a4905",
    "long cylinder": "d58330aaf38b8802",
    "odd cylinder": "8449bb1e6eb959da",
}

CALLS = {
    "ball": lambda noise: noise.ball(Fraction(1000), 3, 2),
    "odd ball": lambda noise: noise.ball(Fraction(1000), 2, 3),
    "cylinder": lambda noise: noise.cylinder([Fraction(1000), Fraction(7)], Fraction(50, 3), 2),
    "long ball": lambda noise: noise.ball(Fraction(2**28), 20_001, 2),
    "small ball": lambda noise: noise.ball(Fraction(1, 2), 20_001, 3),
    "deep ball": lambda noise: noise.ball(Fraction(2**20), 30, 1001),
    "long cylinder": lambda noise: noise.cylinder(SCALES, Fraction(2**12, 7), 10),
    "odd cylinder": lambda noise: noise.cylinder(SCALES, Fraction(2**28), 5),
}


@pytest.mark.parametrize("call", SHORT)
def test_short_draws(call):
    assert CALLS[call](ReplayedNoise(1)).tolist() == SHORT[call]


@pytest.mark.parametrize("call", LONG)
def test_long_draws(call):
    assert digest(CALLS[call](ReplayedNoise(1))) == LONG[call]


@pytest.mark.parametrize("seed", range(3))
def test_a_mathematical_library_three_ulp_worse_gives_the_same_integers(monkeypatch, seed):
    def worse(function):
        def off(values):
            right = function(values)
            ulps = np.random.default_rng(seed).integers(-3, 4, right.shape)
            return right + ulps * np.spacing(np.abs(right))

        return off

    for name in ("log", "cos", "sin"):
        monkeypatch.setattr(np, name, worse(getattr(np, name)))
    for call in LONG:
        test_long_draws(call)
