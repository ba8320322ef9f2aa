"""Columns as they are typed on a command line."""

from __future__ import annotations

import csv

from sfumato.engines.delimited import Header
from sfumato.parameters import check_whole


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


def header_asked(header: bool | None) -> Header:
    """Whether the first line names the columns; "auto" if nothing was said."""
    return "auto" if header is None else header


def check_groups(groups: str | None, max_rows_per_group: int) -> int:
    """Refuse a number of rows per group where there are no groups."""
    most = check_whole(max_rows_per_group, "--max-rows-per-group")
    if groups is None and most != 1:
        raise ValueError(
            "--max-rows-per-group needs --groups COLUMN, which says whose rows they are"
        )
    return most
