"""The events of a ledger: an append-only table under a hash chain, in any SQL database.

Budget is moved between balances, as in double-entry bookkeeping: a balance belongs to a dataset, a
person ("" is what was given to nobody) and a unit, and is a whole number that never falls below 0.
Creating a dataset fills balances, a grant moves from one to another, and a reservation takes away.
Every change is one transaction that no other overlaps, and one event. The hash of an event covers
the one before it, so that a change of any event changes all hashes after it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn
from weakref import WeakSet

FORMAT = 1

Body = dict[str, Any]
"""An event as it is stored: plain values, whole numbers and fractions written as text."""

Movement = tuple[str, str, int]
"""Person, unit, and what is added to that balance."""


class LedgerError(RuntimeError):
    """A ledger cannot be opened, read or written."""


class NotCommitted(LedgerError):  # noqa: N818  (what it tells is that nothing happened)
    """A change could not be written. Nothing was charged by it."""


@dataclass(frozen=True)
class Event:
    """One line of the ledger. `parent` is the reservation that it belongs to, if any."""

    seq: int
    kind: str
    dataset: str
    parent: int | None
    request: str | None
    body: Body
    hash: str

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Event:
        """Read one row of the table."""
        seq, kind, dataset, parent, request, text, hash_ = row
        return cls(seq, kind, dataset, parent, request, _body_of(seq, text), hash_)


class _Stated(Body):
    """What an event states; what it should and does not was changed in the file."""

    seq = 0

    def __missing__(self, name: str) -> NoReturn:
        raise LedgerError(_damaged(self.seq))


def _body_of(seq: int, text: str) -> _Stated:
    try:
        body = _Stated(json.loads(text))
    except (TypeError, ValueError, RecursionError):
        raise LedgerError(_damaged(seq)) from None
    body.seq = seq
    return body


def _damaged(seq: int) -> str:
    return f"event {seq} is damaged: sfumato ledger verify tells more"


_COLUMNS = "seq, kind, dataset, parent, request, body, hash"

# Balances are what movements add up to, and the database itself keeps them from falling below 0.
COVERED = 'CONSTRAINT "the budget does not cover this" CHECK (amount >= 0)'
ADDED = (
    "INSERT INTO {schema}balance VALUES (NEW.dataset, NEW.person, NEW.unit, 0) "
    "ON CONFLICT DO NOTHING; "
    "UPDATE {schema}balance SET amount = amount + NEW.amount WHERE dataset = NEW.dataset "
    "AND person = NEW.person AND unit = NEW.unit;"
)

# What an event must not follow, in SQL: nothing comes after a cancelled reservation, a charge is
# never cancelled, and a request has one release. A process may know less of a reservation than the
# store does, if another one was forked off after it was made.
CLOSED = (
    "EXISTS (SELECT 1 FROM {event} e WHERE e.parent = NEW.parent AND (e.kind = 'cancel' "
    "OR (e.kind = 'charge' AND NEW.kind = 'cancel') "
    "OR (e.kind = 'release' AND NEW.kind = 'release')))"
)
CLOSED_MESSAGE = "this reservation was cancelled, charged or answered before"


def canonical(body: Body) -> str:
    """A body as the text that is hashed."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def chained(previous: str, text: str) -> str:
    """The hash of an event, given that of the one before."""
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def digest_of(text: str) -> str:
    """The name under which a released text is kept."""
    return hashlib.sha256(text.encode()).hexdigest()


class Store(ABC):
    """One database with the ledgers of any number of datasets."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.lock = threading.RLock()
        _STORES.add(self)

    @abstractmethod
    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with a ? for each value; returns its rows."""

    @abstractmethod
    def begin(self, *, alone: bool = True) -> None:
        """Begin a transaction that no other may overlap, or one that reads a single state."""

    @abstractmethod
    def end(self, word: str) -> None:
        """COMMIT, which returns when all is on disk, or ROLLBACK."""

    @abstractmethod
    def has_tables(self) -> bool:
        """Whether the tables of a ledger are there."""

    @abstractmethod
    def note(self, seq: int, hash_: str) -> None:
        """Note an event that is on disk for certain, if the store keeps such a mark."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection to the database."""

    def __del__(self) -> None:
        self.close()

    @abstractmethod
    def leave(self) -> None:
        """Let go of what a process that is forked off must not share."""

    @contextmanager
    def transaction(self, *, alone: bool = True) -> Iterator[Transaction]:
        """Change the ledger: all that is appended in the block, or nothing."""
        with self.lock:
            try:
                self.begin(alone=alone)
                yield Transaction(self)
                self.end("COMMIT")
            except BaseException:
                self.end("ROLLBACK")
                raise

    def events(
        self,
        *,
        dataset: str | None = None,
        kind: str | None = None,
        parent: int | None = None,
        request: str | None = None,
    ) -> list[Event]:
        """The events whose columns have these values, in order; None stands for any value."""
        wanted = {"dataset": dataset, "kind": kind, "parent": parent, "request": request}
        given = {column: value for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given) or "1 = 1"
        with self.lock:
            rows = self.execute(
                f"SELECT {_COLUMNS} FROM event WHERE {where} ORDER BY seq",
                tuple(given.values()),
            )
        return [Event.of(row) for row in rows]

    def balances(self, dataset: str) -> dict[str, dict[str, int]]:
        """What is left of every unit, by person."""
        with self.lock:
            rows = self.execute(
                "SELECT person, unit, amount FROM balance WHERE dataset = ?", (dataset,)
            )
        found: dict[str, dict[str, int]] = {}
        for person, unit, amount in rows:
            found.setdefault(person, {})[unit] = int(amount)
        return found

    def text(self, digest: str) -> str:
        """A released text."""
        with self.lock:
            rows = self.execute("SELECT text FROM release WHERE digest = ?", (digest,))
        if not rows:
            raise LedgerError(f"{self.url} holds no release with the digest {digest}")
        found: str = rows[0][0]
        return found

    def initialise(self, schema: Sequence[str]) -> None:
        """Make the tables of a store, and its first event, unless they are there."""
        with self.transaction() as change:
            if self.has_tables():
                return
            for statement in schema:
                self.execute(statement)
            change.append("store", {"id": uuid.uuid4().hex, "format": FORMAT})

    def check_format(self) -> None:
        """Refuse a store that a later version wrote."""
        rows = self.execute("SELECT body FROM event WHERE seq = 1")
        if rows and _body_of(1, rows[0][0])["format"] > FORMAT:
            raise LedgerError(f"{self.url} was written by a later version of sfumato")


_STORES: WeakSet[Store] = WeakSet()
_FORKING = threading.RLock()
_held: list[Store] = []


def _before_fork() -> None:
    """Wait until no store is in use by another thread, and let go of connections."""
    _FORKING.acquire()
    for store in list(_STORES):
        store.lock.acquire()
        _held.append(store)
        store.leave()


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


class Transaction:
    """What is appended together. `head` is the number and hash of the last event appended."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.head: tuple[int, str] | None = None

    def append(
        self,
        kind: str,
        body: Body,
        *,
        dataset: str = "",
        parent: int | None = None,
        movements: Sequence[Movement] = (),
    ) -> int:
        """Add one event; returns its number."""
        seq, previous = self._last()
        if seq and movements and self.head is None:
            # The event before this transaction is on disk for certain.
            self.store.note(seq, previous)
        seq += 1
        at = datetime.now(UTC).isoformat(timespec="seconds")
        moved = [list(movement) for movement in movements]
        text = canonical(
            {
                **body,
                "seq": seq,
                "kind": kind,
                "dataset": dataset,
                "parent": parent,
                "at": at,
                "moved": moved,
            }
        )
        self.head = (seq, chained(previous, text))
        request = body.get("request")
        self._insert("event", seq, kind, dataset, parent, request, text, self.head[1])
        for person, unit, amount in movements:
            self._insert("movement", seq, dataset, person, unit, amount)
        return seq

    def keep(self, text: str) -> str:
        """Keep a released text; returns its digest."""
        digest = digest_of(text)
        if not self.store.execute("SELECT 1 FROM release WHERE digest = ?", (digest,)):
            self._insert("release", digest, text)
        return digest

    def _last(self) -> tuple[int, str]:
        if self.head is not None:
            return self.head
        rows = self.store.execute("SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")
        return (int(rows[0][0]), rows[0][1]) if rows else (0, "")

    def _insert(self, table: str, *values: object) -> None:
        marks = ", ".join("?" * len(values))
        self.store.execute(f"INSERT INTO {table} VALUES ({marks})", values)


@dataclass(frozen=True)
class Flaw:
    """What is wrong with a store: the event where it shows, and a sentence."""

    seq: int
    what: str


def verified(store: Store) -> list[Flaw]:
    """Everything that is wrong with a store at one moment; empty if nothing is."""
    with store.transaction(alone=False):
        return [*_check_events(store), *_check_balances(store)]


def _check_events(store: Store) -> list[Flaw]:
    flaws, previous = list[Flaw](), ""
    moved: dict[tuple[int, str], list[Movement]] = {}
    for seq, dataset, person, unit, amount in store.execute(
        "SELECT seq, dataset, person, unit, amount FROM movement ORDER BY seq"
    ):
        moved.setdefault((seq, dataset), []).append((person, unit, int(amount)))
    rows = store.execute(f"SELECT {_COLUMNS} FROM event ORDER BY seq")
    for number, (*columns, text, hash_) in enumerate(rows, 1):
        seq, dataset = columns[0], columns[2]
        if seq != number:
            flaws.append(Flaw(seq, f"event {number} is missing"))
            break
        if chained(previous, text) != hash_:
            flaws.append(Flaw(seq, "its hash does not follow from the events before it"))
            break
        body = json.loads(text)
        stated = [body[name] for name in ("seq", "kind", "dataset", "parent")]
        if [*stated, body.get("request")] != columns:
            flaws.append(Flaw(seq, "it was filed under another number, kind or dataset"))
        wanted = [tuple(movement) for movement in body["moved"]]
        if sorted(wanted) != sorted(moved.pop((seq, dataset), [])):
            flaws.append(Flaw(seq, "its movements of budget are not those that it states"))
        flaws += _check_release(store, seq, body)
        previous = hash_
    else:
        flaws += [Flaw(seq, "budget was moved by no event") for seq, _ in moved]
    return flaws


def _check_release(store: Store, seq: int, body: Body) -> Iterator[Flaw]:
    if body["kind"] == "release":
        rows = store.execute("SELECT text FROM release WHERE digest = ?", (body["digest"],))
        if not rows or digest_of(rows[0][0]) != body["digest"]:
            yield Flaw(seq, "the released text was changed or is missing")


def _check_balances(store: Store) -> Iterator[Flaw]:
    kept = {tuple(key): n for *key, n in store.execute("SELECT * FROM balance")}
    for seq, *key, n in store.execute(
        "SELECT MAX(seq), dataset, person, unit, SUM(amount) FROM movement "
        "GROUP BY dataset, person, unit"
    ):
        dataset, person, unit = key
        of = f"the {unit}{f' of {person}' if person else ''} of {dataset}"
        if n < 0:
            yield Flaw(seq, f"more was taken of {of} than there was")
        if kept.pop(tuple(key), 0) != n:
            yield Flaw(seq, f"the balance of {of} is not what the movements add up to")
    for dataset, person, unit in kept:
        yield Flaw(0, f"there is a balance of {unit} for {person!r} of {dataset} without movements")
