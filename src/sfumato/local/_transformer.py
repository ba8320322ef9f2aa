"""What all local mechanisms share: a plan, made of public settings, and scikit-learn's contract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sfumato._accounting.guarantee import Guarantee
from sfumato._base.types import Floats
from sfumato._core.local.lattice import LocalLattice
from sfumato._core.local.randomizer import LatticeMechanism, Randomizer
from sfumato._lattice.box import Box
from sfumato.engines._memory import frame_of
from sfumato.engines._rows import Frame
from sfumato.local._receipt import LocalReceipt

MissingPolicy = Literal["center", "keep"]


@dataclass(frozen=True)
class LocalPlan:
    """A perturbation, ready to be applied to rows; made of public settings only."""

    mechanism: LatticeMechanism
    lattice: LocalLattice
    clamp: bool
    receipt: LocalReceipt


class LocalTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """A transformer that perturbs each row on its own. Mechanisms say how in `plan`.

    A mechanism has the parameters `bounds`, `truncation` and `nan`, and a method `plan(box)`.
    """

    bounds: Any
    truncation: str
    nan: MissingPolicy

    @abstractmethod
    def plan(self, box: Box) -> LocalPlan:
        """Make a plan from public settings; all that can be refused is refused here."""

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: ANN401
        """Look at the number and the names of the columns. No value is read.

        X: array-like of shape (n_samples, n_features) or data frame, rows like those that will be
        perturbed. y: ignored. Returns the transformer, with the receipt of what it will do.
        """
        source = _rows_of(X)
        if self.nan not in get_args(MissingPolicy):
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
            block = source.read(start, min(start + step, source.n_rows))
            reports[start : start + step] = randomizer.perturb(
                block, plan.mechanism, clamp=plan.clamp
            )
        return reports

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
