"""Sums of whole rows in cells that are told apart through a view."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import Counts, Nearest, NearestInProjection, Totals
from sfumato._core.queries.projection import Projection
from sfumato._core.testing import use_loops
from sfumato._lattice.box import REACH
from tests.laws.harness import BOX, SLANT, blobs, curator_of, loss, without_noise
from tests.laws.test_projection import VIEWS, seen
from tests.unit import gaps

F = Fraction
BACKENDS = ["numpy", "numba"]
views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from([-REACH, 0, REACH]))
rows_of_two = st.lists(st.tuples(coordinate, coordinate), max_size=10)
SOME = [(-REACH, REACH), (0, 0), (REACH, REACH), (900, -40), (901, -39), (-30, 70), (5000, -9000)]


def through(view):
    return NearestInProjection(
        view, Nearest(np.arange(3 * view.n_out).reshape(3, -1) * 4000 - 9000)
    )


def slow_totals(cells, rows):
    """The definition: look at the row through the view, add the row itself."""
    centers = cells.cells.centers.tolist()
    state = np.zeros((len(centers), cells.n_features + 1), dtype=np.int64)
    for row in filter(gaps.whole, rows):
        image = seen(cells.projection, row)
        state[gaps.nearest(image, centers)] += [1, *row]
    return state


def folded(query, parts, backend):
    state = query.empty()
    with use_loops(backend):
        for rows in parts:
            query.add(np.array(rows, dtype=np.int16).reshape(-1, 2), state)
    return state


@views
@given(rows=rows_of_two, cut=st.integers(0, 10))
@example(rows=SOME, cut=3)
@example(rows=[], cut=0)
@settings(max_examples=40, deadline=None)
def test_totals_are_the_definition_for_both_loops_and_any_cut(view, rows, cut):
    cells = through(view)
    expected = slow_totals(cells, rows)
    for backend in BACKENDS:
        parts = [rows[:cut], rows[cut:]]
        np.testing.assert_array_equal(folded(Totals(cells), parts, backend), expected)
        np.testing.assert_array_equal(folded(Counts(cells), parts, backend), expected[:, 0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_rows_are_the_sum_of_few(backend):
    """More rows than a block takes, so that labels of one block must not meet rows of another."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-REACH, REACH + 1, (40_000, 2)).astype(np.int16)
    cells = through(VIEWS["ball"])
    few = folded(Totals(cells), np.array_split(rows, 1000), backend)
    np.testing.assert_array_equal(folded(Totals(cells), [rows], backend), few)


@views
def test_without_noise_every_way_of_asking_is_exact(view):
    cells, rows = through(view), blobs(200)
    expected = slow_totals(cells, BOX.to_lattice(rows).tolist())
    curator = without_noise(rows)
    account = curator.reserve("test", Caps(pure=F(1), gaussian=(F(1), F(1, 100))))
    pure, gdp = account.rest("pure").evenly(4), account.rest("gdp").evenly(2)
    answers = [
        curator.sums(cells, share=pure[0], counts=pure[1]),
        curator.sums(cells, share=gdp[0], counts=gdp[1]),
        curator.sums(cells, share=pure[2], joint=True),
    ]
    for answer in answers:
        np.testing.assert_array_equal(answer.sums.values, expected[:, 1:])
        np.testing.assert_array_equal(answer.counts.values, expected[:, 0])
    counts = curator.counts(cells, share=pure[3])
    np.testing.assert_array_equal(counts.values, expected[:, 0])


NEIGHBOURS = {
    "corner": (blobs(60), np.vstack([blobs(60), [[1.0, 3.0]]])),
    "not a number": (blobs(60), np.vstack([blobs(60), [[np.nan, np.inf]]])),
    "first row": (np.zeros((0, 2)), np.array([[0.0, -3.0]])),
}


def replayed(rows, cells, replay=None, **settings):
    curator = curator_of(rows, replay=replay, **settings)
    account = curator.reserve("law", Caps(pure=F(1), gaussian=(F(1), F(1, 100))))
    pure, gdp = account.rest("pure").evenly(4), account.rest("gdp").evenly(2)
    curator.sums(cells, share=pure[0], counts=pure[1])
    curator.sums(cells, share=gdp[0], counts=gdp[1])
    curator.sums(cells, share=pure[2], joint=True)
    curator.counts(cells, share=pure[3])
    return curator.transcript, [e.share.amount for e in account.entries]


@views
@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_no_answer_loses_more_than_it_was_charged(view, pair):
    for before, after in (pair, pair[::-1]):
        ours, charged = replayed(before, through(view))
        theirs, _ = replayed(after, through(view), ours)
        steps = zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
        assert ours.queries == theirs.queries
        assert ours.mechanisms == theirs.mechanisms
        for step, charge in zip(steps, charged, strict=True):
            assert loss(*step) <= charge


@pytest.mark.parametrize("most", [1, 4])
def test_a_corner_uses_up_every_charge(most):
    """Whatever the view shows of it, and in groups: the noise fits all columns of the row."""
    rows = np.vstack([blobs(40), np.tile([[1.0, 3.0]], (most, 1))])
    groups = np.append(np.arange(40) // most, np.full(most, 99))
    keep = groups != 99
    for view in VIEWS.values():
        cells, options = through(view), {"max_rows_per_group": most}
        ours, charged = replayed(rows, cells, groups=groups, **options)
        theirs, _ = replayed(rows[keep], cells, ours, groups=groups[keep], **options)
        steps = zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
        for step, charge in zip(steps, charged, strict=True):
            assert charge * F(99, 100) < loss(*step) <= charge


def test_a_query_through_a_view_travels_whole():
    again = pickle.loads(pickle.dumps(Totals(SLANT)))
    assert again == Totals(SLANT)
    assert hash(again) == hash(Totals(SLANT))
    assert Totals(NearestInProjection(VIEWS["column"], SLANT.cells)) != again


def test_bad_cells_are_refused_before_the_charge():
    curator = curator_of(blobs(30))
    account = curator.reserve("test", Caps(pure=F(1)))
    view, cells = SLANT.projection, SLANT.cells

    class ThiefOfViews(Projection):
        """A map that could keep the rows it is shown."""

    class ThiefOfCells(Nearest):
        """Cells that could keep the rows they are shown."""

    class Thief(NearestInProjection):
        """Both."""

    wide = Projection(np.ones((1, 3), dtype=int), np.zeros(3, dtype=int))
    for kind, message, ask in [
        (
            TypeError,
            "ThiefOfViews",
            lambda _: NearestInProjection(ThiefOfViews(view.matrix, [0, 0]), cells),
        ),
        (
            TypeError,
            "ThiefOfCells",
            lambda _: NearestInProjection(view, ThiefOfCells(cells.centers)),
        ),
        (TypeError, "Thief", lambda s: curator.sums(Thief(view, cells), share=s)),
        (TypeError, "Thief", lambda s: curator.counts(Thief(view, cells), share=s)),
        (
            ValueError,
            "projection shows",
            lambda _: NearestInProjection(view, Nearest(np.zeros((1, 2)))),
        ),
        (ValueError, "columns", lambda s: curator.sums(NearestInProjection(wide, cells), share=s)),
        (ValueError, "radius", lambda s: curator.sums(SLANT, share=s, radius=9)),
    ]:
        with pytest.raises(kind, match=message):
            ask(account.rest("pure"))
    assert account.entries == ()
