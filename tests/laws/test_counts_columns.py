"""Sums of the first columns of rows whose cells are found by all columns."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import Grid, Nearest, Totals
from sfumato._core.testing import RecordingCurator, ReplayedNoise, use_loops
from sfumato._lattice.box import REACH
from tests.laws.harness import SLANT, loss
from tests.no_noise import NoNoise
from tests.unit import gaps

F = Fraction
WIDTH = 5
CENTERS = np.array(
    [
        [0, 0, 0, REACH, -REACH],
        [0, 0, 0, -REACH, REACH],
        [900, -900, 5, REACH, REACH],
        [-REACH, REACH, 7, -9000, -9000],
    ]
)
RADII = (1234, 7, 2 * REACH, 500)
QUERIES = {
    "one": Totals(Nearest(CENTERS), columns=1),
    "three": Totals(Nearest(CENTERS), columns=3),
    "all": Totals(Nearest(CENTERS), columns=5),
    "three, one radius": Totals(Nearest(CENTERS), 1234, 3),
    "three, clipped": Totals(Nearest(CENTERS), RADII, 3),
}
queries = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from([-REACH, 0, REACH]))
row = st.tuples(*[coordinate] * WIDTH)
CORNER = (REACH, -REACH, REACH, REACH, REACH)
SOME = [
    (5, -6, 7, REACH, -REACH),
    (5, -6, 7, -REACH, REACH),
    (900, 900, 900, REACH, REACH - 5),
    (-REACH, REACH, -REACH, -9000, -8000),
    (-20_000, 20_000, 11, -9000, -8000),
    (1000, 2000, 3000, 30_000, -30_000),
    CORNER,
]


def exact(query, rows):
    state = query.empty()
    query.add(np.array(rows, dtype=np.int16).reshape(-1, WIDTH), state)
    return state


def slow(query, rows):
    """The definition, in Python integers."""
    centers, q = query.cells.centers.tolist(), query.columns
    state = np.zeros((len(centers), q + 1), dtype=np.int64)
    for one in rows:
        far = [sum((x - c) ** 2 for x, c in zip(one, p, strict=True)) for p in centers]
        cell = far.index(min(far))
        part = list(one[:q])
        if query.radius is not None:
            apart = [x - c for x, c in zip(part, centers[cell], strict=False)]
            part = gaps.shortened(apart, query.radii[cell])
        state[cell] += [1, *part]
    return state


@queries
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@given(rows=st.lists(row, max_size=10), cut=st.integers(0, 10))
@example(rows=SOME, cut=3)
@example(rows=[], cut=0)
@settings(max_examples=30, deadline=None)
def test_sums_are_the_definition_for_both_loops_and_any_cut(query, backend, rows, cut):
    with use_loops(backend):
        together = exact(query, rows[:cut]) + exact(query, rows[cut:])
    np.testing.assert_array_equal(together, slow(query, rows))


@queries
@given(rows=st.lists(row, max_size=5), extra=row)
@example(rows=SOME, extra=CORNER)
@example(rows=[], extra=(REACH, REACH, REACH, -REACH, REACH))
@example(rows=[], extra=(-REACH, -REACH, -REACH, -9000, -9000))
@settings(max_examples=50, deadline=None)
def test_a_row_moves_no_more_than_declared(query, rows, extra):
    moved = exact(query, [*rows, extra]) - exact(query, rows)
    assert sorted(moved[:, 0])[-2:] == [0, 1]
    sums = [int(x) for x in moved[:, 1:].ravel()]
    declared, cell = query.sensitivity(), int(moved[:, 0].argmax())
    if query.radius is not None:
        assert sum(x * x for x in sums) <= query.radii[cell] ** 2
        declared = query.sensitivities()[cell]
    assert sum(map(abs, sums)) <= declared.l1
    assert sum(x * x for x in sums) <= declared.l2_squared


def test_only_the_columns_that_are_summed_are_declared():
    for q in (1, 3, 5):
        plain, clipped = Totals(Nearest(CENTERS), columns=q), Totals(Nearest(CENTERS), 1234, q)
        assert plain.sensitivity().l1 == q * REACH
        assert plain.sensitivity().l2_squared == q * REACH**2
        assert clipped.sensitivity().l1 == isqrt(q * 1234**2)
        assert clipped.sensitivity().l2_squared == 1234**2
        assert plain.n_numbers == 4 * (q + 1)
    assert str(Totals(Nearest(CENTERS), columns=3)) == "sums of 3 columns in 4 nearest-centre cells"


def curator_of(rows, noise=None, **settings):
    """A curator whose lattice is the user's own units."""
    rows = np.array(rows, dtype=np.float64).reshape(-1, WIDTH)
    bounds = (np.full(WIDTH, -REACH), np.full(WIDTH, REACH))
    noise = noise or ReplayedNoise(7)
    return RecordingCurator(rows, bounds=bounds, epsilon=10, delta=0.1, noise=noise, **settings)


KINDS = ("joint", "laplace", "gaussian")


def ask(curator, query, kind):
    account = curator.reserve("test", Caps(pure=F(1), gaussian=(F(1), F(1, 100))))
    share = account.rest("gdp" if kind == "gaussian" else "pure")
    asked = {"radius": query.radius, "columns": query.columns}
    if kind == "joint":
        return account, curator.sums(query.cells, share=share, joint=True, **asked)
    one, other = share.evenly(2)
    return account, curator.sums(query.cells, share=one, counts=other, **asked)


@queries
@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_the_sums_are_the_definition(query, kind):
    _, totals = ask(curator_of(SOME * 3, NoNoise()), query, kind)
    expected = slow(query, SOME * 3)
    np.testing.assert_array_equal(totals.sizes.values, expected[:, 0])
    np.testing.assert_array_equal(totals.sums.values, expected[:, 1:])


@queries
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 4])
def test_the_worst_neighbour_loses_what_was_charged_and_no_more(query, kind, most):
    labels = np.append(np.arange(len(SOME)), np.full(most, -7))
    pair = []
    for rows, groups in ((SOME, labels[:-most]), ([*SOME, *[CORNER] * most], labels)):
        curator = curator_of(rows, groups=groups, max_rows_per_group=most)
        account, _ = ask(curator, query, kind)
        pair.append(curator.transcript)
    one, other = pair
    assert one.queries == other.queries
    assert one.mechanisms == other.mechanisms
    steps = zip(one.mechanisms, one.released, one.exact, other.exact, strict=True)
    losses = [loss(*step) for step in steps]
    charges = [entry.share.amount for entry in account.entries]
    assert all(lost <= charge for lost, charge in zip(losses, charges, strict=True))
    if query.radius is None or kind == "joint":
        assert sum(losses) > sum(charges) * F(99, 100)


def test_the_noise_is_told_in_the_units_of_the_columns_that_are_summed():
    bounds = ([-1.0] * 4 + [-1e6], [1.0] * 4 + [1e6])
    curator = RecordingCurator(np.zeros((3, 5)), bounds=bounds, epsilon=1, noise=ReplayedNoise(1))
    account = curator.reserve("test", Caps(pure=F(1)))
    curator.sums(Nearest(CENTERS), share=account.rest("pure").evenly(2)[0], columns=3)
    assert " to " not in account.entries[0].noise
    curator.sums(Nearest(CENTERS), share=account.rest("pure"))
    assert " to " in account.entries[1].noise


@pytest.mark.parametrize(
    ("cells", "radius", "columns", "said"),
    [
        (Nearest(CENTERS), None, 0, "from 1 to 5"),
        (Nearest(CENTERS), None, 6, "from 1 to 5"),
        (Nearest(CENTERS), 9, 2.0, "from 1 to 5"),
        (Nearest(CENTERS), None, True, "from 1 to 5"),
        (Nearest(CENTERS), 4 * REACH + 1, 1, "lattice steps"),
        (Grid(2, WIDTH), None, 2, "Nearest"),
        (SLANT, None, 1, "Nearest"),
    ],
)
def test_bad_queries_are_refused_before_the_charge(cells, radius, columns, said):
    curator = curator_of(SOME)
    account = curator.reserve("test", Caps(pure=F(1)))
    with pytest.raises(ValueError, match=said):
        curator.sums(cells, share=account.rest("pure"), radius=radius, columns=columns)
    assert account.entries == ()
