"""Rows that are not in memory: in files, on a cluster, or opened already."""

from __future__ import annotations

from typing import Any, cast

from sfumato._schema.schema import Schema
from sfumato.engines._rows import Rows


def opened(
    where: str,
    source: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    most: int,
    width: int | None,
    schema: Schema | None = None,
) -> Rows:
    """Open rows that are found `where` `_open.elsewhere` says; arguments as in `rows_of`."""
    if where == "files":
        from sfumato.engines._files import open_file

        grouped = {"groups": groups, "max_rows_per_group": most}
        return open_file(source, **grouped, width=width, schema=schema)
    if where == "dask":
        from sfumato.engines._dask import open_dask

        return open_dask(source, groups=groups, max_rows_per_group=most, schema=schema)
    if where == "pyspark":
        from sfumato.engines._spark import open_spark

        return open_spark(source, groups=groups, max_rows_per_group=most, schema=schema)
    if groups is not None and not (schema and schema.groups == groups):
        raise ValueError("groups are declared where the rows are opened, not twice")
    if groups is not None and source.max_rows_per_group is None:
        raise ValueError(
            f"the schema says that column {groups!r} says whose rows are whose, but the rows were "
            "opened without groups: they are declared where rows are opened"
        )
    if schema is not None and source.n_features != schema.width:
        raise ValueError(
            f"the schema takes {schema.width} coordinates, the rows that were opened have "
            f"{source.n_features} columns: a schema is declared where rows are opened"
        )
    return cast(Rows, source)


def names_of(
    where: str,
    source: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    width: int,
    schema: Schema | None = None,
) -> tuple[str, ...] | None:
    """The names of the features of a table of any type, if every name is distinct.

    A schema names them, whatever the table does.
    """
    if schema is not None:
        return schema.features
    if where == "files":
        from sfumato.engines._files import layout_of

        return layout_of(source, groups=groups, width=width).given_names
    columns: Any = getattr(source, "column_names", None)
    if columns is None:
        columns = getattr(source, "columns", ())
    of_groups = groups if isinstance(groups, str) else None
    names = tuple(name for name in columns if not (isinstance(name, str) and name == of_groups))
    return names if names and all(isinstance(name, str) for name in names) else None
