"""The public description of a row: everything known about it before the data is opened."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato._base.types import Floats, Lattice
from sfumato._base.validation import NoFeature

NanPolicy = Literal["ignore", "center", "drop"]

Snap = Callable[[Floats, Floats, Floats, int, Lattice], None]
"""Writes the lattice points of a block of cells, given the middle and the step of each.

A cell that is not a finite number becomes the integer given before the output.
"""

REACH = 2**15 - 1
"""Lattice steps from the centre of a column to either of its bounds."""

ABSENT = -(2**15)
"""Stands for a coordinate that a row does not have. No number is rounded to it."""

MAX_NUMBERS = 20_000_000
"""The most integers that one answer may hold: 160 MB."""

_LARGEST = sys.float_info.max

BLOCK_CELLS = 2**17
"""Cells converted at a time: buffers of a megabyte."""


@dataclass(frozen=True)
class Box:
    """Public bounds of every column, and the integer lattice laid over them.

    Inside the curator a coordinate is an integer in [-REACH, REACH], so that sums are exact in
    every order and every sensitivity is an integer. What becomes of a row looks at that row alone.

    `nan` says what becomes of cells that are not finite numbers. "ignore": they are ABSENT, and
    their row counts with the columns it has; a row without any is left out. "center": they go to
    the centre of their column. "drop": their row is left out.
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    nan: NanPolicy = "ignore"

    def __post_init__(self) -> None:
        if self.nan not in get_args(NanPolicy):
            raise ValueError(f"nan must be 'ignore', 'center' or 'drop', got {self.nan!r}")
        if not self.lower or len(self.lower) != len(self.upper):
            raise ValueError(
                "bounds need one lower and one upper value per column, got "
                f"{len(self.lower)} lower and {len(self.upper)} upper values"
            )
        for column, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            _check_bounds(column, low, high)

    @classmethod
    def of(cls, bounds: Any, n_features: int, nan: NanPolicy = "ignore") -> Box:  # noqa: ANN401
        """Build a box from what a user types: (lower, upper), scalars or one value per column."""
        if n_features < 1:
            raise ValueError("the data has 0 columns; at least one is needed")
        lower, upper = _as_pair(bounds)
        return cls(
            _per_column(lower, "lower", n_features), _per_column(upper, "upper", n_features), nan
        )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.lower)

    @cached_property
    def middle(self) -> Floats:
        """Centre of every column, in the user's units."""
        return np.divide(self.lower, 2) + np.divide(self.upper, 2)

    @cached_property
    def step(self) -> Floats:
        """Width of one lattice step in every column, in the user's units."""
        return (np.divide(self.upper, 2) - np.divide(self.lower, 2)) / REACH

    def to_lattice(self, rows: ArrayLike) -> Lattice:
        """Snap rows onto the lattice: clipped to the bounds, rounded to the nearest step.

        Cells that are not finite numbers follow the `nan` policy, which looks at one row only, so
        that a neighbour changes by one row at most.
        """
        values = np.asarray(rows)
        table = values.reshape(-1, self.n_features)
        out = np.empty(table.shape, dtype=np.int16)
        kept = self.write_lattice(table, out)
        return out.reshape(values.shape) if kept.all() else out[kept]

    def write_lattice(
        self, rows: NDArray[Any], out: Lattice, snap: Snap | None = None
    ) -> NDArray[np.bool_]:
        """Snap rows into `out`, one lattice row for each, and say which of them are kept."""
        if rows.shape != out.shape or rows.shape[1:] != (self.n_features,):
            raise ValueError(f"blocks of {self.n_features} columns are needed")
        kept = np.ones(len(rows), dtype=np.bool_)
        middle, step = _tiled(self)
        missing = ABSENT if self.nan == "ignore" else 0
        # No value may raise a warning, which a caller could turn into an exception.
        with np.errstate(all="ignore"):
            for start in range(0, len(rows), len(middle)):
                block = slice(start, start + len(middle))
                values = np.ascontiguousarray(rows[block], dtype=np.float64)
                cells = middle[: len(values)], step[: len(values)]
                (snap or _snap)(values, *cells, missing, out[block])
                if self.nan == "drop":
                    kept[block] = np.isfinite(values).all(axis=1)
                elif has_gaps(out[block]):
                    kept[block] = (out[block] != ABSENT).any(axis=1)
        return kept

    def to_cube(self, points: ArrayLike) -> Floats:
        """Map points to the cube [−1, 1]^d that the bounds span, clipped, without rounding.

        A cell that is not a finite number goes to the centre of its column; with `nan="ignore"` it
        is NaN.
        """
        missing = np.nan if self.nan == "ignore" else self.middle
        # No value may raise a warning, which a caller could turn into an exception.
        with np.errstate(all="ignore"):
            values = np.asarray(points, dtype=np.float64)
            values = np.where(np.isfinite(values), values, missing)
            scaled = (values - self.middle) / self.step
        return np.clip(scaled, -REACH, REACH) / REACH

    def from_lattice(self, points: ArrayLike) -> Floats:
        """Map lattice points, whole or not, back to the user's units."""
        values = np.asarray(points, dtype=np.float64) * self.step + self.middle
        return np.clip(values, self.lower, self.upper)


def has_gaps(rows: Lattice) -> bool:
    """Whether some coordinate of a block of rows is absent."""
    return rows.size > 0 and bool(rows.min() == ABSENT)


def _snap(values: Floats, middle: Floats, step: Floats, missing: int, out: Lattice) -> None:
    scaled = values - middle
    scaled /= step
    np.clip(scaled, -REACH, REACH, out=scaled)
    np.rint(scaled, out=scaled)
    finite = np.isfinite(values)
    if not finite.all():
        scaled[~finite] = missing
    out[:] = scaled


@lru_cache(maxsize=8)
def _tiled(box: Box) -> tuple[Floats, Floats]:
    # One value per cell of a block: broadcasting over two or three columns is ten times slower.
    # Not kept on the box, which travels to the workers of an engine.
    rows = max(1, BLOCK_CELLS // box.n_features)
    return np.tile(box.middle, (rows, 1)), np.tile(box.step, (rows, 1))


def _is_finite(bound: Any) -> bool:  # noqa: ANN401
    return isinstance(bound, Real) and -_LARGEST <= cast(Any, bound) <= _LARGEST


def _check_bounds(column: int, low: float, high: float) -> None:
    if not (_is_finite(low) and _is_finite(high)):
        raise ValueError(f"bounds of column {column} must be finite numbers, got ({low}, {high})")
    if low >= high:
        raise ValueError(
            f"the lower bound of column {column} must lie below its upper bound, "
            f"got ({low}, {high})"
        )
    step = (high / 2 - low / 2) / REACH
    if step < 4 * math.ulp(max(abs(low), abs(high))):
        raise ValueError(
            f"bounds of column {column} lie too close together for floating-point numbers of their "
            f"size, got ({low}, {high}); subtract a public offset or widen them"
        )


def columns_in(bounds: Any) -> int | None:  # noqa: ANN401
    """How many columns bounds declare; None if they are the same for all."""
    many = isinstance(bounds, list | tuple) or np.ndim(bounds) > 0
    sides = bounds if many and isinstance(bounds, list | tuple | np.ndarray) else ()
    return next((len(side) for side in sides if hasattr(side, "__len__")), None)


def _as_pair(bounds: Any) -> tuple[Any, Any]:  # noqa: ANN401
    if bounds is None:
        raise ValueError(
            "bounds are required: pass (lower, upper), scalars or one value per column, that are "
            "known without looking at the data"
        )
    unordered = isinstance(bounds, str | bytes | Mapping | Set)
    try:
        pair = [] if unordered or not hasattr(bounds, "__len__") else list(bounds)
    except TypeError:
        pair = []
    if len(pair) != 2:
        raise ValueError(f"bounds must be a pair (lower, upper), got {bounds!r}")
    return pair[0], pair[1]


def _real(values: Any) -> Any:  # noqa: ANN401
    """Bounds as they are; a masked one is none, and NumPy would leave out an imaginary part."""
    if np.iscomplexobj(values):
        raise TypeError("bounds must be real numbers")
    return values.filled(np.nan) if isinstance(values, np.ma.MaskedArray) else values


def _per_column(values: Any, side: str, n_features: int) -> tuple[float, ...]:  # noqa: ANN401
    try:
        with np.errstate(all="ignore"):
            array = np.asarray(_real(values), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{side} bounds must be numbers, got {values!r}") from None
    if array.ndim > 1 or (array.ndim == 1 and array.size != n_features):
        raise (NoFeature if array.shape == (n_features - 1,) else ValueError)(
            f"{side} bounds must be one number or {n_features} of them, one per column, "
            f"got {array.size}"
        )
    whole: Sequence[float] = np.broadcast_to(array, n_features).tolist()
    return tuple(whole)
