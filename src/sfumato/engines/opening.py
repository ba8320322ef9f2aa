"""From what a user has to rows that can be folded over: the engine is picked by type."""

from __future__ import annotations

import os
from typing import Any, cast

from sfumato.engines.array import ArrayRows
from sfumato.engines.base import Rows


def rows_of(source: Any, *, groups: Any = None, max_rows_per_group: int = 1) -> Rows:  # noqa: ANN401
    """Open arrays, data frames and paths; what already is an engine's rows is taken as it is."""
    if hasattr(source, "fold") and hasattr(source, "split"):
        if groups is not None:
            raise ValueError("groups are declared where the rows are opened, not twice")
        return cast(Rows, source)
    if isinstance(source, str | os.PathLike):
        from sfumato.engines.files import open_file

        return open_file(source, groups=groups, max_rows_per_group=max_rows_per_group)
    source, groups = split_groups(source, groups)
    return ArrayRows(source, groups=groups, max_rows_per_group=max_rows_per_group)


def split_groups(source: Any, groups: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Take the column that `groups` names out of a data frame; labels are left as they are."""
    if not isinstance(groups, str) or isinstance(source, str | os.PathLike):
        return source, groups
    library = type(source).__module__.partition(".")[0]
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
