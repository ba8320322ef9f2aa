"""Receipts as HTML: a table of queries, and a bar of where the budget went."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from typing import Any

from sfumato._accounting.text import KINDS, MECHANISMS, cost_words, sentences_of
from sfumato._base.markup import Markup, classed, element, fragment, table
from sfumato._base.svg import SERIES, picture, rect, text

_NAMES = {"pure": "pure", "gdp": "Gaussian noise", "approximate": "plain (ε, δ)"}
_WIDTH = 640


def shown(receipt: Any) -> str:  # noqa: ANN401
    """A receipt for a notebook."""
    return fragment(
        element("h3", f"Receipt: {receipt.method}"),
        bar(receipt),
        queries(receipt),
        *(element("p", sentence) for sentence in sentences_of(receipt)),
    )


def queries(receipt: Any) -> Markup:  # noqa: ANN401
    """The queries of a receipt as a table."""
    lines: list[tuple[object, ...]] = []
    for i, (line, times) in enumerate(_runs(receipt)):
        cost = cost_words(line.kind, line.cost, line.delta)
        key = classed("span", f"key f{i % SERIES}")
        name = Markup(f"{key} {element('span', line.query)}")
        repeated = f"{times} × {cost}" if times > 1 else cost
        lines.append((name, repeated, MECHANISMS.get(line.mechanism, line.mechanism), line.noise))
    for kind in KINDS:
        amount, delta = receipt.spent(kind)
        if amount:
            lines.append((f"total, {kind}", cost_words(kind, amount, delta), "", ""))
    titles = ("query", "cost", "mechanism", "noise (one deviation)")
    return table(
        titles, lines, caption=f"Queries of {receipt.method}, and what each cost", numbers=[1]
    )


def bar(receipt: Any) -> Markup:  # noqa: ANN401
    """A bar for each currency, with a part for every query in proportion to its cost."""
    runs = list(enumerate(_runs(receipt)))
    parts: list[Markup] = []
    said: list[str] = []
    y = 0.0
    for kind in KINDS:
        total = receipt.spent(kind)[0]
        if not total:
            continue
        x = 0.0
        parts.append(
            text(0, y + 12, f"{_NAMES[kind]}: {cost_words(kind, total, Fraction(0))}", "label")
        )
        for i, (line, times) in runs:
            if line.kind == kind:
                share = float(times * Fraction(line.cost) / total)
                words = f"{line.query}: {share:.0%}"
                title = element("title", words)
                parts.append(rect(x, y + 18, share * _WIDTH, 26, f"part f{i % SERIES}", title))
                if share >= 0.08:
                    parts.append(
                        text(x + share * _WIDTH / 2, y + 36, f"{share:.0%}", "inside", "middle")
                    )
                said.append(words)
                x += share * _WIDTH
        y += 56
    label = f"Where the budget of {receipt.method} went. {'; '.join(said) or 'Nothing was charged'}"
    return picture(_WIDTH, max(y, 1), label, *parts)


def _runs(receipt: Any) -> list[tuple[Any, int]]:  # noqa: ANN401
    """Queries that are the same after each other, with how many they are."""
    return [(line, len(list(run))) for line, run in groupby(receipt.lines)]
