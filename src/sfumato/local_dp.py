"""What the mechanisms of local differential privacy have in common."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal, Protocol, get_args

from sfumato.box import REACH, Box
from sfumato.curator.local_lattice import LocalLattice
from sfumato.curator.local_laws import LocalLaw
from sfumato.local_receipt import LocalReceipt
from sfumato.local_transformer import KEPT, LocalPlan, LocalTransformer, MissingPolicy
from sfumato.parameters import check_epsilon

Cut = Literal["none", "clamp"]


class RowLaw(LocalLaw, Protocol):
    """A law whose reports have a known spread and mean, in lattice steps."""

    def variance(self, value: int) -> float:
        """Return the variance of the reports of a column's value."""

    @property
    def shrinks(self) -> float:
        """The mean of the reports over the value: 1 if they are right on average."""


class LocalMechanism(LocalTransformer):
    """What the mechanisms with ε between any two rows have in common.

    Parameters
    ----------
    epsilon : float, default=1.0
        ε of a whole row: any two rows look alike within a factor e^ε. Each mechanism says how it
        divides it among the columns.
    bounds : pair (lower, upper)
        Public bounds, scalars or one value per column. Required, and never read from the data:
        what lies outside is clipped.
    truncation : {"none", "clamp"}, default="none"
        Reports may lie outside the bounds; "clamp" moves them to the nearest point inside. That
        costs no privacy, but the mean of many reports is then off.
    nan : {"center", "keep"}, default="center"
        Cells that are not finite numbers go to the centre of their column; or they stay missing,
        which tells everyone that they are.

    Attributes
    ----------
    guarantee_ : Guarantee
        A local guarantee: it never adds to the ε of a private fit.
    receipt_ : LocalReceipt
        What is done to each row, and the guarantee in words.

    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        bounds: Any = None,  # noqa: ANN401
        truncation: Cut = "none",
        nan: MissingPolicy = "center",
    ) -> None:
        self.epsilon = epsilon
        self.bounds = bounds
        self.truncation = truncation
        self.nan = nan

    def plan(self, box: Box) -> LocalPlan:
        """Make a plan from public settings; all that can be refused is refused here."""
        epsilon = check_epsilon(self.epsilon)
        if self.truncation not in get_args(Cut):
            raise ValueError(f"truncation must be 'none' or 'clamp', got {self.truncation!r}")
        lattice = LocalLattice(box, "box")
        law = self.law(epsilon, box.n_features)
        law.check(lattice)
        receipt = LocalReceipt(
            mechanism=type(self).__name__,
            guarantee=law.guarantee,
            law=law.words,
            between_any_two=float(epsilon),
            slack=law.slack(lattice),
            notes=self._notes(law),
        )
        return LocalPlan(law, lattice, self.truncation == "clamp", receipt)

    def law(self, epsilon: Fraction, columns: int) -> RowLaw:
        """Return how a row becomes its report."""
        raise TypeError(f"{type(self).__name__} is no mechanism: it has no law")

    def _notes(self, law: RowLaw) -> tuple[str, ...]:
        clamped = self.truncation == "clamp"
        told = "reports may lie outside the bounds"
        if clamped:
            told = "reports outside the bounds are moved to the nearest point inside"
        before = ", before that" if clamped else ""
        kept = [KEPT] if self.nan == "keep" else []
        return (told, _mean(law) + before, _spread(law) + before, *kept)


def _mean(law: RowLaw) -> str:
    if law.shrinks == 1:
        return "the mean of a row's reports is the row, as rounded to the lattice"
    return (
        f"the mean of a row's reports lies {law.shrinks:.4g} of the way from the middle of the "
        "bounds to the row"
    )


def _spread(law: RowLaw) -> str:
    middle, edge = (math.sqrt(law.variance(value)) / REACH for value in (0, REACH))
    told = f"one deviation of a column's report is {middle:.4g} half-widths of the column"
    if math.isclose(middle, edge):
        return told
    return f"{told} for a value in the middle, {edge:.4g} for one at a bound"
