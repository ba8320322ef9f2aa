"""Pieces of files that a thread or a worker can read by itself, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.box import Floats
from sfumato.engines.labels import keys_of
from sfumato.engines.storage import Stamp
from sfumato.engines.tables import Layout, Table

# Cells of the features in a piece: enough to hide its opening, few enough to share evenly.
_PIECE_CELLS = 2**22


class FileChanged(RuntimeError):  # noqa: N818
    """A file is not what it was when it was opened."""


@dataclass(frozen=True)
class Piece:
    """Some rows of some files: where they lie, which columns count, and the files' state.

    It travels to workers: it holds no row, and no open file.
    """

    table: Table
    positions: tuple[int, ...]
    owner: int | None
    stamps: tuple[Stamp, ...]

    @classmethod
    def whole(cls, layout: Layout) -> Piece:
        """All rows of a table, in the state of its files now."""
        stamps = tuple(file.stamp() for file in layout.table.files)
        return cls(layout.table, layout.positions, layout.owner, stamps)

    def blocks(self) -> Iterator[Floats]:
        """Read the features."""
        self._check()
        for block in self.table.blocks(self.positions):
            yield block.values
        self._check()

    def labels(self) -> Iterator[list[str]]:
        """Read whose rows are whose: the key of every row's label."""
        if self.owner is None:
            raise ValueError("no column names the groups")
        self._check()
        for cells in self.table.cells(self.owner):
            yield keys_of(cells)
        self._check()

    def _check(self) -> None:
        for file, stamp in zip(self.table.files, self.stamps, strict=True):
            if file.stamp() != stamp:
                raise FileChanged(f"{file} has changed since it was opened")


def pieces_of(layout: Layout, cells: int | None = None) -> list[Piece]:
    """Cut the files of a layout into pieces of about so many cells; each row is in one of them."""
    whole = Piece.whole(layout)
    stamps = dict(zip(layout.table.files, whole.stamps, strict=True))
    rows = max(1, (cells or _PIECE_CELLS) // len(layout.positions))
    return [
        Piece(table, layout.positions, layout.owner, tuple(stamps[file] for file in table.files))
        for table in layout.table.pieces(rows)
    ]
