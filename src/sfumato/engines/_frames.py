"""Data frames of pandas, polars and pyarrow as blocks of rows.

Types are looked at when a frame is opened, values never: a missing cell becomes NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._base.types import Floats
from sfumato.engines._rows import Read
from sfumato.engines.formats._parquet import floats_of, is_number

ADVICE = "pass a 2-D table of numbers: a NumPy array or a pandas, polars or pyarrow table"
LIBRARIES = frozenset({"pandas", "polars", "pyarrow"})


OpenedFrame = tuple[tuple[int, ...], tuple[tuple[str, str], ...], Read]
"""A shape, the kind (as NumPy abbreviates it) and the name of each column's type, and a reader."""


def opened(data: Any, library: str) -> OpenedFrame:  # noqa: ANN401
    """Open an object of one of the libraries; its shape and types are checked by the caller."""
    return {"pandas": _pandas, "polars": _polars, "pyarrow": _pyarrow}[library](data)


def _pandas(data: Any) -> OpenedFrame:  # noqa: ANN401
    dtypes = list(data.dtypes) if data.ndim == 2 else []
    plain = all(isinstance(dtype, np.dtype) for dtype in dtypes)
    missing = {} if plain else {"na_value": np.nan}

    def read(start: int, stop: int) -> Floats:
        with np.errstate(all="ignore"):
            block: Floats = data.iloc[start:stop].to_numpy(dtype=np.float64, **missing)
        return block

    return (data.shape, tuple((dtype.kind, str(dtype)) for dtype in dtypes), read)


def _polars(data: Any) -> OpenedFrame:  # noqa: ANN401
    if not hasattr(data, "to_numpy"):
        raise TypeError(f"a polars {type(data).__name__} was passed; use .collect()")
    dtypes = data.dtypes if len(data.shape) == 2 else []
    numbers = [dtype.is_numeric() or str(dtype) == "Boolean" for dtype in dtypes]

    def read(start: int, stop: int) -> Floats:
        block: Floats = data.slice(start, stop - start).cast(float).to_numpy()
        return block

    return (data.shape, _kinds(dtypes, numbers), read)


def _pyarrow(data: Any) -> OpenedFrame:  # noqa: ANN401
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table):
        raise TypeError(f"a pyarrow {type(data).__name__} was passed; {ADVICE}")
    dtypes = data.schema.types
    numbers = [is_number(dtype) for dtype in dtypes]

    def read(start: int, stop: int) -> Floats:
        return floats_of(data.slice(start, stop - start).columns)

    return (data.shape, _kinds(dtypes, numbers), read)


def _kinds(dtypes: list[Any], numbers: list[bool]) -> tuple[tuple[str, str], ...]:
    """Kinds as NumPy has them: "f" for what becomes a float64, "O" for what does not."""
    pairs = zip(dtypes, numbers, strict=True)
    return tuple(("f" if number else "O", str(dtype)) for dtype, number in pairs)


def split_column(frame: Any, column: str) -> tuple[Any, Any]:  # noqa: ANN401
    """Take a column, of labels of rows, out of a data frame."""
    library = type(frame).__module__.partition(".")[0]
    if library not in LIBRARIES:
        raise ValueError(
            f"{column!r} names a column of labels, but the data has no column names: "
            "pass one label per row"
        )
    names = frame.column_names if library == "pyarrow" else list(frame.columns)
    if column not in names:
        raise ValueError(f"{column!r} is not a column; the columns are {names}")
    if library == "pyarrow":
        return frame.drop_columns([column]), frame.column(column)
    # The column as it is: in a NumPy array large integers beside a missing one would become equal.
    return frame[[name for name in names if name != column]], frame[column]
