"""Several files with the same columns, read one after the other as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.engines.storage import Stored
from sfumato.engines.tables import Block, Table


@dataclass(frozen=True)
class Several:
    """Tables with the same columns in the same order. The first one speaks for all."""

    tables: tuple[Table, ...]

    @classmethod
    def of(cls, tables: Sequence[Table]) -> Table:
        """Put tables together; refuse those whose columns are not alike."""
        first = tables[0]
        for other in tables[1:]:
            if (other.names, other.named) != (first.names, first.named):
                raise ValueError(
                    f"{other.files[0]} has other columns than {first.files[0]}, or in another "
                    "order: files that are read together must have the same"
                )
        return first if len(tables) == 1 else cls(tuple(tables))

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column; its position where the files name none."""
        return self.tables[0].names

    @property
    def named(self) -> bool:
        """Whether the names come from the files."""
        return self.tables[0].named

    @property
    def usual(self) -> tuple[int, ...]:
        """Positions of the columns that are read when none are asked for."""
        return self.tables[0].usual

    @property
    def files(self) -> tuple[Stored, ...]:
        """All files, in the order in which they are read."""
        return tuple(file for table in self.tables for file in table.files)

    def about_rows(self) -> int:
        """About how many rows there are, without reading them."""
        return sum(table.about_rows() for table in self.tables)

    def pieces(self, rows: int) -> list[Table]:
        """Cut every table into others of about so many rows."""
        return [piece for table in self.tables for piece in table.pieces(rows)]

    def check(self, positions: Sequence[int]) -> None:
        """Refuse columns that a file declares to be something else than numbers."""
        for table in self.tables:
            table.check(positions)

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        """Read these columns, in this order, from the first row to the last."""
        for table in self.tables:
            yield from table.blocks(positions)

    def check_owner(self, position: int) -> None:
        """Refuse a column whose declared type cannot say whose rows are whose."""
        for table in self.tables:
            table.check_owner(position)

    def cells(self, position: int) -> Iterator[list[Any]]:
        """Read one column as it is in each file: text, or values of its type there."""
        for table in self.tables:
            yield from table.cells(position)


def tables_of(table: Table) -> tuple[Table, ...]:
    """The tables of all files, each by itself."""
    return table.tables if isinstance(table, Several) else (table,)
