"""The perturbation area: how far the reports of one point lie from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.box import Floats


@dataclass(frozen=True, eq=False)
class PerturbationArea:
    """A ball round a point, whose radius is the mean distance of its reports."""

    center: Floats
    radius: float
    reports: Floats


def perturbation_area(center: Any, reports: Any) -> PerturbationArea:  # noqa: ANN401
    """Return the perturbation area of a point (van der Ende 2023, Eq. 3.4; Yan et al. 2022).

    For a point that is public, an example on a map: many reports of one person's point together
    promise that person the sum. `reports` are those of this one point:
    `mechanism.fit_transform(np.tile(center, (1000, 1)))`.
    """
    middle = np.asarray(center, dtype=np.float64)
    table = np.asarray(reports, dtype=np.float64)
    if middle.ndim != 1 or table.ndim != 2 or table.shape[1:] != middle.shape or len(table) == 0:
        raise ValueError(
            "a perturbation area needs one point and at least one report of as many columns, got "
            f"shapes {middle.shape} and {table.shape}"
        )
    return PerturbationArea(middle, float(np.linalg.norm(table - middle, axis=1).mean()), table)
