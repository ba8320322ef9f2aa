"""Shares, accounts and ledgers never create budget, and say clearly what is left."""

from fractions import Fraction
from threading import Barrier, Thread

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sfumato._accounting.budget import Caps, Entry, Ledger, Overspent, Share

F = Fraction
positive = st.fractions(F(1, 10**6), 100)
weights = st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=30)


def entry(share):
    return Entry("a query", share, "laplace", F(1), "± 1 rows", 0.0, share.amount)


def charge(account, *amounts, kind="pure"):
    """Charge an account at its own ledger for one query of several parts."""
    entries = [entry(Share(kind, amount, account=account)) for amount in amounts]
    return account.ledger.charge(account, entries)


@given(positive, st.fractions(0, F(1, 2)), weights)
@example(F(1), F(1, 3), [0.1, 0.2, 0.7])
@example(F(1, 10**6), F(0), [1e-9, 1e9, 3.0])
@example(F(100), F(1, 7), [1.0] * 30)
def test_split_parts_sum_exactly_to_the_whole(amount, delta, parts):
    shares = Share("approximate", amount, delta).split(*parts)
    assert sum(s.amount for s in shares) == amount
    assert sum(s.delta for s in shares) == delta


@pytest.mark.parametrize("bad", [(), (0,), (1, -1), (float("nan"),), (float("inf"), 1)])
def test_split_refuses_weights_that_are_not_positive(bad):
    with pytest.raises(ValueError, match="weights"):
        Share("pure", F(1)).split(*bad)


def test_caps_add_up_and_are_checked():
    caps = Caps(pure=F(1, 2), gaussian=(F(1, 4), F(1, 10**6)), approximate=(F(1, 4), F(1, 10**7)))
    assert caps.epsilon == 1
    assert caps.delta == F(11, 10**7)
    for bad in ({"pure": F(-1)}, {"gaussian": (F(1), F(0))}, {"gaussian": (F(0), F(1, 10))}):
        with pytest.raises(ValueError, match=r"δ|negative"):
            Caps(**bad)
    with pytest.raises(TypeError, match="metric"):
        caps.of("metric")


def test_a_ledger_grants_to_the_last_crumb_and_not_beyond():
    ledger = Ledger(F(3, 10))
    for _ in range(3):
        ledger.reserve("fit", Caps(pure=F(1, 10)))
    with pytest.raises(Overspent, match=r"total \(0.3, 0\), spent \(0.3, 0\), asked \(1e-09, 0\)"):
        ledger.reserve("fit", Caps(pure=F(1, 10**9)))
    assert ledger.left == (0, 0)


def test_overspent_names_total_spent_asked_and_affordable():
    ledger = Ledger(F(1), F(1, 10**6))
    account = ledger.reserve("fit", Caps(pure=F(1)))
    charge(account, F(3, 4))
    with pytest.raises(Overspent) as error:
        charge(account, F(1, 2))
    for part in ("total 1", "spent 0.75", "asked 0.5", "largest affordable 0.25", "a query"):
        assert part in str(error.value)


def test_delta_is_checked_on_its_own():
    ledger = Ledger(F(10), F(1, 10**6))
    with pytest.raises(Overspent):
        ledger.reserve("fit", Caps(gaussian=(F(1), F(2, 10**6))))


def test_each_currency_has_its_own_cap():
    account = Ledger(F(2), F(1, 10**6)).reserve(
        "fit", Caps(pure=F(1), gaussian=(F(1), F(1, 10**6)))
    )
    mu2 = account.rest("gdp")
    account.ledger.charge(account, [entry(account.rest("pure")), entry(mu2)])
    for kind in ("pure", "gdp", "approximate"):
        assert account.rest(kind).amount == 0
        with pytest.raises(Overspent):
            charge(account, F(1, 10**12), kind=kind)
    assert account.spent("gdp") == (mu2.amount, 0)


def test_charges_of_one_query_are_all_or_none():
    account = Ledger(F(1)).reserve("fit", Caps(pure=F(1)))
    with pytest.raises(Overspent):
        charge(account, F(2, 3), F(2, 3))
    assert account.entries == ()


def test_only_an_account_without_a_charge_is_taken_back():
    ledger = Ledger(F(1))
    unused, used = ledger.reserve("a", Caps(pure=F(1, 2))), ledger.reserve("b", Caps(pure=F(1, 2)))
    charge(used, F(1, 100))
    for account in (unused, used, unused):
        ledger.cancel(account)
    assert ledger.accounts == (used,)
    assert ledger.left == (F(1, 2), 0)


@pytest.mark.parametrize("amount", [F(0), F(-1)])
def test_a_free_query_is_refused(amount):
    account = Ledger(F(1)).reserve("fit", Caps(pure=F(1)))
    with pytest.raises(ValueError, match="above 0"):
        charge(account, amount)


def test_a_release_is_noted_and_a_charge_without_one_stays():
    account = Ledger(F(1)).reserve("fit", Caps(pure=F(1)))
    first = charge(account, F(1, 4))
    charge(account, F(1, 4))
    account.ledger.record(account, first)
    assert [e.released for e in account.entries] == [True, False]
    assert account.spent("pure") == (F(1, 2), 0)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (1, 1), (1, -1)])
def test_ledgers_without_a_budget_are_refused(epsilon, delta):
    with pytest.raises(ValueError, match="a ledger needs"):
        Ledger(F(epsilon), F(delta))


def test_threads_cannot_overspend():
    account = Ledger(F(1)).reserve("fit", Caps(pure=F(1)))
    start, granted = Barrier(16), []

    def ask():
        start.wait()
        for _ in range(50):
            try:
                charge(account, F(1, 100))
                granted.append(1)
            except Overspent:
                pass

    threads = [Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 100
    assert account.spent("pure") == (1, 0)


class LedgerLife(RuleBasedStateMachine):
    """Whatever is opened, charged and refused, no cap is ever passed."""

    def __init__(self):
        super().__init__()
        self.ledger = Ledger(F(2), F(1, 10**5))
        self.entries = 0

    @rule(pure=positive, gaussian=st.booleans())
    def open(self, pure, gaussian):
        caps = Caps(pure=pure, gaussian=(F(1, 10), F(1, 10**6)) if gaussian else (F(0), F(0)))
        try:
            self.ledger.reserve("fit", caps)
        except Overspent:
            epsilon, delta = self.ledger.left
            assert caps.epsilon > epsilon or caps.delta > delta

    @precondition(lambda self: self.ledger.accounts)
    @rule(data=st.data(), kind=st.sampled_from(["pure", "gdp"]), part=st.fractions(F(1, 9), 2))
    def charge(self, data, kind, part):
        account = data.draw(st.sampled_from(self.ledger.accounts))
        rest = account.rest(kind)
        try:
            charge(account, rest.amount * part, kind=kind)
            self.entries += 1
            assert part <= 1
        except Overspent:
            assert part > 1
        except ValueError:
            assert rest.amount == 0

    @invariant()
    def nothing_is_overspent(self):
        assert all(s <= t for s, t in zip(self.ledger.spent, self.ledger.total, strict=True))
        for account in self.ledger.accounts:
            for kind in ("pure", "gdp"):
                assert account.spent(kind)[0] <= account.caps.of(kind)[0]
        assert sum(len(a.entries) for a in self.ledger.accounts) == self.entries


TestLedgerLife = LedgerLife.TestCase
TestLedgerLife.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
