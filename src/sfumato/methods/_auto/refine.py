"""What the branches of `auto` share: counts of cells, clustered, and noisy steps from there.

Each is one query to the curator, and post-processing. Points and centres are (k, d), radii (k,),
both in lattice steps unless said otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Ints, Rng
from sfumato._core.answers import Answer, CellTotals
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid, Nearest, RowsBeyond
from sfumato._core.queries.privtree import Domain
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells, LooseCells
from sfumato._synopsis.denoise import denoise_grid, denoise_leaves, values_behind, values_between
from sfumato._synopsis.kmeans import nearest, weighted_kmeans
from sfumato._synopsis.kmedian import weighted_kmedian
from sfumato._uncertainty import Errors, Estimate, Law, NoisyCounts, of_ratio
from sfumato.methods._auto.budget import COUNTS_PER_SUM, RowCount
from sfumato.methods._base import nearest_to

_STARTS = 20
_PATIENCE = 6


@dataclass(frozen=True)
class Clusters:
    """Centres (k, d), noisy sizes (k,) in rows, and the radii (k,) that rows are clipped at.

    `rates` (k,) say how far a centre moves for a mean clipped difference of 1; `errors` are the
    error bars of the last step.
    """

    centers: Floats
    sizes: Floats
    radii: Floats
    rates: Floats | float = 1.0
    errors: Errors | None = None


class Solver(Protocol):
    """k centres of points (n, d) with weights (n,), and their cost."""

    def __call__(
        self,
        points: Floats,
        weights: Floats,
        k: int,
        rng: Rng,
        *,
        widths: Floats | float = 0.0,
        n_starts: int = 4,
        patience: int = 10,
    ) -> tuple[Floats, float]:
        """`widths` are mean squared distances of rows from the point that stands for them."""


def _kmeans(
    points: Floats,
    weights: Floats,
    k: int,
    rng: Rng,
    *,
    widths: Floats | float = 0.0,
    n_starts: int = 4,
    patience: int = 10,
) -> tuple[Floats, float]:
    """Widths add the same to the squared distances of all centres: they are not looked at."""
    return weighted_kmeans(points, weights, k, rng, n_starts=n_starts, patience=patience)


@dataclass(frozen=True)
class Aim:
    """Which centres are looked for, and at which radius rows are clipped on the way.

    A step to means clips few rows. A step to medians clips most: the clipped differences are unit
    vectors times the radius, their sum is the gradient of the sum of distances, and how far it
    moves a centre depends on how far rows lie (Weiszfeld 1937). In few columns the cells say that.

    `means` says whether centres are means, which can be counted, too. `low` is the part of a
    cluster inside its radius in few columns, None where noise decides; `deep` that in more columns,
    `outside` the least part of rows outside the radius of full steps, and `rate` how far these
    steps move a centre for a mean clipped difference of 1.
    """

    solve: Solver
    means: bool
    low: float | None
    deep: float
    outside: float
    rate: float


MEANS = Aim(_kmeans, True, None, 0.95, 0.03, 1.0)
MEDIANS = Aim(weighted_kmedian, False, 0.15, 0.5, 0.5, 1.2)


# To few cells so many points per cluster are added, which together weigh next to nothing.
_FEW = 3
_LIGHT = 0.03


class Counted(NamedTuple):
    """What was released of some cells, and the denoised counts (n_cells,)."""

    synopsis: Synopsis
    weights: Floats


def on_grid(curator: Curator, grid: Grid, share: Share) -> Counted:
    """Release the counts of a grid."""
    answer = curator.counts(grid, share=share)
    scale = answer.noise_std / math.sqrt(2)
    weights = denoise_grid(answer.values, grid.per_axis, grid.n_features, scale)
    cells = GridCells((grid.per_axis,) * grid.n_features)
    return Counted(Synopsis(curator.box, cells, answer.values, answer.noise_std), weights)


def on_tree(curator: Curator, shares: tuple[Share, ...], domain: Domain | None = None) -> Counted:
    """Release a PrivTree, deep where rows lie close together, and the counts of its leaves.

    `shares` are for these two. Without a domain the tree covers the whole box.
    """
    d = curator.box.n_features
    for_shape, for_counts = shares
    whole = Domain((-REACH,) * d, (REACH,) * d)
    tree = curator.grow(domain or whole, share=for_shape, counts=for_counts)
    answer, halves = tree.counts, tree.halves() / REACH
    weights = denoise_leaves(answer.values, halves.prod(axis=1), answer.noise_std / math.sqrt(2))
    cells = LooseCells(tree.centers() / REACH, 2 * halves)
    return Counted(Synopsis(curator.box, cells, answer.values, answer.noise_std), weights)


def centers_of(counted: Counted, k: int, quantile: float, rng: Rng, aim: Aim = MEANS) -> Clusters:
    """Cluster the cells by their denoised counts; the radii hold a part `quantile` of these."""
    layout, weights = counted.synopsis.layout, counted.weights
    middles = layout[:]
    halves = np.broadcast_to(layout.widths / 2, middles.shape)
    if np.count_nonzero(weights) < k:
        weights = np.maximum(counted.synopsis.weights, 0) + 1e-6
        extra = rng.normal(size=(_FEW * k, middles.shape[1])) * halves.max(axis=0) / 3
        middles = np.vstack([middles, np.average(middles, axis=0, weights=weights) + extra])
        halves = np.vstack([halves, np.tile(halves.max(axis=0) / 2, (len(extra), 1))])
        weights = np.append(weights, np.full(len(extra), _LIGHT * weights.sum() / len(extra)))
    held = weights > 0
    middles, halves, weights = middles[held], halves[held], weights[held]
    squares = np.square(halves).sum(axis=1)
    centers, _ = aim.solve(middles, weights, k, rng, widths=squares / 3)
    radii = radii_of(middles, weights, squares, centers, quantile)
    own, gaps = nearest(middles, centers)
    sizes = np.bincount(own, weights, k).astype(np.float64)
    rates: Floats | float = 1.0
    if not aim.means:
        pulls = np.minimum(1, radii[own] / np.sqrt(gaps + squares / 3))
        moving = np.bincount(own, weights * pulls, k)
        rates = np.where(moving > 0, sizes / np.where(moving > 0, moving, 1), 1.0)
    return Clusters(centers * REACH, sizes, radii * REACH, rates)


def merge(found: Clusters, k: int, rng: Rng, aim: Aim = MEANS) -> Clusters:
    """Merge clusters to at most k by clustering their centres, weighted by their sizes.

    A merged radius is the root mean square of what it holds: how far the old centres are from the
    new one, and the old radii. Where nothing is held it is the median of the old ones.
    """
    if len(found.centers) <= k:
        return found
    centers, radii, weights = found.centers, found.radii, np.maximum(found.sizes, 1.0)
    merged, _ = aim.solve(
        centers, weights, k, rng, widths=np.square(radii), n_starts=_STARTS, patience=_PATIENCE
    )
    own, squares = nearest(centers, merged)
    held = np.bincount(own, weights, k).astype(np.float64)
    spread = np.bincount(own, weights * (squares + np.square(radii)), k)
    pooled = np.sqrt(spread / np.where(held > 0, held, 1.0))
    return Clusters(merged, held, np.where(held > 0, pooled, np.median(radii)))


# No cluster is taken for smaller than this share of what holds for all points together.
_SMALLEST = 0.3


def radii_of(
    points: Floats,
    weights: Floats,
    halves_squared: Floats | float,
    centers: Floats,
    quantile: float,
) -> Floats:
    """Return the radii (k,) around centres (k, d) that hold a part `quantile` of their weight.

    points: (n, d), the middles of cells, weights: (n,). `halves_squared` is Σ half² over the sides
    of each cell: rows lie anywhere in it, which adds a third to their squared distance. A cluster
    without weight gets the radius of all points together. Any unit of length.
    """
    own, squares = nearest(points, centers)
    reach = np.sqrt(squares + np.broadcast_to(halves_squared, len(points)) / 3)
    weights = np.maximum(weights, 0.0)
    if not weights.any():
        weights = np.ones(len(points))
    order = np.lexsort((reach, own))
    order = order[weights[order] > 0]
    far_first = np.argsort(reach[order], kind="stable")
    overall = _quantiles(reach[order][far_first], weights[order][far_first], [0], quantile)[0]
    starts = np.flatnonzero(np.diff(own[order], prepend=-1))
    radii = np.full(len(centers), overall)
    found = _quantiles(reach[order], weights[order], starts, quantile)
    radii[own[order][starts]] = np.maximum(found, _SMALLEST * overall)
    return radii


def _quantiles(values: Floats, weights: Floats, starts: object, quantile: float) -> Floats:
    """A weighted quantile of each run of ascending values (n,) that begins at one of `starts`."""
    firsts = np.asarray(starts, dtype=np.int64)
    lasts = np.append(firsts[1:], len(values)) - 1
    sums = np.cumsum(weights)
    before = sums[firsts] - weights[firsts]
    found = np.searchsorted(sums, before + quantile * (sums[lasts] - before))
    chosen: Floats = values[np.clip(found, firsts, lasts)]
    return chosen


# Kinds of columns that have a prior each, and coordinates that it takes to fit one.
_KINDS = 3
_COORDINATES = 100


def towards_zero(shifts: Floats, variances: Floats) -> Floats:
    """Shrink each of k steps by itself: the positive part of James, Stein 1961.

    shifts: (k, d); variances: (k,), of the noise on each coordinate of a step.
    """
    squares = np.square(shifts).sum(axis=1)
    freedom = max(shifts.shape[1] - 2, 1)
    kept = 1 - freedom * variances / np.maximum(squares, 1e-200)
    shrunk: Floats = shifts * np.maximum(kept, 0)[:, None]
    return shrunk


def towards_each_other(shifts: Floats, variances: Floats, centers: Floats | Ints) -> Floats:
    """Shrink all coordinates of steps (k, d) by priors fitted to them: see `values_behind`.

    variances: (k,). Columns in which the centres (k, d) are about equally far apart share a prior:
    where they hardly differ, as at the border of pictures, steps are short too.
    """
    stds = np.broadcast_to(np.sqrt(variances)[:, None], shifts.shape)
    kinds = min(max(shifts.size // _COORDINATES, 1), _KINDS)
    shrunk = np.empty_like(shifts)
    for columns in np.array_split(centers.std(axis=0).argsort(kind="stable"), kinds):
        values = values_behind(shifts[:, columns].ravel(), stds[:, columns].ravel())
        shrunk[:, columns] = values.reshape(len(shifts), -1)
    return shrunk


def shortened(shifts: Floats, longest: Floats | float = 1.0) -> Floats:
    """Shorten steps (k, d) to a length: one for all, or one for each."""
    lengths = np.sqrt(np.square(shifts).sum(axis=1))
    cut: Floats = shifts * np.minimum(1, longest / np.maximum(lengths, 1e-300))[:, None]
    return cut


Shrink = Literal["each", "pooled"]

# Edges of radii lie 2^(1/8) apart; ten octaves below the diameter there is nothing to find.
_EDGES = 80
_PER_OCTAVE = 8
_THINNER = 2

# From this many columns on they say enough about each other to learn how they are spread.
_MANY = 24


def refine(curator: Curator, found: Clusters, share: Share, shrink: Shrink = "each") -> Clusters:
    """Move every centre by the noisy mean of its rows' differences, each clipped at its radius.

    The mean is multiplied by the rate of its centre. A shift no longer than its noise is shrunk
    towards nothing: centre by centre (James, Stein 1961), or by a prior fitted to all coordinates
    of all shifts.
    """
    cells = nearest_to(found.centers)
    lengths = whole(found.radii, cells.n_features)
    totals = clipped_totals(curator, cells, lengths, share)
    sizes = totals.sizes
    rows = np.maximum(sizes.values, 2 * sizes.noise_std)
    held = rows / found.rates
    shifts = totals.sums.values / held[:, None]
    stds = totals.sums.noise_std * np.array(lengths) / max(lengths) / held
    if shrink == "pooled":
        shifts = towards_each_other(shifts, stds**2, cells.centers)
    else:
        shifts = towards_zero(shifts, stds**2)
    moved = cells.centers + shortened(shifts, np.array(lengths, dtype=np.float64))
    start = replace(found, centers=cells.centers.astype(np.float64))
    bars = clipped_errors(totals, start, lengths, share.kind)
    return replace(found, centers=np.clip(moved, -REACH, REACH), sizes=sizes.values, errors=bars)


def clipped_errors(
    totals: CellTotals, found: Clusters, lengths: tuple[int, ...], kind: str
) -> Errors:
    """Error bars of a clipped step from these centres; no mean is further than its radius.

    They are those of the step before it is shrunk.
    """
    d, pure = totals.sums.values.shape[1], kind == "pure"
    counts = NoisyCounts(totals.sizes.values, totals.sizes.noise_std)
    rates = np.broadcast_to(np.asarray(found.rates, dtype=np.float64), len(lengths))[:, None]
    radii = np.array(lengths, dtype=np.float64)[:, None]
    stds = totals.sums.noise_std * radii / max(lengths)
    values, stds = of_ratio(
        totals.sums.values * rates, stds * rates, counts, start=found.centers, widest=radii
    )
    laws: tuple[Law, Law] = ("ball", "cube") if pure else ("gaussian", "gaussian")
    sizes = Estimate(counts.values, np.full(len(values), counts.std), laws[1], d)
    return Errors(Estimate(values, stds, laws[0], d), sizes)


def clipped_totals(
    curator: Curator, cells: Nearest, radius: int | tuple[int, ...], share: Share
) -> CellTotals:
    """Counts of cells and sums of their rows' differences, clipped, for a share of any currency."""
    if share.kind == "pure":
        return curator.sums(cells, share=share, radius=radius, joint=True)
    for_sums, for_counts = share.split(1, COUNTS_PER_SUM)
    return curator.sums(cells, share=for_sums, counts=for_counts, radius=radius)


def whole(radii: Floats, n_features: int) -> tuple[int, ...]:
    """Radii (k,) as whole lattice steps, at least 1 and at most the diagonal."""
    widest = 2 * REACH * math.isqrt(n_features)
    return tuple(int(r) for r in np.clip(np.ceil(radii), 1, widest))


def radius_around(
    curator: Curator, points: Floats, share: Share, *, outside: float, n: float
) -> float:
    """The radius that leaves about a part `outside` of n rows further from all points (k, d)."""
    edges = _edges(points.shape[1])
    query = RowsBeyond(nearest_to(points), edges)
    found = curator.first_below(query, math.floor(outside * n), share=share)
    return float(edges[min(found, len(edges) - 1)])


def radius_of_each(
    curator: Curator, points: Floats, share: Share, outside: Floats, least: float
) -> Floats:
    """The radii (k,) that leave about `outside` (k,) rows of the cells of points (k, d) outside.

    There are four edges to an octave, from `least` on: the fewer lie before the right one, the less
    likely noise ends a search too soon.
    """
    every = _edges(points.shape[1])[::-_THINNER][::-1]
    edges = tuple(e for e in every if e >= least) or every[-1:]
    query = RowsBeyond(nearest_to(points), edges, each=True)
    thresholds = [math.floor(rows) for rows in outside.tolist()]
    found = curator.first_below_each(query, thresholds, share=share)
    return np.array([float(edges[min(one, len(edges) - 1)]) for one in found])


def _edges(n_features: int) -> tuple[int, ...]:
    """Distances in lattice steps, ascending to the diagonal."""
    widest = 2 * REACH * math.sqrt(n_features)
    steps = np.arange(_EDGES)[::-1] / _PER_OCTAVE
    return tuple(int(e) for e in np.unique(np.ceil(widest * 2.0**-steps)))


class Mean(NamedTuple):
    """The noisy mean (d,) of all rows, in lattice steps, and their number by all counts.

    `errors` are the error bars of the mean, (1, d).
    """

    point: Floats
    rows: RowCount
    errors: Estimate


def mean_of(curator: Curator, share: Share, rows: RowCount) -> Mean:
    """Release the mean of all rows."""
    d, law = curator.box.n_features, law_of_mean(curator, share)
    everything = Grid(1, d)
    if share.kind == "gdp":
        totals = curator.sums(everything, share=share)
    elif law == "cube":
        totals = curator.sums(everything, share=share, joint=True)
    else:
        for_counts, for_sums = share.split(1, d)
        totals = curator.sums(everything, share=for_sums, counts=for_counts)
    if totals.counts is not None:
        rows = rows.and_by(totals.counts)
    mean, std = totals.sums.values[0] / rows.n, totals.sums.noise_std / rows.n
    errors = Estimate(*mean_errors(totals.sums, rows), law, d)
    if d >= _MANY:
        mean = values_between(mean, std, -REACH, REACH)
    return Mean(np.clip(mean, -REACH, REACH), rows, errors)


def mean_errors(sums: Answer, rows: RowCount) -> tuple[Floats, Floats]:
    """The mean of sums (1, d) over so many rows, before it is shrunk, and its deviations."""
    counts = NoisyCounts(np.array([rows.n]), rows.std)
    return of_ratio(sums.values, sums.noise_std, counts, start=np.zeros((1, 1)), widest=2.0 * REACH)


def law_of_mean(curator: Curator, share: Share) -> Law:
    """The noise on the sums of all rows."""
    if share.kind == "gdp":
        return "gaussian"
    return "cube" if has_cube(curator, share) else "laplace"


def has_cube(curator: Curator, share: Share) -> bool:
    """Whether cube noise can be sampled for a share and the rows of a group."""
    d, epsilon = curator.box.n_features, share.amount / curator.rows_per_neighbour
    return d < 2**13 and REACH / 2**35 <= epsilon <= 10 * REACH / (d + 1)
