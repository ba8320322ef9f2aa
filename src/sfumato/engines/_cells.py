"""Tables in memory through a schema: the cells of its columns, encoded block by block.

Data frames are read by the names of columns, arrays by position. Only declared types can be
refused, when a table is opened. A cell never raises an error: what cannot be read is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats
from sfumato._schema.schema import Schema
from sfumato._schema.types import Declared, check_types, family_of
from sfumato.engines._frames import ADVICE, names_in, of_pandas, of_polars, table_of
from sfumato.engines._rows import Frame
from sfumato.engines.formats._parquet import cells_in, check_arrow
from sfumato.engines.formats._table import no_column, wanted_as_numbers

Cells = Callable[[int, int], list[Any]]
"""Called with two row numbers, returns a sequence of cells for each feature of a schema."""


def frame_by(schema: Schema, data: Any, library: str) -> Frame:  # noqa: ANN401
    """Open a table of a library, or an array; its blocks are points of shape (n, schema.width)."""
    if library == "pyarrow":
        return _pyarrow(table_of(data), schema)
    if library:
        n_rows, cells = {"pandas": _pandas, "polars": _polars}[library](data, schema)
    else:
        n_rows, cells = _array(data, schema)

    def read(start: int, stop: int) -> Floats:
        return schema.encode(cells(start, stop))

    return Frame(n_rows, schema.width, read)


def without_weights(data: Any, schema: Schema) -> tuple[Any, Schema]:  # noqa: ANN401
    """A table and a schema to label rows by, which need no weights: an array may have them last."""
    own, width = schema.unweighted, len(schema.inputs)
    if own is schema or hasattr(data, "columns"):
        return data, own
    if getattr(data, "ndim", 0) == 2 and data.shape[1] == width:
        return data[:, :-1], own
    if isinstance(data, list | tuple) and all(
        isinstance(row, list | tuple) and len(row) == width for row in data
    ):
        return [row[:-1] for row in data], own
    return data, own


def points_in(schema: Schema, block: Any) -> Floats:  # noqa: ANN401
    """Encode a partition, of a data frame of pandas or an array, whatever types it turns out to be.

    Its columns are the features in their order. Returns points of shape (n, schema.width).
    """
    numbers = wanted_as_numbers(schema)
    if hasattr(block, "iloc"):
        pairs = zip(range(len(numbers)), numbers, strict=True)
        return schema.encode([_of_series(block.iloc[:, i], number) for i, number in pairs])
    return schema.encode(_columns(np.asanyarray(block)))


def places_of(names: Sequence[Any], schema: Schema) -> list[int]:
    """Where the features of a schema are among the names of columns."""
    for name in schema.inputs:
        if names.count(name) != 1:
            raise ValueError(no_column(name, names))
    return [names.index(name) for name in schema.inputs]


def _pandas(data: Any, schema: Schema) -> tuple[int, Cells]:  # noqa: ANN401
    names = names_in(data, "pandas")
    places, numbers = places_of(names, schema), wanted_as_numbers(schema)
    check_types(schema, [of_pandas(names[i], data.dtypes.iloc[i]) for i in places])

    def cells(start: int, stop: int) -> list[Any]:
        pairs = zip(places, numbers, strict=True)
        return [_of_series(data.iloc[start:stop, i], number) for i, number in pairs]

    return len(data), cells


def _of_series(series: Any, number: bool) -> Any:  # noqa: ANN401
    """The cells of a column of pandas: an array that `Schema.encode` takes."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    if dtype.kind == "M" and hasattr(dtype, "tz"):
        return series.dt.tz_convert(None).to_numpy()
    if number and dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return series.to_numpy(dtype=object)


def _polars(data: Any, schema: Schema) -> tuple[int, Cells]:  # noqa: ANN401
    names = names_in(data, "polars")
    places = places_of(names, schema)
    check_types(schema, [of_polars(names[i], data.dtypes[i])[1] for i in places])
    chosen, numbers = data.select(list(schema.inputs)), wanted_as_numbers(schema)

    def cells(start: int, stop: int) -> list[Any]:
        columns = chosen.slice(start, stop - start).get_columns()
        return [_of_polars(*pair) for pair in zip(columns, numbers, strict=True)]

    return data.height, cells


def _of_polars(series: Any, number: bool) -> Any:  # noqa: ANN401
    kind = str(series.dtype.base_type())
    if kind in ("Date", "Datetime"):
        return series.to_numpy()
    is_number = series.dtype.is_numeric() or kind == "Boolean"
    if is_number and number:
        return series.cast(float).to_numpy()
    if is_number and kind != "Decimal" and not series.null_count():
        return series.to_numpy()
    return series.to_list()


def _pyarrow(table: Any, schema: Schema) -> Frame:  # noqa: ANN401
    chosen = table.select(places_of(table.column_names, schema))
    check_arrow(list(chosen.schema), schema)
    numbers = wanted_as_numbers(schema)

    def read(start: int, stop: int) -> Floats:
        batches = chosen.slice(start, stop - start).to_batches()
        points = [schema.encode(cells_in(batch, numbers)) for batch in batches]
        return np.concatenate([np.empty((0, schema.width)), *points])

    return Frame(table.num_rows, schema.width, read)


def _array(data: Any, schema: Schema) -> tuple[int, Cells]:  # noqa: ANN401
    # Objects: numbers beside text would become text.
    array = np.asanyarray(data) if hasattr(data, "dtype") else _objects(data)
    if array.ndim != 2:
        raise ValueError(
            f"a table of rows and columns is needed, got {array.ndim} dimension(s); {ADVICE}"
        )
    check_array(array.shape[1], array.dtype, schema)

    def cells(start: int, stop: int) -> list[Any]:
        return _columns(array[start:stop])

    return array.shape[0], cells


def check_array(width: int, dtype: np.dtype[Any], schema: Schema) -> None:
    """Refuse an array, of two dimensions, by its number of columns or its type."""
    features = schema.inputs
    if width != len(features):
        raise ValueError(
            f"the schema has {len(features)} columns that take part, the data has {width}: the "
            "columns of an array are matched by position"
        )
    family = family_of(dtype.kind)
    check_types(schema, [Declared(name, family, str(dtype)) for name in features])


def _objects(data: Any) -> NDArray[Any]:  # noqa: ANN401
    try:
        array = np.array(data, dtype=object)
    except ValueError:
        raise ValueError(f"rows of unequal length were passed; {ADVICE}") from None
    if array.ndim == 1 and any(isinstance(row, list | tuple) for row in array[:1]):
        raise ValueError(f"rows of unequal length were passed; {ADVICE}")
    return array


def _columns(array: NDArray[Any]) -> list[Any]:
    """The columns of a block of an array of shape (n, d); masked cells are missing."""
    if not isinstance(array, np.ma.MaskedArray):
        return list(np.asarray(array).T)
    blanks: dict[str, Any] = {"M": np.datetime64("NaT"), "f": np.nan}
    kind = array.dtype.kind
    whole = array if kind in blanks else array.astype(object)
    return list(np.ma.filled(whole, blanks.get(kind)).T)
