"""The receipt of a fit: what was asked, what each query cost, and what is promised."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato._accounting.budget import Account, Caps, Entry, Kind
from sfumato._accounting.guarantee import (
    Guarantee,
    finite_precision_delta,
    of_accounts,
    rho_of_accounts,
)

ALWAYS = ("Accounting", "Sampling", "Mechanisms and the curator", "Kernels", "Rows in memory")
"""Chapters of docs/trusted.md that every receipt relies on."""


@dataclass(frozen=True)
class Line:
    """One query: its exact cost, the mechanism and exact scale of its noise in lattice steps.

    `noise` is one standard deviation of that noise in the user's units.
    """

    query: str
    kind: Kind
    cost: str
    delta: str
    mechanism: str
    scale: str
    noise: str
    chapter: str
    released: bool

    @classmethod
    def of(cls, entry: Entry) -> Line:
        """Write down one entry of an account."""
        return cls(
            query=entry.query,
            kind=entry.share.kind,
            cost=str(entry.share.amount),
            delta=str(entry.share.delta),
            mechanism=entry.mechanism,
            scale=str(entry.scale),
            noise=entry.noise,
            chapter=entry.chapter,
            released=entry.released,
        )


@dataclass(frozen=True)
class Receipt:
    """What a fit asked and spent. Prints as a table; `to_json` gives the same as data.

    `slack` is the sum of the statistical distances of the samplers to their distributions. `rho` is
    ρ of zero-concentrated DP that the caps of the fit allow, whatever part of them was charged;
    None where they allow plain (ε, δ) charges. `chapters` are the parts of the code that must be
    right for the promise to hold, by their titles in docs/trusted.md. `centers` has a line for each
    centre that was released: one deviation of the noise that is left on it. `caps` are those of the
    fit, which the promise adds up; older files have none.
    """

    method: str
    guarantee: Guarantee
    lines: tuple[Line, ...]
    slack: float
    notes: tuple[str, ...] = ()
    rho: float | None = None
    chapters: tuple[str, ...] = ()
    centers: tuple[str, ...] = ()
    caps: tuple[Caps, ...] = ()

    @classmethod
    def of(
        cls,
        *accounts: Account,
        method: str,
        neighbours: str,
        notes: tuple[str, ...],
        chapters: Sequence[str] = (),
        centers: tuple[str, ...] = (),
    ) -> Receipt:
        """Write the receipt of everything that a fit's accounts were charged for."""
        entries = [entry for account in accounts for entry in account.entries]
        return cls(
            method=method,
            guarantee=of_accounts(accounts, neighbours),
            lines=tuple(Line.of(entry) for entry in entries),
            slack=math.fsum(entry.slack for entry in entries),
            notes=notes,
            rho=rho_of_accounts(accounts),
            chapters=tuple(dict.fromkeys([*ALWAYS, *(e.chapter for e in entries), *chapters])),
            centers=centers,
            caps=tuple(account.caps for account in accounts),
        )

    @property
    def epsilon(self) -> float:
        """ε of the promise."""
        return float(self.guarantee.amount)

    @property
    def delta(self) -> float:
        """δ of the promise; 0 is pure differential privacy."""
        return float(self.guarantee.delta)

    def spent(self, kind: Kind) -> tuple[Fraction, Fraction]:
        """Exact (amount, δ) charged in one currency."""
        mine = [line for line in self.lines if line.kind == kind]
        return sum((Fraction(x.cost) for x in mine), Fraction(0)), sum(
            (Fraction(x.delta) for x in mine), Fraction(0)
        )

    @property
    def finite_precision_delta(self) -> float:
        """What the finite precision of the samplers adds to δ at most: (1 + e^ε)·slack, up to 1."""
        return finite_precision_delta(self.epsilon, self.slack)

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain values; exact numbers are fractions written as text."""
        from sfumato._accounting.text import as_dict

        return as_dict(self)

    def summary(self) -> dict[str, Any]:
        """What a ledger keeps of it beside a release."""
        from sfumato._accounting.text import summary_of

        return summary_of(self)

    def to_json(self, indent: int | None = 2) -> str:
        """The receipt as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        from sfumato._accounting.text import rendered

        return rendered(self)

    def _repr_html_(self) -> str:
        from sfumato._accounting.html import shown

        return shown(self)
