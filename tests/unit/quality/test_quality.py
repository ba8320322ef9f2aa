"""The quality of clusters against scikit-learn and the rows themselves."""

import json

import numpy as np
import pandas as pd
import pytest

from sfumato import Category, Curator, Number, PrivateKMeans, PrivateKMedian, Schema, Weight
from sfumato._core.testing import ReplayedNoise
from sfumato._quality import quality, radii_of
from tests.no_noise import NoNoise

CENTERS = np.array([[-0.5, 0.1], [0.4, 0.6], [0.5, -0.7]])


def rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(CENTERS[rng.integers(3, size=n)] + rng.normal(0, 0.15, (n, 2)), -1, 1)


def measured(X, centers=CENTERS, noise=None, **given):
    curator = Curator(X, bounds=(-1, 1), epsilon=9, delta=0.1, noise=noise or NoNoise())
    return quality(curator, centers, **({"power": 2, "epsilon": 0.5} | given))


def distances(X, centers=CENTERS):
    return np.sqrt(np.square(X[:, None] - centers[None]).sum(axis=2))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("clip", [None, 0.2])
def test_without_noise_it_is_what_the_rows_say(power, clip):
    X = rows()
    told, far = measured(X, power=power, clip=clip), distances(X)
    own, ordered = far.argmin(axis=1), np.sort(far, axis=1)
    radii = np.array(radii_of(CENTERS, clip))
    costs = np.minimum(ordered[:, 0], radii[own]) ** power
    scores = (ordered[:, 1] - ordered[:, 0]) / ordered.max(axis=1, where=[True, True, False],
                                                           initial=0)  # fmt: skip
    assert told.rows.value == len(X)
    assert told.cost.value == pytest.approx(costs.mean(), abs=1e-4)
    assert told.silhouette.value == pytest.approx(scores.mean(), abs=1e-4)
    for j, part in enumerate(told.clusters):
        assert part.size.value == (own == j).sum()
        assert part.share.value == pytest.approx((own == j).mean())
        assert part.cost.value == pytest.approx(costs[own == j].mean(), abs=1e-4)
        assert part.silhouette.value == pytest.approx(scores[own == j].mean(), abs=1e-4)
        assert part.radius == pytest.approx(radii[j], abs=1e-4)
        for one in (part.size, part.share, part.cost, part.silhouette):
            assert one.low <= one.value <= one.high


def test_rows_with_gaps_are_measured_by_what_they_have():
    X = np.array([[-0.5, np.nan], [np.nan, 0.6], [np.nan, np.nan], [0.5, -0.7]])
    told = measured(X)
    assert told.rows.value == 3
    assert told.cost.value == pytest.approx(0, abs=1e-6)


def test_one_cluster_has_no_silhouette():
    told = measured(rows(), CENTERS[:1])
    assert told.silhouette is None
    assert told.clusters[0].silhouette is None
    assert "–" in str(told)
    assert told.clusters[0].radius == pytest.approx(np.sqrt(2), abs=1e-3)


def test_less_noise_makes_shorter_intervals():
    wide, narrow = (measured(rows(), epsilon=e).cost for e in (0.05, 5))
    assert narrow.high - narrow.low < (wide.high - wide.low) / 5
    small, large = (measured(rows(), level=level).silhouette for level in (0.5, 0.99))
    assert small.high - small.low < large.high - large.low


def test_intervals_of_many_runs_hold_the_truth():
    """Seeded noise. At a level of 0.9, 200 runs: 4 deviations of a proportion are 0.085."""
    X = rows(1500)
    truth = measured(X)
    held = np.zeros(4)
    for seed in range(200):
        told = measured(X, noise=ReplayedNoise(seed), level=0.9, epsilon=0.2)
        pairs = [
            (told.cost, truth.cost),
            (told.silhouette, truth.silhouette),
            (told.clusters[1].cost, truth.clusters[1].cost),
            (told.clusters[1].share, truth.clusters[1].share),
        ]
        held += [one.low <= other.value <= one.high for one, other in pairs]
    assert (held / 200 > 0.9 - 0.085).all()
    assert (held / 200 < 0.9 + 0.085).all()


def test_a_model_measures_itself():
    X = rows(6000)
    for estimator, power in ((PrivateKMeans, 2), (PrivateKMedian, 1)):
        curator = Curator(X, bounds=(-1, 1), epsilon=30)
        model = estimator(3, epsilon=5, bounds=(-1, 1), random_state=0).fit(curator)
        told = model.quality(curator, epsilon=20)
        assert told.power == power
        far = np.sort(model.transform(X), axis=1)
        assert told.cost.value == pytest.approx((far[:, 0] ** power).mean(), rel=0.1)
        assert told.silhouette.value == pytest.approx((1 - far[:, 0] / far[:, 1]).mean(), rel=0.1)
        assert curator.ledger.spent == (25, 0)


def test_tables_with_categories_and_weights():
    schema = Schema(x=Number(0, 10), kind=Category("a", "b"), w=Weight(0, 4, steps=8))
    n = 2000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.choice([2.0, 8.0], n),
            "kind": rng.choice(["a", "b"], n),
            "w": rng.choice([0.5, 1.0, 4.0], n),
        }
    )
    curator = Curator(frame, schema=schema, epsilon=99)
    model = PrivateKMeans(2, epsilon=9, schema=schema, random_state=0).fit(curator)
    told = model.quality(curator, epsilon=50)
    assert told.rows.value == pytest.approx(frame["w"].sum(), rel=0.05)
    own = model.predict(frame)
    shares = [frame["w"][own == j].sum() / frame["w"].sum() for j in range(2)]
    assert [c.share.value for c in told.clusters] == pytest.approx(shares, abs=0.05)


def test_it_prints_plainly_and_is_json():
    told = measured(rows())
    text = str(told)
    assert "silhouette" in text
    assert "chance of 95%" in text
    assert max(map(len, text.splitlines())) <= 100
    data = json.loads(told.to_json())
    assert data["cost"]["low"] == told.cost.low
    assert data["receipt"]["method"] == "Quality"
    assert len(data["clusters"]) == 3


def test_what_does_not_belong_together_is_refused():
    X = rows()
    model = PrivateKMeans(2, epsilon=1, bounds=(-1, 1)).fit(X)
    with pytest.raises(TypeError, match="pass their Curator"):
        model.quality(X)
    with pytest.raises(ValueError, match=r"bounds=model\.bounds_"):
        model.quality(Curator(X, bounds=(-2, 2), epsilon=1))


def test_twins_have_a_radius():
    assert min(radii_of(np.zeros((3, 2)), None)) > 0
