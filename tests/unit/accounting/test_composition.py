"""Pure and Gaussian parts together, against slow definitions and published numbers."""

from fractions import Fraction
from itertools import product
from math import erf, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting import composition
from sfumato._accounting.budget import Caps, Entry, Ledger, Overspent, Share
from sfumato._accounting.composition import (
    epsilon_beside,
    epsilon_of_rho,
    mu2_beside,
    rho_beside,
)
from sfumato._accounting.gaussian_dp import epsilon_of, mu2_of

F = Fraction
TINY = F(1, 10**6)


def phi(x):
    return (1 + erf(x / sqrt(2))) / 2


def slow_delta(pure, mu, epsilon):
    """The sum over all signs, term by term."""
    total = 0.0
    for signs in product((1, -1), repeat=len(pure)):
        chance = np.prod(
            [
                exp(e) / (1 + exp(e)) if s > 0 else 1 / (1 + exp(e))
                for s, e in zip(signs, pure, strict=True)
            ]
        )
        x = epsilon - sum(s * e for s, e in zip(signs, pure, strict=True))
        total += chance * (phi(mu / 2 - x / mu) - exp(x) * phi(-mu / 2 - x / mu))
    return total


def numeric_delta(pure, mu, epsilon, cells=4001):
    """The hockey-stick divergence of the product of the worst pairs, integrated numerically."""
    x = np.linspace(-14, 14 + mu, cells)
    weights = np.full(cells, x[1] - x[0])
    p = np.exp(-((x - mu) ** 2) / 2) / sqrt(2 * np.pi) * weights
    q = np.exp(-(x**2) / 2) / sqrt(2 * np.pi) * weights
    for e in pure:
        yes = exp(e) / (1 + exp(e))
        p = np.concatenate([p * yes, p * (1 - yes)])
        q = np.concatenate([q * (1 - yes), q * yes])
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


CASES = {
    "one lump": (F(3, 10),),
    "auto up to 24 columns": tuple(F(p, 1000) for p in (20, 110, 110, 25, 25)),
    "auto beyond": tuple(F(p, 1000) for p in (20, 40, 40, 25, 25)),
    "equal parts": (F(1, 20),) * 6,
}


@pytest.mark.parametrize("epsilon", [F(1), F(1, 10), F(5)])
@pytest.mark.parametrize("name", CASES)
def test_mu2_is_the_largest_that_the_sum_over_signs_allows(name, epsilon):
    pure = tuple(part * epsilon for part in CASES[name])
    mu = sqrt(mu2_beside(pure, epsilon, TINY))
    floats = [float(part) for part in pure]
    assert slow_delta(floats, mu, float(epsilon)) <= 1e-6 * (1 + 1e-9)
    assert slow_delta(floats, mu * (1 + 1e-6), float(epsilon)) > 1e-6


@pytest.mark.parametrize("name", CASES)
def test_the_sum_over_signs_is_the_divergence_of_the_worst_pair(name):
    pure = [float(part) for part in CASES[name]]
    for mu, epsilon in ((0.3, 0.5), (1.0, 1.0), (0.2, 0.1)):
        integrated = numeric_delta(pure, mu, epsilon)
        assert slow_delta(pure, mu, epsilon) == pytest.approx(integrated, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "name", "wanted"),
    [
        (F(1), "one lump", 0.94),
        (F(1), "auto up to 24 columns", 0.76),
        (F(1, 10), "auto up to 24 columns", 0.72),
    ],
)
def test_variance_falls_as_the_page_says(epsilon, name, wanted):
    pure = tuple(part * epsilon for part in CASES[name])
    ratio = mu2_of(epsilon - sum(pure), TINY) / mu2_beside(pure, epsilon, TINY)
    assert round(float(ratio), 2) == wanted


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 300), max_size=4),
    st.integers(1, 10**4),
    st.integers(2, 12),
)
@example([110, 110, 25, 25], 1000, 6)
@example([], 5, 12)
@example([300, 300, 300], 10**4, 2)
@settings(max_examples=25)
def test_never_less_than_parts_set_aside_and_never_more_than_none(parts, thousandths, digits):
    epsilon, delta = F(thousandths, 1000), F(1, 10**digits)
    pure = tuple(F(part, 1200) * epsilon for part in parts)
    mu2 = mu2_beside(pure, epsilon, delta)
    assert mu2_of(epsilon - sum(pure), delta) * (1 - F(1, 2**20)) <= mu2
    assert mu2 <= mu2_of(epsilon, delta)
    assert epsilon_beside(pure, mu2, delta) <= epsilon


def test_without_pure_parts_it_is_gaussian_dp():
    assert epsilon_beside((), F(1, 4), TINY) == epsilon_of(F(1, 4), TINY)
    assert mu2_beside((), F(1), TINY) == pytest.approx(mu2_of(F(1), TINY), rel=1e-6)


def test_without_gaussian_answers_it_is_composed_randomised_response():
    pure = (F(1, 10),) * 10
    small = epsilon_beside(pure, F(0), TINY)
    assert small < 1
    # Kairouz, Oh, Viswanath 2015: exact for equal ε. Here by its sum over the number of +.
    assert slow_delta([0.1] * 10, 1e-9, float(small)) <= 1e-6 * (1 + 1e-6)


@pytest.mark.parametrize(
    "wrong",
    [((F(-1),), F(1), TINY), ((F(2),), F(1), TINY), ((), F(1), F(0)), ((), F(1), F(1))],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match="caps"):
        mu2_beside(*wrong)


def test_many_different_parts_are_refused():
    with pytest.raises(ValueError, match="too many"):
        mu2_beside(tuple(F(1, 1000 + 2**i) for i in range(13)), F(1), TINY)


def test_extreme_budgets_still_hold():
    for epsilon, delta in (
        (F(1, 10**9), F(1, 10**12)),
        (F(10**6), F(1, 10)),
        (F(1), F(1, 10**320)),
    ):
        pure = (epsilon / 10, epsilon / 7)
        assert 0 < mu2_beside(pure, epsilon, delta) <= mu2_of(epsilon, delta)


def test_rho_is_within_the_simple_bound_and_better():
    for epsilon, digits in ((1.0, 6), (0.1, 9), (5.0, 5)):
        delta = F(1, 10**digits)
        rho = float(rho_beside(F(str(epsilon)), delta))
        # Bun, Steinke 2016: ε = ρ + 2√(ρ ln 1/δ) is enough.
        simple = (sqrt(log(1 / delta) + epsilon) - sqrt(log(1 / delta))) ** 2
        assert simple < rho < 1.5 * simple
        assert epsilon_of_rho(rho_beside(F(str(epsilon)), delta), delta) <= F(str(epsilon))


def test_rho_promises_no_more_than_a_gaussian_has():
    """√(2ρ)-GDP is ρ-zCDP, and its exact ε must not be larger than what ρ is turned into."""
    for rho in (F(1, 1000), F(1, 50), F(1, 2)):
        assert epsilon_of(2 * rho, TINY) <= epsilon_of_rho(rho, TINY)


def test_ten_small_fits_cost_what_the_notes_say():
    """Ten fits of (0.1, 10⁻⁷), 15 or 32 % of them pure, at δ = 10⁻⁶."""
    for part, wanted in ((F(15, 100), 0.40), (F(32, 100), 0.52)):
        pure = F(1, 10) * part
        one = mu2_beside((pure,), F(1, 10), F(1, 10**7))
        assert float(epsilon_beside((10 * pure,), 10 * one, TINY)) == pytest.approx(
            wanted, abs=0.005
        )


def test_caps_calibrate_to_all_parts_together():
    parts = CASES["auto up to 24 columns"]
    caps = Caps(pure=sum(parts), gaussian=(1 - sum(parts), TINY), parts=parts)
    assert caps.mu2 == mu2_beside(parts, F(1), TINY)
    assert (caps.epsilon, caps.delta) == (1, TINY)
    lump = Caps(pure=sum(parts), gaussian=(1 - sum(parts), TINY))
    assert mu2_of(1 - sum(parts), TINY) < lump.mu2 < caps.mu2
    for wrong in ((F(1, 2),), (F(1), F(1, 9))):
        with pytest.raises(ValueError, match="add up"):
            Caps(pure=F(1), parts=wrong)
    with pytest.raises(TypeError, match="tuple"):
        Caps(pure=F(1), parts=[F(1)])


PARTS = (F(1, 4), F(3, 4))


def entry(share):
    return Entry("query", share, "laplace", F(1), "", 0.0, share.amount)


def account_with_parts():
    ledger = Ledger(F(2), TINY)
    return ledger, ledger.reserve("test", Caps(pure=F(1), gaussian=(F(1), TINY), parts=PARTS))


def test_shares_know_their_part():
    _, account = account_with_parts()
    assert [account.rest("pure", part).amount for part in (0, 1)] == list(PARTS)
    assert account.rest("pure", 1).split(1, 2)[1].part == 1
    with pytest.raises(IndexError):
        account.rest("pure", 2)
    assert Share("pure", F(1)).part == 0
    with pytest.raises(TypeError, match="part"):
        Share("pure", F(1), part=True)


def test_a_charge_counts_against_its_own_part_alone():
    ledger, account = account_with_parts()
    ledger.charge(account, [entry(account.rest("pure", 1))])
    assert account.spent("pure", 0) == (0, 0)
    assert account.spent("pure", 1) == account.spent("pure") == (F(3, 4), 0)
    ledger.charge(account, [entry(account.rest("pure", 0))])
    assert account.spent("pure") == (1, 0)


def test_no_part_can_be_overdrawn():
    ledger, account = account_with_parts()
    for part, amount in ((0, F(1, 2)), (1, F(4, 5))):
        with pytest.raises(Overspent):
            ledger.charge(account, [entry(Share("pure", amount, account=account, part=part))])
    for part in (-1, 2):
        with pytest.raises(ValueError, match="2 parts"):
            ledger.charge(account, [entry(Share("pure", F(1, 8), account=account, part=part))])
    with pytest.raises(ValueError, match="1 parts of gdp"):
        ledger.charge(account, [entry(Share("gdp", F(1, 10**9), account=account, part=1))])
    assert account.entries == ()


def test_a_search_that_errs_is_not_believed(monkeypatch):
    """The search in floating point is not trusted: what it finds is checked."""
    right = mu2_beside((F(1, 5),), F(1), TINY)
    for wrong in (10.0, 0.0, 1.001 * float(right)):
        monkeypatch.setattr(composition, "_estimate", lambda *_, wrong=wrong: wrong)
        mu2_beside.cache_clear()
        found = mu2_beside((F(1, 5),), F(1), TINY)
        assert slow_delta([0.2], sqrt(found), 1.0) <= 1e-6 * (1 + 1e-9)
        assert found == pytest.approx(right, rel=1e-6)
    mu2_beside.cache_clear()
