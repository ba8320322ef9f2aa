"""A ledger in PostgreSQL: what differs from a file."""

import psycopg
import pytest

from sfumato._ledger.books import flaws_in
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.postgres import PostgresStore, _shown
from sfumato._ledger.store import LedgerError, NotCommitted
from tests.ledger.fits import CAPS, COST, answer, made
from tests.ledger.places import new_database

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.fixture
def url():
    return new_database()


def administer(url, *statements):
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def test_a_password_is_not_shown():
    assert _shown("postgresql://ada:secret@host:5/db") == "postgresql://ada@host:5/db"
    assert _shown("postgresql://ada@host/db") == "postgresql://ada@host/db"
    assert _shown("postgresql:///db") == "postgresql:///db"


def test_a_server_that_is_not_there_is_told():
    with pytest.raises(LedgerError, match=r"ada@localhost.*cannot be opened") as caught:
        PostgresStore("postgresql://ada:secret@localhost:1/db")
    assert "secret" not in str(caught.value)


def test_a_server_that_does_not_sync_is_refused(url):
    made(url, 10)
    wait = ("SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)")
    administer(url, "ALTER SYSTEM SET fsync = off", *wait)
    try:
        with pytest.raises(LedgerError, match="fsync = off"):
            Ledger.open(url)
    finally:
        administer(url, "ALTER SYSTEM RESET fsync", *wait)


def test_a_commit_waits_for_the_disk_whatever_the_database_says(url):
    made(url, 10)
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    administer(url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    assert Ledger.open(url).store.execute("SHOW synchronous_commit") == [("on",)]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_what_is_read_is_not_older_than_the_lock(url, level):
    """With another level by default, a process that waited would see the budget of before."""
    made(url, 10)
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    administer(url, f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    store = Ledger.open(url).store
    with store.transaction():
        assert store.execute("SHOW transaction_isolation") == [("read committed",)]


def test_a_lost_connection_is_told_and_made_anew(url):
    ledger = made(url, 10)
    administer(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    with pytest.raises(NotCommitted, match="Nothing was charged"):
        ledger.reserve("small", CAPS)
    assert answer(ledger, "monday")
    assert ledger.spent == (COST, 0)
    assert flaws_in(ledger.store) == []


def test_a_commit_of_unknown_fate_is_told(url, monkeypatch):
    """The connection is lost after the server was told to commit."""
    ledger = made(url, 10)
    connection = ledger.store._connection

    class Lost:
        closed = True

        def execute(self, statement, values=None):
            result = connection.execute(statement, values)
            if statement == b"COMMIT":
                raise psycopg.OperationalError("lost")
            return result

    lost = Lost()
    lost.closed = False
    begin = ledger.store.begin

    def begun(**named):
        monkeypatch.setattr(ledger.store, "_connection", lost)
        begin(**named)
        lost.closed = True

    monkeypatch.setattr(ledger.store, "begin", begun)
    with pytest.raises(NotCommitted, match=r"not known whether.*stays spent"):
        ledger.reserve("small", CAPS)
    connection.close()
    assert Ledger.open(url).spent == (COST, 0)


def test_a_transaction_that_failed_is_not_taken_for_committed(url):
    """PostgreSQL answers COMMIT with ROLLBACK, and no error, where a statement failed before."""
    ledger = made(url, 10)

    def hidden():
        with ledger.store.transaction():
            try:
                ledger.store.execute("SELECT nothing")
            except NotCommitted:
                pass

    with pytest.raises(NotCommitted, match="did not commit"):
        hidden()


def test_a_ledger_is_beside_the_tables_of_others(url):
    administer(url, "CREATE TABLE event (a int)", "CREATE TABLE movement (a int)")
    ledger = made(url, 10)
    answer(ledger, "monday")
    assert flaws_in(ledger.store) == []
