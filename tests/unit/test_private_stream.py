"""`partial_fit`: batches, what is refused before a charge, receipts, files and ledgers."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import sfumato
from sfumato import Category, Curator, Number, PrivateKMeans, Schema
from sfumato._core.testing import ReplayedNoise
from sfumato._ledger.store import LedgerError
from tests.no_noise import NoNoise

PLACES = np.array([[0.2, 0.3], [0.8, 0.7], [0.2, 0.8]])


def batch(n=600, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return PLACES[np.arange(n) % 3] + rng.normal(0, 0.03, (n, 2)) + shift


def model(**settings):
    return PrivateKMeans(**{"n_clusters": 3, "bounds": (0, 1), "random_state": 0, **settings})


def curator(rows, *, noise=None, **settings):
    facts = {"bounds": (0, 1), "epsilon": 1.0, **settings}
    return Curator(rows, noise=noise or NoNoise(), **facts)


def streamed(n=3, **settings):
    found = model(**settings)
    for seed in range(n):
        found.partial_fit(batch(seed=seed))
    return found


def test_a_first_batch_is_a_fit():
    one = model().fit(curator(batch(), noise=ReplayedNoise(3)))
    other = model().partial_fit(curator(batch(), noise=ReplayedNoise(3)))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert str(one.receipt_) == str(other.receipt_)
    assert one.n_batches_ == other.n_batches_ == 1
    assert one.drift_ is None
    assert "stream" not in one._released()


def test_batches_add_up_and_a_fit_begins_anew():
    found = model()
    for seed in range(4):
        found.partial_fit(curator(batch(seed=seed)))
    np.testing.assert_array_equal(found.cluster_sizes_, [800, 800, 800])
    order = np.lexsort(found.cluster_centers_.T)
    wanted = PLACES[np.lexsort(PLACES.T)]
    np.testing.assert_allclose(found.cluster_centers_[order], wanted, atol=0.005)
    assert found.n_batches_ == 4
    assert not found.drift_.alarm
    assert not hasattr(found, "synopsis_")
    found.fit(batch())
    assert found.n_batches_ == 1
    assert found.receipt_.guarantee.neighbours == "one row"


def test_a_fit_can_be_continued_and_drift_is_noticed():
    found = model(epsilon=2.0).fit(batch(3000))
    found.partial_fit(batch(3000, seed=1)).partial_fit(batch(3000, seed=2))
    assert not found.drift_.alarm
    found.partial_fit(batch(3000, shift=0.1, seed=3))
    assert found.drift_.alarm
    assert "drift: clusters" in str(found.receipt_).replace("\n", " ")


def test_batches_that_are_alike_raise_no_alarm():
    """Seeded: 40 batches, each of which may raise one in a thousand times."""
    found = model(epsilon=0.5)
    for seed in range(40):
        rows = batch(500, seed=seed)
        found.partial_fit(curator(rows, noise=ReplayedNoise(seed), epsilon=0.5))
        assert found.drift_ is None or not found.drift_.alarm


def test_what_is_older_than_a_half_life_counts_less():
    slow, fast = model(), model(half_life=1)
    for seed in range(6):
        for each in (slow, fast):
            each.partial_fit(curator(batch(shift=0.01 * seed, seed=seed)))
    ends = [np.sort(each.cluster_centers_[:, 0])[-1] for each in (slow, fast)]
    assert ends[0] < 0.83 < ends[1] < 0.86
    assert fast.cluster_sizes_.sum() == pytest.approx(600 * (2 - 2**-5))


def test_the_receipt_of_a_row_is_that_of_one_batch():
    found = streamed(3, epsilon=0.5)
    receipt = found.receipt_
    assert receipt.guarantee.amount == Fraction(1, 2)
    assert receipt.guarantee.neighbours == "one row of one batch"
    assert receipt.spent("pure")[0] == Fraction(1, 2)
    assert receipt.rho == 0.125
    text = " ".join(str(receipt).split())
    assert "batch 3 of a stream" in text
    assert "a person with rows in several batches spends the sum of these, ε = 1.5" in text


def test_an_empty_batch_and_one_row_are_charged_and_answered_as_any():
    found = streamed(2)
    for rows in (np.zeros((0, 2)), batch()[:1]):
        own = Curator(rows, bounds=(0, 1), epsilon=1.0)
        found.partial_fit(own)
        assert own.ledger.left[0] == 0
    assert found.n_batches_ == 4
    first = model().partial_fit(np.zeros((0, 2)))
    assert first.partial_fit(batch()).n_batches_ == 2


def test_two_batches_of_the_same_rows_have_noise_of_their_own():
    found = streamed(1, epsilon=0.1)
    others = [sfumato.PrivateKMeans(**found.get_params()) for _ in range(2)]
    for other in others:
        vars(other).update({n: v for n, v in vars(found).items() if n.endswith("_")})
        other.partial_fit(batch())
    assert (others[0].cluster_sizes_ != others[1].cluster_sizes_).any()


REFUSED = {
    "another epsilon": ({"epsilon": 2.0}, batch(), "every batch of this stream costs ε = 1, δ = 0"),
    "another delta": ({"delta": 1e-6}, batch(), "every batch of this stream costs ε = 1"),
    "another k": ({"n_clusters": 4}, batch(), "this stream has 3 centres, got n_clusters=4"),
    "other bounds": ({"bounds": (0, 2)}, batch(), "has the bounds, the columns and the nan policy"),
    "another nan": ({"nan": "drop"}, batch(), "the nan policy of the first"),
    "columns": ({}, batch()[:, :1], "X has 1 features, but PrivateKMeans is expecting 2"),
    "too many batches": ({"max_batches": 1}, batch(), "this stream has 1 batches, and max_batches"),
    "a half life": ({"half_life": 0}, batch(), "half_life must be a positive"),
    "no number": ({"max_batches": 0}, batch(), "max_batches must be a whole number"),
    "private rows": ({"max_rows_per_group": "private"}, batch(), "every batch keeps the same"),
    "text": ({}, np.array([["a", "b"]]), "number"),
}


@pytest.mark.parametrize(("settings", "rows", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_before_the_charge(settings, rows, said, monkeypatch):
    found = streamed(1)
    before = json.dumps(sfumato._released_model.to_dict(found), default=str)
    found.set_params(**settings)
    read = "sfumato._core.private_data.PrivateData.release"
    monkeypatch.setattr(read, lambda *_: pytest.fail("rows were read"))
    with pytest.raises((ValueError, TypeError), match=said):
        found.partial_fit(rows)
    found.set_params(**streamed_params())
    assert json.dumps(sfumato._released_model.to_dict(found), default=str) == before


def streamed_params():
    return model().get_params()


def test_columns_go_by_name():
    frame = pd.DataFrame(batch(), columns=["a", "b"])
    found = model().partial_fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        found.partial_fit(frame[["b", "a"]])
    with pytest.raises(ValueError, match="columns of this stream are a, b, got b, a"):
        found.partial_fit(Curator(frame[["b", "a"]], bounds=(0, 1), epsilon=1.0))
    found.partial_fit(Curator(frame, bounds=(0, 1), epsilon=1.0))
    assert list(found.feature_names_in_) == ["a", "b"]


def test_a_schema_with_a_category():
    frame = pd.DataFrame(batch(), columns=["a", "b"]).assign(c=["x", "y", "y"] * 200)
    schema = Schema(a=Number(0, 1), b=Number(0, 1), c=Category("x", "y"))
    found = model(bounds=None, schema=schema, epsilon=3.0).partial_fit(frame)
    for _ in range(3):
        found.partial_fit(frame)
    shares = sorted(one["c"]["shares"]["x"] for one in found.cluster_profiles_)
    np.testing.assert_allclose(shares, [0, 0, 1], atol=0.1)
    np.testing.assert_allclose(found.cluster_sizes_.sum(), 2400, atol=300)


def test_another_schema_is_refused():
    frame = pd.DataFrame(batch(), columns=["a", "b"])
    found = model(bounds=None, schema=Schema(a=Number(0, 1), b=Number(0, 1))).fit(frame)
    found.set_params(schema=Schema(a=Number(0, 1), b=Number(0, 2)))
    with pytest.raises(ValueError, match="has the schema of the first"):
        found.partial_fit(frame)


def test_private_bounds_are_those_of_the_first_batch():
    found = model(bounds="private", epsilon=5.0).partial_fit(batch(2000))
    bounds = found.bounds_
    found.partial_fit(batch(2000, shift=50.0))
    np.testing.assert_array_equal(found.bounds_, bounds)
    assert found.bounds == "private"


def test_groups_need_a_number_of_batches_and_their_costs_add_up():
    labels = np.arange(600) // 2
    with pytest.raises(ValueError, match="say with max_batches how many batches there will be"):
        model().partial_fit(batch(), groups=labels)
    found = model(max_batches=3, max_rows_per_group=2)
    for _ in range(3):
        found.partial_fit(batch(), groups=labels)
    receipt = found.receipt_
    assert receipt.guarantee.amount == 3
    assert receipt.guarantee.neighbours == "one group of at most 2 rows"
    assert receipt.rho == 1.5
    assert "ε = 1 of 3 batches add up" in str(receipt)
    with pytest.raises(ValueError, match="this stream has 3 batches, and max_batches = 3"):
        found.partial_fit(batch(), groups=labels)


def test_groups_are_in_every_batch_or_in_none():
    found = model(max_batches=3).partial_fit(batch())
    with pytest.raises(ValueError, match="every batch has groups, or none has"):
        found.partial_fit(batch(), groups=np.arange(600))
    found.partial_fit(batch())
    with pytest.raises(ValueError, match="this stream protects one row, but"):
        found.partial_fit(batch(), groups=np.arange(600))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_saved_stream_goes_on(n, tmp_path):
    found = streamed(n, half_life=5.0, max_batches=9)
    found.save(tmp_path / "m.json")
    again = sfumato.load(tmp_path / "m.json")
    assert (again.n_batches_, again.half_life, again.max_batches) == (n, 5.0, 9)
    assert again.drift_ == found.drift_
    assert again.receipt_ == found.receipt_
    for each in (found, again):
        each.partial_fit(curator(batch(seed=9), noise=ReplayedNoise(1)))
    np.testing.assert_allclose(again.cluster_centers_, found.cluster_centers_, atol=1e-9)
    np.testing.assert_allclose(again.cluster_sizes_, found.cluster_sizes_)
    assert clone(again).get_params() == again.get_params()


def test_a_saved_stream_holds_released_numbers_alone(tmp_path):
    rows = np.vstack([batch(), [[0.12345678, 0.98765432]]])
    found = model().partial_fit(rows).partial_fit(rows).partial_fit(rows)
    found.save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert set(json.loads(text)["stream"]) == {
        *("batches", "epsilon_of_a_batch", "delta_of_a_batch", "rows", "precisions"),
        *("reference", "drift"),
    }
    assert "0.12345678" not in text + str(vars(found))


def test_damaged_streams_are_refused(tmp_path):
    found = streamed(2)
    found.save(tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    del data["stream"]["rows"]
    (tmp_path / "m.json").write_text(json.dumps(data))
    with pytest.raises(ValueError, match="damaged sfumato model"):
        sfumato.load(tmp_path / "m.json")


def test_parts_of_one_table_by_day_cost_as_much_as_one():
    days = np.repeat(["mon", "tue", "wed"], 200)
    whole = Curator(batch(), bounds=(0, 1), epsilon=1.0)
    found = model()
    for part in whole.by(days, values=["mon", "tue", "wed", "thu"]).values():
        found.partial_fit(part)
    assert found.n_batches_ == 4
    assert whole.ledger.left[0] == 0


def test_a_ledger_that_lasts_answers_a_batch_once(tmp_path):
    days = [
        sfumato.Ledger.create(tmp_path / "l.db", f"day-{i}", epsilon=1.0, bounds=(0, 1))
        for i in range(2)
    ]

    def run():
        found = model()
        for i, ledger in enumerate(days):
            found.partial_fit(Curator(batch(seed=i), ledger=ledger), request=f"request {i}")
        return found

    first, second = run(), run()
    np.testing.assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    assert second.n_batches_ == 2
    assert [ledger.left[0] for ledger in days] == [0, 0]
    with pytest.raises(LedgerError, match="was made before, for another fit"):
        second.partial_fit(Curator(batch(seed=1), ledger=days[1]), request="request 1")
    assert second.n_batches_ == 2


def test_a_release_that_a_ledger_could_not_keep_is_kept_by_the_model(tmp_path, monkeypatch):
    ledger = sfumato.Ledger.create(tmp_path / "l.db", "day", epsilon=1.0, bounds=(0, 1))
    found = streamed(1)

    def fails(*_):
        raise LedgerError("the disk is full")

    monkeypatch.setattr("sfumato._ledger.durable.DurableLedger.release", fails)
    with pytest.raises(LedgerError, match="disk is full"):
        found.partial_fit(Curator(batch(), ledger=ledger))
    assert found.n_batches_ == 2
    assert "batch 2 of a stream" in str(found.receipt_)
