"""From what a user passes to rows that can be folded over: the engine is chosen by type."""

from __future__ import annotations

import os
from typing import Any, cast

from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Rows


def rows_of(
    source: Any,  # noqa: ANN401
    *,
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
    width: int | None = None,
) -> Rows:
    """Open an array, a data frame, a path, or a table of Dask or Spark. `Rows` are returned as is.

    `source` has shape (n, d), in the user's units. `groups` has n labels, or names a column.
    `width` is the number of features, if bounds declare it: for text tables without a header.
    """
    if is_elsewhere(source):
        return _opened(source, groups, max_rows_per_group, width)
    source, groups = split_groups(source, groups)
    return ArrayRows(source, groups=groups, max_rows_per_group=max_rows_per_group)


def is_elsewhere(source: Any) -> bool:  # noqa: ANN401
    """Whether the rows are not in memory: in files, on a cluster, or opened already."""
    opened = hasattr(source, "fold") and hasattr(source, "split")
    return is_path(source) or _library(source) in ("dask", "pyspark") or opened


def is_path(source: object) -> bool:
    """Whether something is meant as a path, a pattern, an address, or a list of those."""
    if isinstance(source, list | tuple) and source:
        return all(isinstance(path, str | os.PathLike) for path in source)
    return isinstance(source, str | os.PathLike)


def split_groups(source: Any, groups: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Take the column that `groups` names out of a data frame; labels are returned as they are."""
    if not isinstance(groups, str):
        return source, groups
    from sfumato.engines._frames import split_column

    return split_column(source, groups)


def names_of(source: Any, groups: Any, width: int) -> tuple[str, ...] | None:  # noqa: ANN401
    """The names of the features of rows that are not in memory, if every name is distinct."""
    if is_path(source):
        from sfumato.engines._files import layout_of

        return layout_of(source, groups=groups, width=width).given_names
    names = tuple(name for name in getattr(source, "columns", ()) if name != groups)
    return names if names and all(isinstance(name, str) for name in names) else None


def _library(source: object) -> str:
    return type(source).__module__.partition(".")[0]


def _opened(source: Any, groups: Any, most: int, width: int | None) -> Rows:  # noqa: ANN401
    if is_path(source):
        from sfumato.engines._files import open_file

        return open_file(source, groups=groups, max_rows_per_group=most, width=width)
    if _library(source) == "dask":
        from sfumato.engines._dask import open_dask

        return open_dask(source, groups=groups, max_rows_per_group=most)
    if _library(source) == "pyspark":
        from sfumato.engines._spark import open_spark

        return open_spark(source, groups=groups, max_rows_per_group=most)
    if groups is not None:
        raise ValueError("groups are declared where the rows are opened, not twice")
    return cast(Rows, source)
