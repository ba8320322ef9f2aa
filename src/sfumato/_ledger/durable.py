"""The budget of a dataset in a store: it lasts, and is shared by processes and people."""

from __future__ import annotations

import getpass
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any, Self

from sfumato._accounting.budget import Account, Caps, Entry, Ledger, Overspent, caps_to_dict
from sfumato._accounting.guarantee import neighbours_of
from sfumato._accounting.parallel import Parallel
from sfumato._ledger.modes import (
    Amounts,
    Composition,
    covers,
    fraction_of,
    largest_affordable,
)
from sfumato._ledger.store import Event, LedgerError, Movement, Store, Transaction

# Read when this is imported: it imports more itself, and a process that is forked off meanwhile by
# another thread would wait for that import forever.
_VERSION = version("sfumato")

NOBODY = ""
"""Whose balance is what was granted to nobody."""


@dataclass(frozen=True)
class Facts:
    """What is public about a dataset, declared when its ledger was created.

    `max_rows_per_group` is None where one row is protected. `bounds` are as in a file of bounds:
    {"age": [17, 90], …} or [lower, upper]; None if they were not declared.
    """

    dataset: str
    composition: Composition
    max_rows_per_group: int | None
    bounds: Any
    bounds_source: str

    @property
    def neighbours(self) -> str:
        """What is protected as a whole, in words."""
        return neighbours_of(self.max_rows_per_group)


def open_store(url: str | os.PathLike[str], *, create: bool = False) -> Store:
    """Open a store: a path is a SQLite file, postgresql://… a database on a server."""
    text = os.fspath(url)
    if text.startswith(("postgresql://", "postgres://")):
        from sfumato._ledger.postgres import PostgresStore

        return PostgresStore(text, create=create)
    from sfumato._ledger.sqlite import SQLiteStore

    return SQLiteStore(text.removeprefix("sqlite:///"), create=create)


def facts_of(store: Store, dataset: str | None = None) -> Facts:
    """The public facts of a dataset; it need not be named where there is one alone."""
    known = {e.dataset: e.body for e in store.events(dataset=dataset, kind="create")}
    if dataset is None and len(known) == 1:
        dataset = next(iter(known))
    if dataset is None or dataset not in known:
        names = ", ".join(sorted(known)) or "none"
        asked = "name a dataset" if dataset is None else f"there is no dataset {dataset!r}"
        raise LedgerError(f"{store.url}: {asked}; it has {names}")
    body = known[dataset]
    return Facts(
        dataset,
        Composition.from_dict(body["composition"]),
        body["max_rows_per_group"],
        body["bounds"],
        body["bounds_source"],
    )


class DurableLedger(Ledger):
    """The budget of one dataset, kept in SQLite or PostgreSQL.

    Guarantee: all fits on the dataset, by all processes and people, satisfy its (ε, δ) together. A
    fit's caps are on disk before its account exists, each query before a row is read for it, and
    what was charged is never given back once a query was charged.
    """

    __slots__ = (
        *("_parallel", "_part", "_person", "_purpose", "_reserved"),
        *("bounds", "facts", "store", "unit"),
    )

    durable = True
    chapters = ("Durable ledgers",)

    def __init__(
        self,
        store: Store,
        facts: Facts,
        person: str | None = None,
        purpose: str = "",
        beside: tuple[Parallel[int], str] | None = None,
    ) -> None:
        super().__init__(facts.composition.epsilon, facts.composition.delta)
        self.store, self.facts = store, facts
        self.unit, self.bounds = facts.neighbours, facts.bounds
        self._person, self._purpose = person or NOBODY, purpose
        self._reserved: dict[Account, tuple[int, str, int]] = {}
        self._parallel: Parallel[int] | None = beside[0] if beside else None
        self._part = beside[1] if beside else ""
        if self._parallel is not None:
            self._lock = self._parallel.lock
        if person and person not in store.balances(facts.dataset):
            raise LedgerError(
                f"{person} has no grant on {facts.dataset}: sfumato ledger grant gives one"
            )

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) that all reservations so far are worth, of all processes and people."""
        return self.facts.composition.worth(taken(self.store, self.facts))

    def beside(self, parts: Sequence[str]) -> list[Self]:
        """The same budget for each of some parts: what they reserve of each unit is the largest."""
        parallel = Parallel[int](0)
        mine = (self.store, self.facts, self._person, self._purpose)
        return [type(self)(*mine, (parallel, part)) for part in parts]

    def recorded(self, request: str, settings: str) -> str | None:
        """The release of a request that was answered before; None if it is new."""
        found = _reservation(self.store, self.facts.dataset, request)
        if found is None:
            return None
        if (found.body["settings"], found.body["part"]) != (settings, self._part):
            raise LedgerError(f"the request {request!r} was made before, for another fit")
        releases = self.store.events(parent=found.seq, kind="release")
        if not releases:
            raise LedgerError(
                f"the request {request!r} was charged on {found.body['at']} and has no release: it "
                "is being answered, or was interrupted. What was charged stays spent: ask again "
                "under another name"
            )
        return self.store.text(releases[0].body["digest"])

    def reserve(
        self, purpose: str, caps: Caps, *, request: str | None = None, settings: str = ""
    ) -> Account:
        """Reserve the caps of a fit, on disk, and grant an account; or raise `Overspent`."""
        if type(caps) is not Caps:
            raise TypeError(f"a fit is reserved with Caps, got {type(caps).__name__}")
        request = request or uuid.uuid4().hex
        full = self.facts.composition.cost(caps)
        body = {
            "request": request,
            "settings": settings,
            "method": purpose,
            "purpose": self._purpose,
            "person": self._person,
            "who": who(),
            "sfumato": _VERSION,
            "caps": caps_to_dict(caps),
            "part": self._part,
        }
        with self._lock:
            cost = full if self._parallel is None else _rise(self._parallel, self._part, full)
            with self.store.transaction() as change:
                if _reservation(self.store, self.facts.dataset, request) is not None:
                    raise LedgerError(f"the request {request!r} is being answered, or was before")
                check_left(self.store, self.facts, self._person, purpose, cost, caps)
                moved = [(self._person, unit, -n) for unit, n in cost.items()]
                seq = change.append("reserve", body, movements=moved, dataset=self.facts.dataset)
            if self._parallel is not None:
                self._parallel.take(self._part, full)
            account = self._granted(purpose, caps)
            self._reserved[account] = seq, request, os.getpid()
            return account

    def charge(self, account: Account, entries: Sequence[Entry]) -> range:
        """Write charges to one account, on disk, all or none."""
        with self._lock:
            positions = super().charge(account, entries)
            queries = [_entry_to_dict(entry) for entry in entries]
            with self.store.transaction() as change:
                self._note(change, account, "charge", {"queries": queries})
            return positions

    def record(self, account: Account, positions: range) -> None:
        """Note that these charges led to a release."""
        with self._lock:
            super().record(account, positions)
            body = {"first": positions.start, "last": positions.stop - 1}
            with self.store.transaction() as change:
                self._note(change, account, "answer", body)

    def cancel(self, account: Account) -> None:
        """Give back a reservation that was never charged: no row was read for it."""
        with self._lock:
            if account in self.accounts and not account.entries:
                seq = _own(*self._reserved[account])
                cost = self.facts.composition.cost(account.caps)
                back = [(self._person, unit, n) for unit, n in cost.items()]
                with self.store.transaction() as change:
                    if not self.store.events(parent=seq):
                        kept = back if self._parallel is None else []
                        self._note(change, account, "cancel", {}, kept)
                if self._parallel is not None:
                    # It stays reserved, for any part.
                    self._parallel.give_back(self._part, cost)
            super().cancel(account)

    def release(self, account: Account, text: str, summary: dict[str, Any]) -> str:
        """Keep what a fit releases; returns the request that brings it back."""
        with self._lock, self.store.transaction() as change:
            self._note(change, account, "release", {**summary, "digest": change.keep(text)})
        return self._reserved[account][1]

    def where(self, account: Account) -> str:
        """Where an account is recorded, in words."""
        return f"; recorded in {self.store.url}, request {self._reserved[account][1]}"

    def _note(
        self,
        change: Transaction,
        account: Account,
        kind: str,
        body: dict[str, Any],
        moved: Sequence[Movement] = (),
    ) -> None:
        """Append an event that belongs to the reservation of an account."""
        seq = _own(*self._reserved[account])
        change.append(kind, body, dataset=self.facts.dataset, parent=seq, movements=moved)


def _reservation(store: Store, dataset: str, request: str) -> Event | None:
    """The reservation of a request, unless it was cancelled."""
    made = store.events(dataset=dataset, kind="reserve", request=request)
    open_ = [e for e in made if not store.events(parent=e.seq, kind="cancel")]
    return open_[0] if open_ else None


def _own(seq: int, request: str, process: int) -> int:
    """The number of a reservation, which belongs to the process that made it."""
    if process != os.getpid():
        # Each of two processes would know of its own charges alone.
        raise LedgerError(f"another process reserved {request!r}: reserve one here")
    return seq


def _rise(parallel: Parallel[int], part: str, cost: Amounts) -> Amounts:
    """What of a cost is not yet reserved by parts side by side."""
    if parallel.process != os.getpid():
        # Each of two processes would use what is reserved once.
        raise LedgerError("these parts were opened by another process: open them here")
    return parallel.rise(part, cost)


def check_left(
    store: Store, facts: Facts, person: str, what: str, cost: Amounts, caps: Caps | None = None
) -> None:
    """Raise `Overspent` where a balance does not cover a cost."""
    left = store.balances(facts.dataset).get(person, {})
    if covers(left, cost):
        return
    units = ", ".join(
        f"{unit} {float(fraction_of(unit, amount)):.6g} of "
        f"{float(fraction_of(unit, left.get(unit, 0))):.6g}"
        for unit, amount in cost.items()
    )
    most = fraction_of("epsilon", left.get("epsilon", 0))
    if caps is not None:
        most = largest_affordable(facts.composition, caps, left)
    whose = f"{person}'s budget" if person else "the budget"
    raise Overspent(
        f"{what}: {whose} on {facts.dataset} does not cover this. Asked, of what is left: {units}. "
        f"Largest affordable ε = {float(most):.6g}"
    )


def taken(store: Store, facts: Facts) -> Amounts:
    """What all reservations took of each unit: a grant that is not spent is not taken."""
    left = store.balances(facts.dataset)
    return {
        unit: capacity - sum(balance.get(unit, 0) for balance in left.values())
        for unit, capacity in facts.composition.capacities().items()
    }


def who() -> str:
    """The name of the user of this process; the number, where it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"


def _entry_to_dict(entry: Entry) -> dict[str, Any]:
    """A charge as exact numbers written as text."""
    return {
        "query": entry.query,
        "kind": entry.share.kind,
        "part": entry.share.part,
        "amount": str(entry.share.amount),
        "delta": str(entry.share.delta),
        "mechanism": entry.mechanism,
        "scale": str(entry.scale),
    }
