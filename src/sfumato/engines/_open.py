"""From what a user passes to rows that can be folded over: the engine is chosen by type."""

from __future__ import annotations

import os
from typing import Any

from sfumato._schema.schema import Schema
from sfumato.engines._elsewhere import opened
from sfumato.engines._frames import split_column
from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Rows


def rows_of(
    source: Any,  # noqa: ANN401
    *,
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
    width: int | None = None,
    schema: Schema | None = None,
) -> Rows:
    """Open an array, a data frame, a path, or a table of Dask or Spark. `Rows` are returned as is.

    `source` has shape (n, d), in the user's units. `groups` has n labels, or names a column.
    `width` is the number of features, if bounds declare it: for text tables without a header. With
    a `schema`, its columns are read, encoded, and no others: by name, of arrays by position. Rows
    then have `schema.width` columns, in the cube of `schema.box`.
    """
    check_labels(groups, schema)
    if where := elsewhere(source):
        return opened(where, source, groups, max_rows_per_group, width, schema)
    source, groups = split_groups(source, groups)
    most = max_rows_per_group
    return ArrayRows(source, groups=groups, max_rows_per_group=most, schema=schema)


def elsewhere(source: Any) -> str:  # noqa: ANN401
    """Where rows are that are not in memory: in files, with a library, or opened already."""
    if is_path(source):
        return "files"
    library = type(source).__module__.partition(".")[0]
    if library in ("dask", "pyspark"):
        return library
    return "rows" if hasattr(source, "fold") and hasattr(source, "split") else ""


def is_path(source: object) -> bool:
    """Whether something is meant as a path, a pattern, an address, or a list of those."""
    if isinstance(source, list | tuple) and source:
        return all(isinstance(path, str | os.PathLike) for path in source)
    return isinstance(source, str | os.PathLike)


def check_labels(column: Any, schema: Schema | None) -> None:  # noqa: ANN401
    """Refuse labels of rows from a column that is a feature of a schema."""
    if schema is not None and isinstance(column, str) and column in schema.inputs:
        raise ValueError(f"column {column!r} holds labels of rows and cannot be a feature as well")


def split_groups(source: Any, groups: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Take the column that `groups` names out of a data frame; labels are returned as they are."""
    return split_column(source, groups) if isinstance(groups, str) else (source, groups)
