"""How good released clusters are for the rows of a curator: measured privately, with intervals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Caps
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._accounting.guarantee import neighbours_of
from sfumato._base.types import Floats
from sfumato._base.validation import check_delta, check_epsilon, check_positive
from sfumato._core.curator import Curator
from sfumato._core.queries.closeness import Closeness, widest_radius
from sfumato._explaining.rows import (
    columns_of,
    kept,
    lattice_cells,
    opened,
    receipt_of,
    reserved,
    spending,
    unit_of,
)
from sfumato._lattice.box import REACH, Box
from sfumato._quality.intervals import CubeNoise, GaussianNoise
from sfumato._quality.report import Power, Quality, measured
from sfumato._schema.schema import Schema

NEAR = 0.75
"""The radius that is taken by default, in distances to the nearest other centre."""

LEAST_RADIUS = 0.01
"""The smallest radius that is taken by default, in half-diagonals of the cube."""


def quality(
    curator: Curator,
    centers: Floats,
    *,
    power: Power,
    box: Box | None = None,
    schema: Schema | None = None,
    epsilon: float = 0.05,
    delta: float = 0.0,
    level: float = 0.95,
    clip: float | None = None,
) -> Quality:
    """Measure clusters around centres (k, d) of the cube [−1, 1]^d, which were released before.

    They are those of a model with this `schema` or, without one, with this `box`. One query is
    asked: see `Closeness`.

    Guarantee: all that leaves is computed from one answer of the curator, which is charged to an
    account of (ε, δ), from what was released before, and from public facts.
    """
    exact, at_most = check_epsilon(epsilon), check_delta(delta)
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.5 <= level < 1:
        raise ValueError(f"level must be at least 0.5 and below 1, got {level!r}")
    columns_of(curator, schema, box)
    radii = radii_of(centers, clip)
    rows, cells = curator, lattice_cells(centers)
    if schema is not None:
        rows, _, _ = opened(curator, centers, schema, ())
    widest = widest_radius(centers.shape[1])
    steps = [min(max(1, math.ceil(radius * REACH)), widest) for radius in radii]
    query = Closeness(cells, steps, power)
    gaussian = is_gaussian(exact, at_most)
    caps = Caps(gaussian=(exact, at_most)) if gaussian else Caps(pure=exact)
    account = reserved(curator, "Quality", caps, {"quality": [power, float(level), clip]})
    with spending(account):
        answer = rows.closeness(query, share=account.rest("gdp" if gaussian else "pure"))
    noise = (GaussianNoise if gaussian else CubeNoise)(answer.noise_std)
    found = measured(
        answer.values,
        noise,
        radii=np.array(steps) / REACH,
        power=power,
        level=float(level),
        unit=unit_of(curator),
        counted="people" if curator.neighbours == neighbours_of(1) else "rows",
        receipt=receipt_of(curator, account),
    )
    kept(curator, account, found.to_json(), found.receipt)
    return found


def is_gaussian(epsilon: Fraction, delta: Fraction) -> bool:
    """Whether Gaussian noise for (ε, δ) is less than cube noise for ε alone."""
    if not delta:
        return False
    # Deviations in rows: √3/μ on three numbers, and √((3 + 1)·(3 + 2)/3)/ε.
    return 3 / mu2_of(epsilon, delta) < Fraction(20, 3) / epsilon**2


def radii_of(centers: Floats, clip: float | None) -> list[float]:
    """The distance in the cube at which rows of each centre (k, d) are cut, by released numbers.

    By default it is three quarters of the distance to the nearest other centre; of a centre alone,
    that of a corner of the cube to its middle.
    """
    k, d = centers.shape
    if clip is not None:
        return [float(check_positive(clip, "clip"))] * k
    diagonal = math.sqrt(d)
    if k == 1:
        return [diagonal]
    apart = np.sqrt(np.square(centers[:, None] - centers[None]).sum(axis=2))
    np.fill_diagonal(apart, np.inf)
    return [max(NEAR * float(x), LEAST_RADIUS * diagonal) for x in apart.min(axis=1)]


__all__ = ["Quality", "quality"]
