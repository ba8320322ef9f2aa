"""From one table to another, block by block: numbers go through a change, kept columns beside."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np

from sfumato.box import Floats
from sfumato.engines.delimited import Delimited
from sfumato.engines.parquet import Parquet, ParquetOut
from sfumato.engines.tables import Layout
from sfumato.engines.text import readable

_FORMATS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")

Change = Callable[[Floats], Floats]
"""What happens to a block of numbers; it has as many rows and columns afterwards."""


class TableOut(Protocol):
    """A table that is written block by block."""

    def write(self, columns: Sequence[Any]) -> None:
        """Write some rows, given column by column."""

    def close(self) -> None:
        """Write the end of the file."""


class TextOut:
    """A text table that is written block by block."""

    def __init__(
        self, path: Path, names: Sequence[str] | None, delimiter: str, *, zipped: bool
    ) -> None:
        raw: IO[bytes] = path.open("wb")
        # Without its name and time inside, a zipped table does not say where and when it was made.
        packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if zipped else raw
        self._closing = (packed, raw)
        self._file = io.TextIOWrapper(
            cast(IO[bytes], packed), encoding="utf-8", errors="surrogateescape", newline=""
        )
        self._writer = csv.writer(self._file, delimiter=delimiter, lineterminator="\n")
        if names is not None:
            self._writer.writerow(names)

    def write(self, columns: Sequence[Any]) -> None:
        """Write some rows, given column by column; NaN is written as an empty cell."""
        self._writer.writerows(zip(*map(_cells, columns), strict=True))

    def close(self) -> None:
        """Write the end of the file."""
        for file in (self._file, *self._closing):
            file.close()


@dataclass(frozen=True)
class Carried:
    """How many rows went through, and how many were left out."""

    rows: int
    left_out: int


def check_format(name: str) -> None:
    """Refuse a name of which the ending says no format that tables are written in."""
    if not name.lower().endswith(_FORMATS):
        raise ValueError(
            f"the name of --output must end in {', '.join(_FORMATS)}, got {Path(name).name!r}"
        )


def carry(
    layout: Layout,
    place: Path,
    name: str,
    change: Change,
    *,
    drop: bool,
    on_rows: Callable[[int], None],
) -> Carried:
    """Write a table at `place`, in the format of `name`: its numbers changed, in their order.

    With `drop` a row with a cell that is not a finite number is left out. One block is held at a
    time.
    """
    order = sorted((*layout.positions, *layout.kept))
    rows = left_out = 0
    with closing(_out(layout, place, name.lower(), order)) as out:
        for values, kept in _blocks(layout, to_parquet=name.lower().endswith(".parquet")):
            chosen = np.isfinite(values).all(axis=1) if drop else np.ones(len(values), np.bool_)
            changed = dict(zip(layout.positions, change(values[chosen]).T, strict=True))
            beside = {i: _few(part, chosen) for i, part in zip(layout.kept, kept, strict=True)}
            out.write([changed[i] if i in changed else beside[i] for i in order])
            rows, left_out = rows + int(chosen.sum()), left_out + int((~chosen).sum())
            on_rows(rows + left_out)
    return Carried(rows, left_out)


def _blocks(layout: Layout, *, to_parquet: bool) -> Iterator[tuple[Floats, list[Any]]]:
    """Read the features, and the kept columns as text, or between Parquet files as they are."""
    table = layout.table
    typed = to_parquet and isinstance(table, Parquet)
    kept: list[Iterator[Any]] = [
        table.arrays(i)
        if typed and isinstance(table, Parquet)
        else _texts(table.cells(i), to_parquet)
        for i in layout.kept
    ]
    for block, *columns in zip(layout.blocks(), *kept, strict=True):
        if any(len(column) != len(block.values) for column in columns):
            raise RuntimeError("the file has changed while it was read")
        yield block.values, columns


def _texts(cells: Iterator[list[Any]], to_parquet: bool) -> Iterator[list[str]]:
    """Cells as text; bytes that are not UTF-8 go into a text file as they are."""
    for block in cells:
        texts = ["" if cell is None or cell != cell else str(cell) for cell in block]
        yield list(map(readable, texts)) if to_parquet else texts


def _out(layout: Layout, place: Path, name: str, order: list[int]) -> TableOut:
    table = layout.table
    names = [table.names[i] for i in order]
    if name.endswith(".parquet"):
        own = table.type_of if isinstance(table, Parquet) else lambda _: "text"
        return ParquetOut(place, names, [own(i) if i in layout.kept else "number" for i in order])
    semicolons = isinstance(table, Delimited) and table.delimiter == ";"
    delimiter = "\t" if name.endswith((".tsv", ".tsv.gz")) else ";" if semicolons else ","
    return TextOut(place, names if table.named else None, delimiter, zipped=name.endswith(".gz"))


def _few(column: Any, chosen: Any) -> Any:  # noqa: ANN401
    """The chosen cells of a column that is kept."""
    if chosen.all():
        return column
    places = np.flatnonzero(chosen)
    return column.take(places) if hasattr(column, "take") else [column[i] for i in places]


def _cells(column: Any) -> list[Any]:  # noqa: ANN401
    if not isinstance(column, np.ndarray):
        return list(column)
    cells: list[Any] = column.tolist()
    for i in np.flatnonzero(np.isnan(column)):
        cells[i] = None
    return cells
