"""Files, columns and separators as they are typed on a command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.engines.delimited import Header
from sfumato.engines.files import TableFile
from sfumato.parameters import check_whole

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
