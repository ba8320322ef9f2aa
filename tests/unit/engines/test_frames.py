"""Every kind of table gives the same integers, and what cannot be clustered is refused at once."""

import warnings
from collections import Counter
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sfumato._lattice.box import REACH, Box
from sfumato.engines._frames import split_column
from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Blocks
from tests.unit.rows import BOX, EXPECTED, NAN, VALUES, blocks_of, fold, rows_in, uniform


@pytest.mark.parametrize(
    "same",
    [
        VALUES.tolist(),
        np.asfortranarray(VALUES),
        np.repeat(VALUES, 2, axis=0)[::2],
        VALUES.astype(">f8"),
        VALUES.astype(np.longdouble),
        np.ma.array(VALUES),
        pd.DataFrame(VALUES),
        pd.DataFrame({c: VALUES[:, c] for c in range(3)}, index=[7] * 200),
        pd.DataFrame(VALUES).astype("Float64"),
        pd.DataFrame(VALUES).astype("float64[pyarrow]"),
        pl.DataFrame(VALUES, schema=["a", "b", "c"]),
        pa.table([VALUES[:, c] for c in range(3)], names=["a", "b", "c"]),
        pa.record_batch([VALUES[:, c] for c in range(3)], names=["a", "b", "c"]),
        pa.concat_tables([pa.table({"a": v[:, 0], "b": v[:, 1], "c": v[:, 2]})
                          for v in np.split(VALUES, [11, 12])]),
        blocks_of(VALUES),
        blocks_of(VALUES, 1, 1, 100),
        Blocks(lambda: iter([VALUES]), 3, n_rows=200),
    ],
    ids=lambda value: type(value).__module__ + "." + type(value).__name__,
)  # fmt: skip
def test_every_kind_of_table_gives_the_same_sums(same):
    np.testing.assert_array_equal(fold(same), EXPECTED)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4"])
def test_every_real_type_counts_as_the_numbers_it_holds(dtype):
    values = np.random.default_rng(1).integers(0, 2, (60, 3)).astype(dtype)
    expected = fold(values.astype(float))
    np.testing.assert_array_equal(fold(values), expected)
    np.testing.assert_array_equal(fold(pd.DataFrame(values)), expected)
    if dtype != "f2":
        np.testing.assert_array_equal(fold(pl.DataFrame(values)), expected)
    columns = [pa.array(values[:, c]) for c in range(3)]
    np.testing.assert_array_equal(fold(pa.table(columns, names=["a", "b", "c"])), expected)


def test_mixed_columns_and_missing_values():
    whole = np.array([[1, 2.5, 1], [0, NAN, 0], [1, -1, NAN]])
    integers, numbers, flags = [1, 0, 1], [2.5, None, -1.0], [True, False, None]
    expected = fold(whole)
    frames = [
        pd.DataFrame({
            "a": pd.array(integers, dtype="Int64"),
            "b": pd.array(numbers, dtype="Float32"),
            "c": pd.array(flags, dtype="boolean"),
        }),
        pd.DataFrame({
            "a": integers,
            "b": pd.array(numbers, dtype="double[pyarrow]"),
            "c": pd.array(flags, dtype="bool[pyarrow]"),
        }),
        pl.DataFrame({"a": integers, "b": numbers, "c": flags}),
        pa.table({"a": integers, "b": numbers, "c": flags}),
        np.ma.masked_invalid(whole),
        np.ma.array([[1, 2, 1], [0, 7, 0], [1, -1, 9]], mask=np.isnan(whole)) + [0, 0.5, 0] * (
            np.arange(3)[:, None] == 0
        ),
    ]  # fmt: skip
    for frame in frames:
        np.testing.assert_array_equal(fold(frame), expected)
        dropped = Box(BOX.lower, BOX.upper, "drop")
        np.testing.assert_array_equal(fold(frame, dropped), fold(whole[:1]))
    whole_numbers = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    box = Box.of((0, 4), 2)
    assert rows_in(whole_numbers, box) == rows_in([[1, NAN], [3, 4]], box)


@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, lambda v: blocks_of(v, 3, 50)])
def test_policies_for_cells_that_are_not_numbers(kind, nan):
    values = uniform(300, seed=4)
    values[::7, 1], values[5::11, 0], values[3::13, 2] = NAN, np.inf, -np.inf
    box = Box(BOX.lower, BOX.upper, nan)
    expected = box.to_lattice(values)
    assert rows_in(kind(values), box) == Counter(map(tuple, expected.tolist()))
    assert fold(kind(values), box)[:, 0].sum() == len(expected)


EXTREME = [
    np.array([[1e308, -1e308, 5e-324], [np.inf, NAN, -np.inf]]),
    np.array([[1e308, -1e308, 1], [2, 3, 4]], dtype=np.longdouble) * 1e10,
    np.array([[2**64 - 1, 2**53 + 1, 0]], dtype=np.uint64),
    np.array([[0x7FA00000] * 3], dtype=np.uint32).view(np.float32),
    np.array([[65504, -65504, NAN]], dtype=np.float16),
]


@pytest.mark.parametrize("values", EXTREME, ids=lambda v: str(v.dtype))
@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
def test_no_value_raises_or_warns(values, nan):
    box = Box(BOX.lower, BOX.upper, nan)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert fold(values, box).shape == (8, 4)
        assert fold(np.ma.array(values), box).shape == (8, 4)
        assert fold(pd.DataFrame(values), box).shape == (8, 4)
    large = [2**53 + 1, 2**62 + 1, None]
    assert rows_in(pa.table({"a": large, "b": large, "c": large}))[(REACH,) * 3] == 2
    assert rows_in(pl.DataFrame({"a": large, "b": large, "c": large}))[(REACH,) * 3] == 2


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (sparse.csr_matrix(np.eye(3)), TypeError, "sparse"),
        (sparse.coo_array(np.eye(3)), TypeError, "toarray"),
        (np.eye(3) * 1j, ValueError, "Complex data not supported"),
        (pd.DataFrame(np.eye(3) * 1j), ValueError, "Complex data not supported"),
        (np.eye(3).astype(object), TypeError, "object"),
        (np.array([["a", "b"]]), TypeError, "2-D table of numbers"),
        ([["a", "b"]], TypeError, "2-D table of numbers"),
        (pd.DataFrame({"a": ["x"]}), TypeError, "2-D table of numbers"),
        (pd.DataFrame({"a": pd.Categorical([1])}), TypeError, "category"),
        (pd.DataFrame({"a": [datetime(2020, 1, 1)]}), TypeError, "datetime"),
        (pd.DataFrame({"a": pd.to_timedelta([1])}), TypeError, "timedelta"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, "datetime"),
        (pl.DataFrame({"a": ["x"]}), TypeError, "String"),
        (pl.DataFrame({"a": [datetime(2020, 1, 1)]}), TypeError, "Datetime"),
        (pl.DataFrame({"a": [[1.0]]}), TypeError, "List"),
        (pl.LazyFrame({"a": [1.0]}), TypeError, "collect"),
        (pa.table({"a": ["x"]}), TypeError, "string"),
        (pa.table({"a": [datetime(2020, 1, 1)]}), TypeError, "timestamp"),
        (pa.array([1.0]), TypeError, "pyarrow"),
        (np.arange(3.0), ValueError, r"Expected 2D array, got 1D array instead.*reshape\(-1, 1\)"),
        (pd.Series([1.0]), ValueError, "Expected 2D array, got 1D array instead"),
        (pl.Series([1.0]), ValueError, "Expected 2D array, got 1D array instead"),
        (np.zeros((2, 2, 2)), ValueError, "Expected 2D array, got 3D array instead"),
        (1.0, ValueError, "Expected 2D array, got scalar array instead"),
        (None, TypeError, "2-D table of numbers"),
        ([[1, 2], [3]], ValueError, "unequal length"),
        (np.zeros((5, 0)), ValueError, r"0 feature\(s\) \(shape=\(\d*, 0\)\) while a minimum of 1"),
        (pd.DataFrame(index=[1, 2]), ValueError, "minimum of 1 is required"),
        (Blocks(lambda: iter([]), 0), ValueError, "minimum of 1 is required"),
        (np.zeros((0, 2**20 + 1)), ValueError, "at most 1048576"),
    ],
)
def test_what_cannot_be_clustered_is_refused_at_once(source, error, message):
    with pytest.raises(error, match=message):
        ArrayRows(source)


@pytest.mark.parametrize("frame", [pd.Series([1.0]), pa.array([1.0]), pl.LazyFrame({"a": [1.0]})])
def test_labels_of_what_has_no_columns_are_refused(frame):
    with pytest.raises((TypeError, ValueError), match=r"has no columns|was passed"):
        split_column(frame, "a")
