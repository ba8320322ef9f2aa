"""What a ledger tells: budgets, who spent what for what, and what was released."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sfumato._ledger.durable import NOBODY, Facts, facts_of, taken
from sfumato._ledger.modes import fraction_of
from sfumato._ledger.store import Event, Flaw, LedgerError, Store, verified

Shown = dict[str, Any]
"""Plain values, as they are printed in JSON."""


# Of a reservation that is open: a fit that is running, or was interrupted.
_CHARGED, _RESERVED = "charged, no release", "reserved, no release"
_WITHOUT_RELEASE = (_CHARGED, _RESERVED)


def datasets_in(store: Store) -> list[str]:
    """The names of the datasets of a store."""
    return sorted(event.dataset for event in store.events(kind="create"))


def overview(store: Store, dataset: str) -> Shown:
    """The budget of a dataset: total, spent, left, grants, and charges without a release."""
    facts = facts_of(store, dataset)
    composition = facts.composition
    spent, left = taken(store, facts), store.balances(dataset)
    epsilon, delta = composition.worth(spent)
    return {
        "dataset": dataset,
        "mode": composition.mode,
        "epsilon": float(composition.epsilon),
        "delta": float(composition.delta),
        "spent": {"epsilon": float(epsilon), "delta": float(delta)},
        "left": _amounts(left.get(NOBODY, {})),
        "capacities": _amounts(composition.capacities()),
        "grants": {
            person: {"granted": _amounts(_granted(store, facts, person)), "left": _amounts(there)}
            for person, there in left.items()
            if person != NOBODY
        },
        "protects": facts.neighbours,
        "neighbours": f"adding or removing {facts.neighbours}",
        "bounds": facts.bounds,
        "bounds_source": facts.bounds_source,
        "without_release": [
            line for line in history(store, dataset) if line["state"] in _WITHOUT_RELEASE
        ],
    }


def _amounts(numbers: dict[str, int]) -> dict[str, float]:
    return {unit: float(fraction_of(unit, number)) for unit, number in numbers.items()}


def _granted(store: Store, facts: Facts, person: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for event in store.events(dataset=facts.dataset, kind="grant"):
        for whose, unit, amount in event.body["moved"]:
            if whose == person:
                found[unit] = found.get(unit, 0) + amount
    return found


def history(store: Store, dataset: str | None = None) -> list[Shown]:
    """Who did what, when and for what: one line for each ledger, grant and fit, in order."""
    events = store.events(dataset=dataset)
    children: dict[int, list[Event]] = {}
    for event in events:
        if event.parent is not None:
            children.setdefault(event.parent, []).append(event)
    return [
        _line(event, children.get(event.seq, []))
        for event in events
        if event.kind in ("create", "grant", "reserve")
    ]


def _line(event: Event, children: list[Event]) -> Shown:
    body = event.body
    line = {
        "event": event.seq,
        "at": body["at"],
        "dataset": event.dataset,
        "kind": "fit" if event.kind == "reserve" else event.kind,
        "who": body["who"],
        "person": body.get("person", NOBODY),
        "purpose": body.get("purpose", ""),
        "method": body.get("method", ""),
        "request": event.request,
        "state": "",
        "digest": None,
        "version": body.get("sfumato", ""),
    }
    if event.kind == "create":
        total = body["composition"]
        return {**line, "epsilon": float(Fraction(total["epsilon"])), "queries": 0}
    if event.kind == "grant":
        return {**line, "epsilon": float(Fraction(body["epsilon"])), "queries": 0}
    caps = body["caps"]
    parts = (*caps["pure"], caps["gaussian"][0], caps["approximate"][0])
    queries = [query for c in children if c.kind == "charge" for query in c.body["queries"]]
    releases = [child for child in children if child.kind == "release"]
    line["digest"] = releases[0].body["digest"] if releases else None
    line["state"] = _state({child.kind for child in children})
    epsilon = float(sum(Fraction(part) for part in parts))
    return {**line, "epsilon": epsilon, "queries": len(queries)}


def _state(kinds: set[str]) -> str:
    """What became of a reservation."""
    if "release" in kinds:
        return "released"
    if "cancel" in kinds:
        return "cancelled, not charged"
    if "answer" in kinds and "charge" in kinds:
        return "answered query by query"
    return _CHARGED if "charge" in kinds else _RESERVED


def releases_in(store: Store, dataset: str | None = None) -> list[Shown]:
    """Everything that was released whole, with its receipt in short."""
    asked = {event.seq: event for event in store.events(dataset=dataset, kind="reserve")}
    return [
        {
            "request": asked[event.parent or 0].request,
            "at": event.body["at"],
            "dataset": event.dataset,
            **{name: event.body[name] for name in ("method", "digest", "guarantee")},
        }
        for event in store.events(dataset=dataset, kind="release")
    ]


def released_text(store: Store, request: str) -> str:
    """A release, by the request that it answered, by the start of it, or of the digest."""
    lines = releases_in(store)
    found = {line["digest"] for line in lines if line["request"] == request}
    if not found and len(request) > 7:
        starts = ("request", "digest")
        found = {x["digest"] for x in lines if any(x[name].startswith(request) for name in starts)}
    if len(found) != 1:
        raise LedgerError(
            f"{store.url} has no release {request!r}: sfumato ledger releases lists them"
        )
    return store.text(found.pop())


def flaws_in(store: Store) -> list[Flaw]:
    """Everything that is wrong with a store: the chain, the balances, and charges beyond caps."""
    return [*verified(store), *_check_charges(store)]


def _check_charges(store: Store) -> Iterator[Flaw]:
    caps: dict[int, dict[tuple[str, int], Fraction]] = {}
    for event in store.events():
        if event.kind == "reserve":
            written = event.body["caps"]
            caps[event.seq] = {
                ("gdp", 0): Fraction(written["mu2"]),
                ("approximate", 0): Fraction(written["approximate"][0]),
                **{("pure", i): Fraction(part) for i, part in enumerate(written["pure"])},
            }
        elif event.kind in ("charge", "answer", "release") and event.parent not in caps:
            yield Flaw(event.seq, "it belongs to no reservation that is open")
        elif event.kind == "charge":
            left = caps[event.parent or 0]
            for query in event.body["queries"]:
                left[query["kind"], query["part"]] -= Fraction(query["amount"])
            if min(left.values()) < 0:
                yield Flaw(event.seq, "it charges more than was reserved for its fit")
        elif event.kind == "cancel":
            caps.pop(event.parent or 0, None)


def exported(store: Store) -> Shown:
    """Every event, with its hash, and the texts that were released."""
    events = store.events()
    texts = {event.body["digest"] for event in events if event.kind == "release"}
    return {
        "events": [{**event.body, "hash": event.hash} for event in events],
        "releases": {digest: store.text(digest) for digest in sorted(texts)},
    }
