"""How rows of a table become points of a cube, each by itself, and what points mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats
from sfumato._lattice.box import REACH, Box
from sfumato._schema.kinds import Column
from sfumato._schema.levels import Category
from sfumato._schema.weight import Weight


class Encoding:
    """Columns by name, and the coordinates that they take."""

    columns: dict[str, Column]

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The columns that take part in a fit, in the order in which they were declared."""
        pairs = self.columns.items()
        return tuple(n for n, c in pairs if c.weight > 0 and not isinstance(c, Weight))

    @cached_property
    def weights(self) -> Weight | None:
        """How much a row counts, if a column says so."""
        found = [column for column in self.columns.values() if isinstance(column, Weight)]
        return found[0] if found else None

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The columns that are read: the features, then the one of weights."""
        weights = [n for n, column in self.columns.items() if isinstance(column, Weight)]
        return (*self.features, *weights)

    @cached_property
    def _ordered(self) -> tuple[str, ...]:
        """Features in the order of their coordinates: categories come last."""
        of_levels = [n for n in self.features if isinstance(self.columns[n], Category)]
        return (*(n for n in self.features if n not in of_levels), *of_levels)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Which coordinates each feature takes."""
        found, start = {}, 0
        for name in self._ordered:
            stop = start + self.columns[name].width
            found[name] = slice(start, stop)
            start = stop
        return found

    @cached_property
    def dimensions(self) -> int:
        """Number of coordinates of a point."""
        return sum(self.columns[name].width for name in self.features)

    @property
    def width(self) -> int:
        """Number of coordinates of a row: those of its point, then its copies if it has weights."""
        return self.dimensions + (self.weights is not None)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """A name for each coordinate."""
        return tuple(n for name in self._ordered for n in self.columns[name].coordinate_names(name))

    @property
    def number_names(self) -> tuple[str, ...]:
        """A name for each number of a decoded centre."""
        return tuple(n for name in self.features for n in self.columns[name].number_names(name))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ANN401
        """A name for each coordinate, as scikit-learn's transformers have it."""
        return np.array(self.coordinate_names, dtype=object)

    @cached_property
    def box(self) -> Box:
        """The cube that points lie in."""
        return Box((-1.0,) * self.dimensions, (1.0,) * self.dimensions, "ignore")

    @cached_property
    def row_box(self) -> Box:
        """The cube that rows lie in, with their copies as lattice steps in the last column."""
        return Box((-1.0,) * self.width, (1.0,) * self.width, "ignore")

    @cached_property
    def levels(self) -> tuple[tuple[int, int, int], ...]:
        """Of each category its first coordinate, their number, and the value at a level.

        The value is in lattice steps; elsewhere it is the same with a minus.
        """
        found = []
        for name in self._ordered:
            column, place = self.columns[name], self.places[name]
            if isinstance(column, Category):
                high = round(math.sqrt(0.5) * column.weight * REACH)
                found.append((place.start, column.width, high))
        return tuple(found)

    def encode(self, cells: Sequence[Any]) -> Floats:
        """Encode rows, each by itself: cells, a sequence for each of `inputs`, to (n, width).

        NaN is a coordinate of a missing cell; a row that is to be dropped is NaN throughout.
        """
        if len(cells) != len(self.inputs):
            raise ValueError(f"{len(self.inputs)} columns are needed, got {len(cells)}")
        points = np.empty((len(cells[0]), self.width))
        dropped = np.zeros(len(points), dtype=np.bool_)
        # No value may raise a warning, which a caller could turn into an exception.
        with np.errstate(all="ignore"):
            for name, given in zip(self.features, cells, strict=False):
                column = self.columns[name]
                codes, points[:, self.places[name]] = column.encoded(given)
                if column.missing == "drop":
                    dropped |= np.isnan(codes)
            if self.weights is not None:
                copies = self.weights.codes(cells[-1])
                points[:, -1] = copies / REACH
                dropped |= (copies == 0) | np.isnan(points[:, :-1]).all(axis=1)
        points[dropped] = np.nan
        return points

    def settled(self, points: Floats) -> Floats:
        """Points (k, dimensions) whose shares of levels are distributions, inside the cube."""
        found = np.clip(points, -1.0, 1.0)
        for name in self.features:
            column, place = self.columns[name], self.places[name]
            if isinstance(column, Category):
                shares = column.decoded(found[:, place] / column.weight)
                found[:, place] = (2 * shares - 1) * np.sqrt(0.5) * column.weight
        return found

    def decode(self, points: Floats) -> Floats:
        """What points (k, dimensions) mean: numbers (k, m) in the users' units, see `number_names`.

        Dates are days since 1970, ordinals places from 0 on, flags and levels shares.
        """
        return np.column_stack([self._decoded(points, name) for name in self.features])

    def in_words(self, points: Floats) -> list[dict[str, Any]]:
        """What each of some points (k, dimensions) means, by column, in the users' words."""
        decoded = {name: self._decoded(points, name) for name in self.features}
        return [
            {name: self.columns[name].in_words(decoded[name][i]) for name in self.features}
            for i in range(len(points))
        ]

    def cells(self, points: Floats) -> dict[str, list[Any]]:
        """The rows of a table, by column, that points (n, dimensions) are nearest to."""
        found = {}
        for name in self.features:
            column = self.columns[name]
            codes = column.nearest_codes(points[:, self.places[name]] / column.weight)
            found[name] = [column.cell(code) for code in codes]
        return found

    def _decoded(self, points: Floats, name: str) -> Floats:
        column = self.columns[name]
        return column.decoded(points[:, self.places[name]] / column.weight)
