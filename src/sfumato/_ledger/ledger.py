"""`sfumato.Ledger`: creates, opens and grants budgets that last."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._lattice.box import Box, columns_in
from sfumato._ledger import books
from sfumato._ledger.durable import (
    NOBODY,
    DurableLedger,
    Facts,
    check_left,
    facts_of,
    open_store,
    who,
)
from sfumato._ledger.modes import MOST_UNITS, Amounts, Composition, Mode, whole
from sfumato._ledger.store import LedgerError, Store
from sfumato._schema.schema import Schema


class Ledger(DurableLedger):
    """The budget of one dataset, kept in SQLite or PostgreSQL. See `DurableLedger`.

    Examples
    --------
    >>> import tempfile
    >>> from sfumato import Ledger
    >>> folder = tempfile.mkdtemp()
    >>> ledger = Ledger.create(f"{folder}/clinic.db", "clinic-2026", epsilon=3.0)
    >>> ledger.left
    (Fraction(3, 1), Fraction(0, 1))

    """

    __slots__ = ()

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
            "pure", with `gaussian`: the part of ε for pure charges, 0.6 by default. "plain", with
            `gaussian` and `zcdp`: the part of ε and δ for plain (ε, δ) charges, by default 0.
        max_rows_per_group : int, optional
            One group with at most so many rows is protected, instead of one row.
        bounds : pair or dict, optional
            Public bounds: (lower, upper), or {"age": (17, 90), …}.
        bounds_source : str
            Where they come from, in a sentence.

        """
        spent = check_epsilon(epsilon), check_delta(delta)
        composition = Composition(mode, *spent, **_parts_of(parts))
        plain = json.loads(json.dumps(bounds))
        _check_bounds(plain)
        facts = Facts(dataset, composition, max_rows_per_group, plain, bounds_source)
        return cls(_created(url, facts), facts)

    @staticmethod
    def datasets(url: str | os.PathLike[str]) -> list[str]:
        """The names of the datasets that a store has ledgers of."""
        return books.datasets_in(open_store(url))

    def overview(self) -> dict[str, Any]:
        """Total, spent, left, grants, and charges without a release, as plain values."""
        return books.overview(self.store, self.facts.dataset)

    def releases(self) -> list[dict[str, Any]]:
        """Everything that was released whole: request, time, method, digest, guarantee."""
        return books.releases_in(self.store, self.facts.dataset)

    def released(self, request: str) -> str:
        """The model that was released under a request, as JSON. Looking again is free."""
        return books.released_text(self.store, request)

    def grant(self, person: str, *, epsilon: float, delta: float | None = None) -> None:
        """Set a part of the budget aside for one person.

        In the modes `gaussian` and `zcdp` it is the part epsilon / (ε of the dataset) of every
        unit; by default also of δ in the mode `add`.
        """
        _check_name(person, "a grant needs the name of a person")
        amount = check_epsilon(epsilon)
        granted = _granted_units(self.facts.composition, amount, delta)
        with self.store.transaction() as change:
            check_left(self.store, self.facts, NOBODY, f"a grant to {person}", granted)
            away = [(NOBODY, unit, -n) for unit, n in granted.items()]
            to = [(person, unit, n) for unit, n in granted.items()]
            body = {"person": person, "who": who(), "epsilon": str(amount)}
            change.append("grant", body, movements=[*away, *to], dataset=self.facts.dataset)


def _check_name(name: object, wanted: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{wanted}, got {name!r}")
    if not name.strip():
        raise ValueError(wanted)


def _parts_of(parts: Any) -> dict[str, Fraction]:  # noqa: ANN401
    """The parts of a budget as exact numbers."""
    known = ("pure", "plain")
    if parts is None:
        return {}
    if not isinstance(parts, Mapping) or any(name not in known for name in parts):
        raise TypeError(f"parts are those of {' and '.join(known)}, as a dict, got {parts!r}")
    try:
        return {name: Fraction(str(part)) for name, part in parts.items()}
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"parts must be numbers between 0 and 1, got {parts!r}") from None


def _check_bounds(bounds: Any) -> None:  # noqa: ANN401
    """Refuse bounds that no fit could use; they can never be changed."""
    if isinstance(bounds, dict):
        Schema.of_bounds(bounds)
    elif bounds is not None:
        Box.of(bounds, columns_in(bounds) or 1)


def _created(url: str | os.PathLike[str], facts: Facts) -> Store:
    """Write the first event of a dataset, in a new store or beside others."""
    if facts.max_rows_per_group is not None:
        check_whole(facts.max_rows_per_group, "max_rows_per_group")
    _check_name(facts.dataset, "a dataset needs a name")
    if not isinstance(facts.bounds_source, str):
        raise TypeError(f"bounds_source must be a sentence, got {facts.bounds_source!r}")
    body = {
        "composition": facts.composition.to_dict(),
        "max_rows_per_group": facts.max_rows_per_group,
        "neighbours": f"adding or removing {facts.neighbours}",
        "bounds": facts.bounds,
        "bounds_source": facts.bounds_source,
        "who": who(),
    }
    filled = [(NOBODY, unit, n) for unit, n in facts.composition.capacities().items()]
    if max(n for _, _, n in filled) > MOST_UNITS:
        raise ValueError("a ledger holds less than this ε: it would promise nothing")
    store = open_store(url, create=True)
    with store.transaction() as change:
        if store.events(dataset=facts.dataset, kind="create"):
            raise LedgerError(f"{store.url} has a ledger of {facts.dataset!r} already")
        change.append("create", body, dataset=facts.dataset, movements=filled)
    return store


def _granted_units(composition: Composition, epsilon: Fraction, delta: float | None) -> Amounts:
    """What a grant moves of each unit."""
    part = epsilon / composition.epsilon
    if composition.mode == "add":
        given = composition.delta * part if delta is None else check_delta(delta)
        return whole({"epsilon": epsilon, "delta": given}, up=True)
    if delta is not None:
        raise ValueError(f"in the mode {composition.mode} a grant is made by ε alone")
    return {unit: int(part * number) for unit, number in composition.capacities().items()}
