"""A row lies in one cell, that of its definition: nearest centres and grids."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.queries.cells import Grid, Nearest
from sfumato._core.queries.counts import Counts
from sfumato._core.testing import use_loops
from sfumato._lattice.box import REACH

BACKENDS = ["numpy", "numba"]


def counted(cells, rows, backend="numpy"):
    query = Counts(cells)
    state = query.empty()
    with use_loops(backend):
        query.add(np.array(rows, dtype=np.int16).reshape(-1, cells.n_features), state)
    return state


def nearest_of(centers, row):
    """The number of the nearest centre, the first of several, in Python integers."""
    squared = [sum((x - c) ** 2 for x, c in zip(row, p, strict=True)) for p in centers.tolist()]
    return squared.index(min(squared))


def slices_of(grid, row):
    """The number of the grid cell of a row, in Python integers: columns in C order."""
    cell = 0
    for x in row:
        cell = cell * grid.per_axis + (x + REACH) * grid.per_axis // (2 * REACH + 1)
    return cell


edges = st.sampled_from([-REACH, -1, 0, 1, REACH])
points = st.lists(st.one_of(edges, st.integers(-REACH, REACH)), min_size=2, max_size=2)


@pytest.mark.parametrize("backend", BACKENDS)
@given(centers=st.lists(points, min_size=1, max_size=5), row=points)
@example(centers=[[0, 0], [2, 0], [2, 0]], row=[1, 0])
@example(centers=[[REACH, REACH], [-REACH, -REACH]], row=[1, -REACH])
@settings(max_examples=150, deadline=None)
def test_a_row_lies_in_the_cell_of_its_nearest_centre_alone(backend, centers, row):
    cells = Nearest(np.array(centers))
    expected = np.zeros(len(centers), dtype=np.int64)
    expected[nearest_of(cells.centers, row)] = 1
    np.testing.assert_array_equal(counted(cells, [row], backend), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@given(per_axis=st.one_of(st.integers(1, 9), st.sampled_from([100, 1000])), row=points)
@example(per_axis=7, row=[-REACH, REACH])
@example(per_axis=2, row=[0, -1])
@settings(max_examples=150, deadline=None)
def test_a_row_lies_in_the_grid_cell_of_its_own_values_alone(backend, per_axis, row):
    grid = Grid(per_axis, 2)
    state = counted(grid, [row], backend)
    assert np.flatnonzero(state).tolist() == [slices_of(grid, row)]
    assert state.sum() == 1
