"""Counts of covers: both loops, any memory and any leaving give what counting afresh gives."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.queries.max_cover import Grids
from sfumato._core.releases.max_cover import Cover
from sfumato._core.testing import use_loops
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels.cover import Net, near, pairs_of

SMALL = {
    "line": Grids(1, (3000,), (2000,)),
    "plane": Grids(2, (4000,), (1900,)),
    "space": Grids(3, (5000,), (2000,)),
    "five": Grids(5, (20_000,), (9000,)),
    "one point": Grids(2, (70_000,), (40_000,)),
    "odd side": Grids(2, (31,), (333,)),
}
nets = pytest.mark.parametrize("net", [g.nets()[0] for g in SMALL.values()], ids=SMALL)
backends = pytest.mark.parametrize("backend", ["numpy", "numba"])


def some_rows(net, n=25, seed=0):
    rng = np.random.default_rng(seed)
    wide = rng.integers(-REACH, REACH + 1, (n, net.n_features))
    clump = np.clip(rng.normal(9000, 1500, (n, net.n_features)), -REACH, REACH).round()
    return np.vstack([wide, clump, clump[:3], np.full((1, net.n_features), REACH)]).astype(np.int16)


def brute(rows, net):
    """Every point of the whole grid that covers a row, and how many, in Python's own order."""
    axis = net.side * np.arange(-net.half, net.half + 1)
    found = {}
    for point in product(axis.tolist(), repeat=net.n_features):
        score = int((np.square(rows.astype(np.int64) - np.array(point)).sum(1) <= net.limit).sum())
        if score:
            found[point] = score
    return found


def listed(cover):
    """Every point that covers a row, as `find` numbers them, with its score."""
    scores, many = cover.classes()
    return {
        tuple(cover.find(score, rank).tolist()): score
        for score, number in zip(scores.tolist(), many.tolist(), strict=True)
        for rank in range(number)
    }


def classes(cover):
    return [part.tolist() for part in cover.classes()]


@backends
@pytest.mark.parametrize("name", ["line", "plane", "one point", "odd side"])
def test_every_point_near_a_row_is_found_once(name, backend):
    net = SMALL[name].nets()[0]
    rows = some_rows(net, 6)
    with use_loops(backend):
        for kept in (0, net.cells, 2**20):
            cover = Cover(rows, net, kept)
            found = listed(cover)
            assert found == brute(rows, net)
            assert all(cover.score(np.array(point)) == score for point, score in found.items())


@nets
@backends
@pytest.mark.parametrize("kept", [0, 1, 2, 1000])
def test_rows_that_leave_are_taken_off(net, backend, kept):
    """After every pick all numbers are those of a new cover of the rows that are left."""
    rows = some_rows(net)
    with use_loops(backend):
        cover = Cover(rows, net, kept * net.cells)
        for _ in range(4):
            scores, many = cover.classes()
            if not len(scores):
                break
            point = cover.find(int(scores[-1]), int(many[-1]) - 1)
            assert cover.score(point) == scores[-1]
            cover.leave(point)
            left = cover.left()
            assert not near(left, point, net.limit).any()
            fresh = Cover(left, net)
            assert classes(cover) == classes(fresh)
            for score in cover.classes()[0][:3].tolist():
                np.testing.assert_array_equal(cover.find(score, 0), fresh.find(score, 0))


@nets
def test_both_loops_count_the_same(net):
    rows = some_rows(net, 60, seed=3)
    found = []
    for backend in ("numpy", "numba"):
        with use_loops(backend):
            found.append([classes(Cover(rows, net, kept)) for kept in (0, 2 * net.cells, 2**22)])
    assert found[0] == found[1]
    assert found[0][0] == found[0][1] == found[0][2]
    assert len(found[0][0][0]) > 1 or net.size == 1


@given(st.integers(1, 3), st.integers(1, 9000), st.integers(700, 9000), st.integers(0, 99))
@example(1, 9000, 700, 0)
@example(2, 3000, 1500, 1)
@example(3, 9000, 6000, 2)
@example(2, 1, 9000, 3)
@settings(max_examples=30, deadline=None)
def test_no_point_is_forgotten(d, radius, side, seed):
    net = Grids(d, (radius,), (max(side, 6000 if d == 3 else 1),)).nets()[0]
    rows = some_rows(net, 3, seed)
    cover = Cover(rows, net)
    scores, many = cover.classes()
    exact = brute(rows, net)
    assert dict(zip(scores.tolist(), many.tolist(), strict=True)) == {
        s: list(exact.values()).count(s) for s in set(exact.values())
    }


@backends
def test_points_at_the_very_edge_are_near(backend):
    """Rows on grid points, and a squared radius that some distances reach exactly."""
    net = Net(2, 4000, 8, 8000**2)
    rows = np.array([[0, 0], [4000, -8000], [32_000, 32_000]], dtype=np.int16)
    with use_loops(backend):
        for kept in (0, 2**20):
            assert listed(Cover(rows, net, kept)) == brute(rows, net)


@backends
def test_rows_reach_over_the_borders_of_blocks(backend):
    net = Grids(3, (2500,), (900,)).nets()[0]
    assert (net.width, net.per_axis) == (32, 73)
    # The points number 31 and 32 of an axis lie in two blocks.
    border = net.side * (32 - net.half)
    rows = np.array([[border - 3000, border + 10, border - 600], [border] * 3], dtype=np.int16)
    axis = net.side * (np.arange(24, 41) - net.half)
    close = [sum(near(rows[i : i + 1], np.array(p), net.limit)[0] for i in range(2))
             for p in product(axis.tolist(), repeat=3)]  # fmt: skip
    with use_loops(backend):
        cover = Cover(rows, net)
        assert classes(cover) == [[1, 2], [close.count(1), close.count(2)]]
        assert len(pairs_of(rows, net)) == 8


def test_points_are_numbered_by_the_grid_not_by_the_rows():
    net = SMALL["plane"].nets()[0]
    rows = some_rows(net)
    shuffled = np.random.default_rng(1).permutation(rows)
    one, other = (Cover(x, net, kept) for x, kept in ((rows, 2**20), (shuffled, 0)))
    assert classes(one) == classes(other)
    for score, number in zip(*one.classes(), strict=True):
        for rank in {0, int(number) // 2, int(number) - 1}:
            np.testing.assert_array_equal(one.find(score, rank), other.find(score, rank))


def test_no_rows_have_no_points():
    for grids in SMALL.values():
        net = grids.nets()[0]
        cover = Cover(np.zeros((0, net.n_features), dtype=np.int16), net)
        assert classes(cover) == [[], []]
        cover.leave(np.zeros(net.n_features, dtype=np.int64))
        assert cover.left().shape == (0, net.n_features)


@pytest.mark.parametrize("corner", [-REACH, REACH])
def test_the_finest_grid_and_the_furthest_corner(corner):
    """A side of one step in eight columns: more points than 64 bits can number."""
    net = Grids.of(8, alpha=1.0, r_min=1e-9).nets()[0]
    assert net.size > 2**64
    rows = np.full((3, 8), corner, dtype=np.int16)
    cover = Cover(rows[:1], Net(8, net.side, net.half, 2))
    # The corner, its 8 neighbours at distance 1 and 28 at distance √2 that lie in the lattice.
    assert classes(cover) == [[1], [37]]
    assert np.abs(cover.find(1, 36)).max() <= REACH
    assert len(pairs_of(rows, Net(8, 1, REACH, 2))) >= 1
