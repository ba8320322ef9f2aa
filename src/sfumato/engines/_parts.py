"""Tables divided by a column: the rows of each of some labels, opened as rows of their own.

A row is in a part by its own label alone, compared by its key (`_base/labels.py`). Nothing is read
here; labels are looked at within each pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sfumato._schema.schema import Schema
from sfumato.engines._groups import Part
from sfumato.engines._memory import ArrayRows
from sfumato.engines._open import check_labels, elsewhere, split_groups
from sfumato.engines._rows import Rows


def divided(
    source: Any,  # noqa: ANN401
    column: Any,  # noqa: ANN401
    keys: Sequence[str],
    width: int | None = None,
    schema: Schema | None = None,
) -> list[Rows]:
    """Open the rows of each key; `column` is taken out of the table, or has one label per row.

    `width` is the number of the other columns, if bounds declare it; a `schema` is as in `rows_of`.
    """
    check_labels(column, schema)
    where = elsewhere(source)
    if where == "files":
        from sfumato.engines._files import file_parts

        return file_parts(source, column, keys, width=width, schema=schema)
    if where == "dask":
        from sfumato.engines._dask import dask_parts

        return dask_parts(source, column, keys, schema)
    if where == "pyspark":
        from sfumato.engines._spark import spark_parts

        return spark_parts(source, column, keys, schema)
    if where:
        raise ValueError(
            "rows that are opened already cannot be divided: give the curator the table or its path"
        )
    features, labels = split_groups(source, column)
    return [ArrayRows(features, part=Part(labels, key), schema=schema) for key in keys]


def without(source: Any, column: Any) -> Any:  # noqa: ANN401
    """A table whose list of features does not name a column, if it has such a list."""
    listed = _listed(source)
    if column not in listed:
        return source
    return replace(source, columns=tuple(name for name in listed if name != column))


def place_of(source: Any, column: Any, width: int) -> int | None:  # noqa: ANN401
    """Which of the features of a table, `width` in number, a column is; None if it is none."""
    if not isinstance(column, str | int):
        return None
    if elsewhere(source) == "files":
        from sfumato.engines._files import layout_of
        from sfumato.engines.formats._table import position_of

        layout = layout_of(source, width=width)
        position = position_of(layout.table, column)
        return layout.positions.index(position) if position in layout.positions else None
    names = getattr(source, "column_names", None)
    names = list(getattr(source, "columns", ()) if names is None else names)
    return names.index(column) if column in names else None


def has_columns(source: Any) -> bool:  # noqa: ANN401
    """Whether a table can be divided by one of its columns: they have names, or it is a file."""
    return elsewhere(source) == "files" or hasattr(source, "columns")


def _listed(source: Any) -> tuple[Any, ...]:  # noqa: ANN401
    columns = getattr(source, "columns", None) if elsewhere(source) == "files" else None
    return columns if isinstance(columns, tuple) else ()
