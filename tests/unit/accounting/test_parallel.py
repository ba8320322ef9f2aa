"""Parts side by side reserve the largest of what each of them reserves, and never less."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Entry, Ledger, Overspent, Share
from sfumato._accounting.parallel import Parallel, PartLedger

F = Fraction


def parts_of(whole, n=2):
    parallel = Parallel(F(0))
    return [PartLedger(whole, parallel, f"part {i}") for i in range(n)]


def plain(epsilon, delta=0):
    return Caps(approximate=(F(epsilon), F(delta)))


def charge(ledger, account):
    share = account.rest("approximate")
    ledger.charge(account, [Entry("q", share, "m", F(1), "n", 0.0, share.amount)])


def test_parts_cost_as_much_as_the_dearest():
    whole = Ledger(F(3), F(1, 10))
    north, south = parts_of(whole)
    north.reserve("a", plain(1, F(1, 20)))
    assert whole.spent == (1, F(1, 20))
    south.reserve("b", plain(1, F(1, 20)))
    assert whole.spent == (1, F(1, 20))
    south.reserve("c", plain(1))
    assert whole.spent == (2, F(1, 20))
    north.reserve("d", plain(F(1, 2), F(1, 20)))
    assert whole.spent == (2, F(1, 10))
    assert (north.spent, south.spent) == ((F(3, 2), F(1, 10)), (2, F(1, 20)))


def test_every_unit_has_its_own_largest():
    whole = Ledger(F(3), F(1, 2))
    north, south = parts_of(whole)
    north.reserve("much ε", plain(2))
    south.reserve("much δ", plain(F(1, 8), F(1, 4)))
    assert whole.spent == (2, F(1, 4))


def test_two_blocks_add_up():
    whole = Ledger(F(3))
    for ledger in (*parts_of(whole), *parts_of(whole)):
        ledger.reserve("fit", plain(1))
    assert whole.spent == (2, 0)


def test_parts_and_the_whole_add_up():
    whole = Ledger(F(3))
    north, south = parts_of(whole)
    whole.reserve("all rows", plain(2))
    north.reserve("fit", plain(1))
    south.reserve("fit", plain(1))
    with pytest.raises(Overspent):
        whole.reserve("more", plain(F(1, 100)))
    with pytest.raises(Overspent):
        south.reserve("more", plain(F(1, 100)))


def test_what_is_left_for_a_part_is_what_it_can_be_granted():
    whole = Ledger(F(3), F(1, 10))
    north, south = parts_of(whole)
    north.reserve("a", plain(2, F(1, 20)))
    assert (north.left, south.left) == ((1, F(1, 20)), (3, F(1, 10)))
    south.reserve("all", plain(3, F(1, 10)))
    assert (whole.left, south.left, north.left) == ((0, 0), (0, 0), (1, F(1, 20)))


def test_a_refused_part_has_taken_nothing():
    whole = Ledger(F(1))
    north, south = parts_of(whole)
    with pytest.raises(Overspent):
        north.reserve("too much", plain(2))
    assert (whole.spent, north.spent, north.accounts) == ((0, 0), (0, 0), ())
    assert north.left == south.left == (1, 0)


def test_an_account_that_was_not_charged_is_given_back_to_the_parts():
    whole = Ledger(F(2))
    north, south = parts_of(whole)
    north.cancel(north.reserve("idle", plain(1)))
    assert whole.spent == (1, 0)
    assert north.left == south.left == (2, 0)
    south.reserve("fit", plain(1))
    north.reserve("fit", plain(1))
    assert whole.spent == (1, 0)


def test_what_was_charged_is_not_given_back():
    whole = Ledger(F(2))
    (north,) = parts_of(whole, 1)
    account = north.reserve("fit", plain(1))
    charge(north, account)
    north.cancel(account)
    north.reserve("again", plain(1))
    assert (whole.spent, north.left) == ((2, 0), (0, 0))


def test_an_account_is_given_back_once():
    whole = Ledger(F(2))
    north, south = parts_of(whole)
    account = north.reserve("idle", plain(1))
    for _ in range(3):
        north.cancel(account)
    south.cancel(account)
    assert (north.left, south.left) == ((2, 0), (2, 0))


def test_nobody_can_charge_or_cancel_what_the_parts_reserved():
    whole = Ledger(F(2), F(1, 10))
    north, south = parts_of(whole)
    north.reserve("fit", plain(1))
    south.reserve("only δ", plain(1, F(1, 10)))
    for account in whole.accounts:
        for kind in ("pure", "approximate", "gdp"):
            share = Share(kind, F(1, 100), F(0), account)
            with pytest.raises(Overspent):
                whole.charge(account, [Entry("q", share, "m", F(1), "n", 0.0, F(0))])
        whole.cancel(account)
    assert whole.spent == (1, F(1, 10))


def test_a_part_charges_its_own_accounts_alone():
    north, south = parts_of(Ledger(F(2)))
    account = north.reserve("fit", plain(1))
    with pytest.raises(ValueError, match="never granted"):
        charge(south, account)


def test_caps_of_another_class_are_refused():
    class Cheap(Caps):
        epsilon = F(0)

    (north,) = parts_of(Ledger(F(2)), 1)
    with pytest.raises(TypeError, match="opened with Caps"):
        north.reserve("fit", Cheap(pure=F(1)))


def test_parts_of_a_part_cost_as_much_as_the_dearest():
    whole = Ledger(F(3))
    north, south = parts_of(whole)
    young, old = parts_of(north)
    for ledger in (young, old, south):
        ledger.reserve("fit", plain(2))
    assert (whole.spent, north.spent) == ((2, 0), (2, 0))


def test_parts_that_reserve_at_once_reserve_the_largest():
    whole = Ledger(F(100))
    ledgers = parts_of(whole, 4)

    def fits(ledger):
        for i in range(50):
            account = ledger.reserve("fit", plain(1))
            charge(ledger, account) if i % 2 else ledger.cancel(account)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(fits, ledger) for ledger in ledgers * 2]:
            done.result()
    assert all(ledger.spent == (50, 0) for ledger in ledgers)
    # Beside what is charged, as many as two accounts of each part were open and idle.
    assert 50 <= whole.spent[0] <= 52


amounts = st.fractions(0, 2, max_denominator=8)
steps = st.tuples(st.integers(0, 2), amounts, st.sampled_from([F(0), F(1, 64)]), st.booleans())


@given(st.lists(steps, max_size=20))
@example([(0, F(1), F(0), True), (1, F(2), F(0), True), (0, F(1), F(1, 64), True)])
@example([(0, F(2), F(0), False), (1, F(1), F(0), True), (0, F(1), F(0), True)])
@example([(0, F(1), F(0), True), (1, F(1), F(0), True), (1, F(1), F(0), True)])
def test_no_part_ever_holds_more_than_all_have_reserved(steps):
    whole = Ledger(F(8), F(1, 8))
    ledgers = parts_of(whole, 3)
    most = [F(0), F(0)]
    for part, epsilon, delta, charged in steps:
        try:
            account = ledgers[part].reserve("fit", plain(epsilon, delta))
        except Overspent:
            continue
        held = [ledger.spent for ledger in ledgers]
        most = [max(m, *(h[i] for h in held)) for i, m in enumerate(most)]
        assert list(whole.spent) == most
        if not charged:
            ledgers[part].cancel(account)
    assert whole.spent[0] <= 8
