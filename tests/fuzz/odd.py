"""Odd tables, labels and values: what people pass by mistake, or to see what happens.

Every table has the cell SECRET, or SECRET_TEXT, if it can have one at all. Values are made anew for
each case: a generator can be used once.
"""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from tests.fuzz.harness import SECRET, SECRET_TEXT

NAN, INF = float("nan"), float("inf")


def rows(rng, n=24, d=2):
    """Plain rows in [0, 1], one of which has the secret cell."""
    found = rng.uniform(size=(n, d))
    found[0, 0] = SECRET
    return found


def _with(*cells):
    def table(rng):
        found = rows(rng)
        found[1 : 1 + len(cells), 1] = cells
        return found

    return table


def _as(dtype):
    return lambda rng: (rows(rng) * 100).astype(dtype)


def _objects(*cells):
    def table(rng):
        found = rows(rng).astype(object)
        found[1 : 1 + len(cells), 0] = np.array([*cells, None], dtype=object)[:-1]
        return found

    return table


def _warning(rng):
    """Cells of types that warn when they become a number."""
    found = rows(rng).astype(object)
    cells = (np.complex64(1), np.array([1.0]), pd.Series([1.0]), np.longdouble("1e4000"))
    for row, cell in enumerate((*cells, np.ma.masked, np.timedelta64(1), Decimal("sNaN"))):
        found[row + 1, 0] = cell
    return found


def _structured(rng):
    found = np.zeros(4, dtype=[("a", "f8"), ("b", "i4")])
    found["a"] = SECRET
    return found


def _masked(rng):
    found = np.ma.masked_array(rows(rng), mask=rng.uniform(size=(24, 2)) < 0.2)
    found.data[found.mask] = 1e300
    return found


def _frame(**columns):
    return lambda rng: pd.DataFrame({"a": rows(rng)[:4, 0], **{n: c for n, c in columns.items()}})


def _matrix(values):
    # NumPy advises against it whenever one is made.
    with warnings.catch_warnings(action="ignore"):
        return np.matrix(values)


def _many_indices(rng):
    names = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    return pd.DataFrame(rows(rng), columns=names, index=pd.Index(["x"] * 24))


def _read_only(rng):
    found = rows(rng)
    found.flags.writeable = False
    return found


TABLES = {
    "plain": rows,
    "one row": lambda rng: rows(rng, 1),
    "no row": lambda rng: rows(rng)[:0],
    "no column": lambda rng: rows(rng)[:, :0],
    "three columns": lambda rng: rows(rng, d=3),
    "one dimension": lambda rng: rows(rng)[:, 0],
    "no dimension": lambda rng: np.array(SECRET),
    "three dimensions": lambda rng: rows(rng).reshape(6, 4, 2),
    "nan": _with(NAN, -NAN),
    "infinite": _with(INF, -INF),
    "huge": _with(1e308, -1e308),
    "denormal": _with(5e-324, -5e-324, -0.0, 2.2e-308),
    "all missing": lambda rng: np.full((24, 2), NAN),
    "all infinite": lambda rng: np.full((24, 2), INF),
    "constant": lambda rng: np.full((24, 2), SECRET),
    "duplicates": lambda rng: np.repeat(rows(rng, 1), 24, axis=0),
    "float16": _as("f2"),
    "long double": lambda rng: rows(rng).astype(np.longdouble) * np.longdouble("1e4000"),
    "big endian": _as(">f8"),
    "bool": _as("?"),
    "int8": _as("i1"),
    "smallest int": lambda rng: np.full((24, 2), np.iinfo(np.int64).min),
    "largest uint": lambda rng: np.full((24, 2), np.iinfo(np.uint64).max),
    "complex": _as("c16"),
    "text": lambda rng: rows(rng).astype("U"),
    "bytes": lambda rng: rows(rng).astype("S"),
    "time": _as("M8[s]"),
    "duration": _as("m8[s]"),
    "void": lambda rng: np.zeros((4, 2), dtype="V8"),
    "structured": _structured,
    "objects": _objects(1, 2.5),
    "objects of text": _objects(SECRET_TEXT, "1"),
    "objects of all sorts": _objects(None, {}, [1], object(), 10**400, SECRET_TEXT, Decimal(1)),
    "objects that warn": lambda rng: _warning(rng),
    "dictionaries": lambda rng: [{"a": SECRET}, {"a": 1.0}],
    "sparse": lambda rng: sparse.csr_matrix(rows(rng)),
    "sparse array": lambda rng: sparse.coo_array(rows(rng)),
    "masked": _masked,
    "all masked": lambda rng: np.ma.masked_all((24, 2)),
    "masked integers": lambda rng: np.ma.masked_array(np.ones((4, 2), int), mask=[[0, 1]] * 4),
    "masked text": lambda rng: np.ma.masked_array([[SECRET_TEXT, "1"]], mask=[[0, 1]]),
    "masked scalar": lambda rng: np.ma.masked,
    "matrix": lambda rng: _matrix(rows(rng)),
    "memory": lambda rng: memoryview(rows(rng)),
    "memory of bytes": lambda rng: memoryview(b"0123456789"),
    "Fortran order": lambda rng: np.asfortranarray(rows(rng)),
    "read only": _read_only,
    "backwards": lambda rng: rows(rng)[::-1, ::-1],
    "strides": lambda rng: rows(rng, 48, 6)[::2, ::3],
    "broadcast": lambda rng: np.broadcast_to(rows(rng, 1), (24, 2)),
    "list": lambda rng: rows(rng).tolist(),
    "tuple": lambda rng: tuple(map(tuple, rows(rng).tolist())),
    "empty list": lambda rng: [],
    "list of empty lists": lambda rng: [[], []],
    "ragged": lambda rng: [[SECRET, 1.0], [2.0]],
    "ragged inside": lambda rng: [[SECRET, [1.0]], [2.0, [1.0, 2.0]]],
    "mixed list": lambda rng: [[SECRET, SECRET_TEXT], [None, True]],
    "big integers": lambda rng: [[10**400, 1], [SECRET, -(10**400)]],
    "generator": lambda rng: (row for row in rows(rng).tolist()),
    "iterator": lambda rng: iter(rows(rng)),
    "range": lambda rng: range(10),
    "dictionary": lambda rng: {"a": [SECRET, 1.0], "b": [1.0, 2.0]},
    "set": lambda rng: {SECRET},
    "nothing": lambda rng: None,
    "number": lambda rng: 3,
    "bytes object": lambda rng: b"rows",
    "path that is not there": lambda rng: "not-there.csv",
    "empty path": lambda rng: "",
    "type": lambda rng: np.ndarray,
    "pandas": lambda rng: pd.DataFrame(rows(rng), columns=["a", "b"]),
    "pandas without rows": lambda rng: pd.DataFrame(rows(rng), columns=["a", "b"]).iloc[:0],
    "pandas without columns": lambda rng: pd.DataFrame(index=range(3)),
    "pandas NA": _frame(b=pd.array([1, None, 3, 4], dtype="Int64")),
    "pandas Float64": _frame(b=pd.array([1.5, None, INF, NAN], dtype="Float64")),
    "pandas boolean": _frame(b=pd.array([True, None, False, True], dtype="boolean")),
    "pandas NaT": _frame(b=pd.to_datetime(["2020-01-01", None, "1700-01-01", None])),
    "pandas durations": _frame(b=pd.to_timedelta([1, None, 3, 4])),
    "pandas categories": _frame(b=pd.Categorical([SECRET_TEXT, "x", None, "x"])),
    "pandas categories of numbers": _frame(b=pd.Categorical([1, 2, 3, None])),
    "pandas objects": _frame(b=pd.Series([SECRET_TEXT, None, 3, pd.NA], dtype=object)),
    "pandas text": _frame(b=[SECRET_TEXT, "x", "y", "z"]),
    "pandas periods": _frame(b=pd.period_range("2020", periods=4)),
    "pandas sparse": _frame(b=pd.arrays.SparseArray([0.0, 0.0, 1.0, NAN])),
    "pandas arrow": _frame(b=pd.array([1.5, None, 3, 4], dtype="float64[pyarrow]")),
    "pandas arrow text": _frame(b=pd.array([SECRET_TEXT, None, "", "x"], dtype="string[pyarrow]")),
    "pandas complex": _frame(b=[1j, 2, 3, 4]),
    "pandas intervals": _frame(b=pd.interval_range(0, 4)),
    "pandas MultiIndex": _many_indices,
    "pandas duplicate names": lambda rng: pd.DataFrame(rows(rng), columns=["a", "a"]),
    "pandas odd names": lambda rng: pd.DataFrame(rows(rng, d=3), columns=["a", 1, None]),
    "pandas series": lambda rng: pd.Series(rows(rng)[:, 0]),
    "pandas index": lambda rng: pd.Index(rows(rng)[:, 0]),
    "polars": lambda rng: pl.DataFrame(rows(rng), schema=["a", "b"]),
    "polars nulls": lambda rng: pl.DataFrame({"a": [SECRET, None], "b": [None, 1]}),
    "polars all null": lambda rng: pl.DataFrame({"a": [SECRET, None], "b": [None, None]}),
    "polars lists": lambda rng: pl.DataFrame({"a": [SECRET, 1.0], "b": [[1], [2, 3]]}),
    "polars structs": lambda rng: pl.DataFrame({"a": [SECRET, 1.0], "b": [{"c": 1}, {"c": 2}]}),
    "polars text": lambda rng: pl.DataFrame({"a": [SECRET, 1.0], "b": [SECRET_TEXT, None]}),
    "polars decimals": lambda rng: pl.DataFrame({"a": [Decimal("1.5"), None], "b": [1, 2]}),
    "polars times": lambda rng: pl.DataFrame({"a": [datetime.date(2020, 1, 1), None], "b": [1, 2]}),
    "polars objects": lambda rng: pl.DataFrame({"a": [object(), None], "b": [1, 2]}),
    "polars lazy": lambda rng: pl.DataFrame(rows(rng), schema=["a", "b"]).lazy(),
    "polars series": lambda rng: pl.Series(rows(rng)[:, 0]),
    "polars without rows": lambda rng: pl.DataFrame(rows(rng), schema=["a", "b"])[:0],
    "polars empty": lambda rng: pl.DataFrame(),
    "arrow": lambda rng: pa.table({"a": [SECRET, None, NAN], "b": [1, 2, None]}),
    "arrow chunks": lambda rng: pa.table(
        {"a": pa.chunked_array([[SECRET], [], [1.0, None]]), "b": pa.chunked_array([[1, 2], [3]])}
    ),
    "arrow batch": lambda rng: pa.record_batch({"a": [SECRET, 1.0], "b": [1, 2]}),
    "arrow array": lambda rng: pa.array([SECRET, 1.0]),
    "arrow nulls": lambda rng: pa.table({"a": [SECRET, None], "b": pa.nulls(2)}),
    "arrow lists": lambda rng: pa.table({"a": [SECRET, None], "b": [[1], None]}),
    "arrow text": lambda rng: pa.table({"a": [SECRET_TEXT, None], "b": [1, 2]}),
    "arrow dictionary": lambda rng: pa.table(
        {"a": pa.array([SECRET_TEXT, None]).dictionary_encode(), "b": [1, 2]}
    ),
    "arrow duplicate names": lambda rng: pa.Table.from_arrays(
        [pa.array([SECRET, 1.0]), pa.array([1, 2])], names=["a", "a"]
    ),
    "arrow without rows": lambda rng: pa.table({"a": pa.array([], "f8"), "b": pa.array([], "f8")}),
    "arrow decimals": lambda rng: pa.table(
        {"a": pa.array([Decimal("1.5"), None]), "b": pa.array([1, 2**63], pa.uint64())}
    ),
}

LABELS = {
    "plain": lambda n: [f"{SECRET_TEXT}{i // 2}" for i in range(n)],
    "integers": lambda n: np.arange(n) // 2,
    "floats": lambda n: np.where(np.arange(n) % 3, SECRET, NAN),
    "masked": lambda n: np.ma.masked_array(np.arange(n), mask=np.arange(n) % 2),
    "objects": lambda n: [(SECRET_TEXT, None, 3, [1], {}, NAN, pd.NA, b"\xff")[i % 8]
                          for i in range(n)],
    "times": lambda n: np.full(n, np.datetime64("NaT", "s")),
    "complex": lambda n: np.full(n, 1j * SECRET),
    "structured": lambda n: np.zeros(n, dtype=[("a", "f8")]),
    "void": lambda n: np.zeros(n, dtype="V4"),
    "long double": lambda n: np.full(n, np.longdouble("1e4000")),
    "categories": lambda n: pd.Categorical([SECRET_TEXT] * n),
    "pandas": lambda n: pd.Series([pd.NA, SECRET_TEXT] * n)[:n],
    "polars": lambda n: pl.Series([None, SECRET_TEXT] * n)[:n],
    "arrow": lambda n: pa.chunked_array([[SECRET_TEXT] * n, []]),
    "matrix": lambda n: _matrix(np.arange(n)),
    "two dimensions": lambda n: np.zeros((n, 1)),
    "no dimension": lambda n: np.array(SECRET),
    "too few": lambda n: [SECRET_TEXT] * max(0, n - 1),
    "none": lambda n: [],
    "generator": lambda n: (i for i in range(n)),
    "name": lambda n: "a",
    "name that is not there": lambda n: "nobody",
    "bytes": lambda n: b"a" * n,
    "number": lambda n: 3,
    "dictionary": lambda n: {i: SECRET_TEXT for i in range(n)},
    "set": lambda n: {f"{SECRET_TEXT}{i}" for i in range(n)},
    "sparse": lambda n: sparse.csr_matrix(np.ones((1, n))),
}  # fmt: skip


class NoBool:
    """Cannot be compared or tested, as arrays and expressions of polars cannot."""

    def __eq__(self, other):
        raise TypeError("the truth value is ambiguous")

    __hash__ = None

    def __bool__(self):
        raise TypeError("the truth value is ambiguous")

    def __repr__(self):
        return "NoBool()"


NUMBERS = (
    *(0, -1, 1, 2, 7, True, False, 2.5, -0.0, NAN, INF, -INF, 1e-300, 1e300, 5e-324, 1e308),
    *(10**9, 2**63, -(2**63), 10**400, -(10**400), 1e-12, 0.5, 0.999999, 30, 1000.0),
    *(np.float64(NAN), np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int64(3), np.int8(-3)),
    *(np.uint64(2**64 - 1), np.longdouble(0.5), np.longdouble("1e4000"), np.bool_(True)),
    *(Fraction(1, 3), Fraction(-1, 3), Fraction(10**400), Fraction(1, 10**400)),
    *(Decimal("0.1"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e1000"), 1j, np.complex128(1)),
)

OTHERS = (
    *(None, "", "1", "3", "nan", "auto", "private", "x" * 300, "\x00", "\ud800", "ε\n", b"1"),
    *([], [1], (), {}, {"a": 1}, frozenset({1}), [None], [[1]], ["a"], ("a", "b")),
    *(np.array(2), np.array([1, 2]), np.array([]), np.array("1"), np.array(None), np.ma.masked),
    *(np.datetime64("NaT"), np.timedelta64(3, "s"), datetime.date(2020, 1, 1)),
    *(pd.NA, pd.NaT, pd.Series([1]), pl.Series([1]), pa.scalar(1), sparse.csr_matrix([[1]])),
    *(int, len, NoBool(), object, ..., np.random.default_rng(0), range(3)),
)

ANY = NUMBERS + OTHERS

BOUNDS = (
    *((0, 1), [0, 1], (0.0, 1.0), ([0, 0], [1, 1]), np.array([[0, 0], [1, 1]]), (0, [1, 2])),
    *((1, 0), (0, 0), (NAN, 1), (0, NAN), (-INF, INF), (0, INF), (1e308, -1e308), (-1e308, 1e308)),
    *((0, 5e-324), (0, 1e-300), (1e300, 1.0000001e300), (0, 10**400), (-(10**400), 0), (0, 2**70)),
    *((0,), (0, 1, 2), (), [], {}, {"a": (0, 1)}, {"a": (0, 1), "b": (0, 1)}, {"c": (0, 1)}),
    *({"a": 3}, {"a": (0,)}, {1: (0, 1)}, {"a": None}, {"a": (NAN, 1)}, {"a": ("0", "1")}),
    *({"a": (0, 10**400)}, {"a": (0, [1])}, {None: (0, 1)}, {"a": "01"}, {"a": {0: 1, 1: 2}}),
    *(([0, 0, 0], [1, 1, 1]), ([0], [1]), ([[0, 0]], [[1, 1]]), ([0, 0], [1]), ([], [])),
    *(("0", "1"), ("a", "b"), (None, 1), (0, None), (True, False), (False, True), (0, 1j)),
    *((b"0", b"1"), ([0, None], [1, 1]), ([0, "a"], [1, 1]), ([0, [1]], [1, 1]), "01", "private"),
    *((Fraction(0), Fraction(1)), (Decimal(0), Decimal(1)), (Decimal("sNaN"), 1), (0, pd.NA)),
    *((np.float16(0), np.float16(1)), (np.longdouble(0), np.longdouble("1e4000")), (0, {1})),
    *(np.array([0, 1]), np.array(["0", "1"]), np.array([0, 1], dtype=object), np.array(1)),
    *(np.ma.masked_array([0, 1], mask=[0, 1]), np.array(["2020", "2021"], dtype="M8[Y]")),
    *(pd.DataFrame({"lower": [0, 0], "upper": [1, 1]}), pd.Series([0, 1])),
    pd.Series([0, 1], ["x", "y"]),
    *(pl.Series([0, 1]), pl.DataFrame({"a": [0, 1]}), pa.array([0, 1]), sparse.eye(2), range(2)),
    *({0, 1}, iter((0, 1)), None, 3, True, (slice(0), 1), (object(), 1), NoBool()),
)  # fmt: skip
