"""Rows in memory: a lattice of int16, folded by threads.

What cannot be clustered is refused here by its type and shape, before any budget is spent. A value
inside a table never raises an error: it is a number, or it counts as missing.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from copy import copy
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.exceptions import ComplexWarning
from numpy.typing import NDArray

from sfumato._base.distances import unmasked
from sfumato._base.types import Ints, Lattice, Mask
from sfumato._base.validation import NoFeature, check_whole
from sfumato._lattice.box import Box
from sfumato._lattice.kernels.dispatch import MAX_FEATURES, write_lattice
from sfumato._schema.schema import Schema
from sfumato._schema.types import Declared, no_feature
from sfumato.engines._cells import frame_by
from sfumato.engines._frames import ADVICE, LIBRARIES, OpenedFrame, opened
from sfumato.engines._groups import Part, codes_of, few_of_each, labels_of, sizes_of
from sfumato.engines._progress import Pass, watched
from sfumato.engines._rows import Blocks, Frame, Kernel, RowEncoder, split_rows
from sfumato.engines._threads import allowed_threads, share

# Cells that a thread takes at a time: enough to hide the cost of taking them, few enough that
# threads end at about the same time.
_SPAN_CELLS = 2**18
_SPAN_ROWS = 4096
_END_PARTS = 4

# Every thread has a state of its own; together they stay below this.
_STATE_BYTES = 2**28


class ArrayRows:
    """Rows of an array, a data frame or a block reader, kept as one int16 lattice per box.

    `source` has shape (n, d), in the user's units. The lattice is built at the first pass, block by
    block, and takes a quarter of a float64 array. With `groups`, one label per row, at most
    `max_rows_per_group` rows of each group are counted: which ones depends on that group's rows
    alone. Rows without a label are one group. With `part`, the rows in it are counted, and no
    others. With a `schema`, its columns are read and encoded, and no others. `in_memory` is false
    for blocks read from a file.
    """

    max_rows_per_group: int | None
    """Rows that one group can have, or None where every row is a unit of its own."""

    def __init__(
        self,
        source: Any,  # noqa: ANN401
        groups: Any = None,  # noqa: ANN401
        max_rows_per_group: int = 1,
        part: Part | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.in_memory = not isinstance(source, Blocks)
        self._source = source if isinstance(source, Blocks) else frame_of(source, schema)
        self.n_features = self._source.n_features
        check_width(self.n_features)
        most = check_whole(max_rows_per_group, "max_rows_per_group")
        self.max_rows_per_group = None if groups is None else most
        self._groups = None if groups is None else labels_of(groups, self._source.n_rows)
        self._part = part
        if part is not None:
            labels_of(part.labels, self._source.n_rows, "labels")
        self._threads = allowed_threads()
        self._lattices: dict[RowEncoder, Lattice] = {}

    def fold(self, box: RowEncoder, kernel: Kernel) -> Ints:
        """Sum `kernel` over all rows, each counted exactly once."""
        lattice = self._lattice(box)
        spans = _spans(*lattice.shape)
        shown = Pass(len(spans)) if watched.get() else None

        def work(spans: Iterator[slice]) -> Ints:
            state = kernel.empty()
            for span in spans:
                kernel.add(lattice[span], state)
                if shown:
                    shown.step()
            return state

        threads = min(self._threads, max(1, _STATE_BYTES // kernel.empty().nbytes))
        states = share(work, spans, threads)
        for state in states[1:]:
            states[0] += state
        return states[0]

    def split(self, box: Box, parts: int, key: int) -> Iterator[Lattice]:
        """Yield `parts` disjoint blocks; a keyed hash of a row's own values picks its block."""
        return split_rows(self._lattice(box), parts, key)

    def group_sizes(self, most: int) -> Ints:
        """How many groups have 1, 2, …, `most` rows or more, of shape (most,)."""
        return sizes_of([codes_of(self._groups)], most)

    def keeping(self, max_rows: int) -> Self:
        """The same rows, of which so many count of each group."""
        other = copy(self)
        vars(other).update(max_rows_per_group=max_rows, _lattices={})
        return other

    def _lattice(self, box: RowEncoder) -> Lattice:
        if box in self._lattices:
            return self._lattices[box]
        check_box(box, self.n_features)
        if isinstance(self._source, Blocks):
            whole, kept = self._source.encoded(box)
        else:
            whole, kept = _encoded(self._source, box, self._threads)
        if self.max_rows_per_group is not None:
            rows, codes = np.flatnonzero(kept), codes_of(self._groups)
            whole = _packed(whole, few_of_each(whole, rows, codes, self.max_rows_per_group))
        elif self._part is not None:
            # A copy: the buffer has the rows of all parts.
            whole = whole[kept & self._part.mask()]
        elif not kept.all():
            whole = _packed(whole, np.flatnonzero(kept))
        # Encodings of histograms are not cached.
        if isinstance(box, Box):
            self._lattices[box] = whole
        return whole


def _encoded(frame: Frame, box: RowEncoder, threads: int) -> tuple[Lattice, Mask]:
    """All rows as integers, of shape (n, d), and which of them are kept, of shape (n,)."""
    whole = np.empty((frame.n_rows, frame.n_features), dtype=np.int16)
    kept = np.empty(frame.n_rows, dtype=np.bool_)

    def work(spans: Iterator[slice]) -> None:
        for span in spans:
            rows, out = frame.read(span.start, span.stop), whole[span]
            if isinstance(box, Box):
                kept[span] = write_lattice(box, rows, out)
            else:
                kept[span] = box.write_lattice(rows, out)

    share(work, _spans(*whole.shape), threads)
    return whole, kept


def _packed(lattice: Lattice, rows: Ints) -> Lattice:
    """Move some rows, in ascending order, to the front, without a second copy of the lattice."""
    for span in _spans(len(rows), lattice.shape[1]):
        lattice[span] = lattice[rows[span]]
    return lattice[: len(rows)]


def _spans(n_rows: int, n_features: int) -> deque[slice]:
    step = max(_SPAN_ROWS, _SPAN_CELLS // n_features)
    # The last rows are taken in smaller parts, so that all threads end at about the same time.
    starts = [*range(0, n_rows * 3 // 4, step)]
    starts += range(min(len(starts) * step, n_rows), n_rows, max(1, step // _END_PARTS))
    return deque(slice(a, b) for a, b in pairwise([*starts, n_rows]))


def frame_of(data: Any, schema: Schema | None = None) -> Frame:  # noqa: ANN401
    """Open a table of any accepted type, of shape (n, d), or say what would be accepted."""
    if hasattr(data, "nnz"):
        raise TypeError(
            "a sparse matrix was passed, but dense data is required: cells that are not stored "
            "cannot be told from zeros; use .toarray()"
        )
    found = LIBRARIES & {base.__module__.partition(".")[0] for base in type(data).__mro__}
    library = next(iter(found), "")
    if schema is not None:
        return frame_by(schema, data, library)
    shape, kinds, read = opened(data, library) if library else _array(data)
    for kind, own in kinds:
        if kind == "c":
            raise ValueError(f"Complex data not supported: got {own.shown}; {ADVICE}")
        if kind not in "biuf":
            refusal = NoFeature if len(kinds) > 1 else TypeError
            said = f"{no_feature(own)}; " if own.name else ""
            raise refusal(f"{said}data of type {own.shown} cannot be clustered; {ADVICE}")
    if (ndim := len(shape)) != 2:
        given = {0: "scalar array", 1: "1D array"}.get(ndim, f"{ndim}D array")
        raise ValueError(
            f"Expected 2D array, got {given} instead. Reshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it "
            "contains a single sample."
        )
    check_width(shape[1])
    return Frame(*shape, read)


def _as_numbers(rows: NDArray[Any]) -> NDArray[Any]:
    with warnings.catch_warnings(action="error", category=ComplexWarning):
        return rows.astype(np.float64)


def own_rows(X: Any, check: Callable[[Any], Any]) -> NDArray[Any]:  # noqa: ANN401
    """Rows that a caller brings, as scikit-learn's `check` returns them: (n, d), real numbers.

    Where they are refused for their type or shape it is said here: scikit-learn and NumPy show
    cells in what they say.
    """
    try:
        with np.errstate(all="ignore"):
            rows: NDArray[Any] = np.asarray(check(unmasked(X)))
            return rows if rows.dtype.kind in "biuf" else _as_numbers(rows)
    except (TypeError, ValueError, OverflowError, ComplexWarning) as error:
        refusal = error
    frame_of(X)
    raise refusal


def _array(data: Any) -> OpenedFrame:  # noqa: ANN401
    try:
        array = np.asanyarray(data)
    except ValueError:
        raise ValueError(f"rows of unequal length were passed; {ADVICE}") from None
    plain = None if isinstance(array, np.ma.MaskedArray) else np.asarray(array)

    def read(start: int, stop: int) -> NDArray[Any]:
        if plain is not None:
            return plain[start:stop]
        with np.errstate(all="ignore"):
            return np.ma.filled(array[start:stop].astype(np.float64), np.nan)

    kind, shown = array.dtype.kind, str(array.dtype)
    return (array.shape, ((kind, Declared("", "any", shown)),), read)


def check_width(n_features: int) -> None:
    """Refuse a number of columns for which sums would not be exact."""
    if n_features == 0:
        # Worded as in scikit-learn, without the number of rows, which is private.
        raise ValueError(
            "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
        )
    if n_features > MAX_FEATURES:
        raise ValueError(
            f"the data has {n_features} columns; at most {MAX_FEATURES} keep sums exact"
        )


def check_box(box: RowEncoder, n_features: int) -> None:
    """Refuse bounds of another number of columns."""
    if box.n_features != n_features:
        raise ValueError(f"the bounds have {box.n_features} columns, the data has {n_features}")
