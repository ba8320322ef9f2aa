"""Local differential privacy: mechanisms after which any two rows look alike within e^ε."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal, Protocol, get_args

from sfumato._accounting.receipt import LocalReceipt
from sfumato._base.validation import check_epsilon, check_positive, check_whole
from sfumato._core.local.lattice import LocalLattice
from sfumato._core.local.ldp import DuchiLaw, LaplaceLaw, PieceLaw, StaircaseLaw
from sfumato._core.local.ndlaplace import LocalLaw
from sfumato._lattice.box import REACH, Box
from sfumato.local._transformer import KEPT, LocalPlan, LocalTransformer, MissingPolicy

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


class LaplaceMechanism(LocalMechanism):
    """Laplace noise on every column, with ε/d for each of d columns.

    Parameters and attributes: those of `LocalMechanism`.
    """

    def law(self, epsilon: Fraction, columns: int) -> LaplaceLaw:
        """Return how a row becomes its report."""
        return LaplaceLaw(epsilon, columns)


class Staircase(LocalMechanism):
    """Staircase noise on every column, with ε/d for each of d columns (Geng and Viswanath).

    The noise of least mean size that ε allows for a column; far below that of Laplace only where
    ε/d is large.

    Parameters and attributes: those of `LocalMechanism`, and

    gamma : float, optional
        Share of each step on which the probability is the higher one; by default
        1/(1 + e^(ε/2d)), which makes the mean size of the noise least.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        bounds: Any = None,  # noqa: ANN401
        gamma: float | None = None,
        truncation: Cut = "none",
        nan: MissingPolicy = "center",
    ) -> None:
        super().__init__(epsilon, bounds=bounds, truncation=truncation, nan=nan)
        self.gamma = gamma

    def law(self, epsilon: Fraction, columns: int) -> StaircaseLaw:
        """Return how a row becomes its report."""
        gamma = None if self.gamma is None else check_positive(self.gamma, "gamma")
        return StaircaseLaw.of(epsilon, columns, gamma)


class Piecewise(LocalMechanism):
    """The Piecewise Mechanism (Wang et al. 2019): a window round the value, or anywhere.

    For each row `sampled` columns are drawn at random; each is reported with ε/sampled and
    stretched by d/sampled, the others at their middle.

    Parameters and attributes: those of `LocalMechanism`, and

    sampled : int, optional
        Columns reported of each row; by default ε/2.5 rounded down, at least 1, at most all d,
        which makes the largest variance least. d reports every column with ε/d.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        bounds: Any = None,  # noqa: ANN401
        sampled: int | None = None,
        truncation: Cut = "none",
        nan: MissingPolicy = "center",
    ) -> None:
        super().__init__(epsilon, bounds=bounds, truncation=truncation, nan=nan)
        self.sampled = sampled

    def law(self, epsilon: Fraction, columns: int) -> PieceLaw:
        """Return how a row becomes its report."""
        return PieceLaw.piecewise(epsilon, columns, self._columns(columns))

    def _columns(self, columns: int) -> int | None:
        if self.sampled is None:
            return None
        sampled = check_whole(self.sampled, "sampled")
        if sampled > columns:
            raise ValueError(f"sampled must be at most the {columns} columns, got {sampled}")
        return sampled


class HybridMechanism(Piecewise):
    """The Hybrid Mechanism (Wang et al. 2019): Piecewise or, by a coin, Duchi's two points.

    In one column its largest variance is never above that of either. Columns are drawn as in
    `Piecewise`.

    Parameters and attributes: those of `Piecewise`.
    """

    def law(self, epsilon: Fraction, columns: int) -> PieceLaw:
        """Return how a row becomes its report."""
        return PieceLaw.hybrid(epsilon, columns, self._columns(columns))


class Harmony(LocalMechanism):
    """Harmony (Nguyên et al. 2016): one column of each row, drawn at random, with all of ε.

    It is reported as one of two points and stretched by d, the others at their middle.

    Parameters and attributes: those of `LocalMechanism`.
    """

    def law(self, epsilon: Fraction, columns: int) -> PieceLaw:
        """Return how a row becomes its report."""
        return PieceLaw.harmony(epsilon, columns)


class Duchi(LocalMechanism):
    """Duchi, Jordan and Wainwright (2018): a corner of a cube, all columns at once with ε.

    Parameters and attributes: those of `LocalMechanism`.
    """

    def law(self, epsilon: Fraction, columns: int) -> DuchiLaw:
        """Return how a row becomes its report."""
        return DuchiLaw.of(epsilon, columns)


class SquareWave(LocalMechanism):
    """Square Wave (Li et al. 2020) on every column, with ε/d for each of d columns.

    Reports stay near the bounds, and pull towards the middle: the receipt says by how much.

    Parameters and attributes: those of `LocalMechanism`.
    """

    def law(self, epsilon: Fraction, columns: int) -> PieceLaw:
        """Return how a row becomes its report."""
        return PieceLaw.square_wave(epsilon, columns)
