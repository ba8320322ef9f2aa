"""From what a user has to rows that can be folded over: the engine is picked by type."""

from __future__ import annotations

from typing import Any, cast

from sfumato.engines._files import is_path, layout_of, open_file
from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Rows


def rows_of(
    source: Any,  # noqa: ANN401
    *,
    groups: Any = None,  # noqa: ANN401
    max_rows_per_group: int = 1,
    width: int | None = None,
) -> Rows:
    """Open arrays, data frames, paths and tables of Dask and Spark; rows are taken as they are.

    `width` is the number of features, if bounds declare it: for text tables without a header.
    """
    library = _library(source)
    if library == "dask":
        from sfumato.engines._dask import open_dask

        return open_dask(source, groups=groups, max_rows_per_group=max_rows_per_group)
    if library == "pyspark":
        from sfumato.engines._spark import open_spark

        return open_spark(source, groups=groups, max_rows_per_group=max_rows_per_group)
    if hasattr(source, "fold") and hasattr(source, "split"):
        if groups is not None:
            raise ValueError("groups are declared where the rows are opened, not twice")
        return cast(Rows, source)
    if is_path(source):
        return open_file(source, groups=groups, max_rows_per_group=max_rows_per_group, width=width)
    source, groups = split_groups(source, groups)
    return ArrayRows(source, groups=groups, max_rows_per_group=max_rows_per_group)


def is_elsewhere(source: Any) -> bool:  # noqa: ANN401
    """Whether the rows are not in memory: in files, or on the workers of an engine."""
    # A rows object says nothing about the names of its columns.
    known = hasattr(source, "fold") and hasattr(source, "split")
    return is_path(source) or _library(source) in ("dask", "pyspark") or known


def names_of(source: Any, groups: Any, width: int) -> tuple[str, ...] | None:  # noqa: ANN401
    """The names of the features of rows that are elsewhere, if each has a name of its own."""
    if is_path(source):
        return layout_of(source, groups=groups, width=width).given_names
    if not hasattr(source, "columns"):
        return None
    names = tuple(name for name in source.columns if name != groups)
    return names if all(isinstance(name, str) for name in names) else None


def _library(source: object) -> str:
    return type(source).__module__.partition(".")[0]


def split_groups(source: Any, groups: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Take the column that `groups` names out of a data frame; labels are left as they are."""
    if not isinstance(groups, str):
        return source, groups
    library = _library(source)
    if library not in ("pandas", "polars", "pyarrow"):
        raise ValueError(
            f"groups={groups!r} names a column, but the data has no column names: "
            "pass one label per row"
        )
    names = source.column_names if library == "pyarrow" else list(source.columns)
    if groups not in names:
        raise ValueError(f"groups={groups!r} is not a column; the columns are {names}")
    if library == "pyarrow":
        return source.drop_columns([groups]), source.column(groups)
    # The column as it is: as a NumPy array large numbers beside a missing one would become equal.
    return source[[name for name in names if name != groups]], source[groups]
