"""What all local mechanisms share: a plan with its receipt, and scikit-learn's contract."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato._accounting.guarantee import Guarantee, finite_precision_delta
from sfumato._accounting.text import shown_above
from sfumato._base.types import Floats
from sfumato._core.local.lattice import LocalLattice
from sfumato._core.local.randomizer import LatticeMechanism, Missing, Randomizer
from sfumato._lattice.box import Box
from sfumato.engines._memory import frame_of
from sfumato.engines._rows import Frame

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


@dataclass(frozen=True)
class LocalPlan:
    """A perturbation, ready to be applied to rows; made of public settings only.

    `remap` moves reports, (n, d) in the user's units, to other points: post-processing.
    """

    mechanism: LatticeMechanism
    lattice: LocalLattice
    clamp: bool
    receipt: LocalReceipt
    remap: Callable[[Floats], Floats] | None = None


class LocalTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """A transformer that perturbs each row on its own. Mechanisms say how in `plan`.

    A mechanism has the parameters `bounds`, `truncation` and `nan`, and a method `plan(box)`.
    """

    bounds: Any
    truncation: str
    nan: Missing

    @abstractmethod
    def plan(self, box: Box) -> LocalPlan:
        """Make a plan from public settings; all that can be refused is refused here."""

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ANN401
        """Look at the number and the names of the columns. No value is read.

        X: array-like of shape (n_samples, n_features) or data frame, rows like those that will be
        perturbed. y: ignored. Returns the transformer, with the receipt of what it will do.
        """
        source = _rows_of(X)
        if self.nan not in get_args(Missing):
            raise ValueError(f"nan must be 'center' or 'keep', got {self.nan!r}")
        self.plan_ = self.plan(Box.of(self.bounds, source.n_features))
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Any) -> Floats:  # noqa: ANN401
        """Perturb each row on its own, with new noise in every call.

        X: array-like of shape (n_samples, n_features) or data frame; cells that are not finite
        numbers follow the `nan` policy. Returns a report for each row, of the same shape, in the
        user's units.
        """
        check_is_fitted(self)
        source = _rows_of(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        plan = self.plan_
        randomizer = Randomizer(plan.lattice.box, units=plan.lattice.units, missing=self.nan)
        reports = np.empty((source.n_rows, source.n_features))
        step = plan.lattice.block_rows
        for start in range(0, source.n_rows, step):
            stop = min(start + step, source.n_rows)
            block = source.read(start, stop)
            reports[start:stop] = randomizer.perturb(block, plan.mechanism, clamp=plan.clamp)
        return reports if plan.remap is None else plan.remap(reports)

    @property
    def guarantee_(self) -> Guarantee:
        """What the report of each row promises."""
        return self.receipt_.guarantee

    @property
    def receipt_(self) -> LocalReceipt:
        """What is done to each row, and the guarantee in words."""
        check_is_fitted(self)
        return self.plan_.receipt

    def _planned(
        self,
        mechanism: LatticeMechanism,
        lattice: LocalLattice,
        *,
        between_any_two: float,
        notes: tuple[str, ...],
    ) -> LocalPlan:
        """A plan with its receipt, whose notes begin with what becomes of reports outside."""
        mechanism.check(lattice)
        cut = self.truncation != "none"
        told = {
            "clamp": "reports outside the bounds are moved to the nearest point inside",
            "resample": "reports are drawn with ε/2 until one is inside the bounds: what is cut "
            "off depends on the row, and costs the other half",
            "none": "reports may lie outside the bounds",
        }[self.truncation]
        before = [f"{note}, before that" if cut else note for note in notes]
        kept = ["which cells are missing is not hidden"] if self.nan == "keep" else []
        receipt = LocalReceipt(
            method=type(self).__name__,
            guarantee=mechanism.guarantee,
            mechanism=mechanism.words,
            between_any_two=between_any_two,
            slack=mechanism.slack(lattice),
            notes=(told, *before, *kept),
        )
        return LocalPlan(mechanism, lattice, cut, receipt)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.allow_nan = True
        return tags


def _rows_of(X: Any) -> Frame:  # noqa: ANN401
    """Open rows that the caller brings; refused by type and shape, never by a value."""
    source = frame_of(X)
    if source.n_rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {source.n_features})) while a minimum of 1 "
            "is required."
        )
    return source
