"""The receipt of a local perturbation: what each report promises about its row, in words."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.guarantee import Guarantee, finite_precision_delta, shown_above

_FACTORS = (2, 10, 100)


@dataclass(frozen=True)
class LocalReceipt:
    """What was done to every row. Prints as text; `to_json` gives the same as data.

    `between_any_two` is ε between the two rows that lie furthest apart in the bounds. `slack` is
    the proven statistical distance of the sampler to its law, for a block of rows.
    """

    mechanism: str
    guarantee: Guarantee
    law: str
    between_any_two: float
    slack: float
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """ε: per unit of distance if the guarantee is metric, else between any two rows."""
        return float(self.guarantee.amount)

    @property
    def finite_precision_delta(self) -> float:
        """What finite precision adds to δ between any two rows: (1 + e^ε)·slack, up to 1."""
        return finite_precision_delta(self.between_any_two, self.slack)

    def to_dict(self) -> dict[str, Any]:
        """The receipt as plain values; exact numbers are fractions written as text."""
        promise = {
            "kind": self.guarantee.kind,
            "epsilon": str(self.guarantee.amount),
            "neighbours": self.guarantee.neighbours,
            "snap": self.guarantee.snap,
            "in_words": self.guarantee.in_words(),
        }
        return {
            "mechanism": self.mechanism,
            "guarantee": promise,
            "law": self.law,
            "epsilon_between_any_two_rows": self.between_any_two,
            "numerical_slack": self.slack,
            "finite_precision_delta": self.finite_precision_delta,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LocalReceipt:
        """Read back what `to_dict` wrote."""
        promise = data["guarantee"]
        return cls(
            mechanism=data["mechanism"],
            guarantee=Guarantee(
                promise["kind"],
                Fraction(promise["epsilon"]),
                neighbours=promise["neighbours"],
                snap=promise["snap"],
            ),
            law=data["law"],
            between_any_two=data["epsilon_between_any_two_rows"],
            slack=data["numerical_slack"],
            notes=tuple(data["notes"]),
        )

    def to_json(self, indent: int | None = 2) -> str:
        """The receipt as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join([f"Receipt: {self.mechanism}", *sentences_of(self)])


def sentences_of(receipt: LocalReceipt) -> list[str]:
    """The promise of a receipt in words, what it means, and its notes."""
    promise = receipt.guarantee
    lines = [f"Each row became a report on its own: {receipt.law}."]
    if promise.kind == "metric":
        lines.append(
            f"Promise: ε = {receipt.epsilon:.6g} per unit of distance. {promise.in_words()}"
        )
        lines.append(f"{_alike(promise)} Any two rows: within exp({receipt.between_any_two:.4g}).")
    else:
        lines.append(f"Promise: ε = {receipt.epsilon:.6g}. {promise.in_words()}")
    return [
        *lines,
        "This is a promise about each report. It never adds to the ε of a private fit, and a row "
        "that is reported again is promised the sum.",
        _precision(receipt),
        *(f"Note: {note}." for note in receipt.notes),
    ]


def _precision(receipt: LocalReceipt) -> str:
    """What finite precision adds to δ: more between rows far apart, if the promise is metric."""
    added, what = receipt.finite_precision_delta, "Finite precision of the sampler"
    if receipt.guarantee.kind != "metric":
        if added >= 1:
            return f"{what} leaves no guarantee at this ε: a smaller ε has one."
        return f"{what} adds at most {shown_above(added, 2)} to δ, for a block of rows."
    near = f"(1 + exp({receipt.epsilon:.6g}·r))·{shown_above(receipt.slack, 2)}"
    if added >= 1:
        return (
            f"{what} leaves no guarantee between the rows that are furthest apart; to δ between "
            f"rows r apart it adds at most {near}."
        )
    return (
        f"{what} adds at most {shown_above(added, 2)} to δ between any two rows, and {near} "
        "between rows r apart."
    )


def _alike(promise: Guarantee) -> str:
    """How far apart two points may be to look alike within some factors."""
    apart = [max(0.0, math.log(f) / float(promise.amount) - promise.snap) for f in _FACTORS]
    parts = [f"{r:.4g} apart within {f}" for r, f in zip(apart, _FACTORS, strict=True)]
    return f"Factors: {', '.join(parts)}."
