"""Files as rows: text tables, NumPy arrays, Parquet. The ending of the name gives the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from sfumato._base.validation import check_whole
from sfumato.engines._file_engine import FileEngine
from sfumato.engines._groups import numbered
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartedRows, Piece
from sfumato.engines._rows import Blocks, Rows
from sfumato.engines._threads import number_in
from sfumato.engines.formats._csv import Declared, Delimited, Header
from sfumato.engines.formats._npy import Npy
from sfumato.engines.formats._parquet import Parquet
from sfumato.engines.formats._storage import Paths, StoredFile, stored
from sfumato.engines.formats._table import Column, ConcatTable, Layout, Table, select

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_FORMATS = (*_TEXT, ".npy", ".parquet")
_IN_MEMORY = 128 * 10**6


@dataclass(frozen=True)
class TableFile(os.PathLike[str]):
    """A path, or several, with what is declared about them, to be passed wherever a path is taken.

    `columns` are names or positions from 0, in the order in which they are read; or the number of
    columns, all of which are read. The other fields are for text tables. `header` says whether the
    first line names the columns; if None, it does if it has all column names that are asked for,
    and all of `names`. `sep` is the separator; if None, that of the header; without a header a
    comma, or in .tsv a tab. Nothing is guessed from a row.
    """

    path: str | os.PathLike[str] | tuple[str | os.PathLike[str], ...]
    columns: tuple[Column, ...] | int | None = None
    header: Header = None
    sep: str | None = None
    names: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        if isinstance(self.path, tuple):
            raise TypeError("several files have no path of their own")
        return os.fspath(self.path)


def open_file(
    path: Paths | TableFile,
    *,
    columns: Iterable[Column] | int | None = None,
    groups: Column | None = None,
    max_rows_per_group: int = 1,
    header: Header = None,
    sep: str | None = None,
    width: int | None = None,
) -> Rows:
    """Open files as rows that can be folded over; the rows are read at the first query.

    A path may be a pattern (`part-*.parquet`), a folder, an address such as s3://bucket/rows, or a
    list of those: all files have the same columns. A file whose rows would take much memory, even
    as integers, is read again in every pass, in pieces: see `in_memory_bytes`.

    `columns`, `header` and `sep` are as in `TableFile`. `groups` names the column of the labels of
    groups; it is read at once, and is no feature. `width` is the number of features, if bounds
    declare it: a text table without a header has so many.
    """
    layout = layout_of(path, columns=columns, groups=groups, header=header, sep=sep, width=width)
    n_features = len(layout.positions)
    if 2 * layout.table.about_rows() * n_features > in_memory_bytes():
        return PartedRows(FileEngine.of(layout, max_rows_per_group))
    whole = Piece.whole(layout)
    if layout.owner is None:
        return ArrayRows(Blocks(whole.blocks, n_features))
    labels = numbered(whole.labels())
    source = Blocks(whole.blocks, n_features, len(labels))
    return ArrayRows(source, groups=labels, max_rows_per_group=max_rows_per_group)


def in_memory_bytes() -> int:
    """How large the lattice of a file may be to be kept; larger files are read in every pass."""
    wanted = number_in("SFUMATO_LATTICE_MB", 0)
    return _IN_MEMORY if wanted is None else wanted * 10**6


def layout_of(
    path: Paths | TableFile,
    *,
    columns: Iterable[Column] | int | None = None,
    groups: Column | None = None,
    header: Header = None,
    keep: Iterable[Column] = (),
    sep: str | None = None,
    width: int | None = None,
) -> Layout:
    """Find the columns asked for. Reads names, types and the ends of records, but no values.

    Arguments are as in `open_file`; `keep` are columns that are passed on as they are.
    """
    names: Iterable[str] = ()
    if isinstance(path, TableFile):
        columns = path.columns if columns is None else columns
        header, sep, names, path = path.header, path.sep, path.names, path.path
    if isinstance(columns, int | np.integer):
        columns = check_whole(columns, "columns")
    elif columns is not None and not isinstance(columns, str):
        columns = list(columns)
    if groups is not None and not isinstance(groups, str | int | np.integer):
        raise TypeError(
            "groups of a file must be the name or the position of one of its columns, got "
            f"{type(groups).__name__}"
        )
    others = [*([] if groups is None else [groups]), *(keep := tuple(keep))]
    listed = columns if isinstance(columns, list) else []
    text = Declared(
        header=header,
        separator=sep,
        names=frozenset(c for c in map(str, (*listed, *others, *names)) if not c.isdecimal()),
        width=_width(columns, others, width),
        at_least=isinstance(columns, list),
    )
    tables = [_table(file, text) for file in stored(path, _FORMATS)]
    table = ConcatTable(tables) if len(tables) > 1 else tables[0]
    return select(table, columns, groups, keep)


class FileOpener:
    """A function that opens files on a cluster; what it starts ends with the `with` block.

    It is made of one that is given the layout of the files, the rows that count of each group, the
    number of workers, and the address of a scheduler.
    """

    def __init__(
        self, engine: Callable[[Layout, int, int | None, str | None], Iterator[Rows]]
    ) -> None:
        self._engine = engine
        self.__doc__, self.__name__ = engine.__doc__, engine.__name__

    @contextmanager
    def __call__(
        self,
        paths: Paths | TableFile,
        *,
        columns: Iterable[Column] | int | None = None,
        groups: Column | None = None,
        max_rows_per_group: int = 1,
        workers: int | None = None,
        scheduler: str | None = None,
        header: Header = None,
        sep: str | None = None,
    ) -> Iterator[Rows]:
        """Open files; paths and columns are as for `open_file`."""
        layout = layout_of(paths, columns=columns, groups=groups, header=header, sep=sep)
        most = check_whole(max_rows_per_group, "max_rows_per_group")
        if workers is not None and scheduler is not None:
            raise ValueError("workers are started here, or there is a scheduler: not both")
        if workers is not None:
            check_whole(workers, "workers")
        yield from self._engine(layout, most, workers, scheduler)


def _width(columns: object, others: Sequence[Column], width: int | None) -> int | None:
    """How many columns a text table without a header has, by what was declared."""
    if isinstance(columns, int):
        return columns
    if isinstance(columns, list):
        asked = [str(column) for column in (*columns, *others)]
        # What is no position is refused later.
        return max((int(c) for c in asked if c.isdecimal()), default=0) + 1
    return None if width is None else width + len(set(map(str, others)))


def _table(file: StoredFile, text: Declared) -> Table:
    name = file.name.lower()
    if name.endswith(_TEXT):
        return Delimited.open(file, text)
    if name.endswith(".npy"):
        return Npy.open(file)
    if name.endswith(".parquet"):
        return Parquet.open(file)
    raise ValueError(
        f"the name of a data file must end in {', '.join(_FORMATS)}, got {file.name!r}"
    )
