"""The exact chances of every answer of a search for the first count below a threshold."""

from decimal import Decimal, localcontext

from sfumato._core.testing import crossing_loss
from sfumato._core.testing import log_crossing as fast_log_chance

__all__ = ["crossing_loss", "fast_log_chance", "log_chances"]

DIGITS = 50
REST = 90
"""Noise of the threshold is summed until what is left out weighs less than e^-REST."""


def log_chances(scale, threshold, counts):
    """Logarithms of the chances of 0, 1, …, len(counts), to thirty digits.

    Given noise z on the threshold the counts are independent: sum over z. Beyond every gap between
    a count and the threshold the terms fall off like e^(−|z|/scale), but for at most a factor of 2
    for each count, which is what the window allows for.
    """
    gaps = [int(threshold) - int(c) for c in counts]
    window = max([0, *map(abs, gaps)]) + int(scale * (REST + len(gaps))) + 1
    with localcontext(prec=DIGITS):
        below = _Below(scale)
        sums = [Decimal(0)] * (len(gaps) + 1)
        for z in range(-window, window + 1):
            left = below.chance(z)
            for i, gap in enumerate(gaps):
                sums[i] += left * below(gap + z)
                left *= below(-gap - z - 1)
            sums[-1] += left
        return [x.ln() for x in sums]


class _Below:
    """P(noise ≤ a) for discrete Laplace noise, whose law is symmetric: P(noise > a) = P(≤ −a−1)."""

    def __init__(self, scale):
        self._q = (-Decimal(scale.denominator) / scale.numerator).exp()
        self._known = {}

    def __call__(self, a):
        if a not in self._known:
            tail = self._q ** (-a if a < 0 else a + 1) / (1 + self._q)
            self._known[a] = tail if a < 0 else 1 - tail
        return self._known[a]

    def chance(self, z):
        """P(noise = z)."""
        return (1 - self._q) / (1 + self._q) * self._q ** abs(z)
