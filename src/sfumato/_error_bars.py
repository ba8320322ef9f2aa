"""Error bars of released centres and sizes in the user's units: post-processing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from sfumato._base.types import Floats
from sfumato._lattice.box import REACH, Box
from sfumato._schema.kinds import Column, Cycle
from sfumato._schema.levels import Category
from sfumato._schema.schema import Schema
from sfumato._synopsis import Synopsis
from sfumato._synopsis.evidence import evidence_of
from sfumato._uncertainty import Errors, Estimate, deviations

# Coordinates that a derivative is taken over.
_STEP = 1e-4

MOST_LINES = 40
"""Centres whose error bars a receipt shows."""


def check_level(level: Any) -> float:  # noqa: ANN401
    """Refuse a level that is not a probability between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ValueError(
            f"level must be a probability between 0 and 1, such as 0.95, got {level!r}"
        )
    return float(level)


def std_of(bars: Estimate, box: Box, schema: Schema | None) -> Floats:
    """Deviations (k, m) of the numbers of the centres."""
    if schema is None:
        stds: Floats = bars.stds * box.step
        return stds
    values, stds = np.clip(bars.values / REACH, -1, 1), bars.stds / REACH
    found = [
        _column_std(schema.columns[name], values[:, place], stds[:, place])
        for name in schema.features
        for place in (schema.places[name],)
    ]
    return np.hstack(found)


def intervals_of(
    bars: Estimate, centers: Floats, level: float, box: Box, schema: Schema | None
) -> Floats:
    """Lower and upper ends (k, m, 2) around centres (k, m), inside the bounds.

    They are around what the step found before it was shrunk; a released centre that lies outside
    is included.
    """
    if schema is None:
        low, high = (box.from_lattice(ends) for ends in np.moveaxis(bars.interval(level), -1, 0))
    else:
        places = schema.places
        times = deviations(bars.law, bars.columns, level)
        values, halves = bars.values / REACH, times * bars.stds / REACH
        parts = [
            _column_ends(schema.columns[n], values[:, places[n]], halves[:, places[n]])
            for n in schema.features
        ]
        low, high = (np.hstack([part[i] for part in parts]) for i in (0, 1))
    return np.stack([np.minimum(low, centers), np.maximum(high, centers)], axis=-1)


def size_intervals(bars: Estimate, sizes: Floats, level: float) -> Floats:
    """Lower and upper ends (k, 2) of sizes (k,): none is below 0."""
    low, high = np.moveaxis(bars.interval(level), -1, 0)
    ends = np.stack([np.minimum(low, sizes), np.maximum(high, sizes)], axis=-1)
    positive: Floats = np.maximum(ends, 0.0)
    return positive


def lines_of(errors: Errors, box: Box, schema: Schema | None) -> tuple[str, ...]:
    """One line for each centre, for the receipt: one deviation of its size and its coordinates."""
    known = errors.centers or errors.sizes
    if known is None:
        return ()
    stds = None if errors.centers is None else std_of(errors.centers, box, schema)
    lines = []
    for i in range(min(len(known.values), MOST_LINES)):
        parts = [] if errors.sizes is None else [f"size ± {errors.sizes.stds[i]:.3g} rows"]
        if stds is not None:
            low, high = (f"{x:.3g}" for x in (stds[i].min(), stds[i].max()))
            parts.append(f"coordinates ± {low}" + ("" if low == high else f" to {high}"))
        lines.append(f"centre {i}: {', '.join(parts)}")
    more = len(known.values) - MOST_LINES
    return (*lines, *([f"{more:,} more centres"] if more > 0 else []))


REAL = 0.95
"""The evidence from which on a cluster is taken for real."""


def doubts(evidence: Floats) -> str:
    """Which clusters have too little evidence, in a sentence; nothing if none has."""
    found = np.flatnonzero(evidence < REAL)
    if not len(found):
        return ""
    listed = ", ".join(map(str, found[:10])) + (", …" if len(found) > 10 else "")
    return (
        f"{len(found)} of {len(evidence)} clusters may be made by noise or be parts of one: "
        f"{listed}; evidence_ says how sure each is. Ask for fewer clusters, or spend more ε"
    )


def evidence_in_cells(synopsis: Synopsis, centers: Floats, unit: float, seed: int) -> Floats:
    """Evidence (k,) of centres (k, d) in the cube, by valleys of density among released cells."""
    rng = np.random.default_rng(seed)
    weights, std = synopsis.weights / unit, synopsis.noise_std / unit
    return evidence_of(synopsis.layout, weights, std, centers, rng)


def evidence_in_numbers(errors: Errors, points: Floats) -> Floats:
    """Evidence (k,) where no cells were released: sizes and gaps against their noise alone.

    points: (k, d), lattice steps. A cluster that is a part of another is not found out here.
    """
    chances = np.zeros(len(points))
    if errors.sizes is not None:
        deviations_above = errors.sizes.values / np.maximum(errors.sizes.stds, 1e-300)
        chances = np.exp(-math.sqrt(2) * np.maximum(deviations_above, 0)) / 2
    if errors.centers is not None and len(points) > 1:
        stds = np.maximum(errors.centers.stds, 1e-300)
        for i, point in enumerate(points):
            gaps = np.square(points - point) / (np.square(stds) + np.square(stds[i]))
            together = special.gammaincc(points.shape[1] / 2, gaps.sum(axis=1) / 2)
            chances[i] = max(chances[i], float(np.delete(together, i).max()))
    found: Floats = 1 - np.minimum(len(points) * chances, 1.0)
    return found


def _share_scale(column: Category) -> float:
    """Coordinates per share of a level."""
    return 2 * math.sqrt(0.5) * column.weight


def _column_std(column: Column, values: Floats, stds: Floats) -> Floats:
    """Deviations (k, m) of what coordinates (k, width) mean."""
    if isinstance(column, Category):
        return stds / _share_scale(column)
    if isinstance(column, Cycle):
        return _turn(column, values, stds)
    middle = np.clip(values / column.weight, -1 + _STEP, 1 - _STEP)
    slopes = (column.decoded(middle + _STEP) - column.decoded(middle - _STEP)) / (2 * _STEP)
    found: Floats = slopes * stds / column.weight
    return found


def _column_ends(column: Column, values: Floats, halves: Floats) -> tuple[Floats, Floats]:
    """Lower and upper ends (k, m) of what coordinates (k, width) mean."""
    if isinstance(column, Category):
        middles = (values / column.weight / math.sqrt(0.5) + 1) / 2
        half = halves / _share_scale(column)
        return np.clip(middles - half, 0, 1), np.clip(middles + half, 0, 1)
    if isinstance(column, Cycle):
        middle, half = column.decoded(values / column.weight), _turn(column, values, halves)
        return middle - half, middle + half
    low, high = ((values + side * halves) / column.weight for side in (-1, 1))
    return column.decoded(np.clip(low, -1, 1)), column.decoded(np.clip(high, -1, 1))


def _turn(column: Cycle, values: Floats, sides: Floats) -> Floats:
    """How far along the cycle a shift of its two coordinates by `sides` leads: (k, 1)."""
    lengths = np.hypot(values[:, 0], values[:, 1])
    across = np.hypot(sides[:, 0], sides[:, 1]) / math.sqrt(2)
    angles = np.where(lengths > across, across / np.maximum(lengths, 1e-300), math.pi)
    found: Floats = np.minimum(angles, math.pi)[:, None] * column.period / (2 * math.pi)
    return found
