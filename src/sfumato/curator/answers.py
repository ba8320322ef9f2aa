"""What leaves the curator: noisy numbers that know their own noise."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.box import Floats


@dataclass(frozen=True)
class Answer:
    """Noisy numbers, in rows or lattice steps, and the standard deviation of their noise."""

    values: Floats
    noise_std: float


@dataclass(frozen=True)
class CellTotals:
    """Noisy coordinate sums of every cell and, where they were bought, its noisy count."""

    sums: Answer
    counts: Answer | None

    @property
    def sizes(self) -> Answer:
        """The counts, where they must have been bought."""
        if self.counts is None:
            raise ValueError("the counts of these cells were not bought")
        return self.counts
