"""What a model with a schema does with rows that the caller brings, and its files."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato
from sfumato import Category, Curator, Date, Number, PrivateKMeans, Schema, Weight, nonprivate
from sfumato._core.curator import Curator as CoreCurator

SCHEMA = Schema(
    age=Number(0, 100),
    sex=Category("F", "M", missing="level"),
    day=Date("2020-01-01", "2021-01-01"),
    w=Weight(0, 3),
)
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "w": RNG.integers(0, 4, 500),
        "sex": RNG.choice(["F", "M", "?"], 500),
        "age": RNG.uniform(0, 100, 500),
        "day": "2020-06-01",
        "note": "text",
    }
)
ARRAY = FRAME[["age", "sex", "day", "w"]].to_numpy()
MODEL = PrivateKMeans(3, schema=SCHEMA, method="eugkm", random_state=0).fit(FRAME)


@pytest.mark.parametrize(
    "rows",
    [
        FRAME,
        FRAME.drop(columns=["w", "note"]),
        pl.DataFrame(FRAME),
        pa.Table.from_pandas(FRAME),
        ARRAY,
        ARRAY[:, :-1],
        ARRAY.tolist(),
        ARRAY[:, :-1].tolist(),
    ],
    ids=[
        "pandas",
        "no weights",
        "polars",
        "pyarrow",
        "array",
        "no weights",
        "lists",
        "short lists",
    ],
)
def test_every_table_is_labelled_alike(rows):
    expected = MODEL.transform(FRAME)
    assert expected.shape == (500, 3)
    np.testing.assert_array_equal(MODEL.transform(rows), expected)
    np.testing.assert_array_equal(MODEL.predict(rows), expected.argmin(axis=1))
    assert MODEL.score(rows) == pytest.approx(-(expected.min(axis=1) ** 2).sum())
    found = nonprivate.labels(rows, MODEL.encoded_centers_, schema=SCHEMA)
    np.testing.assert_array_equal(found, MODEL.predict(rows))
    assert nonprivate.inertia(rows, MODEL.encoded_centers_, schema=SCHEMA) == pytest.approx(
        -MODEL.score(rows)
    )


def test_distances_are_over_the_cells_that_a_row_has():
    row = FRAME[:1].assign(day=None)
    points = nonprivate.encoded(row, SCHEMA)
    assert points.shape == (1, SCHEMA.dimensions)
    present = np.isfinite(points[0])
    offsets = MODEL.encoded_centers_[:, present] - points[0, present]
    np.testing.assert_allclose(MODEL.transform(row)[0], np.sqrt((offsets**2).sum(axis=1)))
    # A row without any cell is nearest to the first centre; a level of its own is a cell.
    nothing = pd.DataFrame({"age": [None], "day": [None], "sex": ["F"]}, dtype=object)
    plain = PrivateKMeans(2, schema=Schema(age=Number(0, 9)), random_state=0).fit(FRAME)
    assert plain.predict(nothing).tolist() == [0]
    assert plain.score(nothing) == 0


def test_more_rows_than_a_block(monkeypatch):
    whole = MODEL.transform(FRAME)
    monkeypatch.setattr("sfumato._released_model._BLOCK", 7)
    np.testing.assert_array_equal(MODEL.transform(FRAME), whole)


@pytest.mark.parametrize("rows", [ARRAY[:, :2], ARRAY[:, [0, 1, 2, 3, 3]], [[1, "F"]]])
def test_arrays_of_another_width_are_refused(rows):
    with pytest.raises(ValueError, match="3 columns that take part"):
        MODEL.predict(rows)


def test_rows_of_a_curator_or_a_file_are_not_labelled(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv")
    for rows in (Curator(FRAME, schema=SCHEMA, epsilon=1.0), tmp_path / "rows.csv"):
        with pytest.raises(TypeError, match="rows that the caller brings"):
            MODEL.predict(rows)


@pytest.mark.parametrize("rows", [FRAME, ARRAY, ARRAY.tolist()], ids=["frame", "array", "lists"])
def test_fit_predict_takes_what_fit_takes(rows):
    """An error after the fit would come when the budget is spent."""
    fresh = PrivateKMeans(3, schema=SCHEMA, random_state=0)
    assert fresh.fit_predict(rows).shape == (500,)
    assert fresh.fit_transform(rows).shape == (500, 3)


def test_a_file_brings_back_the_model(tmp_path):
    MODEL.save(tmp_path / "m.json")
    again = sfumato.load(tmp_path / "m.json")
    assert again.schema_ == again.schema == SCHEMA
    assert again.bounds is None
    np.testing.assert_array_equal(again.cluster_centers_, MODEL.cluster_centers_)
    np.testing.assert_array_equal(again.encoded_centers_, MODEL.encoded_centers_)
    np.testing.assert_array_equal(again.predict(FRAME), MODEL.predict(FRAME))
    assert again.cluster_profiles_ == MODEL.cluster_profiles_
    assert again.n_features_in_ == 3
    np.testing.assert_array_equal(again.synopsis_.cells, MODEL.synopsis_.cells)
    assert again.synopsis_.schema == SCHEMA
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_a_file_holds_the_allowed_and_nothing_else(tmp_path):
    MODEL.save(tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    plain = PrivateKMeans(2, bounds=(0, 100), method="eugkm").fit(FRAME[["age"]])
    plain.save(tmp_path / "p.json")
    usual = json.loads((tmp_path / "p.json").read_text())
    assert set(data) - set(usual) == {"schema", "profiles", "encoded_centers"}
    assert data["schema"] == SCHEMA.to_dict()
    assert len(data["profiles"]) == 3


def test_a_request_that_is_answered_again_leaves_nothing_of_another_fit(tmp_path):
    ledger = sfumato.Ledger.create(tmp_path / "l.db", "clinic", epsilon=3.0)
    plain = CoreCurator(FRAME[["age"]], bounds=(0, 100), ledger=ledger)
    PrivateKMeans(2, method="dplloyd", random_state=0).fit(plain, request="plain")
    used = PrivateKMeans(2, method="dplloyd", random_state=0)
    used.fit(CoreCurator(FRAME, schema=SCHEMA, ledger=ledger), request="mixed")
    assert used.schema_ == SCHEMA
    used.fit(plain, request="plain")
    assert used.schema_ is None
    assert not hasattr(used, "encoded_centers_")
    assert used.predict(FRAME[["age"]]).shape == (500,)
    assert ledger.spent == (2, 0)
    used.fit(CoreCurator(FRAME, schema=SCHEMA, ledger=ledger), request="mixed")
    assert used.schema_ == SCHEMA
    assert used.cluster_profiles_


def test_no_row_that_the_caller_brings_is_dropped():
    rows = pd.DataFrame({"age": [20.0, 80.0] * 400, "sex": ["F", "M"] * 400})
    schema = Schema(age=Number(0, 100), sex=Category("F", "M", missing="drop"))
    model = PrivateKMeans(2, epsilon=50, schema=schema, random_state=0).fit(rows)
    near = model.predict(rows[:2])
    assert near[0] != near[1]
    # The cell for which a fit drops a row is missing, the other one tells the cluster.
    gaps = pd.DataFrame({"age": [20.0, 80.0], "sex": [None, None]})
    np.testing.assert_array_equal(model.predict(gaps), near)
    # The owner's costs leave such rows out, as the fit does.
    points = nonprivate.encoded(gaps, schema)
    assert np.isnan(points).all()
