"""The curator's own laws: what is refused, in which order things happen, what never leaves."""

import copy
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Ledger, Overspent, Share
from sfumato._core.curator import Curator
from sfumato._core.queries.breakdown import Breakdown, Levels
from sfumato._core.queries.choose import Swaps
from sfumato._core.queries.closeness import Closeness
from sfumato._core.queries.counts import MAX_NUMBERS, Counts, Grid, Nearest, RowsBeyond, Totals
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH, Box
from sfumato.engines._memory import ArrayRows
from tests.laws.harness import (
    BOX,
    CENTERS,
    HALVES,
    QUERIES_UNDER_LAW,
    SLANT,
    blobs,
    curator_of,
    without_noise,
)
from tests.no_noise import NoNoise

F = Fraction
ROWS = blobs(60)
CELLS = Nearest(CENTERS)


class Diary:
    """Rows that write down when they are read, and what was charged by then."""

    n_features = 2
    max_rows_per_group = None

    def __init__(self, fail=False):
        self.read, self.fail, self.account = [], fail, None

    def fold(self, box, kernel):
        self.read.append(len(self.account.entries))
        if self.fail:
            raise OSError("the disk is gone")
        return kernel.empty()

    def split(self, box, parts, key):
        raise AssertionError("no query splits rows")


def opened(rows, **settings):
    """A curator and an account with pure and Gaussian budget."""
    curator = Curator(rows, bounds=(0, 1), epsilon=4.0, delta=0.1, **settings)
    account = curator.reserve("test", Caps(pure=F(2), gaussian=(F(1), F(1, 100))))
    return curator, account


def asks(curator, account):
    """Every verb of the curator, each with a twentieth of the budget."""
    pure, gdp = account.rest("pure").split(1, 19)[0], account.rest("gdp").split(1, 19)[0]
    return [
        lambda: curator.counts(Grid(3, 2), share=pure),
        lambda: curator.counts(CELLS, share=gdp),
        lambda: curator.sums(CELLS, share=pure),
        lambda: curator.sums(CELLS, share=gdp, counts=gdp, radius=9),
        lambda: curator.sums(CELLS, share=pure, counts=gdp),
        lambda: curator.sums(Grid(2, 2), share=pure, joint=True),
        lambda: curator.sums(CELLS, share=pure, joint=True, radius=(9, 8, 7, 6)),
        lambda: curator.first_below(RowsBeyond(CELLS, (5, 6)), 3, share=pure),
        lambda: curator.first_below_each(
            RowsBeyond(CELLS, (5, 6), each=True), [3, 2, 1, 0], share=pure
        ),
        lambda: curator.counts(HALVES, share=pure),
        lambda: curator.counts_of_each([HALVES, Grid(3, 2)], share=[pure, pure]),
        lambda: curator.breakdown(Breakdown(CELLS, (Levels(0, 2, 9),)), share=pure),
        lambda: curator.closeness(Closeness(CELLS, (9, 8, 7, 6)), share=pure),
        lambda: curator.sums(SLANT, share=pure, joint=True),
        lambda: curator.choose(Swaps(CENTERS, CENTERS), share=pure, law="permute_and_flip"),
    ]


def test_every_query_is_charged_before_a_row_is_read():
    rows = Diary()
    curator, rows.account = opened(rows)
    for i, ask in enumerate(asks(curator, rows.account)):
        before = len(rows.account.entries)
        ask()
        assert len(rows.read) == i + 1
        assert rows.read[-1] == len(rows.account.entries) > before


def test_rows_are_not_read_when_a_curator_is_opened():
    rows = Diary()
    opened(rows)
    assert rows.read == []


def test_a_query_that_fails_still_costs():
    rows = Diary(fail=True)
    curator, rows.account = opened(rows)
    for ask in asks(curator, rows.account):
        spent = rows.account.entries
        with pytest.raises(OSError, match="gone"):
            ask()
        assert len(rows.account.entries) > len(spent)
    assert not any(e.released for e in rows.account.entries)


def test_rows_opened_with_groups_are_protected_as_groups():
    rows = ArrayRows(ROWS, groups=np.arange(60) % 7, max_rows_per_group=5)
    curator = Curator(rows, bounds=(0, 1), epsilon=1.0)
    assert curator.neighbours == "one group of at most 5 rows"
    account = curator.reserve("test", Caps(pure=F(1)))
    curator.counts(CELLS, share=account.rest("pure"))
    assert account.entries[0].scale == 5
    with pytest.raises(ValueError, match="not twice"):
        Curator(rows, bounds=(0, 1), epsilon=1.0, groups=np.arange(60))


def test_the_query_too_many_is_refused_unread():
    rows = Diary()
    curator, rows.account = opened(rows)
    with pytest.raises(Overspent):
        curator.counts(CELLS, share=Share("pure", F(3), account=rows.account))
    assert rows.read == []


class Thief(Nearest):
    """A query of somebody else's making, which could keep the rows it is shown."""


class Stranger:
    n_cells, n_features = 1, 2


@pytest.mark.parametrize("cells", [Thief(CENTERS), Stranger(), None, len])
def test_foreign_queries_are_refused_before_the_charge(cells):
    rows = Diary()
    curator, rows.account = opened(rows)
    share = rows.account.rest("pure")
    for ask in (curator.counts, curator.sums):
        with pytest.raises((TypeError, AttributeError)):
            ask(cells, share=share)
    assert rows.account.entries == ()
    assert rows.read == []


def test_bad_queries_are_refused_before_the_charge():
    rows = Diary()
    curator, account = opened(rows)
    other = opened(Diary())[1]
    pure, gdp = account.rest("pure"), account.rest("gdp")
    bad = [
        (ValueError, "columns", lambda: curator.counts(Grid(3, 3), share=pure)),
        (ValueError, "another dataset", lambda: curator.counts(CELLS, share=other.rest("pure"))),
        (
            TypeError,
            "share of an account",
            lambda: curator.counts(CELLS, share=Share("pure", F(1))),
        ),
        (TypeError, "share of an account", lambda: curator.counts(CELLS, share=1.0)),
        (ValueError, "above 0", lambda: curator.counts(CELLS, share=account.rest("approximate"))),
        (ValueError, "pure share", lambda: curator.sums(CELLS, share=gdp, joint=True)),
        (ValueError, "radius", lambda: curator.sums(Grid(2, 2), share=pure, radius=5)),
        (ValueError, "whole number", lambda: curator.sums(CELLS, share=pure, radius=0)),
        (ValueError, "whole number", lambda: curator.sums(CELLS, share=pure, radius=1.5)),
        (
            ValueError,
            "fit",
            lambda: curator.sums(Nearest(np.zeros((MAX_NUMBERS // 2, 2))), share=pure),
        ),
    ]
    for kind, message, ask in bad:
        with pytest.raises(kind, match=message):
            ask()
    assert account.entries == ()
    assert rows.read == []


def test_an_epsilon_too_small_to_draw_noise_for_is_refused_before_the_charge():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=1e-12)
    account = curator.reserve("test", Caps(pure=F(1, 10**12)))
    for joint in (False, True):
        with pytest.raises(ValueError, match="epsilon"):
            curator.sums(CELLS, share=account.rest("pure"), joint=joint)
    assert account.entries == ()


def test_shares_of_two_accounts_do_not_buy_one_query():
    curator, account = opened(Diary())
    other = curator.reserve("other", Caps(pure=F(1)))
    with pytest.raises(ValueError, match="one account"):
        curator.sums(CELLS, share=account.rest("pure"), counts=other.rest("pure"))


def test_approximate_shares_buy_no_counts():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=1.0, delta=0.1)
    account = curator.reserve("test", Caps(approximate=(F(1), F(1, 100))))
    with pytest.raises(TypeError, match="approximate"):
        curator.counts(CELLS, share=account.rest("approximate"))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_curator_cannot_be_copied(how):
    with pytest.raises(TypeError, match="same budget twice"):
        how(curator_of(ROWS))


def test_a_durable_ledger_refuses_replayable_noise():
    class DurableLedger(Ledger):
        durable = True

    ledger = DurableLedger(F(1))
    for noise in (ReplayedNoise(1), NoNoise()):
        with pytest.raises(ValueError, match="secret noise"):
            Curator(ROWS, bounds=(0, 1), ledger=ledger, noise=noise)
    assert Curator(ROWS, bounds=(0, 1), ledger=ledger, noise=SecureNoise()).ledger is ledger


@pytest.mark.parametrize("settings", [{}, {"epsilon": 1.0, "ledger": Ledger(F(1))}])
def test_a_curator_has_one_budget(settings):
    with pytest.raises(ValueError, match="either"):
        Curator(ROWS, bounds=(0, 1), **settings)


def test_repr_shows_no_row():
    assert repr(curator_of(np.array([[0.123456, 2.654321]]))) == (
        "Curator(n_features=2, left=(10, 0.1))"
    )


def pieces(rows, cuts):
    """The same rows, handed over in blocks."""
    edges = [0, *sorted(c % (len(rows) + 1) for c in cuts), len(rows)]
    return [rows[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize("query", QUERIES_UNDER_LAW.values(), ids=QUERIES_UNDER_LAW.keys())
@given(cuts=st.lists(st.integers(0, 60), max_size=6), seed=st.integers(0, 99))
@example(cuts=[], seed=0)
@example(cuts=[1, 7, 7, 59], seed=1)
@settings(max_examples=40, deadline=None)
def test_any_order_and_any_cut_give_the_same_integers(query, cuts, seed):
    whole = ArrayRows(ROWS).fold(BOX, query)
    shuffled = np.random.default_rng(seed).permutation(ROWS)
    parts = [ArrayRows(piece).fold(BOX, query) for piece in pieces(shuffled, cuts)]
    np.testing.assert_array_equal(whole, sum(parts))


def test_joint_noise_answers_counts_and_sums_of_the_same_pass():
    curator = without_noise(ROWS)
    account = curator.reserve("test", Caps(pure=F(1)))
    (a, b) = account.rest("pure").evenly(2)
    joint = curator.sums(CELLS, share=a, joint=True)
    apart = curator.sums(CELLS, share=b.evenly(2)[0], counts=b.evenly(2)[1])
    np.testing.assert_array_equal(joint.sizes.values, apart.sizes.values)
    np.testing.assert_array_equal(joint.sums.values, apart.sums.values)
    assert joint.sizes.noise_std == pytest.approx(joint.sums.noise_std / REACH)
    assert apart.sizes.values.sum() == len(ROWS)
    with pytest.raises(ValueError, match="not asked for"):
        _ = curator_sums_only(curator).sizes


def curator_sums_only(curator):
    account = curator.reserve("more", Caps(pure=F(1)))
    return curator.sums(CELLS, share=account.rest("pure"))


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "cube"])
def test_the_stated_deviation_is_the_measured_one(kind):
    curator = curator_of(np.zeros((0, 2)), noise=ReplayedNoise(11))
    account = curator.reserve("test", Caps(pure=F(2), gaussian=(F(1), F(1, 1000))))
    grid = Grid(60, 2)
    share = account.rest("gdp" if kind == "gaussian" else "pure")
    a, b = share.evenly(2)
    if kind == "cube":
        totals = curator.sums(grid, share=a, joint=True)
    else:
        totals = curator.sums(grid, share=a, counts=b)
    for answer in (totals.sums, totals.sizes):
        assert answer.values.std() == pytest.approx(answer.noise_std, rel=0.1)


def test_nearest_cells_are_lattice_points_and_cannot_be_changed():
    cells = Nearest(np.array([[0.6, -1e9]]))
    assert cells.centers.tolist() == [[1, -REACH]]
    with pytest.raises(ValueError, match="read-only"):
        cells.centers[0, 0] = 5
    assert Nearest(CENTERS) == Nearest(CENTERS.astype(float))
    assert hash(Nearest(CENTERS)) == hash(Nearest(CENTERS))
    assert Counts(Nearest(CENTERS)) != Counts(Nearest(CENTERS + 1))
    for bad in (np.zeros(3), np.zeros((0, 2)), np.full((1, 2), np.nan)):
        with pytest.raises(ValueError, match="shape"):
            Nearest(bad)


def test_grids_too_large_are_refused_at_once_with_the_numbers():
    with pytest.raises(ValueError, match=r"1000 slices in 4 dimensions has 1000\^4 cells"):
        Grid(1000, 4)
    for bad in ((0, 2), (3, 0), (2 * REACH + 2, 1)):
        with pytest.raises(ValueError, match="a grid needs"):
            Grid(*bad)


def test_grid_centres_lie_in_their_own_cells():
    for per_axis in (1, 2, 3, 7, 64):
        grid = Grid(per_axis, 2)
        state = Counts(grid).empty()
        Counts(grid).add(np.rint(grid.centers()).astype(np.int16), state)
        assert (state == 1).all()
    assert Totals(grid).n_features == 2


def test_box_of_the_curator_is_public():
    assert curator_of(ROWS, nan="drop").box == Box(BOX.lower, BOX.upper, "drop")
