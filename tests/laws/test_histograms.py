"""Histograms of raw columns: what a row can move, what is charged when, what neighbours lose."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Ledger, Overspent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.histograms import BINNINGS, MOST_SLICES, EqualBins, Histogram, LogBins
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import ReplayedNoise
from sfumato._private_bounds.estimate import release_bounds
from sfumato.engines._memory import ArrayRows
from sfumato.engines._rows import Blocks
from tests.laws.harness import blobs, loss
from tests.no_noise import NoNoise

F = Fraction

BINNINGS_UNDER_LAW = {
    "half octaves": LogBins(2),
    "slices": EqualBins((0.0, -3.0), (1.0, 3.0), 7),
    "one slice": EqualBins((-1.0, 0.0), (1.0, 5e-324), 1),
    "as wide as float64": EqualBins((-1.7e308, -1e308), (1.7e308, 1.7e308), MOST_SLICES),
    "narrow": EqualBins((64.0, 1e-308), (64.0 + 2**-40, 3e-308), 4096),
    "one column of two": EqualBins((None, -3.0), (None, 3.0), 5),
}
binnings = pytest.mark.parametrize(
    "binning", BINNINGS_UNDER_LAW.values(), ids=BINNINGS_UNDER_LAW.keys()
)

EDGES = [0.0, -0.0, 1.0, -3.0, 3.0, 5e-324, 2.3e-308, -1.7e308, 64.0, math.nan, math.inf, -math.inf]
cell = st.one_of(st.floats(width=64), st.sampled_from(EDGES), st.floats(-4, 4))
row = st.tuples(cell, cell)
# Every edge next to every third other one.
ODD = [(x, EDGES[(3 * i + 1) % len(EDGES)]) for i, x in enumerate(EDGES)]


def exact(binning, rows):
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    codes = np.empty(table.shape, dtype=np.int16)
    assert binning.write_lattice(table, codes).all()
    state = Histogram(binning).empty()
    Histogram(binning).add(codes, state)
    return state


def moved(binning, rows, more):
    """(L1, L2 squared) of what some rows change."""
    change = [int(x) for x in (exact(binning, [*rows, *more]) - exact(binning, rows)).ravel()]
    return sum(map(abs, change)), sum(x * x for x in change)


def test_every_binning_is_under_law():
    assert {type(binning) for binning in BINNINGS_UNDER_LAW.values()} == set(BINNINGS)


@binnings
@given(rows=st.lists(row, max_size=6), extra=row)
@example(rows=[], extra=(0.0, 0.0))
@example(rows=ODD[:6], extra=(1.0, -1.0))
@example(rows=ODD[6:], extra=(math.nan, 5e-324))
@settings(max_examples=50, deadline=None)
def test_one_row_moves_one_bin_of_each_column_at_most(binning, rows, extra):
    declared = Histogram(binning).sensitivity()
    l1, l2_squared = moved(binning, rows, [extra])
    columns = 1 if binning is BINNINGS_UNDER_LAW["one column of two"] else 2
    assert l1 <= declared.l1 == columns
    assert l2_squared <= declared.l2_squared == columns
    if isinstance(binning, LogBins):
        assert l1 == sum(map(math.isfinite, extra))


@binnings
@given(rows=st.lists(row, max_size=4), group=st.lists(row, max_size=5))
@example(rows=ODD[:4], group=[(0.5, 0.5)] * 5)
@example(rows=[], group=ODD[4:9])
@settings(max_examples=50, deadline=None)
def test_a_group_moves_no_more_than_its_rows_together(binning, rows, group):
    declared = Histogram(binning).sensitivity().times(len(group))
    l1, l2_squared = moved(binning, rows, group)
    assert l1 <= declared.l1
    assert l2_squared <= declared.l2_squared


@binnings
def test_exhaustively_on_all_kinds_of_cells(binning):
    declared = Histogram(binning).sensitivity()
    inside = binning.lower if isinstance(binning, EqualBins) else (1.0, -1.0)
    inside = tuple(cell or 0.0 for cell in inside)
    rows = [*product(EDGES, repeat=2), inside]
    changes = [moved(binning, rows[:3], [extra]) for extra in rows]
    assert max(changes) == (declared.l1, declared.l2_squared), "the declared change is reached"
    twice = moved(binning, [], [inside] * 3)
    assert twice == (3 * declared.l1, 9 * declared.l2_squared), "and by groups"


@binnings
@given(rows=st.lists(row, min_size=1, max_size=30))
@example(rows=ODD)
@example(rows=ODD[::-1] * 2)
@settings(max_examples=50, deadline=None)
def test_the_bin_of_a_cell_depends_on_that_cell_alone(binning, rows):
    table = np.array(rows)
    together = np.empty(table.shape, dtype=np.int16)
    binning.write_lattice(table, together)
    for i in range(len(table)):
        alone = np.empty((1, 2), dtype=np.int16)
        binning.write_lattice(table[i : i + 1].copy(), alone)
        np.testing.assert_array_equal(alone[0], together[i])


@pytest.mark.parametrize("binning", [LogBins(2), EqualBins((-1.0, -2.0), (1.0, 2.0), 50)])
def test_any_order_any_cut_and_any_number_of_threads_give_the_same_integers(binning, monkeypatch):
    rows = np.vstack([blobs(3000), [[np.inf, 0.1], [-0.0, 1e-310]]])
    whole = ArrayRows(rows).fold(binning, Histogram(binning))
    np.testing.assert_array_equal(whole, exact(binning, rows))
    shuffled = np.random.default_rng(1).permutation(rows)
    np.testing.assert_array_equal(ArrayRows(shuffled).fold(binning, Histogram(binning)), whole)
    for cut in (1, 7, 1024):
        parts = [rows[i : i + cut] for i in range(0, len(rows), cut)]
        source = Blocks(lambda parts=parts: iter(parts), 2)
        np.testing.assert_array_equal(ArrayRows(source).fold(binning, Histogram(binning)), whole)
    monkeypatch.setenv("SFUMATO_THREADS", "3")
    np.testing.assert_array_equal(ArrayRows(rows).fold(binning, Histogram(binning)), whole)


class Remembering(HistogramCurator):
    """Keeps what it was asked and answered; given a transcript, it releases the same again."""

    def __init__(self, rows, *, replay=None, noise=None, **settings):
        super().__init__(rows, ledger=Ledger(F(10)), noise=noise or ReplayedNoise(7), **settings)
        self.queries, self.steps, self.answers, self.replay = [], [], [], replay
        self._data.__class__ = self.data_class()

    def histogram(self, binning, *, share):
        self.queries.append(binning)
        answer = super().histogram(binning, share=share)
        self.answers.append(answer.values)
        return answer

    def data_class(self):
        curator = self

        class Remembered(PrivateData):
            def perturb(self, mechanism, exact):
                released = super().perturb(mechanism, exact)
                if curator.replay is not None:
                    released = curator.replay[len(curator.steps)][2]
                curator.steps.append((mechanism, exact, released))
                return released

        return Remembered


ROWS = blobs(2000) * [1.0, 1e5]
WIDE = np.vstack([ROWS, [[0.4, 1e5]]])
AWAY = np.array([4000.0, -7e7])
"""So far from 0 that all of a column is of one size."""

NEIGHBOURS = {
    "inside": (ROWS, WIDE),
    "inside, of one size": (ROWS + AWAY, WIDE + AWAY),
    "inside, one column of one size": (ROWS + AWAY * [0, 1], WIDE + AWAY * [0, 1]),
    "outside, of one size": (ROWS + AWAY, np.vstack([ROWS + AWAY, [[-1.0, 4100.0]]])),
    "far outside": (ROWS, np.vstack([[[1e300, -1e300]], ROWS])),
    "not a number": (ROWS, np.vstack([ROWS, [[np.nan, np.inf]]])),
    "half a row": (ROWS, np.vstack([ROWS, [[np.nan, 0.0]]])),
    "one of many twins": (np.full((900, 2), 3.25), np.full((901, 2), 3.25)),
    "first row": (np.zeros((0, 2)), np.array([[17.0, -17.0]])),
    "a lone size": (ROWS, np.vstack([ROWS, [[1e-200, -1e200]]])),
}


def check_replay(one, other, epsilon):
    """Buy on `one`, replay on `other`: the same queries, noise and bounds, no answer too dear."""
    bounds = release_bounds(one, epsilon)
    other.replay = one.steps
    again = release_bounds(other, epsilon)
    assert one.queries == other.queries
    assert (bounds.lower, bounds.upper, bounds.notes) == (again.lower, again.upper, again.notes)
    assert [step[0] for step in one.steps] == [step[0] for step in other.steps]
    for ours, theirs, (_, _, released) in zip(one.answers, other.answers, one.steps, strict=True):
        np.testing.assert_array_equal(ours, released, "nothing but what was released is seen")
        np.testing.assert_array_equal(theirs, released)
    losses = [
        loss(law, out, mine, theirs)
        for (law, mine, out), (_, theirs, _) in zip(one.steps, other.steps, strict=True)
    ]
    charges = [entry.share.amount for entry in bounds.account.entries]
    assert len(losses) == len(charges)
    for lost, charge in zip(losses, charges, strict=True):
        assert lost <= charge
    assert sum(charges) == epsilon
    assert one.ledger.spent == (epsilon, 0)
    return sum(losses)


@pytest.mark.parametrize("epsilon", [F(1), F(1, 3), F(7)])
@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_no_answer_loses_more_than_it_was_charged(pair, epsilon):
    smaller, larger = pair
    check_replay(Remembering(smaller), Remembering(larger), epsilon)
    check_replay(Remembering(larger), Remembering(smaller), epsilon)


@pytest.mark.parametrize(
    ("away", "queries"), [(AWAY, 3), (AWAY * [0, 1], 3), (AWAY * [1, 0], 3), (0 * AWAY, 2)]
)
def test_the_charge_is_used_up_by_the_worst_neighbour(away, queries):
    """No more noise than the guarantee needs: a row inside every range loses the whole charge."""
    one = Remembering(ROWS + away)
    assert check_replay(one, Remembering(WIDE + away), F(1)) == 1
    assert len(one.queries) == queries


@pytest.mark.parametrize("most", [1, 3, 20])
def test_a_whole_group_loses_no_more_than_was_charged(most):
    rows = np.vstack([ROWS, np.tile([[0.4, 1e5]], (30, 1))]) + AWAY
    labels = np.append(np.arange(len(ROWS)), np.full(30, -7))
    keep = labels != -7
    with_group = Remembering(rows, groups=labels, max_rows_per_group=most)
    without = Remembering(rows[keep], groups=labels[keep], max_rows_per_group=most)
    # All of the first answer, whatever the ranges of the others.
    assert F(7, 10) <= check_replay(with_group, without, F(1)) <= 1
    assert with_group.steps[0][0].scale == most * 2 / F(7, 10)
    assert len(with_group.steps) == 3


class Diary:
    """Rows that write down when they are read, and what was charged by then."""

    n_features = 2
    max_rows_per_group = None

    def __init__(self, ledger, fail=False):
        self.ledger, self.fail, self.read = ledger, fail, []

    def fold(self, box, kernel):
        self.read.append(sum(len(account.entries) for account in self.ledger.accounts))
        if self.fail:
            raise OSError("the disk is gone")
        counts = kernel.empty()
        counts[:, -1] += 10**6
        return counts

    def split(self, box, parts, key):
        raise AssertionError("no query splits rows")


def test_every_query_is_charged_before_a_row_is_read():
    ledger = Ledger(F(2))
    rows = Diary(ledger)
    curator = HistogramCurator(rows, ledger=ledger)
    assert rows.read == []
    bounds = release_bounds(curator, F(2))
    assert rows.read == [1, 2, 3]
    assert all(entry.released for entry in bounds.account.entries)
    with pytest.raises(Overspent):
        release_bounds(curator, F(1))
    assert len(rows.read) == 3


def test_a_query_that_fails_still_costs():
    ledger = Ledger(F(2))
    with pytest.raises(OSError, match="gone"):
        release_bounds(HistogramCurator(Diary(ledger, fail=True), ledger=ledger), F(1))
    assert ledger.spent == (1, 0)
    (account,) = ledger.accounts
    assert [entry.released for entry in account.entries] == [False]


class Thief(LogBins):
    """A binning of somebody else's, which could keep the rows that it is shown."""


@pytest.mark.parametrize(
    ("binning", "error"),
    [
        (Thief(2), TypeError),
        (object(), TypeError),
        (LogBins(3), ValueError),
        (EqualBins((0.0,), (1.0,), 4), ValueError),
    ],
)
def test_foreign_and_unfitting_binnings_are_refused_before_the_charge(binning, error):
    ledger = Ledger(F(2))
    rows = Diary(ledger)
    curator = HistogramCurator(rows, ledger=ledger)
    share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
    with pytest.raises(error):
        curator.histogram(binning, share=share)
    elsewhere = Ledger(F(2)).reserve("test", Caps(pure=F(1))).rest("pure")
    with pytest.raises(ValueError, match="another dataset"):
        curator.histogram(LogBins(2), share=elsewhere)
    assert rows.read == []
    assert share.account.entries == ()


def test_too_many_columns_and_noise_that_cannot_be_drawn_cost_nothing():
    ledger = Ledger(F(1))
    rows = Diary(ledger)
    rows.n_features = 6000
    with pytest.raises(ValueError, match="at most 20,000,000 fit"):
        release_bounds(HistogramCurator(rows, ledger=ledger), F(1))
    tiny = F(1, 10**30)
    with pytest.raises(ValueError):
        release_bounds(HistogramCurator(Diary(ledger), ledger=ledger), tiny)
    assert rows.read == []
    assert ledger.spent == (0, 0)


def test_every_bin_gets_noise_and_nothing_but_the_noisy_counts_decides():
    """Rows whose noisy answers agree get the same bounds, whatever else they hold."""
    one = Remembering(ROWS, noise=NoNoise())
    other = Remembering(ROWS[::-1].copy(), noise=NoNoise())
    assert release_bounds(one, F(1)).lower == release_bounds(other, F(1)).lower
    noisy = Remembering(ROWS)
    release_bounds(noisy, F(1))
    for law, before, after in noisy.steps:
        assert after.shape == before.shape
        # Laplace noise of this scale is 0 less often than once in 2·scale draws.
        assert (after != before).mean() > 1 - 1 / float(law.scale)
