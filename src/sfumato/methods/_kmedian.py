"""k-median: the queries of `auto`, with centres that lower the sum of distances, not squared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.methods._auto import Auto
from sfumato.methods._auto.refine import MEDIANS, Aim


@dataclass(frozen=True)
class KMedian(Auto):
    """A synopsis of the rows, denoised and clustered by k-median, then steps of the median.

    A step is a sum of differences clipped at a small radius R: of R × unit vectors, for all rows
    but the nearest. One row moves it by at most R, however far away it lies.
    """

    _aim: ClassVar[Aim] = MEDIANS
