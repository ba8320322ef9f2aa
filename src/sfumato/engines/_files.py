"""Files as rows: text tables, NumPy arrays, Parquet. The ending of the name gives the format.

Files that do not fit into memory are read in pieces by threads, again in every pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Ints, Mask
from sfumato._base.validation import check_whole
from sfumato._lattice.box import Box
from sfumato._schema.schema import Schema
from sfumato.engines._groups import KEY, Hashes, hash_rows, numbered, sizes_of
from sfumato.engines._memory import ArrayRows, check_width
from sfumato.engines._partitions import PartedRows, Piece, pieces_of
from sfumato.engines._progress import Pass
from sfumato.engines._rows import Blocks, Fold, Partial, Picked, RowEncoder, Rows, Task, encoded
from sfumato.engines._threads import allowed_threads, number_in
from sfumato.engines.formats._csv import Declared, Delimited, Header
from sfumato.engines.formats._npy import Npy
from sfumato.engines.formats._parquet import Parquet
from sfumato.engines.formats._storage import Paths, StoredFile, stored
from sfumato.engines.formats._table import Column, ConcatTable, Layout, Table, select

_Result = TypeVar("_Result")

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
    comma, or in .tsv a tab. `encoding` is one that Python knows, by default UTF-8. `decimal` is the
    decimal mark of numbers, a point or a comma. Nothing is guessed from a row.
    """

    path: str | os.PathLike[str] | tuple[str | os.PathLike[str], ...]
    columns: tuple[Column, ...] | int | None = None
    header: Header = None
    sep: str | None = None
    names: tuple[str, ...] = ()
    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        for each in self.path if isinstance(self.path, tuple | list) else (self.path,):
            if not isinstance(each, str | os.PathLike):
                raise TypeError(f"path must be a path, or several, got {type(each).__name__}")
        if not isinstance(self.names, tuple | list | frozenset | set) or not all(
            isinstance(name, str) for name in self.names
        ):
            raise TypeError("names must be names of columns, such as ('age', 'hours')")

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
    schema: Schema | None = None,
) -> Rows:
    """Open files as rows that can be folded over; the rows are read at the first query.

    A path may be a pattern (`part-*.parquet`), a folder, an address such as s3://bucket/rows, or a
    list of those: all files have the same columns. A file whose rows would take much memory, even
    as integers, is read again in every pass, in pieces: see `in_memory_bytes`.

    `columns`, `header` and `sep` are as in `TableFile`. `groups` names the column of the labels of
    groups; it is read at once, and is no feature. `width` is the number of features, if bounds
    declare it: a text table without a header has so many. With a `schema`, its columns are read, by
    name, and no others; without names, or where columns are listed, by position.
    """
    layout = layout_of(
        path, columns=columns, groups=groups, header=header, sep=sep, width=width, schema=schema
    )
    return _opened(layout, max_rows_per_group)


def file_parts(
    path: Paths | TableFile,
    column: Column,
    keys: Iterable[str],
    *,
    width: int | None = None,
    schema: Schema | None = None,
) -> list[Rows]:
    """Open files once for each key: the rows whose label, in a column, has it."""
    layout = layout_of(path, groups=column, width=width, schema=schema)
    return [_opened(replace(layout, part=key)) for key in keys]


def _opened(layout: Layout, max_rows_per_group: int = 1) -> Rows:
    n_features = layout.n_features
    if 2 * layout.table.about_rows() * n_features > in_memory_bytes():
        return PartedRows(FileEngine(layout, max_rows_per_group))
    whole = Piece.whole(layout)
    if layout.owner is None or layout.part is not None:
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
    schema: Schema | None = None,
) -> Layout:
    """Find the columns asked for. Reads names, types and the ends of records, but no values.

    Arguments are as in `open_file`; `keep` are columns that are passed on as they are.
    """
    names: Iterable[str] = ()
    encoding = decimal = None
    if isinstance(path, TableFile):
        columns = path.columns if columns is None else columns
        encoding, decimal = path.encoding, path.decimal
        header, sep, names, path = path.header, path.sep, path.names, path.path
    if isinstance(columns, int | np.integer):
        columns = check_whole(columns, "columns")
    elif columns is not None and not isinstance(columns, str):
        columns = list(columns)
    if groups is not None and not isinstance(groups, str | int | np.integer):
        raise TypeError(
            "labels of the rows of a file must be the name or the position of one of its columns, "
            f"got {type(groups).__name__}"
        )
    others = [*([] if groups is None else [groups]), *(keep := tuple(keep))]
    if schema is not None:
        width = len(schema.inputs)
        if columns is None and all(map(str.isdecimal, schema.inputs)):
            columns = list(schema.inputs)
    listed: Sequence[Column] = columns if isinstance(columns, list) else []
    if schema is not None:
        listed = listed or schema.inputs
    text = Declared(
        header=header,
        separator=sep,
        names=frozenset(c for c in map(str, (*listed, *others, *names)) if not c.isdecimal()),
        width=_width(columns, others, width),
        at_least=isinstance(columns, list),
        encoding=encoding,
        decimal=decimal,
    )
    return select(_joined(path, text), columns, groups, keep, schema)


def table_of(file: TableFile) -> Table:
    """The table that files hold, whatever the types of its columns: for the owner's tools."""
    width = file.columns if isinstance(file.columns, int) else None
    names = frozenset(name for name in file.names if not name.isdecimal())
    text = Declared(
        header=file.header,
        separator=file.sep,
        names=names,
        width=width,
        encoding=file.encoding,
        decimal=file.decimal,
    )
    return _joined(file.path, text)


def _joined(path: Paths, text: Declared) -> Table:
    tables = [_table(file, text) for file in stored(path, _FORMATS)]
    return ConcatTable(tables) if len(tables) > 1 else tables[0]


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
        schema: Schema | None = None,
    ) -> Iterator[Rows]:
        """Open files; paths and columns are as for `open_file`."""
        layout = layout_of(
            paths, columns=columns, groups=groups, header=header, sep=sep, schema=schema
        )
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


_NO_ROW = np.iinfo(np.int64).max
_NO_HASH = np.iinfo(np.uint64).max


class GroupSampler:
    """Bottom-k sample per group over several pieces, as `few_of_each` takes it in one table.

    For each group `most` hashes and row numbers are held, whatever its number of rows. `sizes` are
    the numbers of rows of the pieces.
    """

    def __init__(self, sizes: Sequence[int], most: int) -> None:
        self._starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._most = most
        self._hashes = np.empty((0, most), dtype=np.uint64)
        self._rows = np.empty((0, most), dtype=np.int64)

    def look(
        self, part: int, encoder: RowEncoder, blocks: Iterable[NDArray[Any]], codes: NDArray[Any]
    ) -> None:
        """Look at the rows of one piece.

        blocks: (n, d), user's units. codes: the numbers of the groups of all its rows.
        """
        start = 0
        for lattice, kept in encoded(encoder, blocks):
            stop = start + len(lattice)
            own = codes[start:stop][kept].astype(np.int64)
            rows = np.flatnonzero(kept) + start + self._starts[part]
            self._take(own, hash_rows(lattice[kept], KEY), rows.astype(np.int64))
            start = stop
        if start != len(codes):
            raise RuntimeError("a file has not the number of rows it had before")

    def _take(self, codes: Ints, hashes: Hashes, rows: Ints) -> None:
        more = int(codes.max(initial=-1)) + 1 - len(self._rows)
        if more > 0:
            shape = (max(more, len(self._rows)), self._most)
            self._hashes = np.concatenate((self._hashes, np.full(shape, _NO_HASH)))
            self._rows = np.concatenate((self._rows, np.full(shape, _NO_ROW)))
        seen = np.unique(codes)
        codes = np.concatenate((codes, np.repeat(seen, self._most)))
        hashes = np.concatenate((hashes, self._hashes[seen].ravel()))
        rows = np.concatenate((rows, self._rows[seen].ravel()))
        # Equal hashes go by the row's number, as in one table.
        order = np.lexsort((rows, hashes, codes))
        first = np.searchsorted(codes[order], seen)
        best = order[(first[:, None] + np.arange(self._most)).ravel()]
        self._hashes[seen] = hashes[best].reshape(-1, self._most)
        self._rows[seen] = rows[best].reshape(-1, self._most)

    def chosen(self) -> list[Mask]:
        """For each piece, a mask of the rows that count."""
        counts = np.zeros(self._starts[-1], dtype=np.bool_)
        counts[self._rows[self._rows != _NO_ROW]] = True
        pairs = zip(self._starts[:-1], self._starts[1:], strict=True)
        return [counts[start:stop] for start, stop in pairs]


# Every thread has a state of its own; together they stay below this.
_STATE_BYTES = 2**27


class FileEngine:
    """Pieces of files, each a partition. What is held is a few blocks of each thread's piece.

    With groups, whose labels are read at once, one number for each row is held as well, and which
    rows count: of a group whose rows lie in several pieces, they are chosen by a pass of their own,
    once for every box.
    """

    max_rows_per_group: int | None

    def __init__(self, layout: Layout, max_rows_per_group: int = 1) -> None:
        self._pieces = pieces_of(layout)
        self.n_parts = len(self._pieces)
        self.n_features = self._pieces[0].n_features
        check_width(self.n_features)
        self._threads = allowed_threads()
        self._chosen: dict[RowEncoder, list[Mask]] = {}
        owned = self._pieces[0].owner is not None and self._pieces[0].part is None
        self._groups = _groups(self._pieces) if owned else []
        self.max_rows_per_group = max_rows_per_group if owned else None

    def run(self, task: Task) -> Iterator[Partial | Picked]:
        """Yield what the task returns for every piece, as threads get done with it."""
        masks = self._masks(task.encoder)

        def work(part: int) -> Partial | Picked:
            return task.over(part, self._pieces[part].blocks(), chosen=masks[part])

        size = task.kernel.empty().nbytes if isinstance(task, Fold) else 0
        threads = min(self._threads, max(1, _STATE_BYTES // max(1, size)))
        return as_done(work, range(self.n_parts), threads)

    def sizes(self, most: int) -> Iterator[Partial]:
        """Count the groups of each size over all pieces: the rows of one may lie in several."""
        yield Partial(tuple(range(self.n_parts)), sizes_of(self._groups, most))

    def keeping(self, max_rows: int) -> Self:
        """The same pieces, with so many rows of each group."""
        other = copy(self)
        vars(other).update(max_rows_per_group=max_rows, _chosen={})
        return other

    def _masks(self, encoder: RowEncoder) -> Sequence[Mask | None]:
        """For each piece, which of its rows count; None where all do."""
        if self.max_rows_per_group is None:
            return [None] * self.n_parts
        if encoder in self._chosen:
            return self._chosen[encoder]
        sampler = GroupSampler([len(codes) for codes in self._groups], self.max_rows_per_group)
        step = Pass(self.n_parts).step
        for part, (piece, codes) in enumerate(zip(self._pieces, self._groups, strict=True)):
            sampler.look(part, encoder, piece.blocks(), codes)
            step()
        chosen = sampler.chosen()
        # Encodings of histograms are not cached.
        if isinstance(encoder, Box):
            self._chosen[encoder] = chosen
        return chosen


def as_done(work: Callable[[int], _Result], parts: range, threads: int) -> Iterator[_Result]:
    """Yield what threads make of partitions, as it comes, holding few results at a time.

    When the caller stops, only the partitions under way are waited for.
    """
    left = iter(parts)
    pool = ThreadPoolExecutor(threads)
    try:
        running = {pool.submit(work, part) for part in islice(left, 2 * threads)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(work, part) for part in islice(left, len(done))}
            while done:
                yield done.pop().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _groups(pieces: Sequence[Piece]) -> list[NDArray[Any]]:
    """The number of every row's group, in as few bytes as it takes."""
    known: dict[Any, int] = {}
    found = []
    for piece in pieces:
        codes = numbered(piece.labels(), known)
        found.append(codes.astype(np.min_scalar_type(len(known))))
    return found
