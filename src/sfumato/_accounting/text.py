"""Guarantees, receipts and refusals as text: `receipt` is a `Receipt`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any, Literal

from sfumato._accounting.budget import caps_to_dict
from sfumato._base.validation import in_digits

KINDS: tuple[Literal["pure", "gdp", "approximate"], ...] = ("pure", "gdp", "approximate")
_UNITS = {"pure": "ε", "gdp": "μ²", "approximate": "ε"}
MECHANISMS = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "cube": "K-norm",
    "ball": "K-norm",
    "cylinder": "K-norm",
    "exponential": "exponential",
    "permute_and_flip": "permute-and-flip",
    "cover": "exponential",
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
        cost, times = cost_words(line.kind, line.cost, line.delta), len(list(run))
        repeated = f"{times} × {cost}" if times > 1 else cost
        table.add_row(line.query, repeated, MECHANISMS[line.mechanism], line.noise)
    table.add_section()
    for kind in KINDS:
        amount, delta = receipt.spent(kind)
        if amount:
            table.add_row(f"total, {kind}", cost_words(kind, amount, delta))
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
        *(["Noise of each centre (one deviation):"] if receipt.centers else []),
        *(f"  {line}" for line in receipt.centers),
        f"Relies on the chapters of docs/trusted.md: {', '.join(receipt.chapters)}.",
    ]


def _precision(receipt: Any) -> str:  # noqa: ANN401
    added = receipt.finite_precision_delta
    if added >= 1:
        return (
            "Finite precision of the samplers leaves no guarantee at this ε: a smaller ε has one."
        )
    return f"Finite precision of the samplers adds at most {shown_above(added, 2)} to δ."


def cost_words(kind: str, amount: str | Fraction, delta: str | Fraction) -> str:
    """What a query cost, with its currency."""
    text = f"{_UNITS[kind]} {float(Fraction(amount)):.4g}"
    return text + (f", δ {float(Fraction(delta)):.3g}" if Fraction(delta) else "")


def promise(guarantee: Any) -> str:  # noqa: ANN401
    """What is promised, in one sentence."""
    amount = f"{float(guarantee.amount):.6g}"
    if guarantee.kind == "local":
        return (
            f"Any two rows look alike within a factor exp({amount}) to whoever sees the "
            "report of one of them."
        )
    if guarantee.kind == "metric":
        where = "" if guarantee.neighbours == "one row" else f", {guarantee.neighbours},"
        snap = f"; rounding to the lattice adds at most {guarantee.snap:.2g} to r"
        return (
            f"Two points r apart{where} look alike within a factor exp({amount}·r) to whoever "
            f"sees the report of one of them{snap if guarantee.snap else ''}."
        )
    ratio = f"a factor exp({amount})"
    if guarantee.kind == "gdp":
        ratio = f"what one draw tells of N(0, 1) against N({float(guarantee.amount) ** 0.5:.6g}, 1)"
    elif guarantee.delta:
        ratio += f", but for a probability of {float(guarantee.delta):.3g}"
    return (
        f"Adding or removing {guarantee.neighbours} changes the probability of any outcome "
        f"by at most {ratio}."
    )


def refusal(
    purpose: str,
    unit: str,
    total: tuple[Fraction, Fraction],
    used: tuple[Fraction, Fraction],
    asked: tuple[Fraction, Fraction],
) -> str:
    """Why a charge is refused: pairs (amount, δ) of the total, the spent and the asked."""

    def show(pair: Sequence[Fraction]) -> str:
        numbers = [f"{float(x):.6g}" if x < 10**300 else in_digits(int(x)) for x in pair]
        return f"({', '.join(numbers)})" if unit == "(ε, δ)" else numbers[0]

    left = [max(t - u, Fraction(0)) for t, u in zip(total, used, strict=True)]
    return (
        f"{purpose}: the budget does not cover this. In {unit}: total {show(total)}, "
        f"spent {show(used)}, asked {show(asked)}, largest affordable {show(left)}"
    )


def spent_words(account: Any, where: str = "") -> str:  # noqa: ANN401
    """What a fit cost that ended without a release, and where that is recorded."""
    caps, queries = account.caps, len(account.entries)
    delta = f", δ = {float(caps.delta):.3g}" if caps.delta else ""
    asked = f"{queries} quer{'y was' if queries == 1 else 'ies were'} charged"
    return f"ε = {float(caps.epsilon):.6g}{delta} stays spent: {asked}{where}"


def shown_above(value: float, digits: int) -> str:
    """A number in so many digits, rounded up."""
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return f"{float(up):.{digits}g}"


def as_dict(receipt: Any) -> dict[str, Any]:  # noqa: ANN401
    """The receipt as plain values; exact numbers are fractions written as text."""
    promise = {
        "kind": receipt.guarantee.kind,
        "epsilon": str(receipt.guarantee.amount),
        "delta": str(receipt.guarantee.delta),
        "neighbours": receipt.guarantee.neighbours,
        "in_words": receipt.guarantee.in_words(),
    }
    return {
        "method": receipt.method,
        "guarantee": promise,
        "queries": [asdict(line) for line in receipt.lines],
        "rho_zcdp_cap": receipt.rho,
        "numerical_slack": receipt.slack,
        "finite_precision_delta": receipt.finite_precision_delta,
        "notes": list(receipt.notes),
        "chapters": list(receipt.chapters),
        **({"centers": list(receipt.centers)} if receipt.centers else {}),
        **({"caps": [caps_to_dict(caps) for caps in receipt.caps]} if receipt.caps else {}),
    }


def summary_of(receipt: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a ledger keeps of a receipt beside a release."""
    delta = f", δ = {receipt.delta:.3g}" if receipt.delta else ""
    return {
        "method": receipt.method,
        "guarantee": f"ε = {receipt.epsilon:.6g}{delta}, {receipt.guarantee.neighbours}",
        "receipt": as_dict(receipt),
    }
