"""The receipt of a fit as a table and as sentences. `receipt` is a `Receipt` throughout."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from typing import Any

from sfumato._accounting.budget import Kind
from sfumato._accounting.guarantee import shown_above

_KINDS: tuple[Kind, ...] = ("pure", "gdp", "approximate")
_UNITS = {"pure": "ε", "gdp": "μ²", "approximate": "ε"}
_MECHANISMS = {
    "laplace": "discrete Laplace",
    "gaussian": "rounded Gaussian",
    "cube": "K-norm, joint",
    "ball": "K-norm",
    "cylinder": "K-norm, joint",
    "exponential": "exponential mechanism",
    "permute_and_flip": "permute-and-flip",
    "cover": "exponential mechanism",
    "privtree": "PrivTree",
    "above_threshold": "AboveThreshold",
}


def rendered(receipt: Any, width: int = 100) -> str:  # noqa: ANN401
    """Print a receipt as a table, with the promise underneath."""
    from rich.console import Console

    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(table_of(receipt))
        for sentence in sentences_of(receipt):
            console.print(sentence)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def table_of(receipt: Any) -> Any:  # noqa: ANN401  (rich is imported only where it prints)
    """The queries of a receipt as a rich table."""
    from rich.table import Table

    table = Table(title=f"Receipt: {receipt.method}", title_justify="left")
    table.add_column("query")
    table.add_column("cost", justify="right")
    table.add_column("mechanism")
    table.add_column("noise (one deviation)")
    for line, run in groupby(receipt.lines):
        cost, times = _cost(line.kind, line.cost, line.delta), len(list(run))
        repeated = f"{times} × {cost}" if times > 1 else cost
        table.add_row(line.query, repeated, _MECHANISMS[line.mechanism], line.noise)
    table.add_section()
    for kind in _KINDS:
        amount, delta = receipt.spent(kind)
        if amount:
            table.add_row(f"total, {kind}", _cost(kind, amount, delta))
    return table


def sentences_of(receipt: Any) -> list[str]:  # noqa: ANN401
    """The promise of a receipt in words, and its notes."""
    delta = f", δ = {receipt.delta:.3g}" if receipt.delta else ""
    rho = "" if receipt.rho is None else shown_above(receipt.rho, 4)
    return [
        f"Promise: ε = {receipt.epsilon:.6g}{delta}. {receipt.guarantee.in_words()}",
        *([f"As zero-concentrated DP: ρ = {rho}."] if rho else []),
        _precision(receipt),
        *(f"Note: {note}." for note in receipt.notes),
        f"Relies on the chapters of docs/trusted.md: {', '.join(receipt.chapters)}.",
    ]


def _precision(receipt: Any) -> str:  # noqa: ANN401
    added = receipt.finite_precision_delta
    if added >= 1:
        return (
            "Finite precision of the samplers leaves no guarantee at this ε: a smaller ε has one."
        )
    return f"Finite precision of the samplers adds at most {shown_above(added, 2)} to δ."


def _cost(kind: Kind, amount: str | Fraction, delta: str | Fraction) -> str:
    text = f"{_UNITS[kind]} {float(Fraction(amount)):.4g}"
    return text + (f", δ {float(Fraction(delta)):.3g}" if Fraction(delta) else "")
