"""Events, movements and releases in SQLite and in PostgreSQL: append-only, chained, covered."""

import json
import threading

import pytest

from sfumato._ledger.durable import open_store
from sfumato._ledger.store import LedgerError, NotCommitted, canonical, chained, verified
from tests.ledger.fits import CAPS, answer, entry, made
from tests.ledger.places import tamper

TABLES = ("event", "movement", "release")


@pytest.fixture
def ledger(url):
    """A ledger with one fit that was answered."""
    made_ledger = made(url, 10)
    answer(made_ledger, "first")
    return made_ledger


def test_events_are_numbered_chained_and_found_by_their_columns(ledger):
    events = ledger.store.events()
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert [e.kind for e in events][:3] == ["store", "create", "reserve"]
    assert [e.kind for e in events][3:] == ["charge", "answer"] * 2 + ["release"]
    assert ledger.store.events(kind="charge", parent=3) == [events[3], events[5]]
    assert ledger.store.events(request="first") == [events[2]]
    assert ledger.store.events(dataset="other") == []
    previous = ""
    for event in events:
        assert event.hash == chained(previous, canonical(event.body))
        previous = event.hash
    assert verified(ledger.store) == []


def test_the_hash_of_an_event_covers_the_one_before_it():
    assert chained("a", "{}") != chained("b", "{}")
    assert chained("a", "{}") != chained("a", "[]")


def test_a_transaction_is_all_or_nothing(ledger, url):
    before = ledger.store.events()

    def both():
        with ledger.store.transaction() as change:
            change.append("grant", {}, dataset="people", movements=[("", "epsilon", 5)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        both()
    assert ledger.store.events() == before == open_store(url).events()
    assert ledger.store.balances("people") == {"": {"epsilon": 9 * 10**9}}


def test_two_events_of_one_transaction_are_chained(ledger):
    with ledger.store.transaction() as change:
        first = change.append("note", {}, movements=[("", "epsilon", 5)])
        assert change.append("note", {}, movements=[("", "epsilon", 5)]) == first + 1
    assert verified(ledger.store) == []


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET {} = {}", "DELETE FROM {}"], ids=["update", "delete"]
)
def test_what_was_written_stays(ledger, table, statement):
    column = {"event": "seq", "movement": "seq", "release": "digest"}[table]
    with pytest.raises(NotCommitted, match="append-only"):
        ledger.store.execute(statement.format(table, column, column))
    assert verified(ledger.store) == []


@pytest.mark.parametrize("person", ["", "ada"], ids=["nobody", "ada"])
def test_the_database_itself_refuses_what_a_balance_does_not_cover(ledger, person):
    def take(amount):
        with ledger.store.transaction() as change:
            moved = [(person, "epsilon", -amount)]
            change.append("reserve", {"request": "r"}, dataset="people", movements=moved)

    left = ledger.store.balances("people").get(person, {}).get("epsilon", 0)
    with pytest.raises(NotCommitted, match="the budget does not cover this"):
        take(left + 1)
    assert ledger.store.events(request="r") == []
    take(left)
    assert ledger.store.balances("people")[person]["epsilon"] == 0
    assert verified(ledger.store) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cancel", "charge"),
        ("cancel", "release"),
        ("cancel", "cancel"),
        ("charge", "cancel"),
        ("release", "release"),
    ],
)
def test_the_database_itself_refuses_events_of_a_closed_reservation(ledger, before, after):
    with ledger.store.transaction() as change:
        parent = change.append("reserve", {"request": "r"}, dataset="people")
        change.append(before, {}, dataset="people", parent=parent)

    def follow():
        with ledger.store.transaction() as change:
            change.append(after, {}, dataset="people", parent=parent)

    with pytest.raises(NotCommitted, match="cancelled, charged or answered before"):
        follow()


# Each with a word of the sentence that tells of it.
TAMPERED = {
    "a changed body": ("UPDATE event SET body = replace(body, '/1', '/9') WHERE seq = 3", "hash"),
    "a body that is no JSON": ("UPDATE event SET body = 'x' WHERE seq = 4", "hash"),
    "a changed hash": ("UPDATE event SET hash = 'x' WHERE seq = 8", "hash"),
    "a deleted event": ("DELETE FROM event WHERE seq = 4", "event 4 is missing"),
    "another dataset": ("UPDATE event SET dataset = 'other' WHERE seq = 4", "filed under"),
    "another request": ("UPDATE event SET request = 'other' WHERE seq = 3", "filed under"),
    "another reservation": ("UPDATE event SET parent = 2 WHERE seq = 4", "filed under"),
    "a smaller movement": ("UPDATE movement SET amount = -1 WHERE seq = 3", "movements"),
    "a movement of somebody else": ("UPDATE movement SET person = 'x' WHERE seq = 3", "movements"),
    "a movement of another event": ("UPDATE movement SET seq = 4 WHERE seq = 3", "movements"),
    "a deleted movement": ("DELETE FROM movement WHERE seq = 3", "movements"),
    "a movement more": (
        "INSERT INTO movement VALUES (99, 'people', '', 'epsilon', 1000)",
        "moved by no event",
    ),
    "a balance of more": ("UPDATE balance SET amount = amount + 1", "not what the movements"),
    "a balance of nobody": ("INSERT INTO balance VALUES ('p', 'x', 'u', 1)", "without movements"),
    "a changed release": ("UPDATE release SET text = 'x'", "released text"),
    "a deleted release": ("DELETE FROM release", "released text"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TAMPERED)
def test_tampering_is_found(ledger, url, kind):
    statement, word = TAMPERED[kind]
    assert verified(ledger.store) == []
    tamper(url, statement)
    assert any(word in flaw.what for flaw in verified(ledger.store))


def test_a_table_that_was_rewritten_without_an_event_is_found(ledger, url):
    """All later events numbered anew, and their hashes computed anew: bodies tell their number."""
    tamper(
        url,
        "CREATE TABLE copy AS SELECT * FROM event WHERE seq <> 4",
        "DELETE FROM event",
        "INSERT INTO event SELECT CASE WHEN seq > 4 THEN seq - 1 ELSE seq END, kind, dataset, "
        "parent, request, body, hash FROM copy",
    )
    previous = ""
    for seq, text in ledger.store.execute("SELECT seq, body FROM event ORDER BY seq"):
        previous = chained(previous, text)
        tamper(url, f"UPDATE event SET hash = '{previous}' WHERE seq = {seq}")
    assert any("filed under another number" in flaw.what for flaw in verified(ledger.store))


def test_more_taken_than_there_was_is_found(ledger, url):
    """Somebody who computes hashes anew can write any event; balances still have to add up."""
    *_, last = ledger.store.events()
    moved = [["", "epsilon", -(10**15)]]
    body = {**last.body, "seq": last.seq + 1, "kind": "reserve", "moved": moved, "request": "r"}
    text = canonical({**body, "parent": None})
    hash_ = chained(last.hash, text)
    tamper(
        url,
        f"INSERT INTO event VALUES ({last.seq + 1}, 'reserve', 'people', NULL, 'r', '{text}', "
        f"'{hash_}')",
        f"INSERT INTO movement VALUES ({last.seq + 1}, 'people', '', 'epsilon', {-(10**15)})",
    )
    assert any("than there was" in flaw.what for flaw in verified(ledger.store))


def test_readers_beside_writers_find_nothing_wrong(ledger, url):
    """All tables are read in one state; otherwise an event could seem to lack its movements."""
    stop, failed = threading.Event(), []

    def write():
        other = open_store(url)
        while not stop.is_set():
            with other.transaction() as change:
                change.append("note", {}, dataset="d", movements=[("", "epsilon", 1)])

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(40):
        failed += verified(ledger.store)
    stop.set()
    thread.join()
    assert failed == []


def test_threads_share_a_store(ledger, url):
    """A transaction of one thread is not seen, nor joined, by another."""

    def work(name):
        for i in range(10):
            answer(ledger, f"{name} {i % 3}")

    ledger = made(url, 100, dataset="many")
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.store.events(dataset="many", kind="release")) == 12
    assert verified(ledger.store) == []


def test_a_damaged_event_is_told(ledger, url):
    tamper(url, "UPDATE event SET body = 'x' WHERE seq = 4")
    with pytest.raises(LedgerError, match="event 4 is damaged"):
        ledger.store.events()


def test_a_store_of_a_later_version_is_refused(ledger, url):
    body = {**ledger.store.events()[0].body, "format": 2}
    tamper(url, f"UPDATE event SET body = '{json.dumps(body)}' WHERE seq = 1")
    with pytest.raises(LedgerError, match="later version"):
        open_store(url)


def test_a_release_that_is_not_there_is_told(ledger):
    with pytest.raises(LedgerError, match="no release with the digest"):
        ledger.store.text("nothing")


def test_the_same_text_can_be_released_twice(ledger):
    for request in ("a", "b"):
        account = ledger.reserve("small", CAPS, request=request)
        ledger.charge(account, [entry(account)])
        ledger.release(account, "same", {})
    assert ledger.recorded("a", "") == ledger.recorded("b", "") == "same"
    assert verified(ledger.store) == []
