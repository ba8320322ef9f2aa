"""The budget of a dataset in a store: it lasts, and is shared by processes and people."""

from __future__ import annotations

import getpass
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any, Self

from sfumato._accounting.budget import Account, Caps, Entry, Ledger, Overspent
from sfumato._accounting.guarantee import neighbours_of
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._ledger.modes import (
    Amounts,
    Composition,
    Mode,
    covers,
    fraction_of,
    largest_affordable,
    whole,
)
from sfumato._ledger.store import Event, LedgerError, Movement, Store, Transaction

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

    __slots__ = ("_person", "_purpose", "_reserved", "_store", "facts")

    durable = True

    def __init__(self, store: Store, facts: Facts, person: str | None, purpose: str) -> None:
        super().__init__(facts.composition.epsilon, facts.composition.delta)
        self._store, self.facts = store, facts
        self._person, self._purpose = person or NOBODY, purpose
        self._reserved: dict[Account, tuple[int, str, int]] = {}
        if person and person not in store.balances(facts.dataset):
            raise LedgerError(
                f"{person} has no grant on {facts.dataset}: sfumato ledger grant gives one"
            )

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        dataset: str | None = None,
        *,
        person: str | None = None,
        purpose: str = "",
    ) -> Self:
        """Open the ledger of a dataset.

        Parameters
        ----------
        url : path or str
            A SQLite file, or postgresql://user@host/database.
        dataset : str, optional
            Its name; not needed where the store has one alone.
        person : str, optional
            Whose grant is charged. By default, what was granted to nobody.
        purpose : str
            What the fits are for. It is kept with every charge.

        """
        store = open_store(url)
        return cls(store, facts_of(store, dataset), person, purpose)

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        dataset: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        mode: Mode = "add",
        parts: Mapping[str, float] | None = None,
        max_rows_per_group: int | None = None,
        bounds: Any = None,  # noqa: ANN401
        bounds_source: str = "",
    ) -> Self:
        """Create the ledger of a dataset, in a new store or beside others. It never changes.

        Parameters
        ----------
        url : path or str
            A SQLite file, or postgresql://user@host/database.
        dataset : str
            Its name; a second ledger of this name is refused.
        epsilon, delta : float
            What all fits together may spend.
        mode : {"add", "gaussian", "zcdp"}
            How fits add up. `gaussian` and `zcdp` need a δ and carry many more small fits with δ.
        parts : dict, optional
            "pure", with `gaussian`: the part of ε for pure charges, 0.3 by default. "plain", with
            `gaussian` and `zcdp`: the part of ε and δ for plain (ε, δ) charges, by default 0.
        max_rows_per_group : int, optional
            One group with at most so many rows is protected, instead of one row.
        bounds : pair or dict, optional
            Public bounds: (lower, upper), or {"age": (17, 90), …}.
        bounds_source : str
            Where they come from, in a sentence.

        """
        fractions = {name: Fraction(str(part)) for name, part in (parts or {}).items()}
        composition = Composition(mode, check_epsilon(epsilon), check_delta(delta), **fractions)
        if max_rows_per_group is not None:
            check_whole(max_rows_per_group, "max_rows_per_group")
        if not dataset.strip():
            raise ValueError("a dataset needs a name")
        body = {
            "composition": composition.to_dict(),
            "max_rows_per_group": max_rows_per_group,
            "bounds": json.loads(json.dumps(bounds)),
            "bounds_source": bounds_source,
            "who": getpass.getuser(),
        }
        store = open_store(url, create=True)
        filled = [(NOBODY, unit, n) for unit, n in composition.capacities().items()]
        with store.transaction() as change:
            if store.events(dataset=dataset, kind="create"):
                raise LedgerError(f"{store.url} has a ledger of {dataset!r} already")
            change.append("create", body, dataset=dataset, movements=filled)
        return cls(store, facts_of(store, dataset), None, "")

    @property
    def unit(self) -> str:
        """What is protected as a whole, in words."""
        return self.facts.neighbours

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._store

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) that all reservations so far are worth, of all processes and people."""
        return self.facts.composition.worth(taken(self._store, self.facts))

    def grant(self, person: str, *, epsilon: float, delta: float | None = None) -> None:
        """Set a part of the budget aside for one person.

        In the modes `gaussian` and `zcdp` it is the part epsilon / (ε of the dataset) of every
        unit; by default also of δ in the mode `add`.
        """
        composition, amount = self.facts.composition, check_epsilon(epsilon)
        part = amount / composition.epsilon
        if not person.strip():
            raise ValueError("a grant needs the name of a person")
        if composition.mode == "add":
            given = composition.delta * part if delta is None else check_delta(delta)
            granted = whole({"epsilon": amount, "delta": given}, up=True)
        elif delta is not None:
            raise ValueError(f"in the mode {composition.mode} a grant is made by ε alone")
        else:
            all_ = composition.capacities()
            granted = {unit: int(part * number) for unit, number in all_.items()}
        with self._store.transaction() as change:
            self._check_left(f"a grant to {person}", granted, NOBODY, amount)
            away: list[Movement] = [(NOBODY, unit, -n) for unit, n in granted.items()]
            to: list[Movement] = [(person, unit, n) for unit, n in granted.items()]
            body = {"person": person, "who": getpass.getuser(), "epsilon": str(amount)}
            change.append("grant", body, dataset=self.facts.dataset, movements=[*away, *to])

    def recorded(self, request: str, settings: str) -> str | None:
        """The release of a request that was answered before; None if it is new."""
        found = self._reservation(request)
        if found is None:
            return None
        if found.body["settings"] != settings:
            raise LedgerError(f"the request {request!r} was made before, for another fit")
        releases = self._store.events(parent=found.seq, kind="release")
        if not releases:
            raise LedgerError(
                f"the request {request!r} was charged on {found.body['at']} and has no release: it "
                "is being answered, or was interrupted. What was charged stays spent: ask again "
                "under another name"
            )
        return self._store.text(releases[0].body["digest"])

    def reserve(
        self, purpose: str, caps: Caps, *, request: str | None = None, settings: str = ""
    ) -> Account:
        """Reserve the caps of a fit, on disk, and grant an account; or raise `Overspent`."""
        request = request or uuid.uuid4().hex
        cost = self.facts.composition.cost(caps)
        body = {
            "request": request,
            "settings": settings,
            "method": purpose,
            "purpose": self._purpose,
            "person": self._person,
            "who": getpass.getuser(),
            "sfumato": _version(),
            "caps": _caps_to_dict(caps),
        }
        with self._lock:
            with self._store.transaction() as change:
                if self._reservation(request) is not None:
                    raise LedgerError(f"the request {request!r} is being answered, or was before")
                self._check_left(purpose, cost, self._person, caps.epsilon, caps)
                moved = [(self._person, unit, -n) for unit, n in cost.items()]
                seq = self._append(change, "reserve", body, movements=moved)
            account = self._granted(purpose, caps)
            self._reserved[account] = seq, request, os.getpid()
            return account

    def charge(self, account: Account, entries: Sequence[Entry]) -> range:
        """Write charges to one account, on disk, all or none."""
        with self._lock:
            positions = super().charge(account, entries)
            queries = [_entry_to_dict(entry) for entry in entries]
            with self._store.transaction() as change:
                self._append(change, "charge", {"queries": queries}, self._open(account))
            return positions

    def record(self, account: Account, positions: range) -> None:
        """Note that these charges led to a release."""
        with self._lock:
            super().record(account, positions)
            body = {"first": positions.start, "last": positions.stop - 1}
            with self._store.transaction() as change:
                self._append(change, "answer", body, self._open(account))

    def cancel(self, account: Account) -> None:
        """Give back a reservation that was never charged: no row was read for it."""
        with self._lock:
            if account in self.accounts and not account.entries:
                cost = self.facts.composition.cost(account.caps)
                back = [(self._person, unit, n) for unit, n in cost.items()]
                with self._store.transaction() as change:
                    self._append(change, "cancel", {}, self._open(account), movements=back)
            super().cancel(account)

    def release(self, account: Account, text: str, summary: dict[str, Any]) -> str:
        """Keep what a fit releases; returns the request that brings it back."""
        with self._lock, self._store.transaction() as change:
            body = {**summary, "digest": change.keep(text)}
            self._append(change, "release", body, self._open(account))
        return self._reserved[account][1]

    def _open(self, account: Account) -> int:
        """The reservation of an account, which belongs to the process that made it."""
        seq, _, process = self._reserved[account]
        if process != os.getpid():
            # Each of two processes would know of its own charges alone.
            raise LedgerError("this account was granted to another process: reserve one here")
        return seq

    def _append(
        self,
        change: Transaction,
        kind: str,
        body: dict[str, Any],
        parent: int | None = None,
        movements: Sequence[Movement] = (),
    ) -> int:
        return change.append(
            kind, body, dataset=self.facts.dataset, parent=parent, movements=movements
        )

    def _check_left(
        self, what: str, cost: Amounts, person: str, asked: Fraction, caps: Caps | None = None
    ) -> None:
        """Raise `Overspent` where a balance does not cover a cost."""
        left = self._store.balances(self.facts.dataset).get(person, {})
        if covers(left, cost):
            return
        units = ", ".join(
            f"{unit} {float(fraction_of(unit, left.get(unit, 0))):.6g} of "
            f"{float(fraction_of(unit, amount)):.6g}"
            for unit, amount in cost.items()
        )
        most = fraction_of("epsilon", left.get("epsilon", 0))
        if caps is not None:
            most = largest_affordable(self.facts.composition, caps, left)
        whose = f" of {person}" if person else ""
        raise Overspent(
            f"{what}: the budget{whose} of {self.facts.dataset} does not cover ε = "
            f"{float(asked):.6g}. Left of what it needs: {units}. Largest affordable ε = "
            f"{float(most):.6g}"
        )

    def _reservation(self, request: str) -> Event | None:
        """The reservation of a request, unless it was cancelled."""
        made = self._store.events(dataset=self.facts.dataset, kind="reserve", request=request)
        open_ = [e for e in made if not self._store.events(parent=e.seq, kind="cancel")]
        return open_[0] if open_ else None


def taken(store: Store, facts: Facts) -> Amounts:
    """What all reservations took of each unit: a grant that is not spent is not taken."""
    left = store.balances(facts.dataset)
    return {
        unit: capacity - sum(balance.get(unit, 0) for balance in left.values())
        for unit, capacity in facts.composition.capacities().items()
    }


@cache
def _version() -> str:
    return version("sfumato")


def _caps_to_dict(caps: Caps) -> dict[str, Any]:
    """Caps as exact numbers written as text."""
    return {
        "pure": str(caps.pure),
        "gaussian": [str(number) for number in caps.gaussian],
        "mu2": str(caps.of("gdp")[0]),
        "approximate": [str(number) for number in caps.approximate],
    }


def _entry_to_dict(entry: Entry) -> dict[str, str]:
    """A charge as exact numbers written as text."""
    return {
        "query": entry.query,
        "kind": entry.share.kind,
        "amount": str(entry.share.amount),
        "delta": str(entry.share.delta),
        "mechanism": entry.mechanism,
        "scale": str(entry.scale),
    }
