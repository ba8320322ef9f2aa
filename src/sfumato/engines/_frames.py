"""Tables in memory, and tables read in blocks, as float64 blocks of rows.

What cannot be clustered is refused here by its type and shape, before any budget is spent. A value
inside a table never raises an error: it is a number, or it counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats
from sfumato._lattice.kernels.dispatch import MAX_FEATURES

_ADVICE = "pass a 2-D table of numbers: a NumPy array or a pandas, polars or pyarrow table"


@dataclass(frozen=True)
class Frame:
    """Rows that can be read from anywhere in any order: `read(start, stop)` is a real 2-D array."""

    n_rows: int
    n_features: int
    read: Callable[[int, int], NDArray[Any]]


@dataclass(frozen=True)
class Blocks:
    """Rows that are read from the start: `open()` yields 2-D float64 blocks, each row once.

    Every call must yield the same rows. Without `n_rows` the number is found by reading, and groups
    cannot be matched.
    """

    open: Callable[[], Iterator[Floats]]
    n_features: int
    n_rows: int | None = None


def source_of(data: Any) -> Frame | Blocks:  # noqa: ANN401
    """Open a table of any accepted type, or say what would be accepted."""
    source = data if isinstance(data, Blocks) else _table_of(data)
    if source.n_features == 0:
        # Worded as in scikit-learn, without the number of rows, which is private.
        raise ValueError(
            "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
        )
    if source.n_features > MAX_FEATURES:
        raise ValueError(
            f"the data has {source.n_features} columns; at most {MAX_FEATURES} keep sums exact"
        )
    return source


def _table_of(data: Any) -> Frame:  # noqa: ANN401
    if hasattr(data, "nnz"):
        raise TypeError(
            "a sparse matrix was passed, but dense data is required: cells that are not stored "
            "cannot be told from zeros; use .toarray()"
        )
    homes = {base.__module__.partition(".")[0] for base in type(data).__mro__}
    for home, open_ in (("pandas", _pandas), ("polars", _polars), ("pyarrow", _pyarrow)):
        if home in homes:
            return open_(data)
    return _numpy(data)


def _numpy(data: Any) -> Frame:  # noqa: ANN401
    try:
        array = np.asanyarray(data)
    except ValueError:
        raise ValueError(f"rows of unequal length were passed; {_ADVICE}") from None
    _check_kind(array.dtype.kind, str(array.dtype))
    if array.ndim != 2:
        _refuse_dimensions(array.ndim)
    if not isinstance(array, np.ma.MaskedArray):
        array = np.asarray(array)
        return Frame(len(array), array.shape[1], lambda start, stop: array[start:stop])

    def read(start: int, stop: int) -> Floats:
        with np.errstate(all="ignore"):
            return np.ma.filled(array[start:stop].astype(np.float64), np.nan)

    return Frame(len(array), array.shape[1], read)


def _pandas(data: Any) -> Frame:  # noqa: ANN401
    if data.ndim != 2:
        _refuse_dimensions(data.ndim)
    for dtype in data.dtypes:
        _check_kind(dtype.kind, str(dtype))
    plain = all(isinstance(dtype, np.dtype) for dtype in data.dtypes)
    missing = {} if plain else {"na_value": np.nan}

    def read(start: int, stop: int) -> Floats:
        with np.errstate(all="ignore"):
            block: Floats = data.iloc[start:stop].to_numpy(dtype=np.float64, **missing)
        return block

    return Frame(len(data), data.shape[1], read)


def _polars(data: Any) -> Frame:  # noqa: ANN401
    if not hasattr(data, "to_numpy"):
        raise TypeError(f"a polars {type(data).__name__} was passed; use .collect()")
    if len(data.shape) != 2:
        _refuse_dimensions(len(data.shape))
    for dtype in data.dtypes:
        _check_kind("f" if dtype.is_numeric() or str(dtype) == "Boolean" else "O", str(dtype))

    def read(start: int, stop: int) -> Floats:
        block: Floats = data.slice(start, stop - start).cast(float).to_numpy()
        return block

    return Frame(len(data), data.shape[1], read)


def _pyarrow(data: Any) -> Frame:  # noqa: ANN401
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if not isinstance(data, pa.Table):
        raise TypeError(f"a pyarrow {type(data).__name__} was passed; {_ADVICE}")
    number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    for dtype in data.schema.types:
        _check_kind("f" if any(test(dtype) for test in number) else "O", str(dtype))

    def read(start: int, stop: int) -> Floats:
        block = np.empty((stop - start, data.num_columns))
        for column, values in enumerate(data.slice(start, stop - start).columns):
            # safe=False: an integer that float64 has to round is no reason to raise.
            block[:, column] = values.cast(pa.float64(), safe=False).to_numpy()
        return block

    return Frame(data.num_rows, data.num_columns, read)


def _check_kind(kind: str, name: str) -> None:
    if kind == "c":
        raise ValueError(f"Complex data not supported: got {name}; {_ADVICE}")
    if kind not in "biuf":
        raise TypeError(f"data of type {name} cannot be clustered; {_ADVICE}")


def _refuse_dimensions(ndim: int) -> NoReturn:
    given = {0: "scalar array", 1: "1D array"}.get(ndim, f"{ndim}D array")
    raise ValueError(
        f"Expected 2D array, got {given} instead. Reshape your data either using "
        "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it "
        "contains a single sample."
    )
