"""A schema through the curator: which columns are read, whose budget is spent, what is refused."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Category, Curator, Number, Overspent, PrivateKMeans, Schema, Weight
from sfumato._accounting.budget import Caps
from sfumato._core.queries.cells import Grid
from sfumato._core.queries.projection import Projection
from sfumato.engines._open import rows_of
from tests.no_noise import NoNoise

FRAME = pd.DataFrame(
    {
        "region": ["north", "south", "north", "east"] * 15,
        "age": [20, 40, 60, None] * 15,
        "sex": ["F", "M", "X", "?"] * 15,
        "income": np.linspace(0, 9, 60),
        "who": np.repeat(range(20), 3),
        "note": ["text"] * 60,
    }
)
SCHEMA = Schema(
    age=Number(0, 100), sex=Category("F", "M", weight=0), income=Number(0, 10, missing="drop")
)


def opened(table=FRAME, schema=SCHEMA, **settings):
    settings = {"epsilon": 9.0, "noise": NoNoise(), **settings}
    return Curator(table, schema=schema, **settings)


def total(curator, epsilon=1):
    account = curator.reserve("test", Caps(pure=Fraction(epsilon)))
    share = account.rest("pure")
    return float(curator.counts(Grid(1, curator.n_features), share=share).values[0])


def test_columns_go_by_name_and_others_are_left_alone():
    curator = opened()
    assert curator.names == ("age", "income")
    assert curator.schema is SCHEMA
    assert (curator.n_features, curator.box) == (2, SCHEMA.box)
    assert "declared of age: 0 to 100" in curator.notes
    assert total(curator) == 60  # a row whose age is missing counts with its income
    assert total(opened(FRAME[FRAME.columns[::-1]])) == 60


@pytest.mark.parametrize(("nan", "rows"), [("ignore", 60), ("drop", 45), ("center", 60)])
def test_bounds_by_name_are_a_schema(nan, rows):
    curator = opened(schema=None, bounds={"income": (0, np.float32(10)), "age": (0, 100)}, nan=nan)
    assert curator.names == ("income", "age")
    assert curator.schema.columns["age"] == Number(0, 100, missing=nan)
    assert curator.box.nan == "ignore", "the columns say what becomes of missing cells"
    assert total(curator) == rows


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"schema": SCHEMA, "bounds": (0, 1)}, ValueError, "leave bounds out"),
        ({"schema": SCHEMA, "nan": "drop"}, ValueError, "missing=…"),
        ({"schema": "schema.toml"}, TypeError, "Schema.read"),
        ({"schema": {"age": Number(0, 1)}}, TypeError, "must be a Schema"),
        ({"bounds": {"age": (0, 1, 2)}}, ValueError, "a pair"),
        ({"bounds": {"age": "01"}}, ValueError, "a pair"),
        ({"bounds": {"age": (1, 0)}}, ValueError, "must lie below"),
        ({"bounds": {"planet": (0, 1)}}, ValueError, "planet"),
        ({"bounds": {}}, ValueError, "at least one column"),
        ({"schema": Schema(note=Number(0, 1), groups="note2"), "groups": "who"},
         ValueError, "leave groups out"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(settings, error, says):
    with pytest.raises(error, match=says):
        Curator(FRAME, epsilon=1.0, **settings)


# Other columns of the same rows.


def test_other_columns_have_the_same_rows_and_the_same_budget():
    curator = opened()
    over = curator.over(["sex"])
    assert over.ledger is curator.ledger
    assert over.schema.features == ("sex",)
    assert over.schema.columns["sex"].weight == 1, "it takes part now"
    assert total(over, 4) == 30
    assert curator.ledger.spent == over.ledger.spent == (4, 0)
    total(curator.over(["income", "age"]), 5)
    with pytest.raises(Overspent):
        total(curator, 1)
    assert curator.over(("income", "age")).names == ("income", "age")
    assert curator.schema is SCHEMA


@pytest.mark.parametrize(
    ("names", "error", "says"),
    [
        (["planet"], ValueError, "no column 'planet'; its columns are age, sex, income"),
        ("sex", TypeError, "must be a list"),
        ([], ValueError, "at least one column"),
    ],
)
def test_columns_that_are_not_there_are_refused(names, error, says):
    with pytest.raises(error, match=says):
        opened().over(names)


def test_without_a_schema_and_in_a_view_no_columns_are_chosen():
    plain = Curator(FRAME[["age", "income"]], bounds=(0, 100), epsilon=1.0)
    with pytest.raises(ValueError, match="opened without one"):
        plain.over(["age"])
    view = opened().view(Projection(np.array([[1, 2]]), np.array([30, -40]), 1))
    assert view.schema is None
    with pytest.raises(ValueError, match="choose them, then open the view"):
        view.over(["age"])


def test_rows_that_are_opened_already_keep_their_columns():
    """They are encoded: another order would give each column the name of the other."""
    schema = Schema(age=Number(0, 100), income=Number(0, 10))
    curator = opened(rows_of(FRAME, schema=schema), schema)
    assert curator.over(["age", "income"]).names == ("age", "income")
    for names in (["income", "age"], ["age"]):
        with pytest.raises(ValueError, match="opened already"):
            curator.over(names)
    with pytest.raises(ValueError, match="takes 1 coordinates"):
        opened(rows_of(FRAME, schema=schema), schema.over(["age"]))


def test_groups_and_rows_kept_of_each_stay():
    schema = Schema(SCHEMA.columns, groups="who")
    curator = opened(schema=schema, max_rows_per_group=2)
    for each in (curator, curator.over(["income"]), curator.over(["income"]).over(["income"])):
        assert each.neighbours == "one group of at most 2 rows"
        assert each.rows_per_neighbour == 2
        assert total(each) == 40
    with pytest.raises(ValueError, match="may lie in several parts"):
        curator.by("region", values=["north"])


def test_rows_opened_without_groups_are_refused_where_the_schema_names_them():
    """One row would be protected, where one person is meant to be."""
    schema = Schema(age=Number(0, 100), groups="who")
    with pytest.raises(ValueError, match="'who' says whose rows are whose, but the rows"):
        opened(rows_of(FRAME, schema=schema), schema)
    rows = rows_of(FRAME, groups="who", schema=schema, max_rows_per_group=3)
    assert opened(rows, schema).neighbours == "one group of at most 3 rows"
    with pytest.raises((TypeError, ValueError)):
        opened(FRAME[["age"]].to_numpy(), schema)


# Parts.


@pytest.mark.parametrize("column", ["region", "sex"])
def test_a_part_has_the_other_columns_and_the_same_schema(column):
    curator = opened(schema=Schema(SCHEMA.columns, region=Category("north", "south")))
    label = FRAME[column].iloc[0]
    part = curator.by(column, values=[label, "nowhere"])[label]
    assert column not in part.schema.columns
    assert total(part) == (FRAME[column] == label).sum()
    assert any("only the rows with" in note for note in part.notes)
    with pytest.raises(ValueError, match=f"no column '{column}'"):
        part.over([column])


def test_other_columns_of_a_part_are_rows_of_that_part_charged_with_it():
    curator = opened()
    parts = curator.by("region", values=["north", "south", "nowhere"])
    for name, rows in (("north", 30), ("south", 15), ("nowhere", 0)):
        over = parts[name].over(["income"])
        assert over.ledger is parts[name].ledger
        assert total(over, 2) == rows
        assert any(f"region = {name}" in note for note in over.notes)
    assert curator.ledger.spent == (2, 0), "side by side"
    total(parts["north"], 1)
    assert curator.ledger.spent == (3, 0)
    with pytest.raises(ValueError, match="cannot be divided again"):
        parts["north"].over(["income"]).by("sex", values=["F"])


def test_chosen_columns_can_be_divided():
    over = opened().over(["income"])
    parts = over.by("region", values=["north"])
    assert parts["north"].names == ("income",)
    assert total(parts["north"]) == 30
    with pytest.raises(ValueError, match="at least one column"):
        opened(schema=Schema(age=Number(0, 1))).by("age", values=[20])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_are_divided_and_chosen_from_alike(kind, tmp_path):
    path = tmp_path / f"rows.{kind}"
    FRAME.to_csv(path, index=False) if kind == "csv" else FRAME.to_parquet(path)
    curator = opened(path)
    assert total(curator.over(["sex"])) == 30
    part = curator.by("region", values=["south"])["south"]
    assert (total(part), total(part.over(["income"]))) == (15, 15)


# Ledgers that last.


@pytest.fixture
def ledger(tmp_path):
    bounds = {"age": (0, 100), "income": (0, 10)}
    return sfumato.Ledger.create(tmp_path / "l.db", "clinic", epsilon=3.0, bounds=bounds)


@pytest.mark.parametrize(
    "settings",
    [
        {"schema": Schema(age=Number(0, 99), income=Number(0, 10))},
        {"schema": Schema(age=Number(0, 100, weight=0), income=Number(-1, 10))},
        {"bounds": {"age": (0, 99), "income": (0, 10)}},
        {"bounds": {"income": (0, 10.5)}},
    ],
    ids=["schema", "no part of a fit", "dict", "one of two"],
)
def test_bounds_that_disagree_with_a_ledger_are_refused(ledger, settings):
    with pytest.raises(ValueError, match=r"other bounds of column '(age|income)' were declared"):
        Curator(FRAME, ledger=ledger, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"schema": SCHEMA},
        {"bounds": {"age": (0, 100.0), "income": (0, 10)}},
        {"bounds": {"income": (0, 10)}},
        {"schema": Schema(sex=Category("F", "M"))},
    ],
    ids=["schema", "dict", "one of two", "none of them"],
)
def test_bounds_that_agree_can_be_fitted_and_divided(ledger, settings):
    curator = Curator(FRAME, ledger=ledger, **settings)
    part = curator.by("region", values=["north"])["north"]
    assert part.names == curator.names
    model = PrivateKMeans(2, random_state=0).fit(part, request="north")
    again = PrivateKMeans(2, random_state=5).fit(part, request="north")
    np.testing.assert_array_equal(model.cluster_centers_, again.cluster_centers_)
    assert ledger.spent == (1, 0)
    assert again.schema_ == curator.schema
    assert again.cluster_profiles_ == model.cluster_profiles_


def test_a_request_is_another_one_with_another_schema(ledger):
    PrivateKMeans(2).fit(Curator(FRAME, ledger=ledger, schema=SCHEMA), request="r")
    other = Schema({**SCHEMA.columns, "age": Number(0, 100, scale="sqrt")})
    with pytest.raises(RuntimeError, match="for another fit"):
        PrivateKMeans(2).fit(Curator(FRAME, ledger=ledger, schema=other), request="r")
    weighted = Schema(SCHEMA.columns, who=Weight(0, 2))
    with pytest.raises(RuntimeError, match="for another fit"):
        PrivateKMeans(2).fit(Curator(FRAME, ledger=ledger, schema=weighted), request="r")
