"""Parquet files, read and written in batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sfumato._base import extra
from sfumato._base.types import Floats
from sfumato._base.validation import NoFeature
from sfumato._schema.schema import Schema
from sfumato._schema.types import Declared, Family, check_types, no_numbers
from sfumato.engines.formats._storage import StoredFile
from sfumato.engines.formats._table import Block, Table, rows_at_once

_BUFFER = 2**20

# pandas stores the index of a data frame under such a name; it is no column of the frame.
_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Parquet(Table):
    """A Parquet file; its schema names the columns and declares their types. See `Table`.

    A piece of a table has the row groups from the first of `span` on, up to the other.
    """

    file: StoredFile
    names: tuple[str, ...]
    named: bool = True
    span: tuple[int, int] | None = None

    @classmethod
    def open(cls, path: StoredFile) -> Parquet:
        """Read the names of the columns."""
        with _file(path) as file:
            names = tuple(file.schema_arrow.names)
        if not names:
            raise ValueError(f"{path} is empty: it has no columns")
        return cls(path, names)

    def about_rows(self) -> int:
        with _file(self.file) as file:
            return int(file.metadata.num_rows)

    def pieces(self, rows: int) -> list[Parquet]:
        """Take row groups together until there are enough rows; a row group is not cut."""
        with _file(self.file) as file:
            about = file.metadata
            sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        ends, held = [0], 0
        for end, size in enumerate(sizes, 1):
            held += size
            if held >= rows or end == len(sizes):
                ends.append(end)
                held = 0
        return [replace(self, span=span) for span in pairwise(ends)] or [self]

    @cached_property
    def usual(self) -> tuple[int, ...]:
        """All columns but the index that pandas may have stored."""
        return tuple(i for i, name in enumerate(self.names) if not _INDEX.fullmatch(name))

    def check(
        self, positions: Sequence[int], owner: int | None, schema: Schema | None = None
    ) -> None:
        types = self._schema()
        check_arrow([types.field(i) for i in positions], schema)
        column = None if owner is None else types.field(owner)
        if column is not None and not _is_label(column.type):
            raise ValueError(
                f"column {column.name} ({column.type}) cannot hold labels of rows: it must hold "
                "numbers, text, bytes, dates or times"
            )

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        first = 1
        for batch in self._batches(positions):
            yield Block.clean(floats_of(batch.columns), first)
            first += batch.num_rows

    def columns(self, positions: Sequence[int], numbers: Sequence[bool]) -> Iterator[list[Any]]:
        return (cells_in(batch, numbers) for batch in self._batches(positions))

    def cells(self, position: int) -> Iterator[list[Any]]:
        return (values_of(column) for column in self.arrays(position))

    def arrays(self, position: int) -> Iterator[Any]:
        """Read one column as Arrow arrays of its own type."""
        return (batch.column(0) for batch in self._batches([position]))

    def type_of(self, position: int) -> Any:  # noqa: ANN401
        """The Arrow type of a column."""
        return self._schema().field(position).type

    def _schema(self) -> Any:  # noqa: ANN401
        with _file(self.file) as file:
            return file.schema_arrow

    def _batches(self, positions: Sequence[int]) -> Iterator[Any]:
        """Yield batches with these columns only, in this order."""
        wanted = [self.names[i] for i in positions]
        # The size depends on all columns, so that columns that are read apart have equal blocks.
        size = rows_at_once(len(self.names))
        with _file(self.file) as file:
            groups = range(*(self.span or (0, file.metadata.num_row_groups)))
            # A pass has threads of its own.
            for batch in file.iter_batches(size, list(groups), wanted, use_threads=False):
                yield batch.select(wanted)


class ParquetOut:
    """A Parquet file that is written block by block: numbers, texts and columns of other files."""

    def __init__(self, path: Path, names: Sequence[str], types: Sequence[Any]) -> None:
        arrow = _pyarrow()
        known = {"number": arrow.float64(), "text": arrow.string()}
        kinds = [known[kind] if isinstance(kind, str) else kind for kind in types]
        self._schema = arrow.schema(list(zip(names, kinds, strict=True)))
        self._writer = arrow.parquet.ParquetWriter(path, self._schema)

    def write(self, columns: Sequence[Any]) -> None:
        """Write some rows, given column by column; NaN is written as a missing value."""
        arrow = _pyarrow()
        arrays = [
            column if isinstance(column, arrow.Array) else arrow.array(column, from_pandas=True)
            for column in columns
        ]
        self._writer.write_table(arrow.Table.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()


def _pyarrow() -> Any:  # noqa: ANN401
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(f"Parquet needs pyarrow: {extra('parquet')}") from None
    return pyarrow


def _file(file: StoredFile) -> Any:  # noqa: ANN401
    arrow = _pyarrow()
    source = file.where if file.local else file.open()
    try:
        # Pages are read as they are needed: a row group is not held as a whole.
        return arrow.parquet.ParquetFile(source, buffer_size=_BUFFER, pre_buffer=False)
    except (arrow.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        # Messages of Arrow may show bytes of the file.
        raise ValueError(f"{file} is not a Parquet file, or damaged") from None


def is_number(kind: Any) -> bool:  # noqa: ANN401
    """Whether an Arrow type holds numbers."""
    types = _pyarrow().types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(test(kind) for test in tests)


def family_in(kind: Any) -> Family:  # noqa: ANN401
    """What cells of an Arrow type can be."""
    types = _pyarrow().types
    if types.is_dictionary(kind):
        return family_in(kind.value_type)
    if types.is_boolean(kind):
        return "bool"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "time"
    if is_number(kind):
        return "number"
    if types.is_null(kind):
        return "any"
    views = [getattr(types, name, None) for name in ("is_string_view", "is_binary_view")]
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, *views)
    is_text = types.is_fixed_size_binary(kind) or any(test and test(kind) for test in texts)
    return "text" if is_text else "other"


def check_arrow(fields: Sequence[Any], schema: Schema | None) -> None:
    """Refuse columns by their Arrow types: what a schema cannot mean, or what is no number."""
    declared = [Declared(field.name, family_in(field.type), str(field.type)) for field in fields]
    if schema is not None:
        check_types(schema, declared)
        return
    pairs = zip(fields, declared, strict=True)
    wrong = [own for field, own in pairs if not is_number(field.type)]
    if wrong:
        raise NoFeature(no_numbers(wrong))


def _is_label(kind: Any) -> bool:  # noqa: ANN401
    types = _pyarrow().types
    if types.is_dictionary(kind):
        return _is_label(kind.value_type)
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    others = (types.is_fixed_size_binary, types.is_temporal, types.is_null)
    return is_number(kind) or any(test(kind) for test in (*texts, *others))


def values_of(column: Any) -> list[Any]:  # noqa: ANN401
    """Python values, and NumPy's for dates and times, whose range is larger. Never raises."""
    arrow = _pyarrow()
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind):
        return list(column.to_numpy(zero_copy_only=False))
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        # A file may call bytes text that are not UTF-8.
        raw = column.cast(arrow.large_binary() if types.is_large_string(kind) else arrow.binary())
        values = [b if b is None else b.decode("utf-8", "surrogateescape") for b in raw.to_pylist()]
    return values


def cells_in(batch: Any, numbers: Sequence[bool]) -> list[Any]:  # noqa: ANN401
    """The columns of a record batch as cells, as `Table.columns` has them. Never raises."""
    return [_cells(*pair) for pair in zip(batch.columns, numbers, strict=True)]


def _cells(column: Any, number: bool) -> Any:  # noqa: ANN401
    types = _pyarrow().types
    if number and is_number(column.type):
        return floats_of([column])[:, 0]
    whole = types.is_integer(column.type) or types.is_boolean(column.type)
    if types.is_floating(column.type) or (whole and not column.null_count):
        return column.to_numpy(zero_copy_only=False)
    return values_of(column)


def floats_of(columns: Sequence[Any]) -> Floats:
    """Arrow columns of numbers as one block of shape (n, d); NaN where a value is missing."""
    arrow = _pyarrow()
    whole = [c.cast(arrow.uint8()) if arrow.types.is_boolean(c.type) else c for c in columns]
    # safe=False: an integer that float64 has to round is no reason to raise.
    return np.column_stack([np.asarray(c.cast(arrow.float64(), safe=False)) for c in whole])
