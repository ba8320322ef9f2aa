"""The receipt of local reports: what was done to every row, and what is promised."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato._accounting.guarantee import Guarantee, finite_precision_delta
from sfumato._accounting.text import shown_above

_FACTORS = (2, 10, 100)


@dataclass(frozen=True)
class LocalReceipt:
    """What was done to every row. Prints as text; `to_json` gives the same as data.

    `method` names the class, `mechanism` says what it does. `between_any_two` is ε between the two
    rows that lie furthest apart in the bounds. `slack` is the proven statistical distance of the
    sampler to its distribution, for a block of rows.
    """

    method: str
    guarantee: Guarantee
    mechanism: str
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
        return {
            "method": self.method,
            "guarantee": {
                "kind": self.guarantee.kind,
                "epsilon": str(self.guarantee.amount),
                "neighbours": self.guarantee.neighbours,
                "snap": self.guarantee.snap,
                "in_words": self.guarantee.in_words(),
            },
            "mechanism": self.mechanism,
            "epsilon_between_any_two_rows": self.between_any_two,
            "numerical_slack": self.slack,
            "finite_precision_delta": self.finite_precision_delta,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LocalReceipt:
        """Read back what `to_dict` wrote."""
        promise = data["guarantee"]
        kind, epsilon = promise["kind"], Fraction(promise["epsilon"])
        return cls(
            data["method"],
            Guarantee(kind, epsilon, neighbours=promise["neighbours"], snap=promise["snap"]),
            data["mechanism"],
            data["epsilon_between_any_two_rows"],
            data["numerical_slack"],
            tuple(data["notes"]),
        )

    def to_json(self, indent: int | None = 2) -> str:
        """The receipt as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __str__(self) -> str:
        return "\n".join([f"Receipt: {self.method}", *self.sentences()])

    def sentences(self) -> list[str]:
        """The guarantee in words, what it means, and the notes."""
        lines = [f"Each row became a report on its own: {self.mechanism}."]
        words, any_two = self.guarantee.in_words(), f"{self.between_any_two:.4g}"
        if self.guarantee.kind == "metric":
            lines.append(f"Promise: ε = {self.epsilon:.6g} per unit of distance. {words}")
            lines.append(f"{self._alike()} Any two rows: within exp({any_two}).")
        else:
            lines.append(f"Promise: ε = {self.epsilon:.6g}. {words}")
        return [
            *lines,
            "This is a promise about each report. It never adds to the ε of a private fit, and a "
            "row that is reported again is promised the sum.",
            f"Finite precision of the sampler {self._precision()}",
            *(f"Note: {note}." for note in self.notes),
        ]

    def _precision(self) -> str:
        """What finite precision adds to δ: more between rows far apart, if the ε is metric."""
        none, added = self.finite_precision_delta >= 1, shown_above(self.finite_precision_delta, 2)
        if self.guarantee.kind != "metric":
            if none:
                return "leaves no guarantee at this ε: a smaller ε has one."
            return f"adds at most {added} to δ, for a block of rows."
        near = f"(1 + exp({self.epsilon:.6g}·r))·{shown_above(self.slack, 2)}"
        if none:
            return (
                "leaves no guarantee between the rows that are furthest apart; to δ between rows "
                f"r apart it adds at most {near}."
            )
        return f"adds at most {added} to δ between any two rows, and {near} between rows r apart."

    def _alike(self) -> str:
        """How far apart two points may be to look alike within some factors."""
        epsilon, snap = self.epsilon, self.guarantee.snap
        apart = ((f, max(0.0, math.log(f) / epsilon - snap)) for f in _FACTORS)
        return f"Factors: {', '.join(f'{r:.4g} apart within {f}' for f, r in apart)}."
