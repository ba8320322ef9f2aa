"""How much a row counts, by a column with public bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato._base.types import Floats
from sfumato._schema import cells as read
from sfumato._schema.kinds import Linear, is_finite

# Copies of a row: the most that there may be, and whole weights that are taken as they are.
_MOST_COPIES = 100
_FEW_COPIES = 20


@dataclass(frozen=True)
class Weight(Linear):
    """How much a row counts: a number with public bounds, which every sensitivity grows with.

    A row counts as `steps` copies of equal weight at `upper`, and as fewer below, rounded to the
    nearest. By default a step is 1 where `upper` is a whole number up to 20, otherwise a tenth of
    it. A row whose weight is missing does not count. A schema has at most one such column.
    """

    lower: float
    upper: float
    steps: int = 0
    kind: ClassVar[str] = "weight"

    def check(self, name: str) -> None:
        """Refuse bounds that are none."""
        ends = (self.lower, self.upper)
        if not all(is_finite(x) for x in ends):
            raise ValueError(f"the bounds of weight {name!r} must be finite numbers, got {ends}")
        if not 0 <= self.lower < self.upper:
            raise ValueError(
                f"weight {name!r} needs a lower bound of at least 0 and an upper one above it, got "
                f"{ends}"
            )
        if type(self.steps) is not int or not 0 <= self.steps <= _MOST_COPIES:
            raise ValueError(
                f"the steps of weight {name!r} must be a whole number from 1 to {_MOST_COPIES}, "
                f"got {self.steps!r}"
            )
        if not isinstance(self.source, str):
            raise TypeError(f"the source of weight {name!r} must be a sentence")
        if self.missing != "ignore" or self.weight != 1:
            raise ValueError(f"weight {name!r} takes bounds, steps and a source, and nothing else")

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds."""
        return float(self.lower), float(self.upper)

    @property
    def most(self) -> int:
        """The copies of a row of the largest weight."""
        whole = self.upper <= _FEW_COPIES and float(self.upper).is_integer()
        return self.steps or (int(self.upper) if whole else 10)

    @property
    def unit(self) -> float:
        """The weight of one copy."""
        return self.upper / self.most

    def codes(self, cells: Any) -> Floats:  # noqa: ANN401
        """The number of copies, (n,): 0 where the weight is missing."""
        clipped = np.clip(read.numbers(cells), *self.ends)
        return np.where(np.isnan(clipped), 0.0, np.rint(clipped / self.upper * self.most))

    def public(self) -> str:
        """The bounds."""
        return f"weights of {self.lower:g} to {self.upper:g}, in steps of {self.unit:g}"
