"""Rows per group: what a whole group can move, what is charged when, and what neighbours lose."""

from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from itertools import count

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato import Curator
from sfumato._accounting.budget import Caps, Ledger, Overspent
from sfumato._base.labels import key_of
from sfumato._core.queries.group_sizes import MOST, SIZES, GroupSizes
from sfumato._core.queries.projection import Projection
from sfumato._core.releases.group_sizes import SLICE
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import RecordingCurator, ReplayedNoise, loss
from sfumato.engines._files import open_file
from sfumato.engines._memory import ArrayRows
from tests.laws.sources import HOSTILE, KINDS, SPELLINGS, write_parquet, write_text
from tests.no_noise import NoNoise
from tests.unit.cuts import tiny

F = Fraction
QUERY = GroupSizes(2)
FEW = GroupSizes(2, (1, 3, 6))
MANY = [1, 2, 5, 9, 40, 1024, 1500]
"""Rows of the person who comes or goes."""


def by_definition(labels, query=QUERY):
    """Count groups one by one."""
    found = [0] * len(query.edges)
    for rows in Counter(map(key_of, labels)).values():
        found[min(bisect_left(query.edges, rows), len(found) - 1)] += 1
    return found


def in_memory(labels, most=1):
    return ArrayRows(np.ones((len(labels), 2)), groups=labels, max_rows_per_group=most)


def check_one_group(before, after):
    """One bin has one group more, whatever the group."""
    moved = np.asarray(after) - before
    assert sorted(moved.tolist()) == [0] * (len(moved) - 1) + [1]


BASE = [str(i) for i in range(30)] * 2 + ["", "NA", "7.0", "ann", "ann ", " ann"] + ["bob"] * 70


@given(
    st.lists(st.sampled_from(["1", "2", "x", "", "nan", "7", "7.0"]), max_size=40),
    st.integers(1, 60),
    st.randoms(use_true_random=False),
)
@example(BASE, 9, None)
@example([], 1, None)
@example([""] * 9, 3, None)
@settings(max_examples=50, deadline=None)
def test_a_group_more_moves_one_count_by_one(labels, rows, shuffle):
    grown = [*labels, *["somebody else"] * rows]
    if shuffle is not None:
        shuffle.shuffle(grown)
    for query in (QUERY, FEW):
        before, after = (query.count(in_memory(each)) for each in (labels, grown))
        assert before.tolist() == by_definition(labels, query)
        assert after.tolist() == by_definition(grown, query)
        check_one_group(before, after)
        assert np.abs(after - before).sum() == query.sensitivity().l1


@pytest.mark.parametrize("rows", MANY)
def test_of_any_number_of_rows(rows):
    for query in (QUERY, FEW):
        before = query.count(in_memory(BASE))
        check_one_group(before, query.count(in_memory([*BASE, *["new"] * rows])))
        without_label = [label for label in BASE if key_of(label)]
        before = query.count(in_memory(without_label))
        check_one_group(before, query.count(in_memory([*without_label, *[None, "", "NA"] * rows])))


@pytest.mark.parametrize("most", [1, 3, 50])
def test_all_rows_of_a_group_count_whatever_is_kept_of_it(most):
    np.testing.assert_array_equal(QUERY.count(in_memory(BASE, most)), by_definition(BASE))
    frame = pd.DataFrame({"a": np.nan, "b": np.arange(len(BASE)), "who": BASE})
    curator = Curator(
        frame,
        bounds=(0, 9),
        nan="drop",
        groups="who",
        max_rows_per_group=most,
        epsilon=2.0,
        noise=NoNoise(),
    )
    share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
    answer = curator.group_sizes(QUERY, share=share)
    assert answer.values.tolist() == by_definition(BASE)


def read_both_ways(file, groups="who"):
    """Sizes of groups of a file, kept in memory and in many small pieces."""
    whole = QUERY.count(open_file(file, groups=groups))
    with tiny():
        rows = open_file(file, groups=groups)
        pieces = QUERY.count(rows)
        assert rows._engine.n_parts > 1
    np.testing.assert_array_equal(whole, pieces)
    return whole


@pytest.mark.parametrize("kind", ["csv", "tsv", "folder"])
def test_a_person_more_in_a_text_file(kind, tmp_path):
    """Anything in the cells, and rows that lie in several pieces and files."""
    hostile = [cell for cell in HOSTILE if len(cell) < 10_000]
    folders = (tmp_path / str(i) for i in count())
    base = [("1", "2", who) for who in BASE]
    before = read_both_ways(write_text(next(folders), kind, base, cut=50))
    assert before.tolist() == by_definition(BASE)
    for person, spelled in SPELLINGS.items():
        if person in ("7", "missing", "ann"):
            continue
        new = [(cell, "3", spelled[i % len(spelled)]) for i, cell in enumerate(hostile)]
        grown = [row for pair in zip(base, new, strict=False) for row in pair]
        grown += base[len(new) :]
        check_one_group(before, read_both_ways(write_text(next(folders), kind, grown, cut=50)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_person_more_in_files_of_unlike_types(kind, tmp_path):
    ids = [*range(9), 3, 3, None] * 2
    more = [*ids, *[77] * 5]
    for name, own in (("before", ids), ("after", more)):
        tables = [
            (np.ones((len(ids), 2)), KINDS["int64"](ids)),
            (np.ones((len(own), 2)), KINDS[kind](own)),
        ]
        found = read_both_ways(write_parquet(tmp_path / name, tables))
        assert found.tolist() == by_definition([*ids, *own])
        if name == "before":
            before = found
    check_one_group(before, found)


ROWS = np.random.default_rng(3).uniform(size=(600, 2))
LABELS = np.repeat(np.arange(120), 5)


def opened(rows=ROWS, labels=LABELS, *, replay=None, epsilon=2.0, most="private", noise=None):
    """A curator that remembers; with `replay`, one that releases the same again."""

    class Replaying(RecordingCurator):
        class _data_type(RecordingCurator._data_type):  # noqa: N801
            def __init__(self, *args):
                super().__init__(*args)
                self.transcript.replay = replay

    return Replaying(
        rows,
        bounds=(0, 1),
        epsilon=epsilon,
        groups=labels,
        max_rows_per_group=most,
        noise=noise or ReplayedNoise(5),
    )


@pytest.mark.parametrize("rows", MANY)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_a_neighbour_gets_the_same_number_and_loses_what_was_charged(rows, epsilon):
    one = opened(epsilon=epsilon)
    more = np.vstack([ROWS, np.full((rows, 2), 0.5)]), np.append(LABELS, [999] * rows)
    other = opened(*more, replay=one.transcript, epsilon=epsilon)
    assert one.transcript.queries == other.transcript.queries == [QUERY]
    assert one.transcript.mechanisms == other.transcript.mechanisms
    assert (one.notes, one.neighbours) == (other.notes, other.neighbours)
    assert one.rows_per_neighbour == other.rows_per_neighbour
    (law,), (released,) = one.transcript.mechanisms, one.transcript.released
    (mine,), (theirs,) = one.transcript.exact, other.transcript.exact
    charged = F(str(epsilon)) * SLICE
    assert loss(law, released, mine, theirs) == charged, "all of it, and no more"
    assert one.ledger.spent == other.ledger.spent == (charged, 0)


@pytest.mark.parametrize("most", [1, 3, 200])
def test_the_noise_is_that_of_one_group_whatever_its_rows(most):
    curator = opened(most=most)
    share = curator.reserve("test", Caps(pure=F(1, 2))).rest("pure")
    curator.group_sizes(QUERY, share=share)
    assert [law.scale for law in curator.transcript.mechanisms] == [2]
    (entry,) = share.account.entries
    assert (entry.query, entry.chapter) == ("rows per group", "Rows per group")


def test_a_view_has_the_groups_of_its_rows():
    curator = opened(most=3, noise=NoNoise())
    view = curator.view(Projection(np.array([[1, 2]]), np.zeros(2, dtype=int), 1))
    share = curator.reserve("test", Caps(pure=F(1, 2))).rest("pure")
    assert view.group_sizes(GroupSizes(1), share=share).values.tolist() == by_definition(LABELS)
    with pytest.raises(ValueError, match="2 columns"):
        view.group_sizes(QUERY, share=share)


class Diary:
    """Rows that write down when their groups are counted, and what was charged by then."""

    n_features = 2
    max_rows_per_group = 1

    def __init__(self, ledger, fail=False):
        self.ledger, self.fail, self.read, self.kept = ledger, fail, [], []

    def group_sizes(self, most):
        self.read.append(sum(len(account.entries) for account in self.ledger.accounts))
        if self.fail:
            raise OSError("the disk is gone")
        return np.full(most, 10**6)

    def keeping(self, max_rows):
        self.kept.append(max_rows)
        return self

    def fold(self, box, kernel):
        raise AssertionError("no query folds rows")

    split = fold


OPENERS = {
    "a curator": lambda rows, ledger: Curator(
        rows, bounds=(0, 1), max_rows_per_group="private", ledger=ledger
    ),
    "before a fit": lambda rows, ledger: HistogramCurator(rows, ledger=ledger).choose_max_rows(),
}


@pytest.mark.parametrize("opener", OPENERS)
def test_groups_are_counted_after_the_charge(opener):
    ledger = Ledger(F(2))
    rows = Diary(ledger)
    OPENERS[opener](rows, ledger)
    assert rows.read == [1]
    assert ledger.spent == (2 * SLICE, 0)
    (account,) = ledger.accounts
    assert [entry.released for entry in account.entries] == [True]


@pytest.mark.parametrize("opener", OPENERS)
def test_what_fails_still_costs(opener):
    ledger = Ledger(F(2))
    with pytest.raises(OSError, match="gone"):
        OPENERS[opener](Diary(ledger, fail=True), ledger)
    assert ledger.spent == (2 * SLICE, 0)
    (account,) = ledger.accounts
    assert [entry.released for entry in account.entries] == [False]


@pytest.mark.parametrize("opener", OPENERS)
def test_too_little_budget_reads_nothing(opener):
    ledger = Ledger(F(2))
    ledger.reserve("others", Caps(pure=F(39, 20)))
    rows = Diary(ledger)
    with pytest.raises(Overspent, match="max_rows_per_group"):
        OPENERS[opener](rows, ledger)
    tiny_ledger = Ledger(F(1, 10**30))
    with pytest.raises(ValueError):
        OPENERS[opener](rows, tiny_ledger)
    assert rows.read == []
    assert tiny_ledger.spent == (0, 0)


class Thief(GroupSizes):
    """A query of somebody else's, which could keep the rows that it is shown."""


def test_what_is_no_query_is_refused_before_the_charge():
    ledger = Ledger(F(2))
    rows = Diary(ledger)
    curator = Curator(rows, bounds=(0, 1), ledger=ledger)
    share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
    for query, error in ((Thief(2), TypeError), (object(), TypeError), (GroupSizes(3), ValueError)):
        with pytest.raises(error):
            curator.group_sizes(query, share=share)
    elsewhere = Ledger(F(2)).reserve("test", Caps(pure=F(1))).rest("pure")
    with pytest.raises(ValueError, match="another dataset"):
        curator.group_sizes(QUERY, share=elsewhere)
    alone = Curator(ROWS, bounds=(0, 1), ledger=ledger)
    with pytest.raises(ValueError, match="need groups"):
        alone.group_sizes(QUERY, share=share)
    assert rows.read == []
    assert share.account.entries == ()


@pytest.mark.parametrize("edges", [(), (0, 1), (1, 1), (2, 1), (1, MOST + 1)])
def test_edges_must_ascend(edges):
    with pytest.raises(ValueError, match="must ascend"):
        GroupSizes(2, edges)


@pytest.mark.parametrize("edges", [[1, 2], (1.0, 2), (True, 2), "12"])
def test_edges_are_whole_numbers(edges):
    with pytest.raises(TypeError, match="whole numbers"):
        GroupSizes(2, edges)


def test_the_sizes_are_public():
    assert SIZES[:12] == (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
    assert SIZES[-5:] == (512, 640, 768, 896, 1024)
    assert len(SIZES) == 36
