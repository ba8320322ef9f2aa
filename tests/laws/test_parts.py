"""Parts side by side: a row moves the answers about one part alone, and all cost as the dearest."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import Counts, Grid
from tests.engines.same import check_answers
from tests.laws.harness import BOX, BUDGETS, blobs, exact, loss
from tests.laws.parted import (
    KINDS,
    SPELLED,
    VALUES,
    in_part,
    labels_for,
    parts_of,
    run_all,
    table_of,
)
from tests.no_noise import NoNoise

ROWS = blobs(90)
LABELS = labels_for(len(ROWS))
ASKED = ["pure", "third", "approximate", "gaussian"]

CORNER, OUTSIDE, NOTHING = [1.0, 3.0], [1e9, -1e9], [np.nan, np.inf]


def grown(row, label, place):
    """A neighbour with one row more."""
    rows = np.insert(ROWS, place, row, axis=0)
    return rows, [*LABELS[:place], label, *LABELS[place:]]


def ran(kind, rows, labels, method, folder, patch, replay=None):
    """All parts, fitted one after the other, with the accounts of each; and the whole ledger."""
    table, column = table_of(kind, rows, labels, folder, patch)
    ledger, parts = parts_of(table, column, replay=replay)
    return ledger, parts, run_all(parts, method, ASKED)


def check_moved(one, other, values):
    """Only answers about these parts moved, and none by more than it was charged.

    Returns what was lost of all charges to each of these parts.
    """
    (ledger, ours, accounts), (again, theirs, _) = one, other
    lost = {}
    for value in VALUES:
        mine, there = ours[value].transcript, theirs[value].transcript
        assert mine.queries == there.queries
        assert mine.mechanisms == there.mechanisms
        if value not in values:
            check_answers(mine.exact, there.exact)
            continue
        steps = zip(mine.mechanisms, mine.released, mine.exact, there.exact, strict=True)
        losses = [loss(*step) for step in steps]
        for loses, entry in zip(losses, accounts[value].entries, strict=True):
            assert loses <= entry.share.amount
        lost[value] = sum(losses, Fraction(0))
    caps = [account.caps for account in accounts.values()]
    dearest = (max(cap.epsilon for cap in caps), max(cap.delta for cap in caps))
    assert ledger.spent == again.spent == dearest
    assert dearest[0] == max(BUDGETS[name][0] for name in ASKED)
    return lost


@pytest.mark.parametrize("method", ["auto", "dplloyd", "eugkm", "gkm"])
@given(
    st.sampled_from([CORNER, OUTSIDE, NOTHING, [0.5, 0.0]]),
    st.sampled_from(SPELLED),
    st.integers(0, len(ROWS)),
)
@example(CORNER, "north", 0)
@example(CORNER, " south", 90)
@example(CORNER, "7.0", 45)
@example(CORNER, "east", 90)
@example(CORNER, None, 0)
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_row_moves_its_own_part_and_no_other(method, tmp_path, row, label, place):
    with pytest.MonkeyPatch.context() as patch:
        one = ran("pandas", ROWS, LABELS, method, tmp_path, patch)
        larger = ran("pandas", *grown(row, label, place), method, tmp_path, patch, one[1])
        home = [value for value in VALUES if in_part([label], value).any()]
        check_moved(one, larger, home)
        larger = ran("pandas", *grown(row, label, place), method, tmp_path, patch)
        smaller = ran("pandas", ROWS, LABELS, method, tmp_path, patch, larger[1])
        check_moved(larger, smaller, home)


@pytest.mark.parametrize("label", ["north", "south", "7.0", "east", None])
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_moves_its_own_part_on_every_table(kind, label, tmp_path, monkeypatch):
    one = ran(kind, ROWS, LABELS, "dplloyd", tmp_path, monkeypatch)
    more = grown(CORNER, label, 45)
    other = ran(kind, *more, "dplloyd", tmp_path, monkeypatch, one[1])
    home = [value for value in VALUES if in_part([label], value).any()]
    lost = check_moved(one, other, home)
    assert all(lost.values()), "the corner moves sums"


def test_a_row_that_moves_between_parts_is_two_neighbours(tmp_path, monkeypatch):
    """Taken out of one part and put into another: each loses what it paid, no other anything."""
    one = ran("pandas", *grown(CORNER, "north", 45), "dplloyd", tmp_path, monkeypatch)
    moved = grown(CORNER, "south", 45)
    other = ran("pandas", *moved, "dplloyd", tmp_path, monkeypatch, one[1])
    lost = check_moved(one, other, ["north", "south"])
    assert lost["north"] > 0
    assert lost["south"] > 0
    empty = ran("pandas", ROWS, LABELS, "dplloyd", tmp_path, monkeypatch, one[1])
    assert check_moved(one, empty, ["north"])["north"] == lost["north"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_the_list_is_in_one_part(kind, tmp_path, monkeypatch):
    table, column = table_of(kind, ROWS, LABELS, tmp_path, monkeypatch)
    _, parts = parts_of(table, column, noise=NoNoise())
    caps, grid = Caps(pure=Fraction(1)), Grid(5, 2)
    found = [p.counts(grid, share=p.reserve("law", caps).rest("pure")) for p in parts.values()]
    inside = np.any([in_part(LABELS, value) for value in VALUES], axis=0)
    expected = exact(Counts(grid), BOX.to_lattice(ROWS[inside]))
    np.testing.assert_array_equal(sum(answer.values for answer in found), expected)
