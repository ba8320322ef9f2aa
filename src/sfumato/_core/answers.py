"""What leaves the curator: noisy numbers that know their own noise."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato._base.types import Floats, Ints


@dataclass(frozen=True)
class Answer:
    """Noisy numbers, in rows or lattice steps, and the standard deviation of their noise."""

    values: Floats
    noise_std: float


@dataclass(frozen=True)
class CellTotals:
    """Noisy coordinate sums of every cell and, where they were asked for, its noisy count."""

    sums: Answer
    counts: Answer | None

    @property
    def sizes(self) -> Answer:
        """The counts, where they must have been asked for."""
        if self.counts is None:
            raise ValueError("the counts of these cells were not asked for")
        return self.counts


@dataclass(frozen=True)
class CellMoments:
    """Noisy counts (k,), sums (k, d) and second moments (k, d, d) of cells about their centres.

    Sums are in lattice steps, second moments in squared steps. `noise_std` (k,) is the deviation of
    the noise on a square; others have 70/99 of it. That of the counts is 4·noise_std / radius², in
    rows, that of the sums 2·70/99·noise_std / radius.
    """

    counts: Floats
    sums: Floats
    products: Floats
    noise_std: Floats


@dataclass(frozen=True)
class Tree:
    """The leaves of a tree of boxes, the shallow ones first; together they are its domain.

    Boxes are lattice points, `lower` to `upper` inclusive, of shape (leaves, columns).
    """

    lower: Ints
    upper: Ints
    depths: Ints
    counts: Answer

    def __len__(self) -> int:
        return len(self.lower)

    def centers(self) -> Floats:
        """The middle of every leaf, in lattice units."""
        return (self.lower + self.upper) / 2

    def halves(self) -> Floats:
        """Half the width of every side of every leaf; a lattice point is one unit wide."""
        return (self.upper - self.lower + 1) / 2
