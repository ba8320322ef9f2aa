"""Data frames of pandas, polars and pyarrow as blocks of rows, or as cells of some columns.

Types are looked at when a frame is opened, values never: a missing cell becomes NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato._base.types import Floats
from sfumato._schema.types import Declared, Family, family_of
from sfumato.engines._rows import Read
from sfumato.engines.formats._parquet import family_in, floats_of, is_number

ADVICE = "pass a 2-D table of numbers: a NumPy array or a pandas, polars or pyarrow table"
LIBRARIES = frozenset({"pandas", "polars", "pyarrow"})


OpenedFrame = tuple[tuple[int, ...], tuple[tuple[str, Declared], ...], Read]
"""A shape, the kind of each column (as NumPy abbreviates it) with its type, and a reader."""


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

    pairs = zip(data.columns, dtypes, strict=True) if dtypes else ()
    kinds = tuple((dtype.kind, of_pandas(name, dtype)) for name, dtype in pairs)
    return (data.shape, kinds, read)


def of_pandas(name: Any, dtype: Any) -> Declared:  # noqa: ANN401
    """The declared type of a column of pandas."""
    is_text = str(dtype) == "str" or str(dtype).startswith("string")
    return Declared(str(name), "text" if is_text else family_of(dtype.kind), str(dtype))


def _polars(data: Any) -> OpenedFrame:  # noqa: ANN401
    if not hasattr(data, "to_numpy"):
        raise TypeError(f"a polars {type(data).__name__} was passed; use .collect()")
    dtypes = data.dtypes if len(data.shape) == 2 else []
    pairs = zip(data.columns, dtypes, strict=True) if dtypes else ()
    kinds = tuple(of_polars(*pair) for pair in pairs)

    def read(start: int, stop: int) -> Floats:
        block: Floats = data.slice(start, stop - start).cast(float).to_numpy()
        return block

    return (data.shape, kinds, read)


def of_polars(name: str, dtype: Any) -> tuple[str, Declared]:  # noqa: ANN401
    """The kind as NumPy has it, "f" for what becomes a float64, and the type."""
    base = str(dtype.base_type())
    families: dict[str, Family] = {
        **dict.fromkeys(("String", "Categorical", "Enum", "Binary"), "text"),
        **dict.fromkeys(("Date", "Datetime"), "time"),
        **dict.fromkeys(("Null", "Object"), "any"),
        "Boolean": "bool",
    }
    family = "number" if dtype.is_numeric() else families.get(base, "other")
    return "f" if family in ("number", "bool") else "O", Declared(name, family, str(dtype))


def _pyarrow(data: Any) -> OpenedFrame:  # noqa: ANN401
    data = table_of(data)
    kinds = tuple(
        ("f" if is_number(f.type) else "O", Declared(f.name, family_in(f.type), str(f.type)))
        for f in data.schema
    )

    def read(start: int, stop: int) -> Floats:
        return floats_of(data.slice(start, stop - start).columns)

    return (data.shape, kinds, read)


def table_of(data: Any) -> Any:  # noqa: ANN401
    """An object of pyarrow as a table."""
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table):
        raise TypeError(f"a pyarrow {type(data).__name__} was passed; {ADVICE}")
    return data


def names_in(frame: Any, library: str) -> list[Any]:  # noqa: ANN401
    """The names of the columns of a frame of pandas or polars; what is none is refused."""
    if library == "polars" and not hasattr(frame, "to_numpy"):
        raise TypeError(f"a polars {type(frame).__name__} was passed; use .collect()")
    if not hasattr(frame, "columns"):
        raise ValueError(f"a {library} {type(frame).__name__} has no columns; {ADVICE}")
    return list(frame.columns)


def split_column(frame: Any, column: str) -> tuple[Any, Any]:  # noqa: ANN401
    """Take a column, of labels of rows, out of a data frame."""
    library = type(frame).__module__.partition(".")[0]
    if library not in LIBRARIES:
        raise ValueError(
            f"{column!r} names a column of labels, but the data has no column names: "
            "pass one label per row"
        )
    if library == "pyarrow":
        frame = table_of(frame)
    names = frame.column_names if library == "pyarrow" else names_in(frame, library)
    if column not in names:
        raise ValueError(f"{column!r} is not a column; the columns are {names}")
    if library == "pyarrow":
        return frame.drop_columns([column]), frame.column(column)
    # The column as it is: in a NumPy array large integers beside a missing one would become equal.
    return frame[[name for name in names if name != column]], frame[column]
