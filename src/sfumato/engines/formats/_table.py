"""What every file format has: named columns, and blocks of numbers that can be read repeatedly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats
from sfumato._schema.kinds import Cycle, Number
from sfumato._schema.schema import Schema
from sfumato._schema.weight import Weight
from sfumato.engines.formats._storage import StoredFile

Bools = NDArray[np.bool_]
Column = str | int
"""A column as users name it: its header, or its position counted from 0."""

_SHOWN = 30
_BLOCK_CELLS = 2**19
_FEWEST = 256


@dataclass(frozen=True)
class Block:
    """Some rows of a table, and what was wrong with them.

    `values`, of shape (n, d), has NaN for every cell that is not a number. `text`, of the same
    shape, marks those of them that are not missing. `ragged`, of shape (n,), marks rows with too
    few or too many fields; `lines` has the line of each row in the file, from 1 on.
    """

    values: Floats
    text: Bools
    ragged: Bools
    lines: NDArray[np.int64]

    @classmethod
    def clean(cls, values: Floats, first: int) -> Block:
        """A block without text and ragged rows. values: (n, d); first: line of the first row."""
        return cls(
            values,
            np.zeros(values.shape, dtype=np.bool_),
            np.zeros(len(values), dtype=np.bool_),
            np.arange(first, first + len(values)),
        )


def rows_at_once(n_columns: int) -> int:
    """How many rows a block has, so that it takes a few megabytes."""
    return max(_FEWEST, min(65_536, _BLOCK_CELLS // max(1, n_columns)))


class Table(ABC):
    """Rows of files. They may be read many times, and no row can make reading fail."""

    file: StoredFile
    names: tuple[str, ...]
    """The name of every column; its position where the file names none."""
    named: bool
    """Whether the names come from the file."""

    @cached_property
    def usual(self) -> tuple[int, ...]:
        """Positions of the columns that are read when none are asked for."""
        return tuple(range(len(self.names)))

    @cached_property
    def files(self) -> tuple[StoredFile, ...]:
        """The files that hold the rows."""
        return (self.file,)

    @abstractmethod
    def about_rows(self) -> int:
        """About how many rows there are, without reading them."""

    @abstractmethod
    def pieces(self, rows: int) -> Sequence[Table]:
        """Cut the table into others of about so many rows, in order; each row is in one of them."""

    @abstractmethod
    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        """Read these columns, in this order, from the first row to the last."""

    @abstractmethod
    def columns(self, positions: Sequence[int], numbers: Sequence[bool]) -> Iterator[list[Any]]:
        """Read these columns as they are: of each block a sequence of cells for every column.

        Cells are text, or values of their type. Where only `numbers` are of interest, they may come
        as an array of numbers, NaN for all other cells.
        """

    def cells(self, position: int) -> Iterator[Any]:
        """Read one column as it is: text, or values of its type."""
        return (column for (column,) in self.columns([position], [False]))

    def labels(self, position: int) -> Iterator[Any]:
        """Read one column as labels of rows: numbers in text are written with a point."""
        return self.cells(position)

    def check(  # noqa: B027
        self, positions: Sequence[int], owner: int | None, schema: Schema | None = None
    ) -> None:
        """Refuse columns that the file declares to be no features, or, of the owner, no labels.

        Without a schema, features are numbers.
        """


def position_of(table: Table, column: Column) -> int:
    """Find a column by its name or its position."""
    places = [i for i, name in enumerate(table.names) if name == column]
    if len(places) > 1:
        raise ValueError(
            f"{len(places)} columns are named {column!r}: name it by its position, one of "
            f"{', '.join(map(str, places))}"
        )
    if places:
        return places[0]
    text = str(column)
    if not isinstance(column, bool) and text.isascii() and text.isdigit():
        if int(text) < len(table.names):
            return int(text)
    if table.named:
        raise ValueError(no_column(column, table.names))
    raise ValueError(
        f"there is no column {column!r}; the columns have no names, only positions: 0 to "
        f"{len(table.names) - 1}"
    )


def no_column(column: Any, names: Sequence[Any]) -> str:  # noqa: ANN401
    """What is said of a name that no column has, or more than one."""
    if column in names:
        return f"{names.count(column)} columns are named {column!r}"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    listing = ", ".join(map(str, names[:_SHOWN]))
    return f"there is no column {column!r}; the columns are {listing}{more}"


@dataclass(frozen=True)
class Layout:
    """The columns that are read from a table: the features, and `owner`, the labels of groups.

    With `part`, `owner` has the labels of parts, and only rows whose label has that key are read.
    Columns that are `kept` are copied as they are beside the features. With a `schema`, features
    are encoded by it.
    """

    table: Table
    positions: tuple[int, ...]
    owner: int | None = None
    kept: tuple[int, ...] = ()
    part: str | None = None
    schema: Schema | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of a block."""
        return len(self.positions) if self.schema is None else self.schema.width

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every feature; its position where the file names none."""
        return tuple(self.table.names[i] for i in self.positions)

    @property
    def given_names(self) -> tuple[str, ...] | None:
        """The names of the features, if the file gives every one of them its own."""
        distinct = len(set(self.names)) == len(self.names)
        return self.names if self.table.named and distinct else None

    @property
    def titles(self) -> tuple[str, ...]:
        """The names, to be read by people."""
        return self.names if self.table.named else tuple(f"column {i}" for i in self.names)

    def blocks(self) -> Iterator[Block]:
        """Read the features."""
        if self.schema is None:
            yield from self.table.blocks(self.positions)
            return
        first = 1
        for cells in cells_of(self.table, self.positions, self.schema):
            yield Block.clean(self.schema.encode(cells), first)
            first += len(cells[0])

    def place_of(self, column: Column) -> int:
        """Which feature a column is."""
        position = position_of(self.table, column)
        if position not in self.positions:
            raise ValueError(f"column {column!r} is in the file, but not among the features")
        return self.positions.index(position)


def _chosen(
    table: Table, columns: Iterable[Column] | int | None, others: Set[int | None]
) -> tuple[int, ...]:
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names or positions, got {columns!r}")
    if columns is not None and not isinstance(columns, int):
        return tuple(position_of(table, column) for column in columns)
    if columns is not None and columns != len(table.usual):
        raise ValueError(f"{table.files[0]} has {len(table.usual)} columns, not {columns}")
    return tuple(i for i in table.usual if i not in others)


def select(
    table: Table,
    columns: Iterable[Column] | int | None,
    groups: Column | None = None,
    keep: Iterable[Column] = (),
    schema: Schema | None = None,
) -> Layout:
    """Choose the features, the column that names the groups, and those that are kept.

    A number in place of columns is how many of them the table has. The features of a schema are
    found by name; in a table without names, or where columns are listed, by position.
    """
    owner = None if groups is None else position_of(table, groups)
    kept = tuple(sorted({position_of(table, column) for column in keep}))
    if schema is not None and table.named and not isinstance(columns, Sequence):
        columns = schema.inputs
    chosen = _chosen(table, columns, {owner, *kept})
    if schema is not None and len(chosen) != len(schema.inputs):
        raise ValueError(
            f"the schema has {len(schema.inputs)} columns that take part, "
            f"{table.files[0]} has {len(chosen)}"
        )
    twice = next((i for i in chosen if chosen.count(i) > 1), None)
    if twice is not None:
        raise ValueError(f"column {table.names[twice]!r} is asked for twice")
    if owner in chosen:
        raise ValueError(f"column {groups!r} holds labels of rows and cannot be a feature as well")
    both = next((i for i in chosen if i in kept), None)
    if both is not None:
        raise ValueError(
            f"column {table.names[both]!r} is to be kept as it is and cannot be a feature as well"
        )
    if not chosen:
        raise ValueError("no column is left to read; at least one is needed")
    table.check(chosen, owner, schema)
    return Layout(table, chosen, owner, kept, schema=schema)


def cells_of(table: Table, positions: Sequence[int], schema: Schema) -> Iterator[list[Any]]:
    """Read the columns of a schema, in the order of its features."""
    return table.columns(positions, wanted_as_numbers(schema))


def wanted_as_numbers(schema: Schema) -> list[bool]:
    """Of which features only numbers are of interest."""
    return [isinstance(schema.columns[name], Number | Cycle | Weight) for name in schema.inputs]


def points_of(table: Table, positions: Sequence[int], schema: Schema) -> Iterator[Floats]:
    """Read and encode the columns of a schema, in blocks of shape (n, schema.width)."""
    step = rows_at_once(schema.width)
    for cells in cells_of(table, positions, schema):
        for start in range(0, len(cells[0]), step):
            yield schema.encode([column[start : start + step] for column in cells])


class ConcatTable(Table):
    """Tables with the same columns in the same order; others are refused."""

    def __init__(self, tables: Sequence[Table]) -> None:
        first = tables[0]
        for other in tables[1:]:
            if (other.names, other.named) != (first.names, first.named):
                raise ValueError(
                    f"{other.files[0]} has other columns than {first.files[0]}, or in another "
                    "order: files that are read together must have the same"
                )
        self.tables = tuple(tables)
        self.names, self.named, self.usual = first.names, first.named, first.usual
        self.files = tuple(file for table in tables for file in table.files)

    def about_rows(self) -> int:
        return sum(table.about_rows() for table in self.tables)

    def pieces(self, rows: int) -> list[Table]:
        return [piece for table in self.tables for piece in table.pieces(rows)]

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        return (block for table in self.tables for block in table.blocks(positions))

    def columns(self, positions: Sequence[int], numbers: Sequence[bool]) -> Iterator[list[Any]]:
        return (cells for table in self.tables for cells in table.columns(positions, numbers))

    def labels(self, position: int) -> Iterator[Any]:
        return (cells for table in self.tables for cells in table.labels(position))

    def check(
        self, positions: Sequence[int], owner: int | None, schema: Schema | None = None
    ) -> None:
        for table in self.tables:
            table.check(positions, owner, schema)


def tables_of(table: Table) -> tuple[Table, ...]:
    """The tables of all files, each by itself."""
    return table.tables if isinstance(table, ConcatTable) else (table,)
