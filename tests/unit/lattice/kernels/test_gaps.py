"""Blocks of rows with absent coordinates: filled or left out, before any arithmetic."""

import numpy as np
import pytest

from sfumato._core.testing import use_loops
from sfumato._lattice.box import ABSENT, REACH, has_gaps
from sfumato._lattice.kernels import dispatch, gaps
from sfumato._lattice.kernels.costs import LIMB, candidate_costs, swap_costs
from sfumato._lattice.kernels.projection import Weights, project
from tests.unit import gaps as definitions

ROWS = np.array(
    [[5, -9], [ABSENT, 7], [-REACH, ABSENT], [0, 0], [ABSENT, ABSENT], [REACH, -REACH]],
    dtype=np.int16,
)
WHOLE = ROWS[[0, 3, 5]]
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "numba"])


def test_only_absent_coordinates_are_gaps():
    assert has_gaps(ROWS)
    assert not has_gaps(WHOLE)
    assert not has_gaps(ROWS[:0])
    assert ABSENT == np.iinfo(np.int16).min == -REACH - 1


def test_blocks_without_gaps_are_not_copied():
    assert gaps.complete(WHOLE) is gaps.filled(WHOLE, 0) is gaps.filled_with_means(WHOLE) is WHOLE


def test_rows_with_gaps_are_left_out_or_filled():
    np.testing.assert_array_equal(gaps.complete(ROWS), WHOLE)
    filled = gaps.filled(ROWS, np.array([3, -4]))
    assert filled.dtype == np.int16
    expected = [[5, -9], [3, 7], [-REACH, -4], [0, 0], [3, -4], [REACH, -REACH]]
    assert filled.tolist() == expected
    means = [round((5 - REACH + REACH) / 4), round((7 - 9 - REACH) / 4)]
    assert gaps.filled_with_means(ROWS)[4].tolist() == means
    # Sums of many rows do not fit into 16 bits.
    many = np.full((9, 1), REACH, dtype=np.int16)
    many[0] = ABSENT
    assert gaps.filled_with_means(many).tolist() == [[REACH]] * 9
    assert gaps.filled_with_means(np.full((2, 1), ABSENT, dtype=np.int16)).tolist() == [[0], [0]]


def test_scores_are_over_what_is_there():
    points = np.array([[1, 2], [-REACH, REACH], [0, 0]])
    lengths = [sum(x * x for x in row if x != ABSENT) for row in ROWS.tolist()]
    for row, scores, length in zip(ROWS.tolist(), gaps.scores(ROWS, points), lengths, strict=True):
        assert (scores + length).tolist() == [definitions.square(row, p) for p in points]


def test_absent_coordinates_are_those_of_the_nearest_centre():
    centers = np.array([[-30_000, 9], [4, 7], [4, 7]])
    rows, labels = gaps.by_nearest(ROWS, centers)
    assert labels.tolist() == [1, 1, 0, 1, 1]
    assert rows.tolist() == [[5, -9], [4, 7], [-REACH, 9], [0, 0], [REACH, -REACH]]
    rows, labels = gaps.by_nearest(ROWS[4:5], centers)
    assert rows.shape == (0, 2)
    assert labels.shape == (0,)


def test_a_step_goes_as_much_of_the_way_as_there_is_of_the_column():
    rows = np.array([[0, 400]] * 3 + [[0, ABSENT]], dtype=np.int16)
    state = np.zeros((1, 3), dtype=np.int64)
    dispatch.nearest_totals(rows, np.array([[0, 100]]), state)
    assert state.tolist() == [[4, 0, 3 * 400 + 100]]
    # From 100 to 400 by three quarters.
    assert state[0, 2] / 4 == 100 + 0.75 * (400 - 100)
    state[:] = 0
    dispatch.nearest_clipped(rows, np.array([[0, 100]]), np.array([1000]), state)
    assert state.tolist() == [[4, 0, 900]]


@BACKENDS
@pytest.mark.parametrize("d", [1, 3, 40, 300])
def test_many_blocks_some_with_gaps(backend, d):
    """Blocks with gaps and blocks without take different loops, and add up."""
    rng = np.random.default_rng(d)
    rows = rng.integers(-REACH, REACH + 1, (40_000 // d + 20_000, d), dtype=np.int16)
    k = 5
    centers = rng.integers(-REACH, REACH + 1, (k, d))
    rows[-300:][rng.random((300, d)) < 0.3] = ABSENT
    radii = rng.integers(1, 2 * REACH, k)
    totals, clipped = (np.zeros((k, d + 1), dtype=np.int64) for _ in range(2))
    with use_loops(backend):
        dispatch.nearest_totals(rows, centers, totals)
        dispatch.nearest_clipped(rows, centers, radii, clipped)
        whole = np.zeros((2, k, d + 1), dtype=np.int64)
        dispatch.nearest_totals(rows[:-300], centers, whole[0])
        dispatch.nearest_clipped(rows[:-300], centers, radii, whole[1])
    last = [[int(x) for x in row] for row in rows[-300:]]
    np.testing.assert_array_equal(
        totals, whole[0] + sum(definitions.by_nearest(row, centers) for row in last)
    )
    own = [int(r) for r in radii]
    np.testing.assert_array_equal(
        clipped, whole[1] + sum(definitions.by_nearest(row, centers, own) for row in last)
    )


@BACKENDS
def test_costs_of_rows_with_gaps(backend):
    rng = np.random.default_rng(1)
    rows = rng.integers(-REACH, REACH + 1, (90, 4), dtype=np.int16)
    rows[rng.random(rows.shape) < 0.3] = ABSENT
    listed = [[int(x) for x in row] for row in rows]
    sets = rng.integers(-REACH, REACH + 1, (6, 3, 4))
    centers, candidates = sets[0], rng.integers(-REACH, REACH + 1, (7, 4))
    state, swaps = np.zeros((6, 2), dtype=np.int64), np.zeros((4, 7, 2), dtype=np.int64)
    with use_loops(backend):
        candidate_costs(rows, sets, state)
        swap_costs(rows, centers, candidates, swaps)
    found = [(int(high) << LIMB) + int(low) for high, low in state]
    assert found == [sum(definitions.cost(row, [points])[0] for row in listed) for points in sets]
    costs = (swaps[:, :, 0].astype(object) << LIMB) + swaps[:, :, 1]
    expected = definitions.swapped(centers, candidates)
    assert (costs[0] + costs[1:]).ravel().tolist() == [
        sum(definitions.cost(row, [points])[0] for row in listed) for points in expected
    ]


@BACKENDS
@pytest.mark.parametrize("ball", [False, True])
@pytest.mark.parametrize("m", [2, 12])
def test_projections_of_rows_with_gaps(backend, m, ball):
    rng = np.random.default_rng(m)
    rows = rng.integers(-REACH, REACH + 1, (200, 5), dtype=np.int16)
    rows[50:][rng.random((150, 5)) < 0.6] = ABSENT
    matrix = rng.integers(-300, 301, (m, 5)) * (rng.random((m, 5)) < 0.5)
    matrix[0] = 0
    offset = rng.integers(-REACH, REACH + 1, 5)
    with use_loops(backend):
        found = project(rows, Weights.of(matrix, offset, 6, ball=ball))
    by = type("By", (), {"matrix": matrix, "offset": offset, "shift": 6, "ball": ball})
    assert found.tolist() == [definitions.projected([int(x) for x in row], by) for row in rows]
    assert not (found[:, 0] == ABSENT).any()
    assert (found == ABSENT).any()
