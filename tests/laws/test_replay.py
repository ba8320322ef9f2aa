"""A run replayed on a neighbour asks the same, scales its noise the same, loses what it paid."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.testing import ReplayedNoise
from sfumato.methods import DPLloyd, Sukpisit
from tests.laws.harness import PAYABLE, blobs, curator_of, loss, run

ROWS = blobs()
NOISES = ("cube", "laplace", "gaussian")

NEIGHBOURS = {
    "corner": (ROWS, np.vstack([ROWS, [[1.0, 3.0]]])),
    "far outside": (ROWS, np.vstack([[[1e9, -1e9]], ROWS])),
    "half a row": (ROWS, np.vstack([ROWS, [[np.nan, 3.0]]])),
    "not a number": (ROWS, np.vstack([ROWS, [[np.nan, np.inf]]])),
    "one of many twins": (np.repeat(ROWS[:1], 50, axis=0), np.repeat(ROWS[:1], 51, axis=0)),
    "first row": (np.zeros((0, 2)), np.array([[0.0, -3.0]])),
    "lone cluster": (ROWS[ROWS[:, 1] < 0], np.vstack([ROWS[ROWS[:, 1] < 0], [[0.5, 3.0]]])),
}


SLOW = pytest.mark.slow


def check_replay(one, other, method, budget):
    """Run on `one`, replay on `other`, and compare query by query."""
    account, centers = run(one, method, budget=budget)
    other.replay = one.transcript
    _, again = run(other, method, budget=budget)
    np.testing.assert_array_equal(centers.points, again.points)
    np.testing.assert_array_equal(centers.sizes, again.sizes)
    return check_transcripts(one, other, account)


def check_transcripts(one, other, account):
    """Compare two transcripts query by query; returns what was lost and what was charged."""
    ours, theirs = one.transcript, other.transcript
    assert ours.queries == theirs.queries
    assert ours.mechanisms == theirs.mechanisms
    losses = [
        loss(*step)
        for step in zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
    ]
    charges = [e.share.amount for e in account.entries]
    assert len(losses) == len(charges)
    for lost, charge in zip(losses, charges, strict=True):
        assert lost <= charge
    return sum(losses, Fraction(0)), sum(charges, Fraction(0))


@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
@pytest.mark.parametrize(("method", "budget"), PAYABLE)
@pytest.mark.parametrize(
    "nan", ["ignore", pytest.param("center", marks=SLOW), pytest.param("drop", marks=SLOW)]
)
def test_no_answer_loses_more_than_it_was_charged(method, pair, budget, nan):
    smaller, larger = (curator_of(rows, nan=nan) for rows in pair)
    check_replay(smaller, larger, method, budget)
    smaller, larger = (curator_of(rows, nan=nan) for rows in pair)
    check_replay(larger, smaller, method, budget)


@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
@pytest.mark.parametrize("schedule", ["uniform", "halving", "increasing"])
@pytest.mark.parametrize("noise", NOISES)
def test_every_noise_and_schedule_of_dplloyd(noise, schedule, pair):
    method = DPLloyd(iterations=4, noise=noise, schedule=schedule)
    check_replay(*(curator_of(rows) for rows in pair), method, "approximate")


@pytest.mark.parametrize("method", [Sukpisit(), *(DPLloyd(noise=n) for n in NOISES)], ids=str)
def test_the_charge_is_used_up_by_the_worst_neighbour(method):
    """No more noise than the guarantee needs: a corner row loses what was charged."""
    corner = np.vstack([ROWS, [[1.0, 3.0]]])
    lost, charged = check_replay(curator_of(ROWS), curator_of(corner), method, "approximate")
    assert lost > charged * Fraction(99, 100)


GROUPS = np.arange(len(ROWS)) % 40


@pytest.mark.parametrize("most", [1, 3, 20])
@pytest.mark.parametrize(("method", "budget"), PAYABLE)
def test_a_whole_group_loses_no_more_than_was_charged(method, most, budget):
    rows = np.vstack([ROWS, np.tile([[1.0, 3.0]], (30, 1))])
    labels = np.append(GROUPS, np.full(30, 99))
    with_group = curator_of(rows, groups=labels, max_rows_per_group=most)
    keep = labels != 99
    without = curator_of(rows[keep], groups=labels[keep], max_rows_per_group=most)
    lost, charged = check_replay(with_group, without, method, budget)
    assert 0 < lost <= charged


def test_a_group_of_m_rows_needs_the_noise_for_m_rows():
    one, many = (
        curator_of(ROWS, groups=GROUPS, max_rows_per_group=m, noise=ReplayedNoise(1))
        for m in (1, 6)
    )
    for curator in (one, many):
        run(curator, "dplloyd")
    scales = [c.transcript.mechanisms[0].scale for c in (one, many)]
    assert scales[1] == 6 * scales[0]
