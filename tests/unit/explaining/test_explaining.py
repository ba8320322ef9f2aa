"""Explanations of models: exact without noise, whatever the columns; what is refused; ledgers."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from sfumato import (
    Category,
    Curator,
    Cycle,
    Flag,
    Ledger,
    Number,
    Ordinal,
    Overspent,
    PrivateKMeans,
    Schema,
    Weight,
    load,
)
from sfumato._accounting.budget import Caps
from sfumato._core.testing import ReplayedNoise
from sfumato._explaining import LEAST, MOST, Plan, explain, plan_of
from tests.no_noise import NoNoise

F = Fraction
N = 3000
SCHEMA = Schema(
    age=Number(0, 80),
    sex=Category("F", "M", weight=0.5),
    region=Category("north", "south", "east", weight=0),
    hour=Cycle(24, weight=0.5),
    smoker=Flag(weight=0),
    school=Ordinal("low", "middle", "high", weight=0),
    height=Number(100, 220, weight=0),
)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    who = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    found = pd.DataFrame(
        {
            "region": np.array(["north", "south", "east"])[np.where(rng.random(N) < 0.8, who, 0)],
            "age": np.array([15, 40, 65])[who] + rng.normal(0, 4, N),
            "sex": np.where(rng.random(N) < np.array([0.1, 0.5, 0.9])[who], "F", "M"),
            "hour": (np.array([3, 11, 20])[who] + rng.normal(0, 1, N)) % 24,
            "smoker": rng.random(N) < np.array([0.2, 0.2, 0.9])[who],
            "school": np.array(["low", "middle", "high"])[who],
            "height": rng.normal(170, 8, N),
        }
    )
    found.loc[rng.random(N) < 0.2, "height"] = np.nan
    return found


@pytest.fixture(scope="module")
def model(frame):
    curator = Curator(frame, schema=SCHEMA, epsilon=50, noise=ReplayedNoise(1))
    return PrivateKMeans(3, epsilon=50, random_state=0).fit(curator)


def exact_of(frame, **given):
    return Curator(frame, schema=SCHEMA, epsilon=1, noise=NoNoise(), **given)


def test_without_noise_the_shares_are_those_of_the_rows(frame, model):
    told = model.explain(exact_of(frame), list(SCHEMA.columns), epsilon=0.5)
    labels = model.predict(frame)
    np.testing.assert_allclose(told.sizes, np.bincount(labels))
    for name, levels in (("sex", ["F", "M"]), ("region", ["north", "south", "east"])):
        table = pd.crosstab(labels, frame[name], normalize="index")[levels]
        np.testing.assert_allclose(told[name].shares, table.to_numpy(), atol=0.05)
    smoking = [frame["smoker"][labels == i].mean() for i in range(3)]
    np.testing.assert_allclose(told["smoker"].shares[:, 1], smoking, atol=0.03)
    missing = [frame["height"][labels == i].isna().mean() for i in range(3)]
    np.testing.assert_allclose(told["height"].missing, missing, atol=0.03)
    medians = [frame["age"][labels == i].median() for i in range(3)]
    np.testing.assert_allclose(told["age"].median, medians, atol=6)
    assert told["school"].labels == ("low", "middle", "high")


def test_counts_are_exact_in_every_column_that_took_no_part(frame, model):
    """Drawn to the whole by stated noise, though none was drawn: a large budget has little."""
    curator = Curator(frame, schema=SCHEMA, epsilon=10**6, noise=NoNoise())
    told = model.explain(curator, ["region", "smoker", "school", "height"], epsilon=10**6)
    labels = model.predict(frame)
    for name in ("region", "school"):
        table = pd.crosstab(labels, frame[name])[list(told[name].labels)]
        np.testing.assert_allclose(told[name].counts, table.to_numpy(), atol=0.1)


def test_the_columns_that_matter_are_chosen(frame, model):
    told = model.explain(exact_of(frame), epsilon=0.2)
    assert LEAST <= len(told.columns) <= MOST
    assert "height" in told.left_out
    assert {c.name for c in told.columns} | set(told.left_out) == set(SCHEMA.columns)
    assert told.columns[0].name == "age", "in the order of the schema"
    assert {line.mechanism for line in told.receipt.lines} == {"permute_and_flip", "laplace"}


def test_ranks_and_sentences(frame, model):
    curator = Curator(frame, schema=SCHEMA, epsilon=2, noise=ReplayedNoise(3))
    told = model.explain(curator, ["height", "age", "school"], epsilon=2)
    for cluster in range(3):
        names = [name for name, _, _ in told.ranked(cluster)]
        assert names[-1] == "height"
        assert told.ranked(cluster)[0][1] > 0.5 > told.ranked(cluster)[-1][1]
        first, second = told.sentences(cluster)
        assert first.startswith(f"Cluster {cluster}, about ")
        assert "height" in second
    assert told.unit == "rows"


def test_one_row_of_each_person_is_people(frame, model):
    for most, unit in ((1, "people"), (2, "rows")):
        curator = exact_of(frame, groups=np.arange(N) // 2, max_rows_per_group=most)
        told = model.explain(curator, ["age"])
        assert told.unit == unit
        assert told.sizes.sum() == pytest.approx(N / 2 * most)


def test_a_model_from_a_file_explains_the_same(frame, model, tmp_path):
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    pair = [
        one.explain(Curator(frame, schema=SCHEMA, epsilon=1, noise=ReplayedNoise(4)))
        for one in (model, again)
    ]
    assert pair[0].to_json() == pair[1].to_json()
    assert json.loads(pair[0].to_json())["unit"] == "rows"


def test_a_curator_may_have_more_columns_than_the_model(frame, model):
    known = {n: c for n, c in SCHEMA.columns.items() if n != "height"}
    narrow = PrivateKMeans(3, epsilon=50, random_state=0).fit(
        Curator(frame, schema=Schema(known), epsilon=50, noise=ReplayedNoise(1))
    )
    np.testing.assert_array_equal(narrow.cluster_centers_, model.cluster_centers_)
    told = narrow.explain(exact_of(frame), ["height"])
    np.testing.assert_array_equal(
        told["height"].shares, model.explain(exact_of(frame), ["height"])["height"].shares
    )


def test_weights_count_and_are_no_column(frame):
    schema = Schema({**SCHEMA.columns, "copies": Weight(0, 3)})
    heavy = frame.assign(copies=2)
    curator = Curator(heavy, schema=schema, epsilon=60, noise=NoNoise())
    fitted = PrivateKMeans(3, epsilon=50, random_state=0).fit(curator)
    told = fitted.explain(curator, ["age", "region"])
    assert told.sizes.sum() == pytest.approx(2 * N)
    with pytest.raises(ValueError, match="no column 'copies' to explain"):
        fitted.explain(curator, ["copies"])


def test_plain_bounds_explain_columns_by_name_or_number(frame):
    numbers = frame[["age", "height"]]
    bounds = ([0, 100], [80, 220])
    for X, names in ((numbers, ["age", "height"]), (numbers.to_numpy(), ["column 0", "column 1"])):
        curator = Curator(X, bounds=bounds, epsilon=60, noise=NoNoise())
        fitted = PrivateKMeans(2, epsilon=50, random_state=0).fit(curator)
        told = fitted.explain(curator, epsilon=1)
        assert [column.name for column in told.columns] == names
        np.testing.assert_allclose(told.sizes, np.bincount(fitted.predict(X)), atol=1)
        assert told.columns[1].missing == pytest.approx(frame["height"].isna().mean(), abs=0.05)


def test_private_bounds_are_explained_within_the_bounds_that_were_found(frame):
    fitted = PrivateKMeans(2, epsilon=5, bounds="private").fit(frame[["age", "hour"]])
    curator = Curator(frame[["age", "hour"]], bounds=fitted.bounds_, epsilon=1)
    assert fitted.explain(curator).sizes.sum() == pytest.approx(N, abs=400)


def plain(frame, bounds=(0, 80), **given):
    return Curator(frame[["age", "hour"]], bounds=bounds, epsilon=60, **given)


def test_what_does_not_belong_together_is_refused(frame, model):
    numbers = PrivateKMeans(2, epsilon=1).fit(plain(frame))
    other = Schema({**SCHEMA.columns, "age": Number(0, 90)})
    for fitted, curator, said in (
        (model, plain(frame), "open the curator with schema=model.schema_"),
        (numbers, exact_of(frame), "fitted without one"),
        (numbers, plain(frame, bounds=(0, 81)), "bounds=model.bounds_"),
        (model, Curator(frame, schema=other, epsilon=1), "declares column 'age' otherwise"),
    ):
        with pytest.raises(ValueError, match=said):
            fitted.explain(curator)
        assert curator.ledger.spent[0] in (0, 1)
    with pytest.raises(TypeError, match="pass their Curator, got DataFrame"):
        model.explain(frame)
    with pytest.raises(ValueError, match="not fitted"):
        PrivateKMeans(2).explain(exact_of(frame))


def test_a_ledger_that_lasts_keeps_the_explanation(frame, model, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db", "people", epsilon=1)
    curator = Curator(frame, schema=SCHEMA, ledger=ledger)
    told = model.explain(curator, ["age"], epsilon=0.25)
    assert ledger.spent[0] == F(1, 4)
    assert "Durable ledgers" in told.receipt.chapters
    [release] = ledger.store.events(dataset="people", kind="release")
    assert json.loads(ledger.store.text(release.body["digest"])) == told.to_dict()
    with pytest.raises(Overspent, match="Largest affordable"):
        model.explain(curator, epsilon=0.8)


def test_plans_depend_on_public_numbers():
    sizes = np.array([900.0, 1000, 5000])
    few = plan_of(4, sizes, 1, F(1, 5), F(0), every=False)
    assert few == Plan(F(1, 5), F(0), None, few.slices)
    many = plan_of(40, sizes, 1, F(1, 5), F(0), every=False)
    assert many.picks == LEAST
    assert many.caps.pure == F(1, 5)
    assert plan_of(40, sizes * 10, 1, F(1, 5), F(0), every=False).picks == MOST
    assert plan_of(40, sizes * 10, 10, F(1, 5), F(0), every=False).picks == LEAST
    assert plan_of(40, sizes, 1, F(1, 5), F(0), every=True).picks is None
    assert plan_of(40, sizes * 10**5, 1, F(1, 5), F(0), every=False).picks is None
    gaussian = plan_of(40, sizes * 10, 1, F(1, 5), F(1, 100), every=False)
    assert gaussian.picks == MOST
    assert (gaussian.caps.pure, gaussian.caps.gaussian) == (F(1, 25), (F(4, 25), F(1, 100)))
    pure = plan_of(40, sizes * 10, 1, F(1, 5), F(1, 10**9), every=False)
    assert pure.caps == Caps(pure=F(1, 5)), "Laplace noise is less for five columns"
    assert plan_of(40, sizes, 1, F(1, 5), F(1, 10**9), every=True).delta == F(1, 10**9)
    assert plan_of(3, sizes * 0 - 5, 1, F(1, 5), F(0), every=False).slices == 4
    assert plan_of(3, sizes * 100, 1, F(1, 5), F(0), every=False).slices == 16


def test_explain_is_easy_to_call_without_a_model(frame, model):
    told = explain(
        exact_of(frame), model.encoded_centers_, sizes=model.cluster_sizes_, schema=SCHEMA
    )
    assert told.receipt.epsilon == 0.2


def test_cells_that_were_put_at_the_centre_are_noted(frame):
    schema = Schema(age=Number(0, 80), height=Number(100, 220, weight=0, missing="center"))
    curator = Curator(frame, schema=schema, epsilon=60, noise=NoNoise())
    told = PrivateKMeans(2, epsilon=50).fit(curator).explain(curator)
    assert told["height"].missing is None
    assert "missing cells of height, if any, count where they were put" in told.receipt.notes


def test_sizes_are_in_units_of_weight(frame):
    """Ten times the weight, in as many steps: the same answers, ten times the sizes."""
    told = []
    for scale in (1, 10):
        schema = Schema(age=Number(0, 80), w=Weight(0, 2 * scale, steps=2))
        weighted = frame.assign(w=scale * (np.arange(N) % 3))
        curator = Curator(weighted, schema=schema, epsilon=3.0, noise=NoNoise())
        fitted = PrivateKMeans(3, method="dplloyd", random_state=0).fit(curator)
        told.append(fitted.explain(curator, ["age"], epsilon=1.0))
    one, ten = told
    assert one.sizes.sum() == pytest.approx((np.arange(N) % 3).sum())
    np.testing.assert_allclose(ten.sizes, 10 * one.sizes)
    assert ten.size_std == pytest.approx(10 * one.size_std)
    assert "Tables with a schema" in one.receipt.chapters
