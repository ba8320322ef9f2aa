"""Files as rows: CSV and its relatives, NumPy arrays, Parquet. The format goes by the name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sfumato.engines.array import ArrayRows
from sfumato.engines.base import Rows
from sfumato.engines.delimited import Delimited, Header
from sfumato.engines.file_engine import FileEngine
from sfumato.engines.groups import numbered
from sfumato.engines.npy import Npy
from sfumato.engines.parquet import Parquet
from sfumato.engines.parts import PartedRows
from sfumato.engines.pieces import Piece
from sfumato.engines.several import Several
from sfumato.engines.sources import Blocks
from sfumato.engines.storage import Paths, Stored, stored
from sfumato.engines.tables import Column, Layout, Table, select

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_FORMATS = (*_TEXT, ".npy", ".parquet")
_IN_MEMORY = 128 * 10**6


@dataclass(frozen=True)
class TableFile(os.PathLike[str]):
    """A path, or several, with what is to be read there, to be passed wherever a path is taken."""

    path: str | os.PathLike[str] | tuple[str | os.PathLike[str], ...]
    columns: tuple[Column, ...] | None = None
    header: Header = "auto"

    def __fspath__(self) -> str:
        if isinstance(self.path, tuple):
            raise TypeError("several files have no path of their own")
        return os.fspath(self.path)


def open_file(
    path: Paths,
    *,
    columns: Iterable[Column] | None = None,
    groups: Column | None = None,
    max_rows_per_group: int = 1,
    header: Header = "auto",
) -> Rows:
    """Open files as rows that can be folded over; the rows are read at the first question.

    A path may be a pattern (`part-*.parquet`), a folder, an address such as s3://bucket/rows, or a
    list of those: all files have the same columns. A file whose rows would take much memory, even
    as integers, is read again in every pass, in pieces: see `in_memory_bytes`.

    `columns` selects features by name, or by position from 0, in the given order. `groups` names
    the column that says whose rows are whose; it is read at once, and is no feature. `header`
    says whether the first line of a text table names its columns; "auto" looks whether there is
    a number in it.
    """
    layout = layout_of(path, columns=columns, groups=groups, header=header)
    n_features = len(layout.positions)
    if 2 * layout.table.about_rows() * n_features > in_memory_bytes():
        return PartedRows(FileEngine.of(layout, max_rows_per_group))
    whole = Piece.whole(layout)
    if layout.owner is None:
        return ArrayRows(Blocks(whole.blocks, n_features))
    labels = numbered(whole.labels())
    return ArrayRows(
        Blocks(whole.blocks, n_features, len(labels)),
        groups=labels,
        max_rows_per_group=max_rows_per_group,
    )


def is_path(source: object) -> bool:
    """Whether something is meant as a path, a pattern, an address, or a list of those."""
    if isinstance(source, list | tuple) and source:
        return all(isinstance(path, str | os.PathLike) for path in source)
    return isinstance(source, str | os.PathLike | TableFile)


def in_memory_bytes() -> int:
    """How large the lattice of a file may be to be kept; larger files are read in every pass."""
    wanted = os.environ.get("SFUMATO_LATTICE_MB", "")
    if not wanted:
        return _IN_MEMORY
    if not wanted.isdecimal():
        raise ValueError(f"SFUMATO_LATTICE_MB must be a whole number from 0 on, got {wanted!r}")
    return int(wanted) * 10**6


def columns_of(
    path: Paths,
    *,
    columns: Iterable[Column] | None = None,
    groups: Column | None = None,
    header: Header = "auto",
) -> tuple[str, ...]:
    """Name the features that `open_file` would read; positions where the file has no names."""
    return layout_of(path, columns=columns, groups=groups, header=header).names


def layout_of(
    path: Paths,
    *,
    columns: Iterable[Column] | None = None,
    groups: Column | None = None,
    header: Header = "auto",
    keep: Iterable[Column] = (),
) -> Layout:
    """Look at the head of a file and find the columns asked for."""
    if isinstance(path, TableFile):
        columns, header = (path.columns if columns is None else columns), path.header
    if groups is not None and not isinstance(groups, str | int | np.integer):
        raise TypeError(
            "groups of a file must be the name or the position of one of its columns, got "
            f"{type(groups).__name__}"
        )
    if header not in (True, False, "auto"):
        raise ValueError(f"header must be True, False or 'auto', got {header!r}")
    where = path.path if isinstance(path, TableFile) else path
    tables = [_table(file, header) for file in stored(where, _FORMATS)]
    return select(Several.of(tables), columns, groups, keep)


def _table(file: Stored, header: Header) -> Table:
    name = file.name.lower()
    if name.endswith(_TEXT):
        return Delimited.open(file, header)
    if name.endswith(".npy"):
        return Npy.open(file)
    if name.endswith(".parquet"):
        return Parquet.open(file)
    raise ValueError(
        f"the name of a data file must end in {', '.join(_FORMATS)}, got {file.name!r}"
    )
