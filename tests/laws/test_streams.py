"""Laws of streams: one row more or less in one batch loses what that batch was charged.

Given the same answers, a stream whose batches hold any other rows asks the same and leaves the
same. The batches that a neighbour does not differ in lose nothing.
"""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import PrivateKMeans
from sfumato._core.testing import loss
from tests.laws.harness import BOX, BUDGETS, blobs
from tests.laws.watching import check_alike, left_by

BATCHES = [np.clip(np.nan_to_num(blobs(n, seed=n)), BOX.lower, BOX.upper) for n in (200, 150, 120)]
STREAM = [*BATCHES, np.zeros((0, 2))]
CORNER, MISSING, HALF, FAR = [[1.0, 3.0]], [[np.nan, np.inf]], [[0.5, np.nan]], [[1e9, -1e9]]
ONE_BATCH_MORE = {"corner": CORNER, "half a row": HALF, "far outside": FAR, "missing": MISSING}
STRANGERS = {"no row": BATCHES[0][:0], "one row": BATCHES[0][:1], "one value": np.full((9, 2), 0.5)}

batches = pytest.mark.parametrize("where", range(len(STREAM)))
budgets = pytest.mark.parametrize("budget", ["pure", "approximate"])


def exchanged(stream, where, rows):
    """The stream with other rows in one batch."""
    return [rows if i == where else batch for i, batch in enumerate(stream)]


@pytest.fixture
def check(watch, tmp_path):
    """Take a stream in, take others in on the same answers, and compare.

    Returns what each batch of each of the others lost, and what it was charged; nothing where the
    others need only look `alike`.
    """

    def check(stream, others, *, budget="pure", groups=None, alike=False, **settings):
        epsilon, delta = BUDGETS[budget]
        given = {"bounds": (BOX.lower, BOX.upper), "random_state": 1, "n_clusters": 3, **settings}

        def taken(batches, labels=None):
            model = PrivateKMeans(epsilon=float(epsilon), delta=float(delta), **given)
            for number, rows in enumerate(batches):
                model.partial_fit(rows, groups=None if labels is None else labels[number])
            return left_by(model, tmp_path / "model.json")

        one, found = watch(taken, stream, groups), []
        for other in others:
            rows, labels = other if groups is not None else (other, None)
            again = watch(taken, rows, labels, replay=one)
            check_alike(one, again)
            if not alike:
                pairs = zip(one.curators, again.curators, strict=True)
                found.append([lost_by(*pair) for pair in pairs])
        return found

    return check


def lost_by(one, other):
    """What a batch lost, answer by answer, and what it was charged: sums of both, exactly."""
    ours, theirs = one.transcript, other.transcript
    steps = zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
    lost = [loss(*step) for step in steps]
    (account,) = one.ledger.accounts
    assert len(lost) == len(account.entries)
    for amount, entry in zip(lost, account.entries, strict=True):
        assert amount <= entry.share.amount
    charged = [entry.share.amount for entry in account.entries]
    return sum(lost, Fraction(0)), sum(charged, Fraction(0))


def neighbours(where):
    """A row more, or a row less, in one batch."""
    more = [np.vstack([STREAM[where], row]) for row in ONE_BATCH_MORE.values()]
    less = [STREAM[where][1:]] if len(STREAM[where]) else []
    return [exchanged(STREAM, where, rows) for rows in (*more, *less)]


@batches
@budgets
def test_a_row_of_any_batch_loses_what_that_batch_was_charged(check, where, budget):
    found = check(STREAM, neighbours(where), budget=budget)
    for lost in found:
        for batch, (amount, charged) in enumerate(lost):
            assert amount <= charged
            assert batch == where or amount == 0, "a row was looked at in another batch"
    assert found[0][where][0] > 0, "a row that costs nothing was not looked at"


@batches
def test_with_a_half_life_and_gaussian_noise_in_six_columns(check, where):
    wide = [np.tile(rows, (1, 3)) for rows in STREAM]
    more = exchanged(wide, where, np.vstack([wide[where], np.tile(CORNER, (1, 3))]))
    settings = {"bounds": (BOX.lower * 3, BOX.upper * 3), "half_life": 2.0}
    (lost,) = check(wide, [more], budget="approximate", **settings)
    assert [amount > 0 for amount, _ in lost] == [batch == where for batch in range(len(wide))]
    assert all(amount <= charged for amount, charged in lost)


@batches
def test_nothing_leaves_of_a_batch_beside_the_answers(check, where):
    """Not how many rows it has, and not whether it has any."""
    check(STREAM, [exchanged(STREAM, where, rows) for rows in STRANGERS.values()], alike=True)


def test_an_epsilon_so_small_that_centres_stay(check, monkeypatch):
    monkeypatch.setitem(BUDGETS, "tiny", (Fraction(1, 10**5), Fraction(0)))
    (lost,) = check(STREAM, neighbours(1)[:1], budget="tiny")
    assert [amount > 0 for amount, _ in lost] == [False, True, False, False]
    check(STREAM, [exchanged(STREAM, 1, STREAM[3])], budget="tiny", alike=True)


def test_a_group_in_every_batch_loses_the_sum_of_their_charges(check):
    stream = STREAM[:3]
    labels = [np.arange(len(rows)) % 40 for rows in stream]
    more = [np.vstack([rows, np.tile(CORNER, (9, 1))]) for rows in stream]
    with_one = [np.append(own, np.full(9, 99)) for own in labels]
    settings = {"groups": labels, "max_rows_per_group": 4, "max_batches": 3}
    (lost,) = check(stream, [(more, with_one)], **settings)
    assert all(0 < amount <= charged == 1 for amount, charged in lost)
