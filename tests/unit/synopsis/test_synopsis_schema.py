"""A synopsis of a table with a schema: cells, centres and synthetic rows in the users' words."""

import numpy as np
import pandas as pd
import pytest

from sfumato import Category, Cycle, Number, PrivateKMeans, Schema, Synopsis, Weight
from sfumato._lattice.box import Box
from sfumato._synopsis.cells import GridCells

SCHEMA = Schema(sex=Category("F", "M"), age=Number(20, 60))
GRID = GridCells((2, 2, 2))
WEIGHTS = np.array([0, 0, 9.0, 0, 0, 0, 0, 1.0])
SYNOPSIS = Synopsis(SCHEMA.box, GRID, WEIGHTS, 0.5, SCHEMA)


def test_cells_are_in_the_units_of_the_schema():
    assert SYNOPSIS.cells.shape == (8, len(SCHEMA.number_names))
    np.testing.assert_array_equal(SYNOPSIS.cells, SCHEMA.decode(GRID[:]))
    ages = SYNOPSIS.cells[:, SCHEMA.number_names.index("age")]
    assert set(ages) == {30.0, 50.0}
    plain = Synopsis(SCHEMA.box, GRID, WEIGHTS, 0.5)
    np.testing.assert_allclose(plain.cells, GRID[:])


def test_centres_are_in_the_units_of_the_schema():
    found = SYNOPSIS.kmeans(2, random_state=0)
    assert found.centers.shape == (2, 3)
    shares = found.centers[:, :2]
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_synthetic_rows_are_cells_of_a_table():
    rows = SYNOPSIS.sample(400, random_state=0)
    assert list(rows) == ["sex", "age"]
    frame = pd.DataFrame(rows)
    assert len(frame) == 400
    assert set(frame.sex) == {"F", "M"}
    assert frame.age.between(20, 60).all()
    # Nine of ten lie in the cell where the first level leads, or the second does.
    assert 0.8 < max((frame.age < 40).mean(), (frame.age >= 40).mean()) <= 1


def test_another_unit_of_weight():
    doubled = SYNOPSIS.times(2.5)
    np.testing.assert_array_equal(doubled.weights, 2.5 * WEIGHTS)
    assert (doubled.noise_std, doubled.schema) == (1.25, SCHEMA)
    assert SYNOPSIS.times(1) is SYNOPSIS


def test_a_file_keeps_the_schema(tmp_path):
    SYNOPSIS.save(tmp_path / "s.json")
    again = Synopsis.load(tmp_path / "s.json")
    assert again.schema == SCHEMA
    np.testing.assert_array_equal(again.cells, SYNOPSIS.cells)
    plain = Synopsis(Box((0.0,) * 3, (9.0,) * 3), GRID, WEIGHTS, 0.5)
    plain.save(tmp_path / "p.json")
    assert Synopsis.load(tmp_path / "p.json").schema is None
    assert "schema" not in plain.to_dict()


def test_a_released_synopsis_has_the_schema_of_its_table():
    frame = pd.DataFrame({"h": np.arange(200) % 24, "s": ["F", "M"] * 100, "w": 2})
    schema = Schema(h=Cycle(24), s=Category("F", "M"), w=Weight(0, 2))
    fitted = PrivateKMeans(2, schema=schema, method="eugkm", epsilon=5.0).fit(frame)
    synopsis = fitted.synopsis_
    assert synopsis.schema is schema
    assert synopsis.cells.shape[1] == len(schema.number_names) == 3
    assert set(synopsis.sample(9)) == {"h", "s"}
    assert synopsis.weights.sum() == pytest.approx(400, abs=200)
