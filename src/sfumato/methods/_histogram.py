"""The counts of one grid, for all of the budget: what density clusters are found in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato._accounting.budget import Account
from sfumato._base.types import Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells
from sfumato.methods._base import (
    NUMBER,
    PlannedTask,
    Prediction,
    PureMethod,
    Task,
    size_and_rest,
)
from sfumato.methods.formulas import eugkm_mse

# So many cells for n·ε rows: rows lie in few of them, each with more rows than noise.
_CELLS_PER_ROW = 0.5
_MAX_CELLS = 400_000
_LEAST, _FEW = 8, 3
# Numbers that are kept of each cell while regions are found.
_ARRAYS = 32


@dataclass(frozen=True)
class Histogram:
    """The released counts, and notes for the receipt."""

    synopsis: Synopsis
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GridHistogram(PureMethod):
    """Counts of about nε/2 cells; the number of rows is estimated first unless it is declared.

    Noise is pure also where a δ is allowed: of counts, each row in one cell, it is the smaller.
    """

    def check(self, task: Task) -> None:
        """Refuse, before any charge, dimensions in which two slices an axis are too many cells."""
        if 2**task.n_features > _MAX_CELLS:
            raise ValueError(
                f"a grid with 2 cells on each of d = {task.n_features} axes has "
                f"2^{task.n_features} cells; at most {_MAX_CELLS:,} are counted: choose fewer "
                "columns, up to three for clusters of any shape, or PrivateKMeans"
            )

    def predict(self, task: PlannedTask) -> Prediction:
        """The means of clusters of n/k rows, by the counts of their cells: an upper bound."""
        self.check(task)
        d, epsilon = task.n_features, task.after_count
        cells = _grid(task.n * epsilon / task.max_rows_per_group, d).n_cells
        error = eugkm_mse(task.n, d, task.k, epsilon / task.max_rows_per_group, cells)
        memory, passes = NUMBER * _ARRAYS * cells, 1 + task.count_passes
        note = f"{cells:,} cells, an upper bound for the means of its clusters"
        return Prediction.of(task, error, memory=memory, passes=passes, note=note)

    def __call__(self, curator: Curator, task: Task, *, account: Account, rng: Rng) -> Histogram:
        """Estimate the number of rows, then the counts of the grid."""
        n, rest = size_and_rest(curator, task, account.rest("pure"))
        grid = _grid(n * float(rest.amount) / task.max_rows_per_group, task.n_features)
        counts = curator.counts(grid, share=rest)
        layout = GridCells((grid.per_axis,) * grid.n_features)
        synopsis = Synopsis(curator.box, layout, counts.values, counts.noise_std)
        return Histogram(synopsis, (f"{grid} for about {n:,.0f} rows",))


def _grid(rows: float, n_features: int) -> Grid:
    """A grid for so many rows × ε: at least 8 slices an axis in few columns, 2 in more."""
    most = int(_MAX_CELLS ** (1 / n_features) + 1e-9)
    least = _LEAST if n_features <= _FEW else 2
    wanted = (_CELLS_PER_ROW * min(rows, 1e15)) ** (1 / n_features)
    return Grid(int(np.clip(wanted, least, most)), n_features)
