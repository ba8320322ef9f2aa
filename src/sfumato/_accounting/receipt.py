"""The receipt of a fit: what was asked, what each query cost, and what is promised."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from sfumato._accounting.budget import Account, Entry, Kind
from sfumato._accounting.guarantee import (
    Guarantee,
    finite_precision_delta,
    of_accounts,
    rho_of_accounts,
    shown_above,
)

_KINDS: tuple[Kind, ...] = ("pure", "gdp", "approximate")
_UNITS = {"pure": "ε", "gdp": "μ²", "approximate": "ε"}


@dataclass(frozen=True)
class Line:
    """One query: its exact cost, the law and exact scale of its noise in lattice units.

    `noise` is one standard deviation of that noise in the user's units.
    """

    query: str
    kind: Kind
    cost: str
    delta: str
    law: str
    scale: str
    noise: str
    released: bool

    @classmethod
    def of(cls, entry: Entry) -> Line:
        """Write down one entry of an account."""
        return cls(
            query=entry.query,
            kind=entry.share.kind,
            cost=str(entry.share.amount),
            delta=str(entry.share.delta),
            law=entry.law,
            scale=str(entry.scale),
            noise=entry.noise,
            released=entry.released,
        )


@dataclass(frozen=True)
class Receipt:
    """What a fit asked and spent. Prints as a table; `to_json` gives the same as data.

    `slack` is the sum of the statistical distances of the samplers to their laws. `rho` is ρ of
    zero-concentrated DP that the caps of the fit allow, whatever part of them was charged; None
    where they allow plain (ε, δ) charges.
    """

    method: str
    guarantee: Guarantee
    lines: tuple[Line, ...]
    slack: float
    notes: tuple[str, ...] = ()
    rho: float | None = None

    @classmethod
    def of(
        cls, *accounts: Account, method: str, neighbours: str, notes: tuple[str, ...]
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
        promise = {
            "kind": self.guarantee.kind,
            "epsilon": str(self.guarantee.amount),
            "delta": str(self.guarantee.delta),
            "neighbours": self.guarantee.neighbours,
            "in_words": self.guarantee.in_words(),
        }
        return {
            "method": self.method,
            "guarantee": promise,
            "queries": [asdict(line) for line in self.lines],
            "rho_zcdp_cap": self.rho,
            "numerical_slack": self.slack,
            "finite_precision_delta": self.finite_precision_delta,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Receipt:
        """Read back what `to_dict` wrote."""
        promise = data["guarantee"]
        guarantee = Guarantee(
            promise["kind"],
            Fraction(promise["epsilon"]),
            Fraction(promise["delta"]),
            promise["neighbours"],
        )
        return cls(
            method=data["method"],
            guarantee=guarantee,
            lines=tuple(Line(**line) for line in data["queries"]),
            slack=data["numerical_slack"],
            notes=tuple(data["notes"]),
            # Older files have another key, with a ρ of what one run was charged: it is not read.
            rho=data.get("rho_zcdp_cap"),
        )

    def to_json(self, indent: int | None = 2) -> str:
        """The receipt as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        return _render(self)


def _render(receipt: Receipt, width: int = 100) -> str:
    """Print a receipt as a table, with the promise underneath."""
    from rich.console import Console

    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(table_of(receipt))
        for sentence in sentences_of(receipt):
            console.print(sentence)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def table_of(receipt: Receipt) -> Any:  # noqa: ANN401  (rich is imported only where it prints)
    """The queries of a receipt as a rich table."""
    from rich.table import Table

    table = Table(title=f"Receipt: {receipt.method}", title_justify="left")
    table.add_column("query")
    table.add_column("cost", justify="right")
    table.add_column("noise")
    table.add_column("one deviation of it")
    for line, run in groupby(receipt.lines):
        cost, times = _cost(line.kind, line.cost, line.delta), len(list(run))
        repeated = f"{times} × {cost}" if times > 1 else cost
        table.add_row(line.query, repeated, line.law, line.noise)
    table.add_section()
    for kind in _KINDS:
        amount, delta = receipt.spent(kind)
        if amount:
            table.add_row(f"total, {kind}", _cost(kind, amount, delta))
    return table


def sentences_of(receipt: Receipt) -> list[str]:
    """The promise of a receipt in words, and its notes."""
    delta = f", δ = {receipt.delta:.3g}" if receipt.delta else ""
    rho = "" if receipt.rho is None else shown_above(receipt.rho, 4)
    return [
        f"Promise: ε = {receipt.epsilon:.6g}{delta}. {receipt.guarantee.in_words()}",
        *([f"As zero-concentrated DP: ρ = {rho}."] if rho else []),
        _precision(receipt),
        *(f"Note: {note}." for note in receipt.notes),
    ]


def _precision(receipt: Receipt) -> str:
    added = receipt.finite_precision_delta
    if added >= 1:
        return (
            "Finite precision of the samplers leaves no guarantee at this ε: a smaller ε has one."
        )
    return f"Finite precision of the samplers adds at most {shown_above(added, 2)} to δ."


def _cost(kind: Kind, amount: str | Fraction, delta: str | Fraction) -> str:
    text = f"{_UNITS[kind]} {float(Fraction(amount)):.4g}"
    return text + (f", δ {float(Fraction(delta)):.3g}" if Fraction(delta) else "")
