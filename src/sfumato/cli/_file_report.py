"""What is wrong with a file, exactly, by place and never by value.

This is no release. It is for the owner of the rows, before any budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato._lattice.box import Box
from sfumato.engines.formats._table import Block, Layout

_PLACES = 9
_PLACES_IN_COLUMN = 3


@dataclass(frozen=True)
class ColumnReport:
    """Exact numbers of cells of one column; `outside` is None where no bounds were given."""

    name: str
    numbers: int
    missing: int
    text: int
    outside: int | None


@dataclass(frozen=True)
class Place:
    """Where something is wrong: a line of the file, counted from 1, and a column if it is one."""

    line: int
    column: str | None

    def __str__(self) -> str:
        return f"line {self.line}" + (f", column {self.column!r}" if self.column else "")


@dataclass(frozen=True)
class FileReport:
    """What a checking pass found. Cells that are missing follow the nan policy: no problem.

    `incomplete` counts the rows that have one.
    """

    rows: int
    ragged: int
    columns: tuple[ColumnReport, ...]
    places: tuple[Place, ...]
    incomplete: int = 0

    @property
    def text(self) -> int:
        """How many cells hold something else than a number."""
        return sum(column.text for column in self.columns)

    @property
    def clean(self) -> bool:
        """Whether every row has all its fields, and every cell is a number or missing."""
        return not self.ragged and not self.text

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {"clean": self.clean, **asdict(self)}


def check_file(
    layout: Layout, *, box: Box | None = None, on_rows: Callable[[int], None] | None = None
) -> FileReport:
    """Read a file once and count what is wrong with it; `on_rows` is called with the rows read."""
    width = len(layout.positions)
    rows = ragged = incomplete = 0
    cells = np.zeros((4, width), dtype=np.int64)
    places: list[Place] = []
    for block in layout.blocks():
        cells += _counts(block, box)
        rows += len(block.values)
        ragged += int(block.ragged.sum())
        incomplete += int((~np.isfinite(block.values) & ~block.text).any(axis=1).sum())
        _add_places(places, block, layout.names)
        if on_rows is not None:
            on_rows(rows)
    columns = (
        ColumnReport(name, numbers, missing, text, None if box is None else outside)
        for name, (numbers, missing, text, outside) in zip(
            layout.names, cells.T.tolist(), strict=True
        )
    )
    return FileReport(rows, ragged, tuple(columns), tuple(places), incomplete)


def _counts(block: Block, box: Box | None) -> np.ndarray[Any, np.dtype[np.int64]]:
    finite = np.isfinite(block.values)
    numbers = finite.sum(axis=0)
    text = block.text.sum(axis=0)
    outside = np.zeros_like(numbers)
    if box is not None:
        beyond = (block.values < box.lower) | (block.values > box.upper)
        outside = (finite & beyond).sum(axis=0)
    return np.stack([numbers, len(block.values) - numbers - text, text, outside])


def _add_places(places: list[Place], block: Block, names: tuple[str, ...]) -> None:
    """Note the first places of each column; a ragged row is named once, not by its cells."""
    ragged = np.flatnonzero(block.ragged)[:_PLACES_IN_COLUMN]
    found = [Place(int(block.lines[i]), None) for i in ragged]
    for j in np.flatnonzero(block.text.any(axis=0)):
        cells = np.flatnonzero(block.text[:, j] & ~block.ragged)[:_PLACES_IN_COLUMN]
        found += [Place(int(block.lines[i]), names[j]) for i in cells]
    for place in sorted(found, key=lambda place: place.line):
        alike = sum(place.column == known.column for known in places)
        if alike < _PLACES_IN_COLUMN and len(places) < _PLACES:
            places.append(place)
