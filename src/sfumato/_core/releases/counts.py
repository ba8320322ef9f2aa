"""Parts of an answer: which numbers, bought with which share, under which noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sfumato._accounting.budget import Entry, Share
from sfumato._base.types import Ints
from sfumato._core.mechanisms import Cube, Cylinder, Mechanism, PerCellNoise, independent
from sfumato._core.queries.counts import Cells, Counts, Grid, Totals
from sfumato._lattice.box import REACH, Box


@dataclass(frozen=True)
class Measurement:
    """Some columns and lines of an exact answer, the share that buys them, the noise they get."""

    query: str
    share: Share
    mechanism: Mechanism
    columns: slice
    shape: tuple[int, int]
    std: float
    noise: str
    loss: Fraction
    lines: slice = field(default_factory=lambda: slice(None))

    def entry(self) -> Entry:
        """The line of the account that pays for this part."""
        kind = self.mechanism
        return Entry(
            query=self.query,
            share=self.share,
            law=kind.law if isinstance(kind, PerCellNoise) else type(kind).__name__.lower(),
            scale=self.mechanism.scale,
            noise=self.noise,
            slack=self.mechanism.slack(self.shape),
            loss=self.loss,
        )

    def pick(self, exact: Ints) -> Ints:
        """Its numbers; under cube noise a count is written in units of 1/REACH rows."""
        chosen = exact[self.lines, self.columns].copy()
        if isinstance(self.mechanism, Cube):
            chosen[:, 0] *= REACH
        return chosen


def counts_part(cells: Cells, share: Share, rows: int) -> Measurement:
    """The counts of all cells, for neighbours that differ by up to `rows` rows."""
    most = Counts(cells).sensitivity().times(rows)
    mechanism = independent(share, most)
    shape, std, loss = (cells.n_cells, 1), mechanism.std, mechanism.loss(most)
    whole = isinstance(cells, Grid) and cells.n_cells == 1
    name = "number of rows" if whole else f"counts of {cells}"
    return Measurement(name, share, mechanism, slice(0, 1), shape, std, in_rows(std), loss)


def sums_part(query: Totals, share: Share, rows: int, box: Box) -> Measurement:
    """The sums of all cells, for neighbours that differ by up to `rows` rows."""
    mechanism: Mechanism
    if isinstance(query.radius, tuple):
        each = [s.times(rows) for s in query.sensitivities()]
        mechanism = PerCellNoise.fitting(share, each)
        loss = mechanism.loss(each)
    else:
        most = query.sensitivity().times(rows)
        mechanism = independent(share, most)
        loss = mechanism.loss(most)
    shape, std = (query.cells.n_cells, query.n_features), mechanism.std
    noise = f"{in_units(box, std)} per sum{_where(query)}"
    return Measurement(str(query), share, mechanism, slice(1, None), shape, std, noise, loss)


def joint_part(query: Totals, share: Share, rows: int, box: Box) -> tuple[Measurement, float]:
    """Counts and sums of all cells under one noise, for up to `rows` rows.

    Returns the part and the deviation of a count; that of a sum is the part's own.
    """
    shape = (query.cells.n_cells, query.n_features + 1)
    mechanism: Mechanism
    if query.radius is None:
        mechanism = Cube.fitting(share, rows)
        std = mechanism.std_in(shape[1])
        count_std = std / REACH
        loss = mechanism.loss(rows)
    else:
        mechanism = Cylinder.fitting(share, query.radii, rows)
        std = mechanism.std_in(query.n_features)
        count_std = mechanism.count_std_in(query.n_features)
        loss = mechanism.loss(query.radii, rows)
    noise = f"{in_rows(count_std)}, {in_units(box, std)} per sum{_where(query)}"
    name = f"counts and {query}"
    return Measurement(name, share, mechanism, slice(None), shape, std, noise, loss), count_std


def _where(query: Totals) -> str:
    return " of the widest cell" if isinstance(query.radius, tuple) else ""


def in_rows(std: float) -> str:
    """A deviation of counts, in words."""
    return f"± {std:.3g} rows"


def in_units(box: Box, std: float) -> str:
    """A deviation of coordinates, in the user's units, from the finest to the widest column."""
    low, high = (f"{float(std) * float(s):.3g}" for s in (box.step.min(), box.step.max()))
    return f"± {low}" if low == high else f"± {low} to {high}"
