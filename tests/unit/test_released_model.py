"""Models that were released: rows that a caller brings, and files that somebody has changed."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from sfumato import Category, Number, PrivateKMeans, Schema, load

ROWS = np.random.default_rng(0).uniform(size=(40, 2))
MODEL = PrivateKMeans(2, bounds=(0, 1), method="dplloyd").fit(ROWS)
CELL = "0.7319284651"


@pytest.mark.parametrize(
    "rows",
    [
        *(np.array(float(CELL)), np.array([float(CELL), 1]), [[CELL, "x"]], [[float(CELL), {}]]),
        *(np.array([[float(CELL), 1j]]), np.ma.masked_array([[CELL, "x"]]), [{"a": CELL}]),
        *(
            pd.DataFrame({"a": [CELL + "x"], "b": ["x"]}),
            [[CELL, 10**400]],
            [[float(CELL)], [1, 2]],
        ),
    ],
    ids=lambda rows: type(rows).__name__,
)
@pytest.mark.parametrize("verb", ["predict", "transform", "score"])
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_rows_are_refused_without_their_cells(rows, verb):
    with pytest.raises((TypeError, ValueError)) as caught:
        getattr(MODEL, verb)(rows)
    error = caught.value
    while error is not None:
        assert CELL[:8] not in str(error)
        error = error.__cause__ or error.__context__


def test_objects_that_are_numbers_are_labelled():
    assert list(MODEL.predict(ROWS.astype(object))) == list(MODEL.predict(ROWS))
    some = [[0.5, None], [None, None]]
    assert list(MODEL.predict(some)) == list(MODEL.predict(np.array(some, dtype=float)))


def test_masked_cells_are_missing_everywhere():
    """What lies under a mask decides on nothing: in a fit, in labels, and in sizes."""
    mask = np.random.default_rng(1).uniform(size=ROWS.shape) < 0.3
    masked, gaps = (
        np.ma.masked_array(np.where(mask, 1e300, ROWS), mask),
        np.where(mask, np.nan, ROWS),
    )
    np.testing.assert_array_equal(MODEL.predict(masked), MODEL.predict(gaps))
    np.testing.assert_array_equal(MODEL.transform(masked), MODEL.transform(gaps))


def test_no_rows_are_refused_with_a_schema_too():
    schema = Schema(a=Number(0, 1), b=Category("x", "y"))
    table = pd.DataFrame({"a": ROWS[:, 0], "b": ["x", "y"] * 20})
    model = PrivateKMeans(2, schema=schema, method="dplloyd").fit(table)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(table[:0])


def test_rows_too_large_for_a_float_raise_no_warning():
    with warnings.catch_warnings(action="error"):
        MODEL.predict(ROWS.astype(np.longdouble) * np.longdouble("1e4000"))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("feature_names", 3), ("feature_names", ["a"]), ("cluster_centers", [[1.0]])),
        *(("cluster_centers", []), ("cluster_centers", [[1], [1, 2]]), ("cluster_sizes", [1.0])),
        *(("cluster_centers", [[None, "x"]] * 2), ("cluster_centers", [[float("inf"), 0]] * 2)),
        *(("receipt", {}), ("method", 3), ("bounds", []), ("schema", [])),
    ],
)
def test_a_damaged_model_is_refused(tmp_path, name, wrong):
    path = tmp_path / "model.json"
    MODEL.save(path)
    data = json.loads(path.read_text()) | {name: wrong}
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match=r"is a damaged sfumato model|a schema has"):
        load(path)


def test_a_fraction_without_a_value_is_damage(tmp_path):
    path = tmp_path / "model.json"
    MODEL.save(path)
    data = json.loads(path.read_text())
    data["receipt"]["guarantee"]["epsilon"] = "1/0"
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="is a damaged sfumato model"):
        load(path)


@pytest.mark.parametrize("text", ["[" * 10**5, '{"format": ' + "9" * 5000 + "}", "", "3", "\x00"])
def test_what_is_no_model_is_refused(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="is not a sfumato model"):
        load(path)
