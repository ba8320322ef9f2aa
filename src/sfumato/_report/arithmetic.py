"""Whether a receipt adds up: exact fractions, composed as the accounting composes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, get_args

from sfumato._accounting.budget import Caps, Kind, caps_from_dict, caps_to_dict
from sfumato._accounting.composition import epsilon_beside
from sfumato._accounting.guarantee import Guarantee, finite_precision_delta, rho_of_caps

# Longer ones, and powers of ten, would take for ever to read.
_EXACT = re.compile(r"\d{1,5000}(/[1-9]\d{0,5000})?")

_UNREADABLE = "the receipt cannot be read"


def exact(text: Any) -> Fraction:  # noqa: ANN401
    """An exact number of at least 0, as receipts write it."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise ValueError(f"{text!r} is no exact number")
    return Fraction(text)


def problems_of(receipt: Any) -> list[str]:  # noqa: ANN401
    """What does not add up in a receipt, as a file holds it; nothing if all does."""
    try:
        return list(_problems(receipt))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return [_UNREADABLE]


def claim_of(receipt: dict[str, Any]) -> tuple[Fraction, Fraction, str]:
    """(ε, δ) that a receipt claims, and the unit."""
    promise = receipt["guarantee"]
    return exact(promise["epsilon"]), exact(promise["delta"]), str(promise["neighbours"])


def _problems(receipt: dict[str, Any]) -> Iterator[str]:
    epsilon, delta, unit = claim_of(receipt)
    kind = receipt["guarantee"]["kind"]
    if kind != ("approximate" if delta else "pure"):
        yield f"the guarantee is called {kind}, and its δ is {float(delta):g}"
        return
    guarantee = Guarantee(kind, epsilon, delta, unit)
    if receipt["guarantee"]["in_words"] != guarantee.in_words():
        yield "the words of the guarantee do not say its numbers"
    spent = {each: _spent(receipt["queries"], each) for each in get_args(Kind)}
    if "caps" in receipt:
        caps = [_caps(each) for each in receipt["caps"]]
        yield from _against_caps(spent, caps, epsilon, delta)
        if receipt["rho_zcdp_cap"] != rho_of_caps(caps):
            yield "ρ of zero-concentrated DP is not that of the caps"
    else:
        yield from _without_caps(spent, epsilon, delta)
    added = finite_precision_delta(float(epsilon), receipt["numerical_slack"])
    if receipt["finite_precision_delta"] != added:
        yield "what finite precision adds to δ is not that of the slack"


def _spent(queries: list[dict[str, Any]], kind: str) -> tuple[Fraction, Fraction]:
    if any(query["kind"] not in get_args(Kind) for query in queries):
        raise ValueError("a query has an unknown currency")
    mine = [(exact(q["cost"]), exact(q["delta"])) for q in queries if q["kind"] == kind]
    if any(cost <= 0 for cost, _ in mine):
        raise ValueError("a query cost nothing")
    return sum((c for c, _ in mine), Fraction(0)), sum((d for _, d in mine), Fraction(0))


def _caps(data: dict[str, Any]) -> Caps:
    """Caps of a file, if they are what they say: μ² is worked out anew."""
    for number in (*data["pure"], *data["gaussian"], *data["approximate"], data["mu2"]):
        exact(number)
    caps = caps_from_dict(data)
    if caps_to_dict(caps) != data:
        raise ValueError("caps are not as they were written")
    return caps


def _against_caps(
    spent: dict[str, tuple[Fraction, Fraction]],
    caps: list[Caps],
    epsilon: Fraction,
    delta: Fraction,
) -> Iterator[str]:
    """The claim must be the sum of the caps, and no currency may pass its own."""
    if sum((c.epsilon for c in caps), Fraction(0)) != epsilon:
        yield "the caps of the fit do not add up to the ε that is claimed"
    if sum((c.delta for c in caps), Fraction(0)) != delta:
        yield "the caps of the fit do not add up to the δ that is claimed"
    for kind in get_args(Kind):
        allowed = [c.of(kind) for c in caps]
        for i, name in enumerate(("cost", "δ")):
            if spent[kind][i] > sum((each[i] for each in allowed), Fraction(0)):
                yield f"the queries of kind {kind} cost more than their cap ({name})"


def _without_caps(
    spent: dict[str, tuple[Fraction, Fraction]], epsilon: Fraction, delta: Fraction
) -> Iterator[str]:
    """A receipt of an earlier version: pure charges as one part, which is the dearest way."""
    pure, (plain, plain_delta), mu2 = spent["pure"][0], spent["approximate"], spent["gdp"][0]
    rest = delta - plain_delta
    if rest < 0:
        yield "the queries cost more δ than is claimed"
    elif not mu2:
        if pure + plain > epsilon:
            yield "the queries cost more ε than is claimed"
    elif rest == 0 or epsilon_beside((pure,), mu2, rest) + plain > epsilon:
        yield "the queries are not shown to cost at most the (ε, δ) that is claimed"
