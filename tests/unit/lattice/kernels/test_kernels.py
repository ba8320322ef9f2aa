"""The two sets of loops against plain Python integers."""

from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.testing import use_loops
from sfumato._lattice.box import ABSENT, REACH, Box
from sfumato._lattice.kernels import dispatch as kernels
from sfumato._lattice.kernels import numba_loops as kernels_nearest_numba
from sfumato._lattice.kernels import numba_loops as kernels_numba
from sfumato._lattice.kernels import numpy_loops as kernels_numpy
from sfumato._lattice.kernels.cubes import cells_of_nearest

BACKENDS = ["numpy", "numba"]
KINDS = ["totals", "counts", "clipped", "farther", "grid_counts", "grid_totals"]
EDGES = [1, 2, 700, 32_767, 65_534, kernels.LONGEST]

coordinates = st.one_of(
    st.sampled_from([-REACH, -REACH + 1, -1, 0, 1, REACH - 1, REACH]), st.integers(-REACH, REACH)
)


def points(n, d):
    return st.lists(st.lists(coordinates, min_size=d, max_size=d), min_size=n[0], max_size=n[1])


@st.composite
def problems(draw):
    d = draw(st.integers(1, 5))
    rows = draw(points((0, 12), d))
    # Centres repeated, and rows used as centres: ties are the rule here, not the exception.
    centers = draw(points((1, 5), d))
    centers += draw(st.lists(st.sampled_from(centers + rows), max_size=3))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    lattice = np.array(rows, dtype=np.int16).reshape(-1, d)
    return lattice, np.array(centers, dtype=np.int64), cuts


def fixed(rows, centers, cuts):
    return np.array(rows, dtype=np.int16), np.array(centers), cuts


# Rows as near to one centre as to another; rows and centres in opposite corners; one column.
TIES = fixed(
    [[0, 0], [1, 1], [5, 5], [3, 3], [-5, 5], [0, 5], [2, 3], [9, -4]],
    [[5, 5], [1, 1], [5, 5], [0, 0], [-5, 5]],
    [0, 3, 3],
)
FAR = fixed(
    [[REACH] * 3, [-REACH] * 3, [-REACH, 1, REACH], [0, -1, 7], [-9, 8, -700], [1, 0, 0]],
    [[-REACH, -REACH, -REACH], [REACH, REACH, REACH], [0, 0, 1]],
    [2],
)
LINE = fixed([[REACH], [-REACH], [0], [-1], [1], [REACH - 1]], [[0], [-REACH]], [1, 6])


def integers(array):
    return [[int(x) for x in row] for row in array]


def label(row, centers):
    return min(range(len(centers)), key=lambda c: (squared(row, centers[c]), c))


def squared(row, center):
    return sum((x - y) ** 2 for x, y in zip(row, center, strict=True))


def clipped(row, center, radius):
    v = [x - y for x, y in zip(row, center, strict=True)]
    square = sum(x * x for x in v)
    if square <= radius * radius:
        return v
    length = isqrt(square - 1) + 1
    return [(abs(x) * radius // length) * (1 if x > 0 else -1) for x in v]


def cell(row, per_axis):
    index = 0
    for x in row:
        index = index * per_axis + (x + REACH) * per_axis // (2 * REACH + 1)
    return index


def radii(radius, k):
    """A radius for each of k cells, no two alike unless they are 0."""
    return [radius * (j + 1) // k for j in range(k)]


def oracle(kind, rows, centers, radius=1000, per_axis=3):
    rows, centers, d = integers(rows), integers(centers), rows.shape[1]
    if kind == "farther":
        return beyond(rows, centers)
    state = [[0] * (d + 1) for _ in range(per_axis**d if "grid" in kind else len(centers))]
    for row in rows:
        where = cell(row, per_axis) if "grid" in kind else label(row, centers)
        limit = radii(radius, len(centers))[where] if kind == "clipped" else None
        values = clipped(row, centers[where], limit) if kind == "clipped" else row
        state[where] = [a + b for a, b in zip(state[where], [1, *values], strict=True)]
    whole = np.array(state, dtype=np.int64)
    return whole[:, 0] if "counts" in kind else whole


def beyond(rows, centers):
    """Rows by the number of edges that they lie beyond."""
    state = np.zeros(len(EDGES) + 1, dtype=np.int64)
    for row in rows:
        nearest = min(squared(row, center) for center in centers)
        state[sum(nearest > edge**2 for edge in EDGES)] += 1
    return state


def run(kind, rows, centers, state, radius=1000, per_axis=3):
    if kind == "totals":
        kernels.nearest_totals(rows, centers, state)
    elif kind == "counts":
        kernels.nearest_counts(rows, centers, state)
    elif kind == "clipped":
        kernels.nearest_clipped(rows, centers, np.array(radii(radius, len(centers))), state)
    elif kind == "farther":
        kernels.nearest_farther(rows, centers, np.array(EDGES), state)
    elif kind == "grid_counts":
        kernels.grid_counts(rows, per_axis, state)
    else:
        kernels.grid_totals(rows, per_axis, state)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(problem=problems(), radius=st.integers(0, 200_000))
@example(problem=TIES, radius=5)
@example(problem=FAR, radius=1000)
@example(problem=FAR, radius=200_000)
@example(problem=LINE, radius=0)
def test_every_cut_gives_the_integers_of_the_oracle(backend, kind, problem, radius):
    rows, centers, cuts = problem
    expected = oracle(kind, rows, centers, radius)
    state = np.zeros_like(expected)
    apart = np.zeros_like(expected)
    with use_loops(backend):
        for block in np.split(rows, cuts):
            run(kind, block, centers, state, radius)
            alone = np.zeros_like(expected)
            run(kind, block, centers, alone, radius)
            apart += alone
    np.testing.assert_array_equal(state, expected)
    np.testing.assert_array_equal(apart, expected)


@pytest.mark.parametrize("kind", ["totals", "counts", "clipped", "farther"])
@pytest.mark.parametrize("k", [1, 2, 7, 12, 13])
@pytest.mark.parametrize("d", [*range(-2, 3), 16, 256])
def test_wide_rows(kind, k, d):
    """With few centres and with many, which are compared in different loops."""
    assert kernels_nearest_numba._FEW == 12
    d += kernels_nearest_numba._WIDE
    rng = np.random.default_rng(d * k)
    rows = rng.integers(-REACH, REACH + 1, (23, d), dtype=np.int16)
    rows[:4] = [[REACH], [-REACH], [0], [1]]
    centers = rng.integers(-REACH, REACH + 1, (k, d))
    centers[0], centers[-1] = REACH, -REACH
    rows[5:9] = (centers[0] + centers[-1]) // 2
    expected = oracle(kind, rows, centers, 5_000_000 // d)
    for backend in BACKENDS:
        for parts in (1, 2, 23):
            state = np.zeros_like(expected)
            with use_loops(backend):
                for block in np.array_split(rows, parts):
                    run(kind, block, centers, state, 5_000_000 // d)
            np.testing.assert_array_equal(state, expected)


@pytest.mark.parametrize("shape", [(30_000, 3, 6), (9_000, 60, 5), (700, 1500, 3)])
def test_backends_agree_over_many_blocks(shape):
    n, d, k = shape
    rng = np.random.default_rng(n)
    # Few distinct values, so that many rows lie equally near to several centres.
    rows = rng.integers(-2, 3, (n, d), dtype=np.int16)
    centers = rng.integers(-2, 3, (k, d))
    states = {}
    for backend in BACKENDS:
        with use_loops(backend):
            states[backend] = np.zeros((3, k, d + 1), dtype=np.int64)
            kernels.nearest_totals(rows, centers, states[backend][0])
            kernels.nearest_clipped(rows, centers, np.full(len(centers), 2), states[backend][1])
            kernels.nearest_counts(rows, centers, counts := np.zeros(k, dtype=np.int64))
            states[backend][2, :, 0] = counts
            labels = cells_of_nearest(rows, centers)
        np.testing.assert_array_equal(counts, np.bincount(labels, minlength=k))
        np.testing.assert_array_equal(states[backend][0, :, 1:].sum(axis=0), rows.sum(axis=0))
    np.testing.assert_array_equal(states["numpy"], states["numba"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_layout_and_flags_of_arrays_do_not_matter(backend):
    rng = np.random.default_rng(3)
    rows = rng.integers(-REACH, REACH + 1, (50, 4), dtype=np.int16)
    centers = rng.integers(-REACH, REACH + 1, (3, 4))
    expected = oracle("totals", rows, centers)
    wide = np.zeros((50, 8), dtype=np.int16)
    wide[:, ::2] = rows
    frozen = rows.copy()
    frozen.flags.writeable = centers.flags.writeable = False
    for same in (rows, np.asfortranarray(rows), wide[:, ::2], frozen):
        state = np.zeros_like(expected)
        with use_loops(backend):
            kernels.nearest_totals(same, centers, state)
        np.testing.assert_array_equal(state, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=30, deadline=None)
@given(problem=problems(), per_axis=st.sampled_from([1, 2, 7, 255, 65535]))
@example(problem=TIES, per_axis=2)
@example(problem=FAR, per_axis=65535)
@example(problem=FAR, per_axis=7)
@example(problem=LINE, per_axis=255)
def test_labels(backend, problem, per_axis):
    rows, centers, _ = problem
    with use_loops(backend):
        nearest = cells_of_nearest(rows, centers)
        cells = kernels.loops_for(rows).grid(np.ascontiguousarray(rows[:, :2]), per_axis)
    assert nearest.dtype == cells.dtype == np.int64
    assert nearest.tolist() == [label(row, integers(centers)) for row in integers(rows)]
    assert cells.tolist() == [cell(row, per_axis) for row in integers(rows[:, :2])]


def lengths_at_the_edge():
    for d in (1, 2, 3, 5, 60, 1000):
        for fill in (1, 2, 181, 32767, 65533, 65534):
            v = np.full(d, fill)
            v[::3] *= -1
            yield v
    for m in (2, 3, 46341, 65534):
        yield np.array([m, 1])
        yield np.array([m, 0])
        yield np.array([m - 1, isqrt(2 * m - 2)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_clipped_row_is_longer_than_the_radius(backend):
    for v in lengths_at_the_edge():
        center = -v // 2
        row = (center + v).astype(np.int16)
        square = int((v * v).sum())
        root = isqrt(square)
        for radius in {0, 1, 2, 3, 181, root // 2, max(root - 1, 0), root, root + 1, 10**12}:
            state = np.zeros((1, len(v) + 1), dtype=np.int64)
            with use_loops(backend):
                limits = np.array([radius])
                kernels.nearest_clipped(row[np.newaxis], center[np.newaxis], limits, state)
            u = [int(x) for x in state[0, 1:]]
            assert u == clipped(integers([row])[0], integers([center])[0], radius)
            assert sum(x * x for x in u) <= radius * radius
            assert sum(abs(x) for x in u) <= isqrt(len(v) * radius * radius)
            if square <= radius * radius:
                assert u == v.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_squares_around_2_to_52_keep_their_exact_root(backend):
    loops = kernels_numpy if backend == "numpy" else kernels_numba
    d = kernels.MAX_FEATURES
    centers = np.full((1, d), -REACH)
    rows = np.full((3, d), REACH, dtype=np.int16)
    rows[1, 0] -= 1
    rows[2, :2] = [REACH - 1, -REACH]
    for row in rows:
        state = np.zeros((1, d + 1), dtype=np.int64)
        only, limits = np.zeros(1, dtype=np.int64), np.array([2**25])
        loops.add_clipped(row[np.newaxis], only, centers, limits, state)
        v = row.astype(np.int64) + REACH
        square = int((v * v).sum())
        length = isqrt(square - 1) + 1
        np.testing.assert_array_equal(state[0, 1:], v * 2**25 // length)
        assert loops.squares(row[np.newaxis], only, centers).tolist() == [square]


@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
@pytest.mark.parametrize("d", [1, 2, 3, 7, 3000])
def test_both_snap_alike(d, nan):
    rng = np.random.default_rng(d)
    box = Box.of((-3, rng.uniform(1, 5, d)), d, nan)
    rows = rng.uniform(-4, 6, (1 + 300_000 // d, d))
    # Halfway between two points, beyond the bounds, and no numbers at all.
    rows[::7] = box.middle + box.step * (rng.integers(-REACH, REACH, (1, d)) + 0.5)
    odd = [np.nan, np.inf, -np.inf, 1e308, -1e308, -0.0, 5e-324]
    rows[rng.integers(2, len(rows), 50), rng.integers(0, d, 50)] = rng.choice(odd, 50)
    lattices = []
    for backend in BACKENDS:
        with use_loops(backend):
            out = np.empty(rows.shape, dtype=np.int16)
            kept = kernels.write_lattice(box, rows, out)
        present = np.isfinite(rows)
        expected = present.any(axis=1) if nan == "ignore" else present.all(axis=1)
        np.testing.assert_array_equal(kept, expected | (nan == "center"))
        np.testing.assert_array_equal(out == ABSENT, ~present & (nan == "ignore"))
        lattices.append(out)
    np.testing.assert_array_equal(*lattices)
    exact = (rows[1] - box.middle) / box.step
    np.testing.assert_array_equal(lattices[0][1], np.clip([round(x) for x in exact], -REACH, REACH))
