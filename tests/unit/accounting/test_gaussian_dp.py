"""Conversions between μ², (ε, δ) and ρ, against floating-point formulas and each other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from sfumato._accounting.gaussian_dp import epsilon_of, mu2_of, rho_of, root_above
from sfumato._accounting.guarantee import Guarantee

F = Fraction


def float_delta(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(5)])
@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 100)])
def test_mu_matches_the_analytic_gaussian(epsilon, delta):
    expected = brentq(lambda mu: float_delta(mu, float(epsilon)) - float(delta), 1e-3, 20)
    assert float(mu2_of(epsilon, delta)) == pytest.approx(expected**2, rel=1e-6)


@given(st.fractions(F(1, 100), 20), st.sampled_from([F(1, 10**9), F(1, 10**6), F(1, 100)]))
@example(F(1, 100), F(1, 100))
@example(F(1), F(1, 10**6))
@example(F(20), F(1, 10**9))
@settings(max_examples=25, deadline=None)
def test_calibration_gives_back_what_the_conversion_takes(epsilon, delta):
    mu2 = mu2_of(epsilon, delta)
    back = epsilon_of(mu2, delta)
    assert epsilon * (1 - F(1, 10**9)) < back <= epsilon
    assert epsilon_of(mu2 * F(1000001, 1000000), delta) > epsilon


def test_conversions_claim_less_rather_than_more():
    mu2, delta = F(1, 3), F(1, 10**6)
    assert float_delta(float(mu2) ** 0.5, float(epsilon_of(mu2, delta))) <= float(delta) * (
        1 + 1e-9
    )


def test_a_tiny_mu_needs_no_epsilon():
    assert epsilon_of(F(1, 10**20), F(1, 100)) == 0


@pytest.mark.parametrize("bad", [(F(-1), F(1, 2)), (F(1), F(0)), (F(1), F(1))])
def test_impossible_conversions_are_refused(bad):
    with pytest.raises(ValueError, match="needs"):
        mu2_of(*bad)
    with pytest.raises(ValueError, match="needs"):
        epsilon_of(*bad)


@given(st.fractions(F(1, 10**12), 10**15))
@example(F(2))
@example(F(4))
@example(F(1, 10**12))
@example(F(10**15 - 1))
@example(F(1, 3))
def test_root_above_is_above_and_close(square):
    root = root_above(square)
    assert root * root >= square
    assert root * root <= square * (1 + F(1, 2**50))


def test_guarantees_of_one_kind_add_and_unlike_kinds_do_not():
    one = Guarantee("pure", F(1, 10))
    assert one + one == Guarantee("pure", F(1, 5))
    gdp = Guarantee("gdp", F(1, 4))
    assert (gdp + gdp).amount == F(1, 2)
    metric = Guarantee("metric", F(1))
    for other in (one, gdp):
        with pytest.raises(TypeError, match="do not add up"):
            metric + other
    with pytest.raises(TypeError, match="cannot add"):
        one + gdp
    with pytest.raises(TypeError, match="cannot add"):
        one + Guarantee("pure", F(1), neighbours="one group of at most 3 rows")


def test_guarantees_convert_and_speak():
    gdp = Guarantee("gdp", mu2_of(F(1), F(1, 10**6)))
    epsilon, delta = gdp.as_epsilon_delta(F(1, 10**6))
    assert (float(epsilon), delta) == (pytest.approx(1), F(1, 10**6))
    with pytest.raises(ValueError, match="chosen δ"):
        gdp.as_epsilon_delta()
    assert Guarantee("pure", F(2)).as_epsilon_delta() == (2, 0)
    assert Guarantee("pure", F(2)).as_rho() == 2
    assert gdp.as_rho() == rho_of(gdp.amount) == gdp.amount / 2
    with pytest.raises(TypeError, match="no ρ"):
        Guarantee("approximate", F(1), F(1, 100)).as_rho()
    with pytest.raises(TypeError, match="metric"):
        Guarantee("metric", F(1)).as_epsilon_delta()
    assert "one row" in Guarantee("pure", F(1)).in_words()
    assert "0.001" in Guarantee("approximate", F(1), F(1, 1000)).in_words()
    assert "N(0, 1)" in gdp.in_words()
    assert "Two points r apart" in Guarantee("metric", F(1)).in_words()
