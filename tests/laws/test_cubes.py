"""A row lies in one half of one cube at most, that of its definition."""

import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import MAX_NUMBERS, Counts, Totals
from sfumato._core.queries.cubes import WIDEST, Cubes
from sfumato._core.testing import ReplayedNoise, use_loops
from sfumato._lattice.box import REACH
from tests.laws.harness import BOX, HALVES, blobs, curator_of, loss, without_noise

BACKENDS = ["numpy", "numba"]
F = Fraction


def halves_of(cubes, row):
    """The numbers of all children that hold a row, by the definition."""
    corners, half = cubes.corners.tolist(), cubes.side // 2
    found = []
    for number, corner in enumerate(corners):
        for bits in range(2 ** len(corner)):
            low = [c + half * (bits >> axis & 1) for axis, c in enumerate(corner)]
            if all(a <= x < a + half for a, x in zip(low, row, strict=True)):
                found.append(number * 2 ** len(corner) + bits)
    return found


def counted(cells, rows, backend="numpy"):
    query = Counts(cells)
    state = query.empty()
    with use_loops(backend):
        query.add(np.array(rows, dtype=np.int16).reshape(-1, cells.n_features), state)
    return state


@st.composite
def problems(draw):
    """Cubes about rows: rows on their edges, cubes outside the lattice, cubes with no neighbour."""
    p = draw(st.integers(1, 4))
    side = 2 * draw(st.one_of(st.integers(1, 3), st.integers(1, 2**17)))
    shift = draw(st.lists(st.integers(-side, side), min_size=p, max_size=p))
    most = max(1, min(4, (WIDEST - side) // side))
    place = st.tuples(*[st.integers(-most, most)] * p)
    places = draw(st.lists(place, min_size=1, max_size=8, unique=True))
    corners = np.clip(np.array(places), -most, most) * side + np.array(shift)
    near = st.sampled_from([-1, 0, 1, side // 2 - 1, side // 2, side - 1, side])
    from_corner = st.tuples(st.sampled_from(corners.tolist()), st.tuples(*[near] * p)).map(
        lambda pair: [max(-REACH, min(REACH, c + x)) for c, x in zip(*pair, strict=True)]
    )
    anywhere = st.lists(st.integers(-REACH, REACH), min_size=p, max_size=p)
    rows = draw(st.lists(st.one_of(from_corner, anywhere), max_size=8))
    return Cubes(corners, side), rows


def rows_at_edges(corners, side):
    """Rows just below, at and just above both ends and the middle of every cube."""
    corners = np.array(corners)
    steps = [-1, 0, 1, side // 2 - 1, side // 2, side - 1, side]
    rows = [corner + np.roll(steps, turn)[: len(corner)] for corner in corners for turn in range(7)]
    return Cubes(corners, side), np.clip(rows, -REACH, REACH).tolist()


@given(problem=problems(), cut=st.integers(0, 8))
@example(problem=rows_at_edges([[0, 0], [4, 0], [0, 4], [-8, 4]], 4), cut=3)
@example(problem=rows_at_edges([[-5], [7], [19], [31]], 6), cut=0)
@example(problem=rows_at_edges([[-2, 6, 1], [6, 6, -7], [6, -2, 9]], 8), cut=5)
@example(problem=rows_at_edges([[-33_000, 0, 0, 0], [0, 33_000, 0, 33_000]], 33_000), cut=1)
@settings(max_examples=50, deadline=None)
def test_a_row_is_counted_in_the_half_that_holds_it_and_nowhere_else(problem, cut):
    cubes, rows = problem
    expected = np.zeros(cubes.n_cells, dtype=np.int64)
    for row in rows:
        where = halves_of(cubes, row)
        assert len(where) <= 1
        expected[where] += 1
    for backend in BACKENDS:
        found = counted(cubes, rows[:cut], backend) + counted(cubes, rows[cut:], backend)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_halves_of_neighbouring_cubes_share_the_lattice_out_exactly(backend):
    """Each point of a small domain lies in one half of cubes that cover it, in none beyond."""
    corners = np.array(list(product([-5, -1, 3], repeat=2)))
    cubes = Cubes(corners[np.random.default_rng(0).permutation(9)], 4)
    points = list(product(range(-8, 11), repeat=2))
    for point in points:
        inside = all(-5 <= x < 7 for x in point)
        state = counted(cubes, [point], backend)
        assert state.sum() == np.abs(state).max() == inside
    assert (counted(cubes, points, backend) == 4).all(), "halves of side 2 hold four points each"


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_bits_of_a_child_are_its_upper_halves(backend):
    cubes = Cubes(np.array([[100, 200, 300]]), 10)
    for bits in range(8):
        low = cubes.children()[bits]
        assert low.tolist() == [
            100 + 5 * (bits & 1),
            200 + 5 * (bits >> 1 & 1),
            300 + 5 * (bits // 4),
        ]
        for row in (low, low + 4):
            assert np.flatnonzero(counted(cubes, [row], backend)).tolist() == [bits]


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_below_all_cubes_are_in_none(backend):
    """A place below the first must not be taken for the last place of another branch."""
    cubes = Cubes(np.array([[0, 8], [8, 0], [8, 16]]), 8)
    assert counted(cubes, [[8, -1], [8, 8], [-1, 8], [7, 7], [0, 16], [16, 8]], backend).sum() == 0


def test_every_child_is_released_empty_ones_too():
    curator = curator_of(blobs(60))
    share = curator.reserve("test", Caps(pure=F(1, 2))).rest("pure")
    answer = curator.counts(HALVES, share=share)
    assert answer.values.shape == (HALVES.n_cells,)
    exact = counted(HALVES, BOX.to_lattice(blobs(60)))
    assert (exact == 0).any()
    assert (answer.values[exact == 0] != 0).any()
    nothing = curator_of(np.zeros((0, 2)))
    share = nothing.reserve("test", Caps(pure=F(1, 2))).rest("pure")
    assert nothing.counts(HALVES, share=share).values.shape == (HALVES.n_cells,)


@pytest.mark.parametrize("kind", ["pure", "gdp"])
@pytest.mark.parametrize("most", [1, 5])
def test_rows_lose_no_more_than_was_charged_and_all_of_it_in_one_half(kind, most):
    """Alone, in a group of five that shares a half, and in none at all."""
    base, inside = np.full((40, 2), 0.25), np.tile([[0.507, -0.04]], (most, 1))
    everyone = np.append(np.arange(40) // most, np.full(most, 99))
    for row, whole in ((inside, 1), (inside - [0.3, 0], 0)):
        pair = []
        for rows, groups in ((base, everyone[:40]), (np.vstack([base, row]), everyone)):
            curator = curator_of(
                rows, groups=groups, max_rows_per_group=most, noise=ReplayedNoise(3)
            )
            caps = Caps(pure=F(1, 3), gaussian=(F(1), F(1, 100)))
            share = curator.reserve("law", caps).rest(kind)
            curator.counts(HALVES, share=share)
            pair.append(curator.transcript)
        one, other = pair
        assert one.mechanisms == other.mechanisms
        lost = loss(one.mechanisms[0], one.released[0], one.exact[0], other.exact[0])
        assert lost <= share.amount
        assert lost >= whole * share.amount * F(999, 1000)


def test_a_query_about_cubes_travels_whole():
    again = pickle.loads(pickle.dumps(Counts(HALVES)))
    assert again == Counts(HALVES)
    assert hash(again) == hash(Counts(HALVES))
    rows = BOX.to_lattice(blobs(60))
    np.testing.assert_array_equal(counted(again.cells, rows), counted(HALVES, rows))
    assert Cubes(HALVES.corners, 500) != HALVES
    assert Cubes(HALVES.corners[:2], 1000) != HALVES


def test_without_noise_the_counts_are_exact():
    curator = without_noise(blobs(300))
    share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
    cubes = Cubes(np.array([[-40_000, -40_000], [2**16 - 40_000, -40_000]]), 2**16)
    expected = counted(cubes, BOX.to_lattice(blobs(300)))
    np.testing.assert_array_equal(curator.counts(cubes, share=share).values, expected)
    assert expected.sum() > 200


@pytest.mark.parametrize(
    ("message", "corners", "side"),
    [
        ("even", [[0, 0]], 3),
        ("even", [[0, 0]], 0),
        ("even", [[0, 0]], -2),
        ("even", [[0, 0]], 2.0),
        ("even", [[0, 0]], 2 * WIDEST),
        ("whole numbers", [[0.0, 0.0]], 2),
        ("whole numbers", [0, 0], 2),
        ("whole numbers", np.zeros((0, 2), dtype=int), 2),
        ("whole numbers", np.zeros((2, 0), dtype=int), 2),
        ("within", [[WIDEST + 1, 0]], 2),
        ("within", [[-(2**63), 0]], 2),
        ("one grid", [[0, 0], [3, 0]], 2),
        ("one grid", [[0, 0], [4, 3]], 4),
        ("disjoint", [[0, 0], [4, 4], [0, 0]], 4),
        ("children", np.zeros((1, 25), dtype=int), 2),
        ("children", np.zeros((1, 10**4), dtype=int), 2),
        ("children", np.arange(2 * (MAX_NUMBERS // 4 + 1)).reshape(-1, 2) * 2 % WIDEST, 2),
    ],
)
def test_cubes_that_are_no_partition_are_refused(message, corners, side):
    with pytest.raises(ValueError, match=message):
        Cubes(np.array(corners), side)


def test_bad_queries_about_cubes_are_refused_before_the_charge():
    curator = curator_of(blobs(30))
    account = curator.reserve("test", Caps(pure=F(1)))

    class Thief(Cubes):
        """Cubes that could keep the rows they are shown."""

    for kind, message, ask in [
        (TypeError, "Thief", lambda s: curator.counts(Thief(HALVES.corners, 1000), share=s)),
        (ValueError, "columns", lambda s: curator.counts(Cubes(np.zeros((1, 3), int), 2), share=s)),
        (ValueError, "not summed", lambda s: curator.sums(HALVES, share=s)),
        (ValueError, "not summed", lambda _: Totals(HALVES, 5)),
    ]:
        with pytest.raises(kind, match=message):
            ask(account.rest("pure"))
    assert account.entries == ()
