"""One row in, one row out: steps of others, fitted on made-up rows and tried on them.

A step sees no row of the user before it was tried. A row that it fails on becomes a row of missing
cells: whatever is in a row, it raises nothing and moves no other row.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from sfumato._base.distances import unmasked
from sfumato._base.types import Floats, Ints
from sfumato.engines._open import elsewhere

_BLOCK = 1024
_MOST_COLUMNS = 10_000
_CLOSE = 1e-9
_IN_MEMORY = "steps run on rows in memory: a 2-D array or a pandas frame, got "

LeftOut = Literal["none", "infinite", "missing or infinite"]


class UnsafeStep(TypeError, ValueError):  # noqa: N818
    """A step that learns from rows, or does not make one row of each row by itself."""


@dataclass(frozen=True)
class Tried:
    """A step that was fitted on made-up rows, and makes one row of each row of them by itself.

    `left_out`: it is not given rows with cells that are missing or infinite, as it fails on them.
    `single`: it is given one row at a time.
    """

    step: Any
    shape: _Shape
    left_out: LeftOut
    single: bool

    def transform(self, X: Any) -> Any:  # noqa: ANN401
        """Transform every row by itself; one that the step fails on gets missing cells."""
        X = _indexable(X, self.step)
        n, size = _length(X), 1 if self.single else _BLOCK
        parts: list[tuple[Ints, Any]] = []
        there = np.flatnonzero(_present(X, self.left_out))
        with _quiet():
            for start in range(0, len(there), size):
                parts.extend(_guarded(self.step, X, there[start : start + size], self.shape))
        return self.shape.joined(parts, n)


def tried(step: Any, X: Any, *, single: bool) -> Tried:  # noqa: ANN401
    """Fit a copy of a step on made-up rows like X, (n, d), and try it on them.

    The type, the columns and the types of the columns of X are looked at, no cell is. A step of
    which only the last bits depend on other rows is given single rows from then on.
    """
    made_up, name = _made_up(X, step), name_of(step)
    fitted = _fitted(step, made_up)
    shape, failed = _tried_alone(fitted, made_up, name)
    one = Tried(fitted, shape, left_out=_left_out(failed), single=True)
    alone = [one.transform(_taken(made_up, np.array([i]))) for i in range(_length(made_up))]
    works = np.flatnonzero(_present(made_up, one.left_out))
    works = works[~np.isin(works, list(failed))]
    exact: list[bool | None]
    if single:
        again = one.transform(_taken(made_up, works))
        exact = [_same(again, [alone[i] for i in works], exact=True) or None]
    else:
        exact = [_is_exact(one, alone, made_up, places) for places in _tables(works)]
    if None in exact:
        raise UnsafeStep(
            f"{name} makes something else of a row when other rows are beside it: one row would "
            "move others, and the promise would be void. Use a rule for one row at a time, with "
            "public numbers; see docs/pipelines.md"
        )
    return replace(one, single=single or not all(exact))


@dataclass(frozen=True)
class _Shape:
    """What a step makes of a row: so many numbers, or columns of a frame, with their kinds."""

    width: int
    names: tuple[Any, ...] | None = None
    kinds: tuple[str, ...] = ()

    @classmethod
    def of(cls, out: Any) -> _Shape:  # noqa: ANN401
        """The shape of what a step made of one row."""
        if not _is_frame(out):
            return cls(np.shape(_numbers(out))[1])
        kinds = [getattr(kind, "kind", "O") for kind in out.dtypes]
        kept = ("f" if kind in "iufb" else "M" if kind == "M" else "O" for kind in kinds)
        return cls(out.shape[1], tuple(out.columns), tuple(kept))

    def read(self, out: Any, n: int) -> Any:  # noqa: ANN401
        """What a step made of n rows, in this shape; ValueError if it is in another."""
        if self.names is None:
            numbers = _numbers(out)
            if numbers.shape != (n, self.width):
                raise ValueError(f"{n} rows became {numbers.shape}")
            return numbers
        if not _is_frame(out) or tuple(out.columns) != self.names or len(out) != n:
            raise ValueError(f"{n} rows became another table")
        import pandas as pd

        frame = out.reset_index(drop=True)
        to_kind = {
            "f": lambda cells: pd.to_numeric(cells, errors="coerce").astype("float64"),
            "M": lambda cells: pd.to_datetime(cells, errors="coerce"),
            "O": lambda cells: cells.astype(object),
        }
        columns = [to_kind[kind](frame.iloc[:, i]) for i, kind in enumerate(self.kinds)]
        made = pd.concat(columns, axis=1) if columns else frame
        made.columns = frame.columns
        return made

    def joined(self, parts: list[tuple[Ints, Any]], n: int) -> Any:  # noqa: ANN401
        """One table of n rows; those that are in no part have missing cells."""
        if self.names is None:
            table = np.full((n, self.width), np.nan)
            for places, made in parts:
                table[places] = made
            return table
        import pandas as pd

        frames = [made.set_axis(places, axis=0) for places, made in parts]
        none = pd.DataFrame(columns=list(self.names), index=pd.RangeIndex(0))
        table = pd.concat(frames) if frames else self.read(none, 0)
        return table.reindex(np.arange(n))


def _guarded(step: Any, X: Any, places: Ints, shape: _Shape) -> Iterator[tuple[Ints, Any]]:  # noqa: ANN401
    """Transform rows together; if that fails, each half by itself, down to single rows."""
    try:
        made = shape.read(step.transform(_taken(X, places)), len(places))
    except Exception:  # whatever a row makes a step raise
        if len(places) > 1:
            half = len(places) // 2
            yield from _guarded(step, X, places[:half], shape)
            yield from _guarded(step, X, places[half:], shape)
        return
    yield places, made


def _fitted(step: Any, made_up: Any) -> Any:  # noqa: ANN401
    """A copy of a step that was fitted on made-up rows without missing cells."""
    rows = _taken(made_up, _FITTABLE)
    try:
        with _quiet():
            return clone(step).fit(rows, None)
    except Exception as error:
        raise UnsafeStep(
            f"{name_of(step)} cannot be fitted on made-up rows of these columns, and it is never "
            f"fitted on others: {error}"
        ) from error


def _tried_alone(step: Any, made_up: Any, name: str) -> tuple[_Shape, set[int]]:  # noqa: ANN401
    """What a step makes of single rows, and on which of them it fails."""
    shapes: list[_Shape] = []
    failed: set[int] = set()
    problem = ""
    for i in range(_length(made_up)):
        try:
            with _quiet():
                out = step.transform(_taken(made_up, np.array([i])))
            shape = _Shape.of(out)
            shape.read(out, 1)
        except Exception as error:  # whatever a row makes a step raise
            failed.add(i)
            problem = problem or f"{type(error).__name__}: {error}"
        else:
            shapes.append(shape)
    if not shapes:
        raise UnsafeStep(
            f"{name} makes no row of numbers of any made-up row by itself ({problem}). A step must "
            "make one row of each, in an array or a pandas frame"
        )
    width = shapes[0].width
    if any((s.width, s.names) != (width, shapes[0].names) for s in shapes):
        raise UnsafeStep(f"{name} makes other columns of other rows: their number must be fixed")
    if width > _MOST_COLUMNS:
        raise UnsafeStep(
            f"{name} makes {width} columns: up to {_MOST_COLUMNS} would work, "
            "HashingVectorizer(n_features=256)"
        )
    return shapes[0], failed


def _is_exact(one: Tried, alone: list[Any], made_up: Any, places: Ints) -> bool | None:  # noqa: ANN401
    """Whether made-up rows have the same bits together as alone; None if they differ by more."""
    expected = [alone[i] for i in places]
    try:
        with _quiet():
            out = one.step.transform(_taken(made_up, places))
        together = one.shape.read(out, len(places))
    except Exception:  # none of these rows makes it raise alone
        return None
    if not _same(together, expected, exact=False):
        return None
    return _same(together, expected, exact=True)


def _tables(works: Ints) -> Iterator[Ints]:
    """Which made-up rows to put together: all, from every row on, backwards, some, many."""
    for first in range(len(_TEXTS)):
        yield np.roll(works, -first)
    yield works[::-1]
    yield works[:-1]
    yield works[1::2]
    yield np.repeat(works[::3], 3)
    yield np.resize(works[::-1], _BLOCK)


def _same(table: Any, rows: list[Any], *, exact: bool) -> bool:  # noqa: ANN401
    """Whether a table has these rows; of numbers, up to rounding unless it is exact."""
    if _is_frame(table):
        import pandas as pd

        other = pd.concat(rows, ignore_index=True)
        return bool(((table == other) | (table.isna() & other.isna())).all(axis=None))
    other = np.concatenate(rows)
    largest = np.where(np.isfinite(other), np.abs(other), 0).max(axis=1, initial=0)
    allowed = 0.0 if exact else _CLOSE * largest[:, None]
    with np.errstate(all="ignore"):
        close = (table == other) | (np.abs(table - other) <= allowed)
    return bool((close | (np.isnan(table) & np.isnan(other))).all())


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings: one that a row causes would tell of it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _numbers(out: Any) -> Floats:  # noqa: ANN401
    numbers: Floats = np.asarray(out.toarray() if sparse.issparse(out) else out, dtype=np.float64)
    if numbers.ndim != 2:
        raise ValueError(f"rows became an array of {numbers.ndim} dimensions")
    return numbers


def _is_frame(table: Any) -> bool:  # noqa: ANN401
    return hasattr(table, "iloc") and hasattr(table, "columns")


def _length(X: Any) -> int:  # noqa: ANN401
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _taken(X: Any, places: Any) -> Any:  # noqa: ANN401
    if isinstance(X, list):
        return [X[i] for i in places]
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def _indexable(X: Any, step: Any) -> Any:  # noqa: ANN401
    """Rows that can be taken one by one; refused by type and shape, never by a value."""
    wanted = get_tags(step).input_tags
    if wanted.string or wanted.dict:
        if isinstance(X, list | tuple) or (np.ndim(X) == 1 and hasattr(X, "__array__")):
            return list(X)
        raise TypeError(f"{name_of(step)} takes a list of texts or dicts, got {type(X).__name__}")
    if elsewhere(X):
        raise TypeError(_IN_MEMORY + type(X).__name__)
    if _is_frame(X):
        return X.reset_index(drop=True)
    if sparse.issparse(X):
        return X.tocsr()
    table = unmasked(X) if isinstance(X, np.ndarray) else np.asarray(X)
    if table.ndim != 2 or table.dtype.kind not in "iufbOUS":
        raise TypeError(_IN_MEMORY + type(X).__name__)
    return table


def _left_out(failed: set[int]) -> LeftOut:
    """Which rows a step fails on, of those with missing and with infinite cells."""
    if failed & set(_MISSING):
        return "missing or infinite"
    return "infinite" if failed & set(_INFINITE) else "none"


def _present(X: Any, left_out: LeftOut) -> Any:  # noqa: ANN401
    """Which rows a step is given; all, where cells are not numbers."""
    if left_out == "none" or isinstance(X, list):
        return np.ones(_length(X), dtype=bool)
    there = np.isfinite if left_out == "missing or infinite" else _not_infinite
    if _is_frame(X):
        numbers = X.select_dtypes("number").to_numpy(np.float64, na_value=np.nan)
        kept = there(numbers).all(axis=1)
        return kept & X.notna().all(axis=1).to_numpy() if there is np.isfinite else kept
    if sparse.issparse(X):
        bad = sparse.csr_array((~there(X.data), X.indices, X.indptr), shape=X.shape)
        return np.asarray(bad.sum(axis=1)).ravel() == 0
    numeric = X.dtype.kind in "iufb"
    return there(X).all(axis=1) if numeric else np.ones(len(X), dtype=bool)


def _not_infinite(cells: Any) -> Any:  # noqa: ANN401
    return ~np.isinf(cells)


_TEXTS = (
    *("a", "b", "yes", "no", "12", "3.5", "2020-02-01", "2021-11-30", "01/02/2020", "13/02/2020"),
    *("", "x y", "A", "-1"),
)
_FITTABLE = np.arange(16)
_MISSING, _INFINITE = range(33, 36), range(36, 39)


def _made_up(X: Any, step: Any) -> Any:  # noqa: ANN401
    """39 rows of the type and the columns of X; its cells are not looked at."""
    X = _indexable(X, step)
    if isinstance(X, list):
        texts = [*_text(0)[:33], *[None] * 6]
        as_dicts = get_tags(step).input_tags.dict
        return [{t or "": 1.0} for t in texts] if as_dicts else texts
    if _is_frame(X):
        return _made_up_frame(X)
    numbers = _made_up_numbers(X.shape[1])
    if sparse.issparse(X):
        return (
            sparse.csr_array(numbers)
            if isinstance(X, sparse.sparray)
            else sparse.csr_matrix(numbers)
        )
    if X.dtype.kind in "iufb":
        return numbers
    cells = np.array([_text(j) for j in range(X.shape[1])], dtype=object).T
    if X.dtype.kind != "O":
        return cells.astype(X.dtype.kind)
    cells[1::2] = numbers[1::2]
    return cells


def _text(turn: int) -> list[str | None]:
    cells: list[str | None] = [_TEXTS[(i + turn) % len(_TEXTS)] for i in range(39)]
    cells[33:] = [None, "a", None, "b", None, None]
    return cells


def _made_up_numbers(d: int) -> Floats:
    """Rows in [0, 1), whole numbers, negative and large ones, equal ones, missing and infinite."""
    rng = np.random.default_rng(39)
    rows = rng.uniform(size=(39, d))
    rows[12:16] = rng.integers(1, 100, size=(4, d))
    rows[16:24] = rng.normal(size=(8, d))
    rows[24:28] = rng.normal(0, 1e6, size=(4, d))
    rows[28], rows[29], rows[30:32], rows[32] = 0, 1, rows[:2], -1e12
    rows[33], rows[34, 0], rows[35, -1] = np.nan, np.nan, np.nan
    rows[36], rows[37, 0], rows[38, -1] = np.inf, -np.inf, np.inf
    return rows


def _made_up_frame(X: Any) -> Any:  # noqa: ANN401
    """The same for a frame: numbers, truth values, dates or texts, by the type of each column."""
    import pandas as pd

    numbers = _made_up_numbers(X.shape[1])
    columns = []
    for j, kind in enumerate(getattr(t, "kind", "O") for t in X.dtypes):
        if kind == "b":
            cells = pd.Series(numbers[:, j] > 0.5)
        elif kind in "iuf":
            cells = pd.Series(numbers[:, j])
        elif kind == "M":
            days = pd.to_datetime(pd.Series(10_000 + np.arange(39.0) * 37), unit="D")
            cells = days.where(np.isfinite(numbers[:, j])).astype(X.dtypes.iloc[j])
        else:
            cells = pd.Series(_text(j), dtype=object)
        columns.append(cells)
    frame = pd.concat(columns, axis=1)
    frame.columns = X.columns
    return frame


def name_of(step: Any) -> str:  # noqa: ANN401
    """What a step is called in messages: never its parameters, which may be long."""
    return repr(step) if isinstance(step, str | type) else type(step).__name__
