"""What a receipt says of ρ and of finite precision: true of every run, and rounded up."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sfumato import NDLaplace, PrivateKMeans
from sfumato._accounting.budget import Caps, Entry, Ledger, Share
from sfumato._accounting.guarantee import finite_precision_delta, rho_of_accounts
from sfumato._accounting.receipt import Receipt
from sfumato._accounting.text import shown_above
from sfumato.local._mechanisms import Piecewise
from sfumato.local._transformer import LocalReceipt
from sfumato.methods import Auto, Task

F = Fraction
TINY = F(1, 10**6)
RNG = np.random.default_rng(3)


def account_of(caps, *costs):
    """An account that was charged some pure ε."""
    account = Ledger(F(100), F(1, 2)).reserve("test", caps)
    for cost in costs:
        share = Share("pure", cost, account=account)
        account.ledger.charge(
            account, [Entry("counts", share, "laplace", F(1), "± 1", 1e-25, share.amount)]
        )
    return account


def receipt_of(*accounts):
    return Receipt.of(*accounts, method="Test", neighbours="one row", notes=())


def receipt_with(epsilon, slack=1e-25):
    receipt = receipt_of(account_of(Caps(pure=F(epsilon)), F(1, 10)))
    return replace(receipt, slack=slack)


@pytest.mark.parametrize("costs", [(), (F(1, 10),), (F(1, 2), F(1, 2)), (F(1, 4),) * 4])
def test_rho_is_that_of_the_caps_whatever_was_charged(costs):
    assert receipt_of(account_of(Caps(pure=F(1)), *costs)).rho == 0.5


def test_rho_adds_over_currencies_and_accounts():
    gaussian = Caps(pure=F(1, 2), gaussian=(F(1), TINY))
    exact = F(1, 8) + gaussian.mu2 / 2
    rho = receipt_of(account_of(gaussian, F(1, 4))).rho
    assert exact <= F(rho) <= exact * (1 + F(1, 2**50))
    two = [account_of(Caps(pure=F(1, 4))), account_of(Caps(pure=F(3, 4)), F(1, 8))]
    assert receipt_of(*two).rho == 0.3125


def test_rho_is_rounded_up():
    for n in range(1, 60):
        exact = F(n, 3) ** 2 / 2
        rho = rho_of_accounts([account_of(Caps(pure=F(n, 3)))])
        assert exact <= F(rho) <= exact * (1 + F(1, 2**51))


def test_there_is_no_rho_beside_plain_charges_and_beyond_floats():
    plain = account_of(Caps(pure=F(1), approximate=(F(1), TINY)), F(1, 2))
    huge = Ledger(F(10**200)).reserve("test", Caps(pure=F(10**200)))
    for account in (plain, huge):
        receipt = receipt_of(account)
        assert receipt.rho is None
        assert "zero-concentrated" not in str(receipt)
        assert Receipt.from_dict(json.loads(receipt.to_json())) == receipt


DATA = {
    "few": RNG.uniform(size=(12, 2)),
    "none": np.zeros((0, 2)),
    "spread": RNG.uniform(size=(3000, 2)),
    "clumped": np.repeat(RNG.uniform(size=(3, 2)), 1500, axis=0),
}


def test_rho_of_auto_is_the_same_on_all_data_though_its_charges_differ():
    fits = [PrivateKMeans(3, bounds=(0, 1)).fit(rows) for rows in DATA.values()]
    asked = {tuple(line.cost for line in fit.receipt_.lines) for fit in fits}
    assert len(asked) > 1
    assert {fit.receipt_.rho for fit in fits} == {0.5}
    assert "ρ = 0.5." in str(fits[0].receipt_)


def test_rho_of_auto_with_gaussian_steps_is_that_of_its_caps():
    caps = Auto().caps(Task(3, 30, F(1), TINY))
    exact = sum(part**2 for part in caps.parts) / 2 + caps.mu2 / 2
    for n in (5, 60, 2000):
        rows = RNG.uniform(size=(n, 30))
        rho = PrivateKMeans(3, delta=1e-6, bounds=(0, 1)).fit(rows).receipt_.rho
        assert exact <= F(rho) <= exact * (1 + F(1, 2**50))


def test_rho_with_private_bounds_is_that_of_both_accounts():
    fit = PrivateKMeans(3, bounds="private").fit(DATA["spread"])
    assert fit.receipt_.rho == 0.3125


def test_rho_and_chapters_are_saved():
    receipt = receipt_of(account_of(Caps(pure=F(1)), F(1, 2)))
    saved = json.loads(receipt.to_json())
    assert saved["rho_zcdp_cap"] == 0.5
    assert Receipt.from_dict(saved) == receipt
    assert saved["chapters"] == list(receipt.chapters)
    assert "Core queries" in receipt.chapters


def test_finite_precision_adds_one_plus_e_to_epsilon_times_the_distance():
    receipt = receipt_with(1, slack=1e-25)
    assert receipt.finite_precision_delta == pytest.approx((1 + math.e) * 1e-25, rel=1e-9, abs=0)
    assert "Finite precision of the samplers adds at most 3.8e-25 to δ." in str(receipt)
    saved = json.loads(receipt.to_json())
    assert saved["numerical_slack"] == 1e-25
    assert saved["finite_precision_delta"] == receipt.finite_precision_delta


def test_a_large_epsilon_has_no_guarantee_and_says_so():
    receipt = receipt_with(100, slack=1e-25)
    assert receipt.finite_precision_delta == 1
    assert "Finite precision of the samplers leaves no guarantee at this ε" in str(receipt)
    assert "adds at most" not in str(receipt)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 3.7, 20.0, 57.0])
@pytest.mark.parametrize("distance", [2.0**-129, 5e-26, 1e-12])
def test_what_finite_precision_adds_is_rounded_up(epsilon, distance):
    with mpmath.workprec(200):
        exact = (1 + mpmath.exp(mpmath.mpf(epsilon))) * mpmath.mpf(distance)
        stated = mpmath.mpf(finite_precision_delta(epsilon, distance))
        assert stated == 1 if exact >= 1 else exact <= stated <= exact * (1 + 1e-11)


def test_nothing_overflows():
    assert finite_precision_delta(1e308, 2.0**-129) == 1
    assert finite_precision_delta(1e308, 0.0) == 0
    assert finite_precision_delta(0.0, 1.0) == 1


def test_numbers_are_shown_rounded_up():
    assert [shown_above(x, 4) for x in (0.5, 0.50004, 0.15144, 5000.0)] == [
        "0.5",
        "0.5001",
        "0.1515",
        "5000",
    ]
    assert [shown_above(x, 2) for x in (0.0, 1.88e-25, 0.996)] == ["0", "1.9e-25", "1"]


@pytest.mark.parametrize(("epsilon", "told"), [(1.0, "adds at most"), (100.0, "no guarantee")])
def test_local_reports_say_what_finite_precision_adds(epsilon, told):
    receipt = Piecewise(epsilon=epsilon, bounds=(0, 1)).fit(DATA["few"]).receipt_
    added = min(1.0, (1 + math.exp(epsilon)) * receipt.slack)
    assert receipt.finite_precision_delta == pytest.approx(added, rel=1e-9, abs=0)
    assert f"Finite precision of the sampler {told}" in str(receipt).replace("leaves ", "")
    saved = json.loads(receipt.to_json())
    assert saved["finite_precision_delta"] == receipt.finite_precision_delta
    assert LocalReceipt.from_dict(saved) == receipt


@pytest.mark.parametrize(
    ("epsilon", "told"), [(1.0, "between any two rows, and"), (90.0, "no guarantee between")]
)
def test_metric_reports_say_what_finite_precision_adds_by_distance(epsilon, told):
    receipt = NDLaplace(epsilon, bounds=(0, 1)).fit(DATA["few"]).receipt_
    far = epsilon * math.sqrt(2)
    added = min(1.0, (1 + math.exp(far)) * receipt.slack)
    assert receipt.finite_precision_delta == pytest.approx(added, rel=1e-2, abs=0)
    assert told in str(receipt)
    assert f"(1 + exp({epsilon:g}·r))·" in str(receipt)
