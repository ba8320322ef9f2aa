"""A projection maps each row alone, exactly, and never out of the lattice or the ball."""

import pickle
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.queries.projection import MAX_ENTRY, Projection
from sfumato._core.testing import use_loops
from sfumato._lattice.box import ABSENT, REACH
from sfumato._lattice.kernels.dispatch import MAX_FEATURES
from sfumato._lattice.kernels.projection import widest
from sfumato.methods._base import directions_of, from_view, projection_of, to_view
from tests.unit import gaps

EYE = np.eye(2, dtype=np.int64)

# A turn and a stretch, into three columns; far rows leave the box and the ball.
TURN = np.array([[3, 1], [-1, 3], [5, 5]])
VIEWS = {
    "box": Projection(TURN, np.array([900, -40]), 1),
    "ball": Projection(TURN, np.array([900, -40]), 1, ball=True),
    "column": Projection(np.array([[0, -7]]), np.array([0, 3]), 2),
    "ball around a corner": Projection(EYE, np.array([REACH, REACH]), 0, ball=True),
    "nothing": Projection(np.zeros((1, 2), dtype=int), np.zeros(2, dtype=int)),
}

coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from([-REACH, -1, 0, 1, REACH]))
entry = st.one_of(
    st.integers(-MAX_ENTRY, MAX_ENTRY), st.sampled_from([-MAX_ENTRY, -1, 0, 0, 1, MAX_ENTRY])
)


def toward_zero(a, b):
    return abs(a) // b * (1 if a > 0 else -1)


def seen(projection, row):
    """The definition, in Python integers."""
    return gaps.with_unseen(_seen(projection, row), row, projection.matrix)


def _seen(projection, row):
    pairs = zip(row, projection.offset, strict=True)
    moved = [0 if x == ABSENT else int(x) - int(o) for x, o in pairs]
    y = [
        toward_zero(sum(int(a) * x for a, x in zip(line, moved, strict=True)), 2**projection.shift)
        for line in projection.matrix
    ]
    if not projection.ball:
        return [max(-REACH, min(REACH, x)) for x in y]
    most = widest(len(y))
    y = [max(-most, min(most, x)) for x in y]
    square = sum(x * x for x in y)
    if square <= REACH**2:
        return y
    return [toward_zero(x * REACH, isqrt(square - 1) + 1) for x in y]


@st.composite
def problems(draw):
    d, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    lists = st.lists(entry, min_size=m * d, max_size=m * d)
    matrix = np.array(draw(lists)).reshape(m, d)
    offset = np.array(draw(st.lists(coordinate, min_size=d, max_size=d)))
    rows = draw(st.lists(st.lists(coordinate, min_size=d, max_size=d), max_size=6))
    projection = Projection(matrix, offset, draw(st.integers(0, 44)), draw(st.booleans()))
    return projection, np.array(rows, dtype=np.int16).reshape(-1, d)


def fixed(d, m, shift, *, ball):
    """Entries of every size and sign, and rows at the ends, in the middle and in between."""
    rng = np.random.default_rng(d + 10 * m)
    size = min(MAX_ENTRY, 2 ** (shift + 1))
    matrix = rng.integers(-size, size + 1, (m, d))
    matrix[0, 0] = size
    rows = rng.integers(-REACH, REACH + 1, (40, d))
    rows[:9] //= 2000
    rows[9:14] = np.array([[-REACH], [-1], [0], [1], [REACH]])
    projection = Projection(matrix, rng.integers(-99, 99, d), shift, ball)
    return projection, rows.astype(np.int16)


@given(problems())
@example(fixed(1, 1, 0, ball=False))
@example(fixed(1, 1, 0, ball=True))
@example(fixed(2, 3, 1, ball=False))
@example(fixed(2, 3, 1, ball=True))
@example(fixed(4, 2, 20, ball=False))
@example(fixed(4, 2, 20, ball=True))
@example(fixed(3, 4, 44, ball=False))
@example(fixed(3, 4, 44, ball=True))
@example(fixed(4, 4, 38, ball=False))
@example(fixed(4, 4, 38, ball=True))
@settings(max_examples=50)
def test_rows_are_seen_as_defined_and_never_leave_the_lattice_or_the_ball(problem):
    projection, rows = problem
    with use_loops("numpy"):
        found = projection.see(rows)
    assert found.dtype == np.int16
    assert found.tolist() == [seen(projection, row) for row in rows.tolist()]
    assert (np.abs(found.astype(int)) <= REACH).all()
    if projection.ball:
        assert (np.square(found.astype(int)).sum(axis=1) <= REACH**2).all()


@given(problems())
@example(fixed(1, 1, 0, ball=False))
@example(fixed(1, 1, 0, ball=True))
@example(fixed(2, 3, 1, ball=False))
@example(fixed(2, 3, 1, ball=True))
@example(fixed(4, 2, 20, ball=False))
@example(fixed(4, 2, 20, ball=True))
@example(fixed(3, 4, 44, ball=False))
@example(fixed(3, 4, 44, ball=True))
@example(fixed(4, 4, 38, ball=False))
@example(fixed(4, 4, 38, ball=True))
@settings(max_examples=50)
def test_the_compiled_loop_gives_the_same_integers(problem):
    projection, rows = problem
    with use_loops("numba"):
        assert projection.see(rows).tolist() == [seen(projection, row) for row in rows.tolist()]


def test_on_every_row_of_a_small_lattice():
    """Every row of 15 × 15 around the origin, near the edge of a ball and in the far corner."""
    for scale, shift in ((MAX_ENTRY, 10), (MAX_ENTRY, 9), (3, 1), (1, 0)):
        turn = np.array([[scale, -scale // 3], [scale // 2, scale]])
        for ball in (False, True):
            projection = Projection(turn, np.array([1, -2]), shift, ball)
            for corner in ((-7, -7), (REACH - 14, REACH - 14), (2, 23_160)):
                rows = np.indices((15, 15)).reshape(2, -1).T + corner
                expected = [seen(projection, row) for row in rows.tolist()]
                for backend in ("numpy", "numba"):
                    with use_loops(backend):
                        assert projection.see(rows.astype(np.int16)).tolist() == expected
                assert not ball or max(sum(x * x for x in y) for y in expected) <= REACH**2


@pytest.mark.parametrize("shift", [0, 37, 38, 40])
@pytest.mark.parametrize("ball", [False, True])
def test_sums_at_the_edge_of_what_is_exact(ball, shift):
    """8192 columns of 2^24: sums of 2^53 − 2^38, of which a float32 or a lost bit would show."""
    d = 2**13
    rng = np.random.default_rng(0)
    matrix = np.full((3, d), MAX_ENTRY)
    matrix[1] = rng.integers(-MAX_ENTRY, MAX_ENTRY + 1, d)
    matrix[2, ::2] = 1 - MAX_ENTRY
    rows = np.full((5, d), REACH, dtype=np.int16)
    rows[1] = -REACH
    rows[2:] = rng.integers(-REACH, REACH + 1, (3, d))
    projection = Projection(matrix, np.full(d, -REACH), shift, ball)
    for backend in ("numpy", "numba"):
        with use_loops(backend):
            found = projection.see(rows).tolist()
        assert found == [seen(projection, row) for row in rows.tolist()]
    with pytest.raises(ValueError, match="2\\^53"):
        Projection(np.full((1, d + 1), MAX_ENTRY), np.full(d + 1, -REACH))


def test_what_is_squared_is_exact_and_what_is_near_is_not_touched():
    for m in [*range(1, 70), *(2**i for i in range(21)), MAX_FEATURES]:
        assert m * widest(m) ** 2 < 2**53
        assert widest(m) > REACH


def test_the_pole_of_the_ball_is_reached():
    ball = Projection(EYE * 5, np.zeros(2, dtype=int), ball=True)
    rows = np.array([[REACH, 0], [0, -REACH], [REACH // 5 + 1, 0]], dtype=np.int16)
    assert ball.see(rows).tolist() == [[REACH, 0], [0, -REACH], [REACH, 0]]


@given(problems(), st.integers(0, 6))
@example(fixed(2, 3, 1, ball=True), 2)
@example(fixed(4, 2, 20, ball=False), 3)
def test_a_row_is_seen_the_same_whatever_stands_beside_it(problem, cut):
    projection, rows = problem
    alone = [projection.see(rows[i : i + 1]) for i in range(len(rows))]
    whole = np.concatenate([np.empty((0, projection.n_out), dtype=np.int16), *alone])
    np.testing.assert_array_equal(projection.see(rows), whole)
    np.testing.assert_array_equal(projection.see(rows[cut:]), whole[cut:])


def test_blocks_do_not_show(monkeypatch):
    rows = np.random.default_rng(0).integers(-REACH, REACH + 1, (300, 2)).astype(np.int16)
    whole = [view.see(rows) for view in VIEWS.values()]
    monkeypatch.setattr("sfumato._lattice.kernels.projection._BLOCK_CELLS", 23)
    monkeypatch.setattr("sfumato._core.queries.projection._BLOCK_ROWS", 7)
    for view, expected in zip(VIEWS.values(), whole, strict=True):
        np.testing.assert_array_equal(view.see(rows), expected)


def test_projections_are_public_data_equal_by_content():
    matrix = TURN.copy()
    view = Projection(matrix, [900, -40], 1)
    matrix[:] = 0
    assert view == VIEWS["box"]
    assert hash(view) == hash(VIEWS["box"])
    assert len({view, *VIEWS.values()}) == len(VIEWS)
    assert pickle.loads(pickle.dumps(view)) == view
    with pytest.raises(ValueError, match="read-only"):
        view.matrix[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        view.offset[0] = 1


@pytest.mark.parametrize(("m", "d"), [(1, 1), (3, 7), (12, 784)])
@pytest.mark.parametrize("scale", [1e-3, 0.7, 31.0, 4000.0])
def test_directions_are_rounded_finely(m, d, scale):
    rng = np.random.default_rng(m)
    directions = np.linalg.qr(rng.normal(size=(d, m)))[0].T
    center = rng.uniform(-REACH, REACH, d)
    view = projection_of(directions, center, scale)
    assert np.abs(view.matrix).max() >= 2**15
    np.testing.assert_allclose(directions_of(view), scale * directions, atol=scale * 2**-15)
    np.testing.assert_array_equal(view.offset, np.rint(center))
    points = to_view(view, rng.uniform(-REACH, REACH, (5, d)))
    np.testing.assert_allclose(to_view(view, from_view(view, points)), points, rtol=1e-3, atol=1e-3)
    rows = np.rint(from_view(view, rng.uniform(-9, 9, (5, m)) * scale)).clip(-REACH, REACH)
    off = view.see(rows.astype(np.int16)) - to_view(view, rows).clip(-REACH, REACH)
    assert (np.abs(off) < 1).all()


def test_directions_that_cannot_be_rounded_are_refused():
    view = projection_of(np.diag([4.0, 1.0, 0.0])[:2], np.zeros(3), 0.5, ball=True)
    assert to_view(view, np.ones((1, 3))).tolist() == [[2.0, 0.5]]
    assert view.ball
    for bad in (
        {"scale": 1e9},
        {"scale": 0.0},
        {"scale": 1e-30},
        {"scale": np.nan},
        {"center": np.zeros(2)},
        {"center": np.full(3, np.inf)},
        {"directions": np.eye(3)[0]},
    ):
        settings = {"directions": np.eye(3), "center": np.zeros(3), "scale": 1.0, **bad}
        with pytest.raises(ValueError, match=r"needed|finite|rescale"):
            projection_of(settings["directions"], settings["center"], settings["scale"])
