"""The noisy steps that the branches of `auto` share; each is one question to the curator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.box import REACH, Floats
from sfumato.budget import Share
from sfumato.curator.curator import Curator
from sfumato.curator.questions import Farther, Grid, Nearest
from sfumato.methods.auto.wallet import COUNTS_PER_SUM, Size
from sfumato.synopsis.prior import values_between
from sfumato.synopsis.shrink import shortened, towards_each_other, towards_zero

Shrink = Literal["each", "pooled"]

# Edges of radii lie 2^(1/8) apart; ten octaves below the diameter there is nothing to find.
_EDGES = 80
_PER_OCTAVE = 8

# From this many columns on they say enough about each other to learn how they are spread.
_MANY = 24


@dataclass(frozen=True)
class Moved:
    """Centres after a step, in lattice units, and their noisy sizes."""

    points: Floats
    sizes: Floats


def refine(
    curator: Curator, points: Floats, radii: Floats, share: Share, shrink: Shrink = "each"
) -> Moved:
    """Move every centre by the noisy mean of its rows' differences, each cut to its radius.

    A shift no longer than its noise is shrunk towards nothing: centre by centre (James, Stein
    1961), or by what all coordinates of all shifts together say of their spread.
    """
    cells = Nearest(np.rint(points).astype(np.int64))
    d = cells.n_features
    lengths = _whole(radii, d)
    if share.kind == "pure":
        totals = curator.sums(cells, share=share, radius=lengths, joint=True)
    else:
        for_sums, for_counts = share.split(1, COUNTS_PER_SUM)
        totals = curator.sums(cells, share=for_sums, counts=for_counts, radius=lengths)
    sizes = totals.sizes
    rows = np.maximum(sizes.values, 2 * sizes.noise_std)
    shifts = totals.sums.values / rows[:, None]
    stds = totals.sums.noise_std * np.array(lengths) / max(lengths) / rows
    if shrink == "pooled":
        shifts = towards_each_other(shifts, stds**2, cells.centers)
    else:
        shifts = towards_zero(shifts, stds**2)
    moved = cells.centers + shortened(shifts, np.array(lengths, dtype=np.float64))
    return Moved(np.clip(moved, -REACH, REACH), sizes.values)


def _whole(radii: Floats, n_features: int) -> tuple[int, ...]:
    most = 2 * REACH * math.isqrt(n_features)
    return tuple(int(r) for r in np.clip(np.ceil(radii), 1, most))


def radius_around(
    curator: Curator, points: Floats, share: Share, *, outside: float, n: float
) -> float:
    """The radius that leaves about a fraction `outside` of n rows further from every centre."""
    widest = 2 * REACH * math.sqrt(points.shape[1])
    steps = np.arange(_EDGES)[::-1] / _PER_OCTAVE
    edges = tuple(int(e) for e in np.unique(np.ceil(widest * 2.0**-steps)))
    found = curator.first_below(
        Farther(Nearest(np.rint(points).astype(np.int64)), edges),
        math.floor(outside * n),
        share=share,
    )
    return float(edges[min(found, len(edges) - 1)])


def mean_of(curator: Curator, share: Share, rows: Size) -> tuple[Floats, Size]:
    """The noisy mean of all rows, in lattice units, and how many there are by all counts."""
    d = curator.box.n_features
    everything = Grid(1, d)
    if share.kind == "gdp":
        totals = curator.sums(everything, share=share)
    elif has_cube(curator, share):
        totals = curator.sums(everything, share=share, joint=True)
    else:
        for_counts, for_sums = share.split(1, d)
        totals = curator.sums(everything, share=for_sums, counts=for_counts)
    if totals.counts is not None:
        rows = rows.and_by(totals.counts)
    mean, std = totals.sums.values[0] / rows.n, totals.sums.noise_std / rows.n
    if d >= _MANY:
        mean = values_between(mean, std, -REACH, REACH)
    return np.clip(mean, -REACH, REACH), rows


def has_cube(curator: Curator, share: Share) -> bool:
    """Whether cube noise can be drawn for a share, and for the rows that it hides together."""
    d, epsilon = curator.box.n_features, share.amount / curator.rows_per_neighbour
    return d < 2**13 and REACH / 2**35 <= epsilon <= 10 * REACH / (d + 1)
