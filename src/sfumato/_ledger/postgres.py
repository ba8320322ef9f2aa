"""A ledger in PostgreSQL, for people who share a budget across machines.

The server keeps it safe: a commit returns when it is on the server's disk, and the server's backups
are where an older copy could come from.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sfumato._base import extra
from sfumato._ledger import store as rules
from sfumato._ledger.store import LedgerError, NotCommitted, Store

try:
    import psycopg
except ImportError:
    raise ImportError(f"a ledger in PostgreSQL needs psycopg: {extra('postgres')}") from None

_REFUSE = (
    "CREATE FUNCTION sfumato.append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$"
)
_ADD = (
    "CREATE FUNCTION sfumato.added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"{rules.ADDED.format(schema='sfumato.')} RETURN NULL; END $$"
)
_OPEN = (
    "CREATE FUNCTION sfumato.still_open() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF {rules.CLOSED.format(event='sfumato.event')} THEN "
    f"RAISE EXCEPTION '{rules.CLOSED_MESSAGE}'; END IF; RETURN NEW; END $$"
)

SCHEMA = (
    "CREATE SCHEMA IF NOT EXISTS sfumato",
    "CREATE TABLE sfumato.event (seq BIGINT PRIMARY KEY, kind TEXT NOT NULL, "
    "dataset TEXT NOT NULL, parent BIGINT, request TEXT, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE INDEX event_dataset ON sfumato.event (dataset, kind)",
    "CREATE INDEX event_parent ON sfumato.event (parent)",
    "CREATE INDEX event_request ON sfumato.event (request, dataset, kind)",
    "CREATE TABLE sfumato.movement (seq BIGINT NOT NULL, dataset TEXT NOT NULL, "
    "person TEXT NOT NULL, unit TEXT NOT NULL, amount BIGINT NOT NULL)",
    "CREATE TABLE sfumato.balance (dataset TEXT NOT NULL, person TEXT NOT NULL, "
    "unit TEXT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (dataset, person, unit), "
    f"{rules.COVERED})",
    "CREATE TABLE sfumato.release (digest TEXT PRIMARY KEY, text TEXT NOT NULL)",
    _REFUSE,
    _ADD,
    _OPEN,
    *(
        f"CREATE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON sfumato.{table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION sfumato.append_only()"
        for table in ("event", "movement", "release")
    ),
    "CREATE TRIGGER movement_added AFTER INSERT ON sfumato.movement "
    "FOR EACH ROW EXECUTE FUNCTION sfumato.added()",
    "CREATE TRIGGER event_open BEFORE INSERT ON sfumato.event "
    "FOR EACH ROW EXECUTE FUNCTION sfumato.still_open()",
)

# One number for all ledgers of a database: transactions with this lock never overlap.
_LOCK = 0x5F0_0A70


class PostgresStore(Store):
    """The events in the schema `sfumato` of one database."""

    _connection: psycopg.Connection[tuple[Any, ...]] | None = None
    _process = 0
    _begun = False

    def __init__(self, url: str, *, create: bool = False) -> None:
        super().__init__(url)
        self._connect()
        if create:
            self.initialise(SCHEMA)
        if not self.has_tables():
            raise LedgerError(f"{_shown(url)} has no ledger: sfumato ledger create makes one")
        self.check_format()

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        # A connection must not be used, nor closed, in a process that was forked off.
        self._inherited, self._process = self._connection, os.getpid()
        try:
            connection = psycopg.connect(self.url, autocommit=True)
            self._connection = connection
            connection.execute("SET search_path TO sfumato")
            connection.execute("SET synchronous_commit TO on")
            synced = connection.execute("SHOW fsync").fetchone()
        except psycopg.Error as error:
            raise LedgerError(f"{_shown(self.url)} cannot be opened: {error}") from None
        if synced != ("on",):
            raise LedgerError(
                f"{_shown(self.url)} does not wait for its disk (fsync = off): charges could be "
                "lost. Set fsync = on"
            )
        return connection

    def _ready(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The connection of this process; another one if it was lost between transactions."""
        connection = self._connection
        if connection is None or self._process != os.getpid():
            return self._connect()
        return self._connect() if connection.closed and not self._begun else connection

    def has_tables(self) -> bool:
        """Whether the tables of a ledger are there."""
        return self.execute("SELECT to_regclass('sfumato.movement')") != [(None,)]

    def note(self, seq: int, hash_: str) -> None:
        """Keep no mark: it would have to be on another server."""

    def close(self) -> None:
        """Close the connection; the next transaction opens another."""
        if self._connection and self._process == os.getpid():
            self._connection.close()

    def leave(self) -> None:
        """Keep the connection: a process that is forked off makes one of its own."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with a ? for each value; returns its rows."""
        connection = self._ready()
        try:
            cursor = connection.execute(statement.replace("?", "%s").encode(), values or None)
            if statement == "COMMIT" and cursor.statusmessage != "COMMIT":
                raise NotCommitted(f"{_shown(self.url)} did not commit. Nothing was charged")
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            told = "Nothing was charged"
            if statement == "COMMIT" and connection.closed:
                told = "It is not known whether this was written; if it was, it stays spent"
            raise NotCommitted(f"{_shown(self.url)}: {str(error).strip()}. {told}") from None

    def begin(self, *, alone: bool = True) -> None:
        """Begin a transaction that no other may overlap, or one that reads a single state."""
        # With another level, what is read would be older than the lock.
        level = "READ COMMITTED READ WRITE" if alone else "REPEATABLE READ READ ONLY"
        self.execute(f"BEGIN ISOLATION LEVEL {level}")
        self._begun = True
        if alone:
            self.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))

    def end(self, word: str) -> None:
        """COMMIT, which returns when all is on disk, or ROLLBACK."""
        if word == "COMMIT":
            self.execute(word)
        begun, self._begun = self._begun, False
        if word == "ROLLBACK" and begun and self._connection and not self._connection.closed:
            self.execute(word)


def _shown(url: str) -> str:
    """The address without a password."""
    before, at, after = url.rpartition("@")
    scheme, slashes, user = before.partition("://")
    return f"{scheme}{slashes}{user.partition(':')[0]}{at}{after}" if at else url
