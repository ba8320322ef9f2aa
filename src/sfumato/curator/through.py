"""Cells that are told apart in a view, while the rows stay whole."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.box import Ints, Lattice
from sfumato.curator.cells import Nearest
from sfumato.curator.projection import Projection
from sfumato.engines import kernels


@dataclass(frozen=True)
class Through:
    """Each row belongs to the centre nearest to what is seen of it; what is summed is the row.

    The cell of a row is a function of that row and of public numbers.
    """

    projection: Projection
    cells: Nearest

    def __post_init__(self) -> None:
        # Exact types: a subclass could keep the rows that it is shown.
        if type(self.projection) is not Projection or type(self.cells) is not Nearest:
            raise TypeError(
                "rows are told apart through a Projection by Nearest cells, not through "
                f"{type(self.projection).__name__} by {type(self.cells).__name__}"
            )
        if self.projection.n_out != self.cells.n_features:
            raise ValueError(
                f"the cells have {self.cells.n_features} columns, "
                f"the projection shows {self.projection.n_out}"
            )

    def __str__(self) -> str:
        return f"{self.cells} of {self.projection}"

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self.cells.n_cells

    @property
    def n_features(self) -> int:
        """Number of columns of the rows themselves."""
        return self.projection.n_features

    def count(self, rows: Lattice, state: Ints) -> None:
        """Count one block of rows."""
        kernels.nearest_counts(self.projection.see(rows), self.cells.centers, state)

    def total(self, rows: Lattice, state: Ints) -> None:
        """Count and sum one block of rows."""
        labels = kernels.cells_of_nearest(self.projection.see(rows), self.cells.centers)
        kernels.labelled_totals(rows, labels, state)
