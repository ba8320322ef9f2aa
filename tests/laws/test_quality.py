"""A measurement spends what it says, and nothing leaves but what its transcript holds."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import Overspent
from sfumato._core.testing import RecordingCurator, ReplayedNoise
from sfumato._quality import quality
from tests.laws.harness import BOX, blobs, loss
from tests.laws.test_curator import Diary
from tests.laws.test_explain import GONE, ROW, SCHEMA, Watched, more, table

F = Fraction
CENTERS = np.array([[-0.5, 0.2], [0.3, 0.9], [-0.2, -0.8]])
ENCODED = np.clip(np.random.default_rng(3).normal(0, 0.5, (3, SCHEMA.dimensions)), -1, 1)
deltas = pytest.mark.parametrize("delta", [0, F(1, 10**6), F(1, 20)])


def opened(rows, cls=RecordingCurator, **given):
    bounds = (BOX.lower, BOX.upper)
    return cls(rows, bounds=bounds, epsilon=3, delta=0.1, noise=ReplayedNoise(5), **given)


def of_table(frame, **given):
    return Watched(frame, schema=SCHEMA, epsilon=3, delta=0.1, noise=ReplayedNoise(5), **given)


def check(one, other, *, delta=0, **given):
    """Replay on the other rows: the same leaves, and it lost no more than was charged."""
    asked = {"centers": CENTERS, "power": 2, "epsilon": F(3, 10), "delta": delta} | given
    told = quality(one, **asked)
    other.replay = one.transcript
    again = quality(other, **asked)
    assert told.to_json() == again.to_json()
    assert str(told) == str(again)
    ours, theirs = one.transcript, other.transcript
    assert ours.queries == theirs.queries
    assert ours.mechanisms == theirs.mechanisms
    [lost] = map(loss, ours.mechanisms, ours.released, ours.exact, theirs.exact)
    [account] = one.ledger.accounts
    [entry] = account.entries
    assert lost <= entry.share.amount
    return lost, entry.share.amount, told


NEIGHBOURS = {
    "one more": (blobs(), np.vstack([blobs(), [[1.0, 3.0]]])),
    "not a number": (blobs(), np.vstack([blobs(), [[np.nan, np.inf]]])),
    "half of it": (blobs(), np.vstack([blobs(), [[np.nan, 3.0]]])),
    "the first": (np.zeros((0, 2)), np.array([[0.0, -3.0]])),
}


@deltas
@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS)
@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
@pytest.mark.parametrize("power", [1, 2])
def test_nothing_leaves_but_what_was_charged(pair, nan, power, delta):
    for rows in (pair, pair[::-1]):
        check(*(opened(part, nan=nan) for part in rows), delta=delta, power=power)


@deltas
@pytest.mark.parametrize("most", [1, 3])
def test_the_worst_group_uses_up_the_charge(most, delta):
    """Rows at a centre reach the sensitivity."""
    at = BOX.from_lattice(np.rint(CENTERS[:1] * 32767))
    larger, labels = np.vstack([blobs(), *[at] * 5]), np.append(np.arange(400), np.full(5, -1))
    one, other = (
        opened(larger[kept], groups=labels[kept], max_rows_per_group=most)
        for kept in (labels > -2, labels >= 0)
    )
    lost, charge, _ = check(one, other, delta=delta)
    assert lost > charge * F(99, 100)


@deltas
@pytest.mark.parametrize("row", [ROW, GONE], ids=["a row", "a row without a value"])
def test_of_a_table_too(row, delta):
    given = {"centers": ENCODED, "schema": SCHEMA, "delta": delta}
    check(of_table(table()), of_table(more(table(), row)), **given)


@deltas
def test_it_spends_its_epsilon_and_no_more(delta):
    curator = opened(blobs())
    told = quality(curator, CENTERS, power=2, epsilon=F(3, 10), delta=delta)
    [account] = curator.ledger.accounts
    gaussian = told.receipt.lines[0].mechanism == "gaussian"
    assert curator.ledger.spent == (F(3, 10), delta if gaussian else 0)
    assert account.caps.epsilon == F(3, 10)
    assert told.receipt.guarantee.amount == F(3, 10)
    assert [line.released for line in told.receipt.lines] == [True]


def test_it_is_charged_before_a_row_is_read():
    rows = Diary()
    curator = RecordingCurator(rows, bounds=(0, 1), epsilon=1)
    rows.account = type("", (), {"entries": property(lambda _: charged(curator))})()
    quality(curator, CENTERS, power=2)
    assert rows.read == [1]


def charged(curator):
    return [entry for account in curator.ledger.accounts for entry in account.entries]


@deltas
def test_what_leaves_has_a_shape_that_no_row_decides(delta):
    shapes = set()
    for rows in (blobs(), np.zeros((0, 2)), np.full((9, 2), np.nan), np.full((9, 2), 0.5)):
        told = quality(opened(rows), CENTERS, power=2, delta=delta)
        values = [told.cost, told.silhouette, told.rows]
        for part in told.clusters:
            values += [part.size, part.share, part.cost, part.silhouette]
        assert all(np.isfinite([v.value, v.low, v.high]).all() for v in values)
        assert all(v.low <= v.value <= v.high for v in values)
        shapes.add((len(values), tuple(part.radius for part in told.clusters)))
    assert len(shapes) == 1


REFUSED = {
    "too little budget": ({"epsilon": 4}, Overspent, "largest affordable"),
    "no epsilon": ({"epsilon": 0}, ValueError, "epsilon"),
    "a delta that is none": ({"delta": 1.5}, ValueError, "delta"),
    "a level that is none": ({"level": 1}, ValueError, "level must be"),
    "no radius": ({"clip": 0}, ValueError, "clip"),
    "centres of another width": ({"centers": CENTERS[:, 1:]}, ValueError, "columns"),
    "a schema": ({"schema": SCHEMA}, ValueError, "open the curator with schema"),
}


@pytest.mark.parametrize(("given", "kind", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_before_the_charge(given, kind, said):
    curator = opened(blobs())
    with pytest.raises(kind, match=said):
        quality(curator, **({"centers": CENTERS, "power": 2, "epsilon": 0.1} | given))
    assert curator.ledger.spent == (0, 0)
    assert curator.ledger.accounts == ()
    assert curator.transcript.released == []


def test_a_failure_after_the_charge_says_what_was_spent(monkeypatch):
    curator = opened(blobs())

    def broken(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr("sfumato._core.queries.closeness.Closeness.add", broken)
    with pytest.raises(OSError, match="disk") as caught:
        quality(curator, CENTERS, power=2, epsilon=F(3, 10))
    assert any("stays spent" in note for note in caught.value.__notes__)
    assert curator.ledger.spent == (F(3, 10), 0)
