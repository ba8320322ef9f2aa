"""Files as rows: CSV and its relatives, NumPy arrays, Parquet. The format goes by the name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.box import Floats, Ints
from sfumato.engines.array import ArrayRows
from sfumato.engines.base import Rows
from sfumato.engines.delimited import Delimited, Header
from sfumato.engines.npy import Npy
from sfumato.engines.parquet import Parquet
from sfumato.engines.sources import Blocks
from sfumato.engines.tables import Column, Layout, Table, select

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_FORMATS = (*_TEXT, ".npy", ".parquet")


@dataclass(frozen=True)
class TableFile(os.PathLike[str]):
    """A path with what is to be read from it, to be passed wherever a path is taken."""

    path: str | os.PathLike[str]
    columns: tuple[Column, ...] | None = None
    header: Header = "auto"

    def __fspath__(self) -> str:
        return os.fspath(self.path)


def open_file(
    path: str | os.PathLike[str],
    *,
    columns: Iterable[Column] | None = None,
    groups: Column | None = None,
    max_rows_per_group: int = 1,
    header: Header = "auto",
) -> Rows:
    """Open a file as rows that can be folded over; the rows are read at the first question.

    `columns` selects features by name, or by position from 0, in the given order. `groups` names
    the column that says whose rows are whose; it is read at once, and is no feature. `header`
    says whether the first line of a text table names its columns; "auto" looks whether there is
    a number in it.
    """
    layout = layout_of(path, columns=columns, groups=groups, header=header)
    stamp = _stamp(path)

    def blocks() -> Iterator[Floats]:
        if _stamp(path) != stamp:
            raise RuntimeError(f"{os.fspath(path)} has changed since it was opened")
        return (block.values for block in layout.blocks())

    n_features = len(layout.positions)
    if layout.owner is None:
        return ArrayRows(Blocks(blocks, n_features))
    labels = _codes(layout.table.labels(layout.owner))
    return ArrayRows(
        Blocks(blocks, n_features, len(labels)),
        groups=labels,
        max_rows_per_group=max_rows_per_group,
    )


def columns_of(
    path: str | os.PathLike[str],
    *,
    columns: Iterable[Column] | None = None,
    groups: Column | None = None,
    header: Header = "auto",
) -> tuple[str, ...]:
    """Name the features that `open_file` would read; positions where the file has no names."""
    return layout_of(path, columns=columns, groups=groups, header=header).names


def layout_of(
    path: str | os.PathLike[str],
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
    return select(_table(Path(os.fspath(path)), header), columns, groups, keep)


def _table(path: Path, header: Header) -> Table:
    if header not in (True, False, "auto"):
        raise ValueError(f"header must be True, False or 'auto', got {header!r}")
    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory; a file is needed")
    name = path.name.lower()
    if name.endswith(_TEXT):
        return Delimited.open(path, header)
    if name.endswith(".npy"):
        return Npy.open(path)
    if name.endswith(".parquet"):
        return Parquet.open(path)
    raise ValueError(
        f"the name of a data file must end in {', '.join(_FORMATS)}, got {path.name!r}"
    )


def _codes(labels: Iterator[list[str]]) -> Ints:
    """Number the groups in the order in which they appear."""
    codes: dict[str, int] = {}
    numbers = (codes.setdefault(label, len(codes)) for block in labels for label in block)
    return np.fromiter(numbers, dtype=np.int64)


def _stamp(path: str | os.PathLike[str]) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns
