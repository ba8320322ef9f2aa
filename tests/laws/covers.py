"""The exact chances of points that are picked to cover rows, and what whole sequences lose."""

from fractions import Fraction

import mpmath

DIGITS = 40


def log_total(rate, classes, size):
    """Logarithm of Σ e^(rate·score) over all points of a grid, to forty digits."""
    scores, many = classes
    with mpmath.workdps(DIGITS):
        tilt = mpmath.mpf(rate.numerator) / rate.denominator
        raised = (int(m) * mpmath.expm1(tilt * int(s)) for s, m in zip(scores, many, strict=True))
        return mpmath.log(size + mpmath.fsum(raised))


def log_chance(rate, picks):
    """Logarithm of the chance of a whole sequence of picks: (score, classes, size) of each."""
    with mpmath.workdps(DIGITS):
        tilt = mpmath.mpf(rate.numerator) / rate.denominator
        return mpmath.fsum(
            tilt * score - log_total(rate, classes, size) for score, classes, size in picks
        )


def cover_loss(law, _points, one, other):
    """How much more likely one dataset makes all these picks than the other, to thirty digits.

    With a row more the picks are at most e^η times as likely, always. With a row less they can be
    more than e^ε times as likely, but only where chances to cover that row added up to more than
    ln(1/δ) and all were missed: such runs have probability δ, and the share pays for them with its
    δ. The laws find none in what they replay; if one turned up here it would be reported.
    """
    with mpmath.workdps(DIGITS):
        lost = abs(log_chance(law.rate, one) - log_chance(law.rate, other))
        return Fraction(mpmath.nstr(max(lost - mpmath.mpf(10) ** -30, 0), DIGITS))
