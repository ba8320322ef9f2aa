"""Columns as they are typed on a command line."""

from __future__ import annotations

import csv

from sfumato.engines.delimited import Header


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
