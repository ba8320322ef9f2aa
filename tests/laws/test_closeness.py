"""Scores of closeness move by no more than declared, and reach it, whatever a row holds."""

import pickle
from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.mechanisms import Cube, Gaussian
from sfumato._core.queries.cells import Grid, Nearest
from sfumato._core.queries.closeness import STEPS, Closeness, widest_radius
from sfumato._core.testing import ReplayedNoise
from sfumato._core.weighted import RepeatedKernel
from sfumato._lattice.box import ABSENT, REACH
from sfumato._lattice.kernels.dispatch import MAX_FEATURES
from tests.laws.harness import CENTERS, RecordingCurator, loss
from tests.no_noise import NoNoise
from tests.unit import gaps

F = Fraction
CAPS = Caps(pure=F(2), gaussian=(F(1), F(1, 100)))
RADII = (1234, 1, 2 * REACH, 50)
VALUES = (-REACH, -700, -1, 0, 3, 500, 9000, REACH, ABSENT)
SMALL = [*product(VALUES, repeat=2)]
TWINS = np.array([[500, -700], [500, -700], [0, 0]])

QUERIES = {
    "squares": Closeness(Nearest(CENTERS), RADII),
    "distances": Closeness(Nearest(CENTERS), RADII, 1),
    "one radius": Closeness(Nearest(CENTERS), (30_000,) * 4),
    "twins": Closeness(Nearest(TWINS), (900, 900, 70_000)),
    "one centre": Closeness(Nearest(CENTERS[:1]), (40_000,), 1),
}
queries = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)

coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from(VALUES))
row = st.tuples(coordinate, coordinate)
rows_of = st.lists(row, max_size=6)


def lattice(rows):
    return np.array(rows, dtype=np.int16).reshape(-1, 2)


def exact(query, rows):
    """The integers that get noise."""
    state = query.empty()
    query.add(lattice(rows), state)
    return query.line(state)


def scores(row, query):
    """The cell of a row and its two scores, by their definition; None for a row without columns."""
    present = [i for i, x in enumerate(row) if x != ABSENT]
    if not present:
        return None
    cell = gaps.nearest(row, query.cells.centers)
    far = [sum((row[i] - c[i]) ** 2 for i in present) for c in query.cells.centers.tolist()]
    near, radius = far.pop(cell), query.radii[cell]
    # Nearest whole numbers, halves up, by integer roots alone.
    whole = F(min(near, radius**2), radius**2)
    if query.power == 1:
        u = (isqrt(4 * STEPS * STEPS * whole.numerator // whole.denominator) + 1) // 2
    else:
        u = (2 * STEPS * whole.numerator // whole.denominator + 1) // 2
    other = min(far, default=0)
    w = (isqrt(4 * STEPS * STEPS * near // other) + 1) // 2 if other else STEPS
    return cell, u, w


def slow(query, rows):
    found = np.zeros((query.cells.n_cells, 3), dtype=np.int64)
    for one in rows:
        if (known := scores(one, query)) is not None:
            cell, u, w = known
            unit = REACH // STEPS
            found[cell] += [REACH, unit * (2 * u - STEPS), unit * (2 * w - STEPS)]
    return found


def size(moved):
    """(largest entry of each line, added up; L1; L2 squared) of a change."""
    lines = [[abs(int(x)) for x in line] for line in moved]
    return (
        sum(map(max, lines)),
        sum(map(sum, lines)),
        sum(x * x for line in lines for x in line),
    )


def test_a_step_is_a_whole_number_of_lattice_steps():
    assert REACH % STEPS == 0
    assert 4 * STEPS**2 * 2**40 < 2**63


@queries
@given(rows=rows_of, cut=st.integers(0, 6))
@example(rows=SMALL, cut=7)
@example(rows=[], cut=0)
@settings(max_examples=50, deadline=None)
def test_sums_are_the_definition_for_any_cut(query, rows, cut):
    np.testing.assert_array_equal(exact(query, rows[:cut]) + exact(query, rows[cut:]),
                                  slow(query, rows))  # fmt: skip


def test_the_definition_is_the_silhouette_and_the_clipped_distance():
    for one in [(3, 9), (500, -699), (-9000, 20_000), (REACH, -REACH)]:
        distances = sorted(np.hypot(*(np.array(one) - c)) for c in CENTERS)
        for query in (QUERIES["squares"], QUERIES["distances"]):
            cell, u, w = scores(one, query)
            a, b = distances[:2]
            clipped = (min(a, RADII[cell]) / RADII[cell]) ** query.power
            assert abs(u / STEPS - clipped) <= 0.5001 / STEPS
            assert abs((1 - w / STEPS) - (b - a) / max(a, b)) <= 0.5001 / STEPS


@queries
@given(rows=rows_of, extra=row)
@example(rows=SMALL, extra=(0, 0))
@example(rows=SMALL, extra=(ABSENT, 0))
@example(rows=[], extra=(ABSENT, ABSENT))
@settings(max_examples=50, deadline=None)
def test_one_row_moves_one_cell_and_by_no_more_than_declared(query, rows, extra):
    moved = exact(query, [*rows, extra]) - exact(query, rows)
    assert (moved != 0).any(axis=1).sum() <= 1
    declared = query.sensitivity()
    assert all(map(int.__le__, size(moved), (REACH, declared.l1, declared.l2_squared)))


@queries
def test_exhaustively_on_a_small_domain(query):
    declared = query.sensitivity()
    for extra in SMALL:
        moved = size(exact(query, [extra]))
        assert moved[0] in (0, REACH)
        assert moved[1] <= declared.l1
        assert moved[2] <= declared.l2_squared


def test_the_declared_change_is_reached_and_by_groups():
    for query in (QUERIES["squares"], QUERIES["distances"], QUERIES["twins"]):
        for many in (1, 4):
            declared = query.sensitivity().times(many)
            found = size(exact(query, [(0, 0)] * many))
            assert found == (many * REACH, declared.l1, declared.l2_squared)


@queries
@given(group=st.lists(row, max_size=5))
@example(group=[(0, 0), (500, -700), (REACH, REACH), (ABSENT, 3)])
@settings(max_examples=50, deadline=None)
def test_a_group_moves_no_more_than_its_rows_together(query, group):
    moved = size(exact(query, [*SMALL, *group]) - exact(query, SMALL))
    declared = query.sensitivity().times(len(group))
    limits = len(group) * REACH, declared.l1, declared.l2_squared
    assert all(map(int.__le__, moved, limits))


def test_in_many_columns_nothing_wraps():
    """The widest rows that there can be, in as many columns as squares have bits for."""
    for d in (255, 256, 4096):
        centers = np.array([[REACH] * d, [REACH - 1] * d, [-REACH] * d])
        query = Closeness(Nearest(centers), (widest_radius(d),) * 3)
        state = query.empty()
        far = np.full((3, d), -REACH, dtype=np.int16)
        far[1] = REACH
        far[2] = 0
        query.add(far, state)
        # At its centre w is 0; half way between two, it is all but 1.
        assert state[2].tolist() == [1, -STEPS, -STEPS]
        assert state[0].tolist()[:2] == [1, -STEPS]
        assert state[1, 0] == 1
        assert abs(state[1, 2]) <= STEPS
        assert state[1, 2] > STEPS * 0.99


def test_edges_of_the_widest_radius_are_exact():
    radius = widest_radius(MAX_FEATURES)
    cells = Nearest(np.zeros((1, 1)))
    query = object.__new__(Closeness)
    vars(query).update(cells=cells, radii=(radius,), power=2)
    edges = query._edges[radius].tolist()
    assert len(edges) == STEPS
    for j, edge in enumerate(edges, 1):
        assert (edge - 1) * 2 * STEPS < radius**2 * (2 * j - 1) <= edge * 2 * STEPS


def test_copies_of_weighted_rows_are_rows():
    query = QUERIES["squares"]
    repeats = RepeatedKernel(query, 3)
    state = repeats.empty()
    repeats.add(np.array([(0, 0, 2), (500, -700, 9), (3, 3, 0)], dtype=np.int16), state)
    np.testing.assert_array_equal(query.line(state), slow(query, [(0, 0)] * 2 + [(500, -700)] * 3))


def test_many_rows_are_the_sum_of_few():
    """More rows than a block takes; scores of one do not depend on its neighbours."""
    rows = np.random.default_rng(0).integers(-REACH, REACH + 1, (40_000, 2))
    rows[::97, 0] = ABSENT
    query = QUERIES["squares"]
    few = sum(exact(query, part) for part in np.array_split(rows, 500))
    np.testing.assert_array_equal(exact(query, rows), few)


def curator_of(rows, noise=None, **given):
    """A curator whose lattice is the user's own units."""
    rows = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return RecordingCurator(
        np.where(rows == ABSENT, np.nan, rows),
        bounds=(-REACH, REACH),
        epsilon=10,
        delta=0.1,
        noise=noise or ReplayedNoise(7),
        **given,
    )


@queries
@pytest.mark.parametrize("kind", ["pure", "gdp"])
def test_without_noise_the_answer_is_exact_in_rows(query, kind):
    curator = curator_of(SMALL, NoNoise())
    answer = curator.closeness(query, share=curator.reserve("test", CAPS).rest(kind))
    np.testing.assert_array_equal(answer.values, slow(query, SMALL) / REACH)


@pytest.mark.parametrize("name", ["squares", "distances", "twins"])
@pytest.mark.parametrize("kind", ["pure", "gdp"])
@pytest.mark.parametrize("most", [1, 4])
def test_the_worst_neighbour_loses_what_was_charged_and_no_more(name, kind, most):
    query, pair = QUERIES[name], []
    labels = np.append(np.arange(len(SMALL)), np.full(most, -7))
    for rows, groups in ((SMALL, labels[:-most]), ([*SMALL, *[(0, 0)] * most], labels)):
        curator = curator_of(rows, groups=groups, max_rows_per_group=most)
        share = curator.reserve("law", CAPS).rest(kind)
        curator.closeness(query, share=share)
        assert [entry.share for entry in share.account.entries] == [share]
        pair.append(curator.transcript)
    one, other = pair
    assert one.queries == other.queries == [query]
    assert one.mechanisms == other.mechanisms
    assert [type(m) for m in one.mechanisms] == [Cube if kind == "pure" else Gaussian]
    [lost] = map(loss, one.mechanisms, one.released, one.exact, other.exact)
    assert share.amount * F(999, 1000) <= lost <= share.amount


@pytest.mark.parametrize("kind", ["pure", "gdp"])
def test_the_stated_deviation_is_that_of_the_noise(kind):
    query = Closeness(Nearest(np.arange(2000).reshape(-1, 2)), (9,) * 1000)
    curator = curator_of([], noise=ReplayedNoise(3))
    answer = curator.closeness(query, share=curator.reserve("law", CAPS).rest(kind))
    # 1,000 lines, replayed: the same draws in every run.
    assert (answer.values.std(axis=0) / answer.noise_std).tolist() == pytest.approx(
        [1] * 3, abs=0.1
    )


class Thief(Closeness):
    """A query that could keep the rows it is shown."""


REFUSED = {
    "foreign": (TypeError, "Thief", lambda: Thief(Nearest(CENTERS), RADII)),
    "a grid": (TypeError, "Grid", lambda: Closeness(Grid(2, 2), (1,) * 4)),
    "few radii": (ValueError, "3 radii were given for 4", lambda: Closeness(CELLS, RADII[:3])),
    "a radius of 0": (ValueError, "from 1 to", lambda: Closeness(CELLS, (0, 1, 1, 1))),
    "half a step": (ValueError, "from 1 to", lambda: Closeness(CELLS, (0.5, 1, 1, 1))),
    "too wide": (ValueError, "from 1 to", lambda: Closeness(CELLS, (2**40, 1, 1, 1))),
    "a cube": (ValueError, "power is 1", lambda: Closeness(CELLS, RADII, 3)),
    "another width": (ValueError, "columns", lambda: Closeness(Nearest([[1, 2, 3]]), (1,))),
}
CELLS = Nearest(CENTERS)


@pytest.mark.parametrize(("kind", "said", "made"), REFUSED.values(), ids=REFUSED)
def test_bad_queries_are_refused_before_the_charge(kind, said, made):
    curator = curator_of(SMALL)
    account = curator.reserve("test", CAPS)
    with pytest.raises(kind, match=said):
        curator.closeness(made(), share=account.rest("pure"))
    assert account.entries == ()
    assert curator.transcript.released == []


@queries
def test_a_query_travels_whole(query):
    again = pickle.loads(pickle.dumps(query))
    assert again == query
    assert hash(again) == hash(query)
    np.testing.assert_array_equal(exact(again, SMALL), exact(query, SMALL))
