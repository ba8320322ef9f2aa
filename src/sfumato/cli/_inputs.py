"""Bounds as they are typed on a command line or written in a file."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from sfumato._base.validation import check_whole
from sfumato._lattice.box import Box, NanPolicy
from sfumato._private_kmeans import PrivateKMeans
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines._rows import Rows
from sfumato.engines.formats._csv import Header
from sfumato.engines.formats._table import Layout

_TABS = ("tab", "\\t")


@dataclass(frozen=True)
class Bounded:
    """What bounds say about columns: names or positions of some, and which ones there are.

    `columns` are all columns, or their number, if there are bounds for each one by itself.
    """

    names: tuple[str, ...] = ()
    columns: tuple[str, ...] | int | None = None


@dataclass(frozen=True)
class Reading:
    """What was said about the files that are read: --columns, --header and --sep."""

    columns: list[str] | None = None
    header: bool | None = None
    sep: str | None = None

    def file(
        self, paths: Path | Sequence[str], bounds: Bounded | None = None, *, guess: bool = False
    ) -> TableFile:
        """The files with what is declared about them, also by bounds.

        With `guess`, for the owner's eyes only, a header that is not declared is guessed.
        """
        bounds = bounds or Bounded()
        asked = columns_asked(self.columns)
        columns: tuple[str, ...] | int | None = asked
        if self.header is False and asked is None:
            columns = bounds.columns
        elif self.header is False and asked is not None and len(asked) == 1:
            columns = int(asked[0]) if asked[0].isdecimal() else asked
        header: Header = "guess" if guess and self.header is None else self.header
        path = paths if isinstance(paths, Path) else tuple(paths)
        sep = "\t" if self.sep in _TABS else self.sep
        return TableFile(path, columns, header, sep, bounds.names)


def columns_asked(texts: list[str] | None) -> tuple[str, ...] | None:
    """Split what --columns was given at commas; a name with a comma goes in double quotes."""
    if not texts:
        return None
    fields = [field.strip() for field in next(csv.reader([",".join(texts)], skipinitialspace=True))]
    if not all(fields):
        raise ValueError(
            "--columns must be names or positions with commas between them, got "
            f"{','.join(texts)!r}"
        )
    return tuple(fields)


def columns_bounded(texts: list[str] | None, file: Path | None) -> Bounded:
    """Read from --bounds or --bounds-file which columns there are."""
    if file is None:
        names = tuple(text.rpartition("=")[0] for text in texts or () if "=" in text)
        alone = len(names) == len(texts or ())
        return Bounded(names, (names or None) if alone else None)
    data = bounds_in(file)
    if isinstance(data, dict):
        return Bounded(tuple(data), tuple(data) or None)
    sides = data if isinstance(data, list) else []
    return Bounded((), next((len(side) for side in sides if isinstance(side, list)), None))


def bounds_in(file: Path) -> Any:  # noqa: ANN401
    """What a file for --bounds-file holds."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file} is not JSON") from None


def check_groups(groups: str | None, max_rows_per_group: int) -> int:
    """Refuse a number of rows per group where there are no groups."""
    most = check_whole(max_rows_per_group, "--max-rows-per-group")
    if groups is None and most != 1:
        raise ValueError(
            "--max-rows-per-group needs --groups COLUMN, which says whose rows they are"
        )
    return most


Pair = tuple[float, float]

_ADVICE = "write --bounds LOW,HIGH for all columns or --bounds COLUMN=LOW,HIGH for one"


def box_of(
    layout: Layout, texts: list[str] | None, file: Path | None, nan: NanPolicy = "center"
) -> Box | None:
    """Build the box of the columns that are read; None if no bounds were given at all."""
    if texts and file is not None:
        raise ValueError("bounds come from --bounds or from --bounds-file, not from both")
    if file is not None:
        pairs = _from_file(layout, file)
    elif texts:
        pairs = _from_texts(layout, texts)
    else:
        return None
    without = [name for name, pair in zip(layout.names, pairs, strict=True) if pair is None]
    if without:
        raise ValueError(f"there are no bounds for {_listing(without)}; {_ADVICE}")
    known = [pair for pair in pairs if pair is not None]
    for name, (low, high) in zip(layout.names, known, strict=True):
        _check(name, low, high)
    return Box(tuple(low for low, _ in known), tuple(high for _, high in known), nan)


def _from_texts(layout: Layout, texts: list[str]) -> list[Pair | None]:
    general: Pair | None = None
    special: dict[int, Pair] = {}
    for text in texts:
        column, equals, numbers = text.rpartition("=")
        pair = _pair(numbers.split(","), f"--bounds {text}")
        if not equals:
            if general is not None:
                raise ValueError(f"--bounds LOW,HIGH for all columns is given twice; {_ADVICE}")
            general = pair
        elif (place := layout.place_of(column)) in special:
            raise ValueError(f"--bounds for column {column!r} is given twice")
        else:
            special[place] = pair
    return [special.get(i, general) for i in range(len(layout.positions))]


def _from_file(layout: Layout, file: Path) -> list[Pair | None]:
    data = bounds_in(file)
    width = len(layout.positions)
    if isinstance(data, dict):
        special = {
            layout.place_of(name): _pair(pair, f"{file}: {name}") for name, pair in data.items()
        }
        return [special.get(i) for i in range(width)]
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError(
            f'{file} must hold {{"column": [low, high], …}} or [lower, upper], each one number or '
            "one per column"
        )
    lower, upper = ([side] * width if not isinstance(side, list) else side for side in data)
    if len(lower) != width or len(upper) != width:
        raise ValueError(
            f"{file} must hold one number or {width} of them, one per column, on each side, got "
            f"{len(lower)} lower and {len(upper)} upper bounds"
        )
    return [_pair(pair, str(file)) for pair in zip(lower, upper, strict=True)]


def _pair(values: Any, where: str) -> Pair:  # noqa: ANN401
    try:
        low, high = (float(value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: two numbers LOW,HIGH are needed; {_ADVICE}") from None
    return low, high


def _check(name: str, low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"bounds of column {name!r} must be two finite numbers, the lower one first, got "
            f"{low:g},{high:g}"
        )


def _listing(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - 10} more columns" if len(names) > 10 else ""
    return f"column{'s' if len(names) > 1 else ''} {', '.join(names[:10])}{more}"


def check_output(target: Path, *inputs: Path) -> None:
    """Refuse a place that cannot be written to, before anything is spent or read."""
    for source in inputs:
        if target.resolve() == source.resolve() or (
            target.exists() and source.exists() and target.samefile(source)
        ):
            raise ValueError(f"{target} is an input: choose another file for --output")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a directory: choose a file for --output")
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is no regular file: choose another one for --output")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no such directory for --output: {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"the directory of --output cannot be written to: {target.parent}")


# The extra of each engine, and a package that comes with it.
_PACKAGES = {"dask": "distributed", "spark": "pyspark", "compss": "pycompss"}


@dataclass(frozen=True)
class Where:
    """An engine by its name, and the cluster that it starts or finds."""

    engine: str = "auto"
    workers: int | None = None
    scheduler: str | None = None

    @property
    def here(self) -> bool:
        """Whether the rows are read by this process."""
        return self.engine not in _PACKAGES

    def check(self) -> None:
        """Refuse what does not go together, and an engine that is not installed."""
        if self.workers is not None:
            check_whole(self.workers, "--workers")
        if self.here:
            if self.workers is not None or self.scheduler is not None:
                raise ValueError(
                    "--workers and --scheduler are for a cluster: add --engine dask, spark or "
                    "compss; on one machine SFUMATO_THREADS says how many threads read"
                )
        elif find_spec(_PACKAGES[self.engine]) is None:
            raise ImportError(
                f'--engine {self.engine} is not installed: pip install "sfumato[{self.engine}]"'
            )

    def open(
        self, file: TableFile, groups: str | None, max_rows_per_group: int
    ) -> AbstractContextManager[Rows]:
        """Open files on the cluster; what was started for them is closed with them."""
        module = import_module(f"sfumato.engines._{self.engine}")
        opened = getattr(module, f"open_{self.engine}_files")(
            file,
            groups=groups,
            max_rows_per_group=max_rows_per_group,
            workers=self.workers,
            scheduler=self.scheduler,
        )
        return cast(AbstractContextManager[Rows], opened)


def fit_on(where: Where, model: PrivateKMeans, file: TableFile, *, groups: str | None) -> None:
    """Fit a model to files, wherever they are read."""
    if where.here:
        model.fit(file, groups=groups)
        return
    with where.open(file, groups, model.max_rows_per_group) as rows:
        model.fit(rows)
    names = layout_of(file, groups=groups).given_names
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
