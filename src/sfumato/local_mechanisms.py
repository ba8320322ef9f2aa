"""Local differential privacy: mechanisms after which any two rows look alike within e^ε."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.curator.local_noise import LaplaceLaw, StaircaseLaw
from sfumato.curator.local_rows import DuchiLaw, PieceLaw
from sfumato.local_dp import Cut, LocalMechanism
from sfumato.local_transformer import MissingPolicy
from sfumato.parameters import check_positive, check_whole
from sfumato.planar import PlanarLaplace

__all__ = [
    "Duchi",
    "Harmony",
    "HybridMechanism",
    "LaplaceMechanism",
    "LocalMechanism",
    "Piecewise",
    "PlanarLaplace",
    "SquareWave",
    "Staircase",
]


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
