"""Compiled loops are compared with NumPy's on fixed blocks of rows when they are loaded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._lattice.box import REACH, Box, NanPolicy, Snap
from sfumato._lattice.kernels.numpy_loops import CLOSED, OPEN, Table

Label = Callable[[Lattice], Ints]


class Loops(Protocol):
    """The loops over one block of rows; `labels` are the numbers of the cells of its rows."""

    @property
    def snap(self) -> Snap | None:
        """Writes the lattice points of a block, or None where the box's own way is as good."""

    def nearest(self, centers: Ints, most_rows: int) -> Label:
        """Prepare to label blocks of at most `most_rows` rows by their nearest centre."""

    def grid(self, rows: Lattice, per_axis: int) -> Ints:
        """Label a block by its cells in a grid, in C order.

        A coordinate x lies in slice (x + REACH)·per_axis // (2·REACH + 1) of its axis.
        """

    def add_counts(self, labels: Ints, state: Ints) -> None:
        """Count the rows of each cell."""

    def add_totals(self, rows: Lattice, labels: Ints, state: Ints) -> None:
        """Count and sum the rows of each cell."""

    def add_clipped(
        self, rows: Lattice, labels: Ints, centers: Ints, radii: Ints, state: Ints
    ) -> None:
        """Count and sum the rows of each cell, relative to its centre, shortened to its radius."""

    def squares(self, rows: Lattice, labels: Ints, centers: Ints) -> Ints:
        """Squared distance of each row to the centre of its cell."""

    def add_branches(self, rows: Lattice, nodes: Table, cuts: Table, state: Ints) -> None:
        """Count the rows of each box below each open node of a tree."""


def fixed_rows(n: int, d: int) -> Lattice:
    """Rows, (n, d), in lattice steps: always the same, some of them at the ends of the lattice."""
    rows = (np.arange(n * d) * 7919 % (2 * REACH + 1) - REACH).astype(np.int16).reshape(n, d)
    rows[:2] = [[REACH] * d, [-REACH] * d]
    return rows


def accepted(agreed: bool) -> bool:
    """Whether compiled loops may be used; warns if they may not."""
    if not agreed:
        warnings.warn(
            "the compiled loops do not give the integers that NumPy gives on a fixed block of "
            "rows: they are not used. Please report this with your versions of numba and NumPy",
            RuntimeWarning,
            stacklevel=3,
        )
    return agreed


def same(
    one: Callable[..., None],
    other: Callable[..., None],
    *given: Any,  # noqa: ANN401
    outputs: Sequence[NDArray[Any]],
) -> bool:
    """Whether two loops write the same into copies of their last arguments, `outputs`."""
    written = []
    for loop in (one, other):
        inputs = [np.copy(x) if isinstance(x, np.ndarray) else x for x in given]
        results = [np.copy(x) for x in outputs]
        loop(*inputs, *results)
        written.append(results)
    return all(np.array_equal(a, b) for a, b in zip(*written, strict=True))


def agree(one: Any, other: Any) -> bool:  # noqa: ANN401
    """Whether two sets of loops give the same integers on a fixed block of rows."""
    found = zip(_answers(one), _answers(other), strict=True)
    return all(np.array_equal(a, b) for a, b in found)


def _answers(loops: Any) -> Iterator[NDArray[Any]]:  # noqa: ANN401
    """What the loops say of 97 rows in three columns, some of them at the ends of the lattice."""
    rows = fixed_rows(97, 3)
    centers = rows[[5, 17, 40, 41]].astype(np.int64)
    labels = loops.nearest(centers, len(rows))(rows)
    yield labels
    yield loops.grid(rows, 5)
    yield loops.squares(rows, labels, centers)
    for add in (loops.add_totals, _clipped(loops, centers)):
        state = np.zeros((len(centers), 4), dtype=np.int64)
        add(rows, labels, state)
        yield state
    counts = np.zeros(len(centers), dtype=np.int64)
    loops.add_counts(labels, counts)
    yield counts
    nodes = np.array([[0, 0, 1], [0, 0, CLOSED], [1, 500, OPEN]], dtype=np.int32)
    cuts = np.array([[[1, -100], [2, 300], [2, -7000]]], dtype=np.int32)
    branches = np.zeros((1, 4), dtype=np.int64)
    loops.add_branches(rows, nodes, cuts, branches)
    yield branches
    cells = rows / np.array([1.7, 3.1, 11_000.0])
    cells[3:6, 0] = np.nan, np.inf, -1e300
    for nan in get_args(NanPolicy):
        points = np.empty_like(rows)
        box = Box((-9000.0, -7.5, -3.0), (12_000.0, 9000.0, 1.1), nan)
        yield box.write_lattice(cells, points, loops.snap)
        yield points


def _clipped(loops: Any, centers: Ints) -> Callable[[Lattice, Ints, Ints], None]:  # noqa: ANN401
    radii = np.array([1, 900, 20_000, 2 * REACH], dtype=np.int64)
    return lambda rows, labels, state: loops.add_clipped(rows, labels, centers, radii, state)


def projection_loops(finish: Callable[..., None]) -> tuple[Any, Callable[..., None]]:
    """The compiled loops of projections, if they agree with a matrix product and with `finish`."""
    from sfumato._lattice.kernels.numba_loops import finish as fast
    from sfumato._lattice.kernels.numba_loops import multiply

    def dot(rows: Lattice, matrix: Floats, y: Floats) -> None:
        np.dot(rows.astype(np.float64), matrix.T, out=y)

    rows, y = fixed_rows(53, 4), np.empty((53, 3))
    matrix = np.array([[3.0, -2.0, 0.5, 7.0], [0.0, 1.0, 0.0, -1.0], [0.25, 0.25, 0.0, 9.0]])
    agreed = same(multiply, dot, rows, matrix, outputs=[y])
    dot(rows, matrix, y)
    factors, constant = np.array([0.5, 1.0, 0.25]), np.array([10.0, -3.0, 0.5])
    out = np.zeros((53, 3), dtype=np.int16)
    for limit, ball in ((float(REACH), False), (2.0**20, True)):
        agreed &= same(fast, finish, y, factors, constant, limit, ball, outputs=[out])
    return (multiply, fast) if accepted(agreed) else (None, finish)


def swap_loops(
    two_nearest: Callable[..., None], sums: Callable[..., None]
) -> tuple[Callable[..., None], Callable[..., None]]:
    """The compiled loops of swap costs, if they agree with these; otherwise these."""
    from sfumato._lattice.kernels import numba_loops as fast

    scores = fixed_rows(61, 5).astype(np.float64)
    labels, first, second = np.zeros(61, dtype=np.int64), np.zeros(61), np.zeros(61)
    agreed = same(fast.two_nearest, two_nearest, scores, outputs=[labels, first, second])
    lines = np.arange(61) % 4
    given = (scores, scores[:, 1].copy(), scores[:, 1] + 9000, lines)
    agreed &= same(fast.sums, sums, *given, outputs=[np.zeros(5), np.zeros((4, 5))])
    return (fast.two_nearest, fast.sums) if accepted(agreed) else (two_nearest, sums)


def halves_loop(plain: Callable[..., None], *index: Any) -> Callable[..., None]:  # noqa: ANN401
    """The compiled loop over halves of cubes, if it agrees with this one on an index."""
    from sfumato._lattice.kernels.numba_loops import add_halves

    rows, cubes = fixed_rows(67, len(index[0])), len(index[-1])
    state = np.zeros(cubes << len(index[0]), dtype=np.int64)
    agreed = same(add_halves, plain, rows, *index, outputs=[state])
    return add_halves if accepted(agreed) else plain
