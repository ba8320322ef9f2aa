"""A budget that outlives its process: reservations, charges, releases and grants."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato._accounting.budget import Caps, Overspent
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Nearest
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import ReplayedNoise
from sfumato._ledger.books import flaws_in
from sfumato._ledger.durable import open_store
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.store import LedgerError, NotCommitted
from tests.ledger.fits import CAPS, COST, SUMMARY, answer, entry, made
from tests.no_noise import NoNoise

NANO = 10**12


def left(ledger, person=""):
    return ledger.store.balances("people")[person]["epsilon"]


def test_a_dataset_has_one_ledger(url):
    made(url, 10)
    with pytest.raises(LedgerError, match="has a ledger of 'people' already"):
        made(url, 1000)
    assert Ledger.open(url).total == (10 * COST, 0)
    made(url, 20, dataset="others")
    with pytest.raises(LedgerError, match="name a dataset; it has others, people"):
        Ledger.open(url)
    assert Ledger.open(url, "others").total == (20 * COST, 0)
    with pytest.raises(LedgerError, match="no dataset 'nobody'"):
        Ledger.open(url, "nobody")


def test_there_is_no_ledger_before_it_is_created(url):
    with pytest.raises(LedgerError, match="sfumato ledger create makes one"):
        Ledger.open(url)


def test_datasets_do_not_share_a_budget(url):
    first, second = made(url, 1), made(url, 1, dataset="others")
    first.reserve("small", CAPS)
    second.reserve("small", CAPS)
    with pytest.raises(Overspent, match="on people does not cover"):
        first.reserve("small", CAPS)


def test_what_is_reserved_is_spent_for_everybody_and_after_a_restart(url):
    ledger, other = made(url, 3), Ledger.open(url)
    ledger.reserve("small", CAPS)
    other.reserve("small", CAPS)
    assert ledger.spent == other.spent == (2 * COST, 0)
    again = Ledger.open(url)
    assert again.spent == (2 * COST, 0)
    again.reserve("small", CAPS)
    for each in (ledger, other, again):
        with pytest.raises(Overspent, match="Largest affordable ε = 0"):
            each.reserve("small", CAPS)
    assert flaws_in(again.store) == []


def test_a_cost_is_rounded_up_and_a_capacity_down(url):
    ledger = Ledger.create(url, "people", epsilon=1 / 3)
    total = left(ledger)
    assert total <= ledger.total[0] * NANO
    ledger.reserve("small", Caps(pure=Fraction(1, 3 * NANO)))
    assert left(ledger) == total - 1


def test_a_charge_stays_spent_and_its_reservation_is_not_given_back(url):
    ledger = made(url, 1)
    account = ledger.reserve("small", CAPS, request="r")
    ledger.charge(account, [entry(account, 2)])
    ledger.cancel(account)
    assert left(ledger) == 0
    assert ledger.store.events(kind="cancel") == []
    with pytest.raises(LedgerError, match="has no release"):
        Ledger.open(url).recorded("r", "")


def test_a_reservation_without_a_charge_is_given_back_once(url):
    ledger = made(url, 1)
    account = ledger.reserve("small", CAPS, request="r", settings="s")
    assert left(ledger) == 0
    ledger.cancel(account)
    ledger.cancel(account)
    assert left(ledger) == int(COST * NANO)
    with pytest.raises(ValueError, match="cancelled"):
        ledger.charge(account, [entry(account)])
    assert ledger.recorded("r", "s") is None
    assert ledger.reserve("small", CAPS, request="r", settings="s") is not account
    assert flaws_in(ledger.store) == []


def test_a_charge_beyond_the_caps_is_refused_and_not_written(url):
    ledger = made(url, 10)
    account = ledger.reserve("small", CAPS)
    ledger.charge(account, [entry(account, 2)])
    line = entry(account)
    with pytest.raises(Overspent):
        ledger.charge(account, [line, line])
    assert len(ledger.store.events(kind="charge")) == 1


def test_a_request_is_answered_once_and_its_release_comes_back(url):
    ledger = made(url, 10)
    first = answer(ledger, "monday")
    again = Ledger.open(url)
    assert answer(again, "monday") == first
    assert again.spent == (COST, 0)
    with pytest.raises(LedgerError, match="is being answered, or was before"):
        again.reserve("small", CAPS, request="monday", settings="k=2")
    with pytest.raises(LedgerError, match="for another fit"):
        again.recorded("monday", "k=3")
    assert again.recorded("tuesday", "k=2") is None


def test_a_release_is_made_once(url):
    ledger = made(url, 10)
    account = ledger.reserve("small", CAPS, request="r")
    ledger.charge(account, [entry(account)])
    assert ledger.release(account, "one", SUMMARY) == "r"
    with pytest.raises(NotCommitted, match="answered before"):
        ledger.release(account, "two", SUMMARY)
    assert ledger.recorded("r", "") == "one"


def test_requests_of_two_datasets_are_two_requests(url):
    first, second = made(url, 10), made(url, 10, dataset="others")
    assert answer(first, "monday") != answer(second, "monday")


def test_a_grant_is_what_one_person_may_spend(url):
    ledger = made(url, 10)
    ledger.grant("ada", epsilon=float(2 * COST))
    assert (left(ledger), left(ledger, "ada")) == (8 * 10**9, 2 * 10**9)
    assert ledger.spent == (0, 0)
    ada = Ledger.open(url, person="ada", purpose="thesis")
    ada.reserve("small", CAPS)
    ada.reserve("small", CAPS)
    with pytest.raises(Overspent, match=r"ada.*on people does not cover"):
        ada.reserve("small", CAPS)
    assert left(ledger) == 8 * 10**9
    for _ in range(8):
        ledger.reserve("small", CAPS)
    with pytest.raises(Overspent):
        ledger.reserve("small", CAPS)
    with pytest.raises(Overspent, match="a grant to bob"):
        ledger.grant("bob", epsilon=float(COST))
    with pytest.raises(LedgerError, match="bob has no grant"):
        Ledger.open(url, person="bob")
    assert flaws_in(ledger.store) == []


def test_what_a_person_gives_back_is_theirs(url):
    ledger = made(url, 10)
    ledger.grant("ada", epsilon=float(COST))
    ada = Ledger.open(url, person="ada")
    ada.cancel(ada.reserve("small", CAPS))
    assert (left(ledger), left(ledger, "ada")) == (9 * 10**9, 10**9)


def test_parts_side_by_side_cost_as_much_as_the_dearest(url):
    ledger = made(url, 3)
    first, second = ledger.beside(["first", "second"])
    first.reserve("small", CAPS)
    second.reserve("small", CAPS)
    assert ledger.spent[0] == COST
    second.reserve("small", CAPS)
    assert ledger.spent[0] == 2 * COST


def test_what_a_part_could_not_cancel_stays_taken(url, monkeypatch):
    ledger = made(url, 3)
    (part,) = ledger.beside(["part"])
    account = part.reserve("small", CAPS)
    with monkeypatch.context() as patched:
        patched.setattr(ledger.store, "end", refused)
        with pytest.raises(NotCommitted):
            part.cancel(account)
    ledger.store.end("ROLLBACK")
    part.charge(account, [entry(account)])
    part.reserve("small", CAPS)
    assert ledger.spent[0] == 2 * COST
    assert flaws_in(ledger.store) == []


def refused(word):
    raise NotCommitted("the disk is full. Nothing was charged")


class Watched:
    """Rows that look at the ledger, from outside, when they are read."""

    max_rows_per_group = None
    n_features = 2

    def __init__(self, url):
        self.url, self.seen = url, []

    def fold(self, box, kernel):
        self.seen.append([e.kind for e in open_store(self.url).events()][2:])
        return kernel.empty()

    def split(self, box, parts, key):
        raise AssertionError("not asked for")


def test_a_charge_is_on_disk_before_a_row_is_read(url):
    ledger, rows = made(url, 10), Watched(url)
    curator = Curator(rows, bounds=(0, 1), ledger=ledger)
    account = ledger.reserve("small", CAPS)
    cells = Nearest(np.zeros((1, 2), dtype=np.int64))
    curator.counts(cells, share=account.rest("pure"))
    assert rows.seen == [["reserve", "charge"]]
    assert [e.kind for e in ledger.store.events()][2:] == ["reserve", "charge", "answer"]


def test_a_charge_that_cannot_be_written_is_not_read(url, monkeypatch):
    ledger, rows = made(url, 10), Watched(url)
    curator = Curator(rows, bounds=(0, 1), ledger=ledger)
    account = ledger.reserve("small", CAPS)

    monkeypatch.setattr(ledger.store, "end", refused)
    cells = Nearest(np.zeros((1, 2), dtype=np.int64))
    with pytest.raises(NotCommitted):
        curator.counts(cells, share=account.rest("pure"))
    assert rows.seen == []


def test_noise_that_can_be_replayed_is_refused(url):
    rows = np.zeros((3, 1))
    ledger = made(url, 3)
    for noise in (ReplayedNoise(1), NoNoise()):
        with pytest.raises(ValueError, match="needs secret noise"):
            Curator(rows, bounds=(0, 1), ledger=ledger, noise=noise)
        with pytest.raises(ValueError, match="needs secret noise"):
            HistogramCurator(rows, ledger=ledger, noise=noise)
    Curator(rows, bounds=(0, 1), ledger=ledger)


def test_fits_of_another_unit_are_refused(url):
    """What protects a row and what protects a person do not add up."""
    rows, people = np.zeros((3, 1)), ["a", "a", "b"]
    ledger = made(url, 3)
    with pytest.raises(ValueError, match="protects one row"):
        Curator(rows, bounds=(0, 1), ledger=ledger, groups=people, max_rows_per_group=2)
    other = Ledger.create(url, "groups", epsilon=1, max_rows_per_group=2)
    with pytest.raises(ValueError, match="one group of at most 2 rows"):
        Curator(rows, bounds=(0, 1), ledger=other)
    Curator(rows, bounds=(0, 1), ledger=other, groups=people, max_rows_per_group=2)
