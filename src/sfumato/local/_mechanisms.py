"""Local differential privacy: mechanisms after which any two rows look alike within e^ε."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from sfumato._base.validation import check_epsilon, check_positive, check_whole
from sfumato._core.local.lattice import LocalLattice
from sfumato._core.local.ldp import (
    LatticeColumns,
    LatticeDuchi,
    LatticeLaplace,
    LatticeLDP,
    LatticeStaircase,
    sampled_columns,
)
from sfumato._core.local.one_column import Mixture, TwoPoint, Window
from sfumato._core.local.randomizer import Missing
from sfumato._lattice.box import REACH, Box
from sfumato.local._transformer import LocalPlan, LocalTransformer

Cut = Literal["none", "clamp"]


@dataclass(eq=False, repr=False)
class LocalMechanism(LocalTransformer):
    """What the mechanisms with ε between any two rows have in common: parameters and attributes.

    Parameters
    ----------
    epsilon : float, default=1.0
        ε of a whole row: any two rows look alike within a factor e^ε. Each mechanism says how it
        divides it among the columns.
    truncation : {"none", "clamp"}, default="none"
        Reports may lie outside the bounds; "clamp" moves them to the nearest point inside. That
        costs no privacy, but the mean of many reports is then biased.
    bounds, nan
        As in `NDLaplace`.

    Attributes
    ----------
    guarantee_, receipt_ : Guarantee, LocalReceipt
        A local guarantee, which never adds to the ε of a private fit, and what is done to each row.

    """

    epsilon: float = 1.0
    _: KW_ONLY
    bounds: Any = None
    truncation: Cut = "none"
    nan: Missing = "center"

    def plan(self, box: Box) -> LocalPlan:
        """Make a plan from public settings; all that can be refused is refused here."""
        epsilon = check_epsilon(self.epsilon)
        if self.truncation not in get_args(Cut):
            raise ValueError(f"truncation must be 'none' or 'clamp', got {self.truncation!r}")
        mechanism, lattice = self._mechanism(epsilon, box.n_features), LocalLattice(box, "box")
        mechanism.check(lattice)
        return self._planned(
            mechanism,
            lattice,
            between_any_two=float(epsilon),
            notes=(_mean(mechanism), _spread(mechanism)),
        )

    @abstractmethod
    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeLDP:
        """Return how a row of so many columns becomes its report."""


def _mean(mechanism: LatticeLDP) -> str:
    if mechanism.shrinks == 1:
        return "the mean of a row's reports is the row, as rounded to the lattice"
    return (
        f"the mean of a row's reports lies {mechanism.shrinks:.4g} of the way from the middle of "
        "the bounds to the row"
    )


def _spread(mechanism: LatticeLDP) -> str:
    middle, edge = (math.sqrt(mechanism.variance(value)) / REACH for value in (0, REACH))
    told = f"one deviation of a column's report is {middle:.4g} half-widths of the column"
    if math.isclose(middle, edge):
        return told
    return f"{told} for a value in the middle, {edge:.4g} for one at a bound"


class LaplaceMechanism(LocalMechanism):
    """Laplace noise on every column, with ε/d for each of d columns."""

    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeLaplace:
        return LatticeLaplace(epsilon, columns)


@dataclass(eq=False, repr=False, kw_only=True)
class Staircase(LocalMechanism):
    """Staircase noise on every column, with ε/d for each of d columns (Geng and Viswanath).

    The noise of least mean size that ε allows for a column; far below that of Laplace only where
    ε/d is large.

    Parameters and attributes: those of `LocalMechanism`, and

    gamma : float, optional
        Share of each step on which the probability is the higher one; by default
        1/(1 + e^(ε/2d)), which makes the mean size of the noise least.
    """

    gamma: float | None = None

    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeStaircase:
        gamma = None if self.gamma is None else check_positive(self.gamma, "gamma")
        return LatticeStaircase.of(epsilon, columns, gamma)


@dataclass(eq=False, repr=False, kw_only=True)
class Piecewise(LocalMechanism):
    """The Piecewise Mechanism (Wang et al. 2019): a window round the value, or anywhere.

    For each row `sampled` columns are drawn at random; each is reported with ε/sampled and
    stretched by d/sampled, the others at their middle.

    Parameters and attributes: those of `LocalMechanism`, and

    sampled : int, optional
        Columns reported of each row; by default ε/2.5 rounded down, at least 1, at most all d,
        which makes the largest variance least. d reports every column with ε/d.
    """

    sampled: int | None = None

    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeColumns:
        sampled = self._sampled(epsilon, columns)
        return LatticeColumns.of("Piecewise Mechanism", Window.piecewise, epsilon, columns, sampled)

    def _sampled(self, epsilon: Fraction, columns: int) -> int:
        if self.sampled is None:
            return sampled_columns(epsilon, columns)
        sampled = check_whole(self.sampled, "sampled")
        if sampled > columns:
            raise ValueError(f"sampled must be at most the {columns} columns, got {sampled}")
        return sampled


class HybridMechanism(Piecewise):
    """The Hybrid Mechanism (Wang et al. 2019): Piecewise or, at random, Duchi's two points.

    In one column its largest variance is never above that of either. Columns are drawn as in
    `Piecewise`.

    Parameters and attributes: those of `Piecewise`.
    """

    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeColumns:
        sampled = self._sampled(epsilon, columns)
        return LatticeColumns.of("Hybrid Mechanism", Mixture.hybrid, epsilon, columns, sampled)


class Harmony(LocalMechanism):
    """Harmony (Nguyên et al. 2016): one column of each row, drawn at random, with all of ε.

    It is reported as one of two points and stretched by d, the others at their middle.
    """

    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeColumns:
        return LatticeColumns.of("Harmony", TwoPoint.of, epsilon, columns, 1)


class Duchi(LocalMechanism):
    """Duchi, Jordan and Wainwright (2018): a corner of a cube, all columns at once with ε."""

    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeDuchi:
        return LatticeDuchi.of(epsilon, columns)


class SquareWave(LocalMechanism):
    """Square Wave (Li et al. 2020) on every column, with ε/d for each of d columns.

    Reports stay near the bounds and are biased towards the middle: the receipt says by how much.
    """

    def _mechanism(self, epsilon: Fraction, columns: int) -> LatticeColumns:
        return LatticeColumns.of("Square Wave", Window.square_wave, epsilon, columns, columns)
