"""An explanation spends what it says, and nothing leaves but what its transcript holds."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from sfumato import Category, Cycle, Flag, Number, Ordinal, Overspent, Schema
from sfumato._accounting.budget import Caps
from sfumato._core.testing import RecordingCurator, ReplayedNoise
from sfumato._explaining import explain
from tests.laws.harness import BOX, blobs, loss

F = Fraction
SCHEMA = Schema(
    age=Number(0, 100),
    work=Category("full", "part", "no job", weight=0.7),
    hour=Cycle(24, weight=0.5),
    smoker=Flag(weight=0),
    school=Ordinal("low", "middle", "high", weight=0),
    income=Number(0, 1e5, weight=0, scale="log"),
)
COLUMNS = tuple(SCHEMA.columns)
CENTERS = np.clip(np.random.default_rng(3).normal(0, 0.5, (3, SCHEMA.dimensions)), -1, 1)
SIZES = np.array([120.0, 40.0, 90.0])


class Watched(RecordingCurator):
    """Keeps one transcript of all columns that are opened."""

    def over(self, names):
        found = super().over(names)
        found._data.transcript = self._data.transcript
        return found


def table(n=250, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(-5, 110, n),
            "work": rng.choice(["full", "part", "no job", "other"], n),
            "hour": rng.uniform(0, 24, n),
            "smoker": rng.choice([True, False], n),
            "school": rng.choice(["low", "middle", "high", ""], n),
            "income": rng.lognormal(8, 2, n),
        }
    )
    frame.loc[: n // 20, ["age", "income"]] = np.nan
    return frame


ROW = {"age": 100, "work": "part", "hour": 3, "smoker": True, "school": "high", "income": 9e9}
GONE = dict.fromkeys(["age", "hour", "income"], np.nan) | {"work": "", "smoker": None, "school": ""}


def more(frame, *rows):
    """With rows more; columns of text and flags stay what they are."""
    return pd.concat([frame.astype(object), pd.DataFrame(list(rows), dtype=object)])


NEIGHBOURS = {
    "one more": (table(), more(table(), ROW)),
    "one without a value": (table(), more(table(), GONE)),
    "the first": (table(0).astype(object), more(table(0), ROW)),
    "one of many twins": (more(table(0), *[ROW] * 50), more(table(0), *[ROW] * 51)),
}
ASKED = {
    "chosen": ({}, 0),
    "chosen, Gaussian": ({}, F(1, 100)),
    "named": ({"columns": ["income", "age"]}, 0),
    "features alone": ({"columns": ["work", "age", "hour"]}, 0),
    "all by name, Gaussian": ({"columns": COLUMNS}, F(1, 100)),
}
asked = pytest.mark.parametrize(("given", "delta"), ASKED.values(), ids=ASKED)


def opened(frame, **given):
    return Watched(frame, schema=SCHEMA, epsilon=3, delta=0.1, noise=ReplayedNoise(5), **given)


def explained(curator, given, delta):
    return explain(
        curator, CENTERS, sizes=SIZES, schema=SCHEMA, epsilon=F(3, 10), delta=delta, **given
    )


def check(one, other, given, delta):
    """Replay on the other rows: the same leaves, and each answer lost no more than was charged."""
    told = explained(one, given, delta)
    other.replay = one.transcript
    again = explained(other, given, delta)
    assert told.to_json() == again.to_json()
    assert str(told) == str(again)
    ours, theirs = one.transcript, other.transcript
    assert ours.queries == theirs.queries
    assert ours.mechanisms == theirs.mechanisms
    [account] = one.ledger.accounts
    charges = [entry.share.amount for entry in account.entries]
    steps = zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
    losses = [loss(*step) for step in steps]
    assert len(losses) == len(charges)
    assert all(lost <= charge for lost, charge in zip(losses, charges, strict=True))
    return losses, charges


@asked
@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_nothing_leaves_but_what_was_charged(pair, given, delta):
    check(*map(opened, pair), given, delta)
    check(*map(opened, reversed(pair)), given, delta)


@asked
def test_the_worst_neighbour_uses_up_the_charge_of_the_counts(given, delta):
    losses, charges = check(opened(table()), opened(more(table(), ROW)), given, delta)
    assert losses[-1] > charges[-1] * F(99, 100)


@asked
@pytest.mark.parametrize("most", [1, 3])
def test_a_whole_group_loses_no_more_than_was_charged(given, delta, most):
    larger = more(table(), *[ROW] * 5)
    labels = np.append(np.arange(250), np.full(5, -1))
    one = opened(larger, groups=labels, max_rows_per_group=most)
    other = opened(larger[labels >= 0], groups=labels[labels >= 0], max_rows_per_group=most)
    losses, charges = check(one, other, given, delta)
    assert losses[-1] > charges[-1] * F(99, 100)


@asked
def test_it_spends_its_epsilon_and_no_more(given, delta):
    curator = opened(table())
    told = explained(curator, given, delta)
    assert curator.ledger.spent == (F(3, 10), delta)
    [account] = curator.ledger.accounts
    assert account.caps.epsilon == F(3, 10)
    for kind in ("pure", "gdp"):
        cap = account.caps.of(kind)
        if cap[0]:
            assert account.spent(kind)[0] == cap[0]
    assert told.receipt.guarantee.amount == F(3, 10)
    assert told.receipt.guarantee.delta == delta
    assert told.receipt.lines[-1].mechanism == ("gaussian" if delta else "laplace")
    assert [line.released for line in told.receipt.lines] == [True] * len(account.entries)


@asked
def test_what_leaves_has_a_shape_that_no_row_decides(given, delta):
    shapes = set()
    for frame in (table(), table(0).astype(object), more(table(0), GONE), more(table(0), ROW)):
        curator = opened(frame)
        curator.replay = None
        told = explained(curator, {**given, "columns": given.get("columns", COLUMNS[:4])}, delta)
        shapes.add(tuple((c.name, c.shares.shape, c.missing is None) for c in told.columns))
        for column in told.columns:
            assert np.isfinite(column.shares).all()
            np.testing.assert_allclose(column.shares.sum(axis=1), 1)
            assert (column.shares >= 0).all()
            assert ((column.score >= 0) & (column.score <= 1)).all()
        assert all(isinstance(s, str) for i in range(3) for s in told.sentences(i))
    assert len(shapes) == 1


PLAIN = {
    "one more": (blobs(), np.vstack([blobs(), [[1.0, 3.0]]])),
    "not a number": (blobs(), np.vstack([blobs(), [[np.nan, np.inf]]])),
    "half of it": (blobs(), np.vstack([blobs(), [[np.nan, 3.0]]])),
    "the first": (np.zeros((0, 2)), np.array([[0.0, -3.0]])),
}


@pytest.mark.parametrize("pair", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
@pytest.mark.parametrize("delta", [0, F(1, 10**6), F(1, 20)])
def test_without_a_schema_too(pair, nan, delta):
    centers, sizes = np.array([[-0.5, 0.2], [0.3, 0.9]]), np.array([9.0, 3.0])
    one, other = (
        RecordingCurator(
            rows,
            bounds=(BOX.lower, BOX.upper),
            epsilon=1,
            delta=0.1,
            nan=nan,
            noise=ReplayedNoise(9),
        )
        for rows in pair
    )
    told = explain(one, centers, sizes=sizes, delta=delta)
    other.replay = one.transcript
    assert explain(other, centers, sizes=sizes, delta=delta).to_json() == told.to_json()
    ours, theirs = one.transcript, other.transcript
    [lost] = map(loss, ours.mechanisms, ours.released, ours.exact, theirs.exact)
    [account] = one.ledger.accounts
    [entry] = account.entries
    assert lost <= entry.share.amount


REFUSED = {
    "an unknown column": ({"columns": ["age", "pets"]}, ValueError, "no column 'pets' to explain"),
    "no column": ({"columns": []}, ValueError, "at least one"),
    "a name for a list": ({"columns": "age"}, TypeError, "list of names"),
    "too little budget": ({"epsilon": 4}, Overspent, "largest affordable"),
    "no epsilon": ({"epsilon": 0}, ValueError, "epsilon"),
    "a delta that is none": ({"delta": 1.5}, ValueError, "delta"),
    "centres of another width": ({"centers": CENTERS[:, 1:]}, ValueError, "columns"),
}


@pytest.mark.parametrize(("given", "kind", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_before_the_charge(given, kind, said):
    curator = opened(table())
    asked = {"centers": CENTERS, "sizes": SIZES, "schema": SCHEMA, "epsilon": 0.1} | given
    centers = asked.pop("centers")
    with pytest.raises(kind, match=said):
        explain(curator, centers, **asked)
    assert curator.ledger.spent == (0, 0)
    assert curator.transcript.released == []


def test_a_query_that_is_refused_gives_its_account_back():
    """One weight for each cluster is needed, which the query finds out after the reservation."""
    curator = opened(table())
    with pytest.raises(ValueError, match="2 weights for 3 cells"):
        explain(curator, CENTERS, sizes=SIZES[:2], schema=SCHEMA, epsilon=0.1)
    assert curator.ledger.accounts == ()
    assert curator.ledger.spent == (0, 0)


def test_a_failure_after_the_charge_says_what_was_spent(monkeypatch):
    curator = opened(table())

    def broken(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr("sfumato._core.queries.breakdown.Breakdown.add", broken)
    with pytest.raises(OSError, match="disk") as caught:
        explained(curator, {"columns": ["age"]}, 0)
    assert any("stays spent" in note for note in caught.value.__notes__)
    assert curator.ledger.spent == (F(3, 10), 0)


def test_other_accounts_are_left_alone():
    curator = opened(table())
    account = curator.reserve("mine", Caps(pure=F(1)))
    explained(curator, {}, 0)
    assert account.spent("pure") == (0, 0)
    assert curator.ledger.spent == (F(13, 10), 0)
