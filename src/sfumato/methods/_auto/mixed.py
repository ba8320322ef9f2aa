"""Means and steps of mixed rows: levels are counted, numbers are summed.

Points and centres are (k, d), in lattice steps; numbers come first, then the levels of categories.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats
from sfumato._core.curator import Answer, Curator
from sfumato._core.queries.breakdown import Breakdown
from sfumato._core.queries.cells import Nearest
from sfumato._lattice.box import REACH
from sfumato._schema.levels import on_simplex
from sfumato._uncertainty import Errors, Estimate, Law, NoisyCounts, of_ratio
from sfumato.methods._auto.budget import RowCount, errors_of, exact, is_tiny
from sfumato.methods._auto.levels import (
    coordinates_of,
    distributions,
    mean_part,
    n_numbers,
    shares_of,
)
from sfumato.methods._auto.refine import (
    Clusters,
    Mean,
    has_cube,
    mean_errors,
    mean_of,
    shortened,
    towards_zero,
    whole,
)
from sfumato.methods._base import Task, nearest_to

# A category is taken for missing in some rows if so many deviations fewer were counted.
_CLEARLY = 3
_FEWEST = 0.02


def mean(curator: Curator, share: Share, rows: RowCount, task: Task) -> Mean:
    """Release the mean of all rows; levels are counted."""
    if not task.levels or is_tiny(task):
        return mean_of(curator, share, rows)
    q, everything = n_numbers(task), nearest_to(np.zeros((1, task.n_features)))
    sums = None
    if q:
        part = exact(mean_part(task, pure=share.kind == "pure"))
        for_sums, share = share.split(part, 1 - part)
        sums, rows = _sums_of_all(curator, everything, for_sums, rows, q)
    counts = curator.breakdown(Breakdown(everything, task.levels), share=share)
    present = _present(counts, rows)
    if (present == 1).all():
        rows = rows.and_by(_sizes(counts, present))
    even = np.concatenate([np.full(one.width, 1 / one.width) for one in task.levels])
    shares = _shrunk(counts, np.array([rows.n]), present, even[np.newaxis])
    found = with_shares(np.zeros((1, task.n_features)), shares, task)[0]
    bars = _bars_of_levels(counts, present, NoisyCounts(np.array([rows.n]), rows.std), task)
    if sums is not None:
        std = sums.noise_std / rows.n
        found[:q] = towards_zero(sums.values / rows.n, np.array([std**2]))[0]
        bars = _beside(mean_errors(sums, rows), bars)
    law: Law = "laplace" if share.kind == "pure" else "gaussian"
    return Mean(np.clip(found, -REACH, REACH), rows, Estimate(*bars, law))


def _sums_of_all(
    curator: Curator, everything: Nearest, share: Share, rows: RowCount, q: int
) -> tuple[Answer, RowCount]:
    """The sums of q numbers over all rows, and the number of rows by all counts."""
    if share.kind == "gdp":
        totals = curator.sums(everything, share=share, columns=q)
    elif has_cube(curator, share):
        totals = curator.sums(everything, share=share, columns=q, joint=True)
    else:
        for_counts, for_sums = share.split(1, q)
        totals = curator.sums(everything, share=for_sums, counts=for_counts, columns=q)
    return totals.sums, rows if totals.counts is None else rows.and_by(totals.counts)


def _present(counts: list[Answer], rows: RowCount) -> Floats:
    """The part of rows that have each category: 1 unless fewer were counted, clearly."""
    parts = []
    for answer in counts:
        doubt = np.hypot(answer.noise_std * np.sqrt(answer.values.size), rows.std)
        seen = float(answer.values.sum())
        parts.append(1.0 if seen > rows.n - _CLEARLY * doubt else max(seen / rows.n, _FEWEST))
    return np.array(parts)


def _sizes(counts: list[Answer], present: Floats) -> Answer:
    """Rows of every cell: each category says how many, the one with most levels least clearly."""
    parts = list(zip(counts, present, strict=True))
    weights = [part**2 / answer.values.shape[1] for answer, part in parts]
    sizes = [answer.values.sum(axis=1) / part for answer, part in parts]
    total = sum(weights)
    return Answer(
        np.average(sizes, axis=0, weights=weights), float(counts[0].noise_std / np.sqrt(total))
    )


def refine_counts(
    curator: Curator, found: Clusters, share: Share, task: Task, rows: RowCount
) -> Clusters:
    """Move every centre to the noisy shares of its levels, and by clipped sums of its numbers.

    Shares are shrunk towards those of the centre before.
    """
    q, cells = n_numbers(task), nearest_to(found.centers)
    lengths, sums = whole(found.radii, max(q, 1)), None
    if q:
        pure = share.kind == "pure"
        part = exact(errors_of(task, pure=pure).numbers)
        for_sums, share = share.split(part, 1 - part)
        sums = curator.sums(cells, share=for_sums, radius=lengths, columns=q, joint=pure).sums
    counts = curator.breakdown(Breakdown(cells, task.levels), share=share)
    present = _present(counts, rows)
    sizes = _sizes(counts, present)
    held = np.maximum(sizes.values, 2 * sizes.noise_std)
    centers = cells.centers.astype(np.float64)
    before = np.hstack([shares_of(centers, one) for one in task.levels])
    centers = with_shares(centers, _shrunk(counts, held, present, before), task)
    if sums is not None:
        shifts = sums.values / held[:, None]
        stds = sums.noise_std * np.array(lengths) / max(lengths) / held
        shifts = towards_zero(shifts, stds**2)
        centers[:, :q] += shortened(shifts, np.array(lengths, dtype=np.float64))
    start = replace(found, centers=cells.centers.astype(np.float64))
    errors = _errors(sums, counts, present, start, task)
    if share.kind == "gdp" and errors.centers is not None:
        errors = replace(errors, centers=replace(errors.centers, law="gaussian"))
    return Clusters(np.clip(centers, -REACH, REACH), sizes.values, found.radii, errors=errors)


def _errors(
    sums: Answer | None, counts: list[Answer], present: Floats, found: Clusters, task: Task
) -> Errors:
    """Error bars of a step from these centres, before it is shrunk, under Laplace noise."""
    sizes, q = _sizes(counts, present), n_numbers(task)
    rows = NoisyCounts(sizes.values, sizes.noise_std)
    bars = _bars_of_levels(counts, present, rows, task)
    if sums is not None:
        radii = np.array(whole(found.radii, q), dtype=np.float64)[:, None]
        stds = sums.noise_std * radii / radii.max()
        start = found.centers[:, :q]
        bars = _beside(of_ratio(sums.values, stds, rows, start=start, widest=radii), bars)
    # Sizes are sums of many counts.
    size_bars = Estimate(sizes.values, np.full(len(sizes.values), sizes.noise_std), "gaussian")
    return Errors(Estimate(*bars, "laplace"), size_bars)


def _bars_of_levels(
    counts: list[Answer], present: Floats, rows: NoisyCounts, task: Task
) -> tuple[Floats, Floats]:
    """Values and deviations (k, levels) of the coordinates of categories, before shrinking."""
    found = []
    for answer, part, one in zip(counts, present, task.levels, strict=True):
        held = NoisyCounts(rows.values * part, rows.std * part)
        even = np.full((1, 1), 1 / one.width)
        shares, stds = of_ratio(
            answer.values, answer.noise_std, held, start=np.zeros((1, 1)), widest=1.0
        )
        shares = np.where(held.known > 0, shares, even)
        found.append((coordinates_of(shares, one), 2 * one.high * stds))
    return np.hstack([each[0] for each in found]), np.hstack([each[1] for each in found])


def _beside(numbers: tuple[Floats, Floats], levels: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.hstack([numbers[0], levels[0]]), np.hstack([numbers[1], levels[1]])


def _shrunk(counts: list[Answer], rows: Floats, present: Floats, towards: Floats) -> Floats:
    """Shares (k, all levels) that add up to 1 in every category, nearer to others where noise is.

    Each of k lines is shrunk by itself: the positive part of James, Stein 1961.
    """
    pairs = zip(counts, present, strict=True)
    parts = [answer.values / (part * rows)[:, None] for answer, part in pairs]
    parts = [part - (part.sum(axis=1, keepdims=True) - 1) / part.shape[1] for part in parts]
    shifts = np.hstack(parts) - towards
    # As many directions less as there are categories, whose shares add up.
    free = max(shifts.shape[1] - len(counts) - 2, 1)
    lengths = np.square(shifts).sum(axis=1)
    kept = 1 - free * np.square(counts[0].noise_std / rows) / np.maximum(lengths, 1e-200)
    shrunk: Floats = towards + shifts * np.maximum(kept, 0)[:, None]
    return shrunk


def with_shares(points: Floats, shares: Floats, task: Task) -> Floats:
    """Points (k, d) whose categories are the distributions nearest to shares (k, all levels)."""
    moved, q = points.copy(), n_numbers(task)
    for one in task.levels:
        part = on_simplex(shares[:, one.start - q : one.end - q])
        moved[:, one.start : one.end] = coordinates_of(part, one)
    return moved


def with_distributions(found: Clusters, task: Task) -> Clusters:
    """The same clusters; the categories of their centres are distributions."""
    return replace(found, centers=distributions(found.centers, task.levels))
