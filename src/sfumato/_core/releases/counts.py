"""Releases of counts and coordinate sums of cells: which numbers, which share, which noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Entry, Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer, CellTotals
from sfumato._core.mechanisms import Cube, Cylinder, Mechanism, PerCellNoise, independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.cells import Grid, Nearest
from sfumato._core.queries.counts import Cells, Counts, Totals
from sfumato._core.queries.cubes import NearestInProjection
from sfumato._lattice.box import REACH, Box
from sfumato.engines._rows import Kernel, Rows


@dataclass(frozen=True)
class Measurement:
    """Some lines and columns of an exact answer, their share, and the noise they get.

    `shape` is that of the numbers, `std` the deviation of one of them in lattice steps or rows,
    `noise` the same in words and the user's units, `loss` what the noise costs at most.
    """

    query: str
    share: Share
    mechanism: Mechanism
    shape: tuple[int, int]
    std: float
    noise: str
    loss: Fraction
    where: tuple[slice, slice] = (slice(None), slice(0, 1))
    chapter: str = "Core queries"

    def entry(self) -> Entry:
        """The line of the account for this measurement."""
        kind, slack = self.mechanism, self.mechanism.slack(self.shape)
        name = kind.law if isinstance(kind, PerCellNoise) else type(kind).__name__.lower()
        return Entry(
            self.query, self.share, name, kind.scale, self.noise, slack, self.loss, self.chapter
        )

    def pick(self, exact: Ints) -> Ints:
        """Its numbers; under cube noise a count is written in units of 1/REACH rows."""
        chosen = exact[self.where].copy()
        if isinstance(self.mechanism, Cube):
            chosen[:, 0] *= REACH
        return chosen


def release_all(data: PrivateData, query: Kernel, *measurements: Measurement) -> list[Answer]:
    """Fold the rows once and release every measurement with its own noise."""
    for one in measurements:
        one.mechanism.check(one.shape)

    def read(rows: Rows) -> list[Ints]:
        exact = rows.fold(data.box, query)
        lines = exact.reshape(len(exact), -1)
        return [data.perturb(one.mechanism, one.pick(lines)) for one in measurements]

    noisy = data.release([one.entry() for one in measurements], read)
    pairs = zip(noisy, measurements, strict=True)
    return [Answer(n.astype(np.float64), one.std) for n, one in pairs]


def release_counts(data: PrivateData, cells: Cells, share: Share) -> Answer:
    """See `Curator.counts`."""
    query = data.admit(Counts(cells), (Counts,), share)
    return flat(release_all(data, query, measure_counts(data, cells, share))[0])


def release_sums(
    data: PrivateData,
    cells: Nearest | Grid | NearestInProjection,
    share: Share,
    counts: Share | None,
    radius: int | Sequence[int] | None,
    columns: int | None = None,
    *,
    joint: bool,
) -> CellTotals:
    """See `Curator.sums`."""
    query, shares = (
        Totals(cells, radius, columns),
        [share, *([counts] if counts is not None else [])],
    )
    data.admit(query, (Totals,), *shares)
    if not joint:
        parts = [measure_sums(data, query, share)]
        parts += [measure_counts(data, cells, one) for one in shares[1:]]
        sums, *sizes = release_all(data, query, *parts)
        return CellTotals(sums, flat(sizes[0]) if sizes else None)
    if share.kind != "pure" or counts is not None:
        raise ValueError("joint counts and sums take one pure share")
    part, count_std = measure_jointly(data, query, share)
    values = release_all(data, query, part)[0].values
    rows = values[:, 0] / (REACH if query.radius is None else 1)
    return CellTotals(Answer(values[:, 1:], part.std), Answer(rows, count_std))


def measure_counts(data: PrivateData, cells: Cells, share: Share) -> Measurement:
    """The counts of all cells."""
    most = Counts(cells).sensitivity().times(data.rows_per_neighbour)
    mechanism = independent(share, most)
    shape, std, loss = (cells.n_cells, 1), mechanism.std, mechanism.loss(most)
    whole = isinstance(cells, Grid) and cells.n_cells == 1
    name = "number of rows" if whole else f"counts of {cells}"
    return Measurement(
        name, share, mechanism, shape, std, in_rows(std), loss, chapter=cells.chapter
    )


def measure_sums(data: PrivateData, query: Totals, share: Share) -> Measurement:
    """The sums of all cells."""
    mechanism: Mechanism
    if isinstance(query.radius, tuple):
        each = [s.times(data.rows_per_neighbour) for s in query.sensitivities()]
        mechanism = PerCellNoise.fitting(share, each)
        loss = mechanism.loss(each)
    else:
        most = query.sensitivity().times(data.rows_per_neighbour)
        mechanism = independent(share, most)
        loss = mechanism.loss(most)
    shape, std = (query.cells.n_cells, query.n_summed), mechanism.std
    noise = f"{in_units(data.box, std, query.columns)} per sum{_where(query)}"
    where, chapter = (slice(None), slice(1, None)), query.cells.chapter
    return Measurement(str(query), share, mechanism, shape, std, noise, loss, where, chapter)


def measure_jointly(data: PrivateData, query: Totals, share: Share) -> tuple[Measurement, float]:
    """Counts and sums of all cells under one noise.

    Returns the measurement and the deviation of a count; that of a sum is the measurement's own.
    """
    rows, d = data.rows_per_neighbour, query.n_summed
    shape = (query.cells.n_cells, d + 1)
    mechanism: Mechanism
    if query.radius is None:
        mechanism = Cube.fitting(share, rows)
        std = mechanism.std_in(shape[1])
        count_std = std / REACH
        loss = mechanism.loss(rows)
    else:
        mechanism = Cylinder.fitting(share, query.radii, rows)
        std = mechanism.std_in(d)
        count_std = mechanism.count_std_in(d)
        loss = mechanism.loss(query.radii, rows)
    units = in_units(data.box, std, query.columns)
    noise = f"{in_rows(count_std)}, {units} per sum{_where(query)}"
    name, where = f"counts and {query}", (slice(None), slice(None))
    return Measurement(name, share, mechanism, shape, std, noise, loss, where), count_std


def flat(answer: Answer) -> Answer:
    """One number for each cell, where there is one column."""
    return Answer(answer.values[:, 0], answer.noise_std)


def _where(query: Totals) -> str:
    return " of the widest cell" if isinstance(query.radius, tuple) else ""


def in_rows(std: float) -> str:
    """A deviation of counts, in words."""
    return f"± {std:.3g} rows"


def in_units(box: Box, std: float, columns: int | None = None) -> str:
    """A deviation of coordinates, in the user's units, from the finest to the widest column."""
    steps = box.step[:columns]
    low, high = (f"{float(std) * float(s):.3g}" for s in (steps.min(), steps.max()))
    return f"± {low}" if low == high else f"± {low} to {high}"
