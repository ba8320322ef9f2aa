"""What a ledger tells, and what is wrong with it."""

import pytest

from sfumato._ledger.books import (
    datasets_in,
    exported,
    flaws_in,
    history,
    overview,
    released_text,
    releases_in,
)
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.store import LedgerError
from tests.ledger.fits import CAPS, COST, answer, entry, made


@pytest.fixture
def ledger(url):
    """One fit that was answered, one charged, one cancelled, one reserved; and a grant."""
    made_ledger = made(url, 10)
    made_ledger.grant("ada", epsilon=float(2 * COST))
    answer(made_ledger, "answered")
    account = made_ledger.reserve("small", CAPS, request="charged")
    made_ledger.charge(account, [entry(account)])
    made_ledger.cancel(made_ledger.reserve("small", CAPS, request="cancelled"))
    ada = Ledger.open(url, person="ada", purpose="thesis")
    ada.reserve("small", CAPS, request="reserved")
    return made_ledger


def test_an_overview_adds_up(ledger):
    shown = overview(ledger.store, "people")
    assert shown["spent"]["epsilon"] == pytest.approx(3 * float(COST))
    assert shown["left"] == {"epsilon": pytest.approx(6 * float(COST))}
    assert shown["grants"]["ada"]["granted"] == {"epsilon": pytest.approx(2 * float(COST))}
    assert shown["grants"]["ada"]["left"] == {"epsilon": pytest.approx(float(COST))}
    assert [line["request"] for line in shown["without_release"]] == ["charged", "reserved"]
    assert datasets_in(ledger.store) == ["people"]


def test_history_says_what_became_of_each_fit(ledger):
    lines = {line["request"]: line for line in history(ledger.store) if line["kind"] == "fit"}
    assert {request: line["state"] for request, line in lines.items()} == {
        "answered": "released",
        "charged": "charged, no release",
        "cancelled": "cancelled, not charged",
        "reserved": "reserved, no release",
    }
    assert (lines["reserved"]["person"], lines["reserved"]["purpose"]) == ("ada", "thesis")
    assert lines["answered"]["queries"] == 2


def test_a_release_is_found_by_its_request_and_by_its_digest(ledger):
    (line,) = releases_in(ledger.store)
    text = ledger.recorded("answered", "k=2")
    assert line["request"] == "answered"
    assert released_text(ledger.store, "answered") == text
    assert released_text(ledger.store, line["digest"][:12]) == text
    with pytest.raises(LedgerError, match="no release 'charged'"):
        released_text(ledger.store, "charged")


def test_an_export_has_every_event(ledger):
    shown = exported(ledger.store)
    assert [e["seq"] for e in shown["events"]] == list(range(1, len(shown["events"]) + 1))
    assert list(shown["releases"].values()) == [ledger.recorded("answered", "k=2")]


def test_a_charge_beyond_its_reservation_is_found(ledger):
    assert flaws_in(ledger.store) == []
    (reserved,) = ledger.store.events(request="charged")
    (charge,) = ledger.store.events(parent=reserved.seq, kind="charge")
    with ledger.store.transaction() as change:
        body = {"queries": charge.body["queries"]}
        change.append("charge", body, dataset="people", parent=reserved.seq)
    assert "more than was reserved" in flaws_in(ledger.store)[0].what


@pytest.mark.parametrize("kind", ["charge", "answer", "release"])
def test_an_event_without_a_reservation_is_found(ledger, kind):
    with ledger.store.transaction() as change:
        body = {"queries": [], "digest": change.keep("x")}
        change.append(kind, body, dataset="people", parent=1)
    assert any("no reservation" in flaw.what for flaw in flaws_in(ledger.store))
