"""Methods side by side, for the owner of rows: a tidy table that goes on where it was stopped."""

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Category, Number, Schema
from sfumato.methods import DPLloyd

ROWS = np.random.default_rng(0).normal([[0, 0]] * 300 + [[3, 3]] * 300, 0.3)
SETTINGS = {"n_clusters": 2, "bounds": (-2, 5), "epsilons": [0.5, 2.0], "runs": 2}


def test_every_method_has_every_epsilon_and_run():
    found = sfumato.compare(["dplloyd", DPLloyd(iterations=2)], ROWS, **SETTINGS)
    names = ["dplloyd", repr(DPLloyd(iterations=2))]
    wanted = {(name, epsilon, run) for name in names for epsilon in (0.5, 2.0) for run in (0, 1)}
    assert set(zip(found["method"], found["epsilon"], found["run"], strict=True)) == wanted
    assert len(found) == 8
    assert min(found["ratio"]) > 0.999
    assert min(found["seconds"]) > 0
    assert "not a release" in str(found)
    assert list(found.to_frame().columns) == list(found.columns)
    np.testing.assert_allclose(
        np.divide(found["cost"], found["ratio"]), found["cost"][0] / found["ratio"][0]
    )


def test_the_reference_is_k_means_in_the_cube():
    found = sfumato.compare(["eugkm"], ROWS, **{**SETTINGS, "epsilons": [1000.0], "runs": 1})
    assert found["ratio"][0] == pytest.approx(1, abs=0.01)
    assert found["cost"][0] == pytest.approx(600 * 2 * (0.3 / 3.5) ** 2, rel=0.15)


def test_a_comparison_goes_on_where_it_was(tmp_path):
    path = tmp_path / "compare.csv"
    first = sfumato.compare(["sukpisit"], ROWS, **SETTINGS, results=path)
    with path.open("a") as file:
        file.write("sukpisit,0.5,2,1")  # cut off
    more = sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, "runs": 3}, results=path)
    assert [row for row in more.rows if row["run"] < 2] == list(first.rows)
    assert len(more) == 6
    again = sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, "runs": 3}, results=path)
    assert again == more


@pytest.mark.parametrize("other", [{"n_clusters": 3}, {"delta": 1e-6}, {"bounds": (-3, 5)}])
def test_a_file_of_other_settings_is_refused(tmp_path, other):
    path = tmp_path / "compare.csv"
    sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, "runs": 1}, results=path)
    with pytest.raises(ValueError, match="other rows or settings"):
        sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, **other}, results=path)


def test_tables_with_a_schema_and_missing_cells():
    schema = Schema(age=Number(0, 100), sex=Category("F", "M"))
    table = pd.DataFrame({"age": [20.0, 70.0, np.nan] * 100, "sex": ["F", "M", "M"] * 100})
    found = sfumato.compare(["auto"], table, schema=schema, n_clusters=2, epsilons=[5], runs=1)
    assert 0.9 < found["ratio"][0] < 20


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bounds": None}, "bounds of the columns, or a schema"),
        ({"epsilons": []}, "needs methods and epsilons"),
        ({"epsilons": [0.0]}, "epsilon"),
        ({"runs": 0}, "runs"),
        ({"n_clusters": 600}, "no more than 600 different rows"),
    ],
)
def test_wrong_settings_are_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, **changed})


def test_a_method_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="unknown"):
        sfumato.compare(["unknown"], ROWS, **SETTINGS)
    with pytest.raises(ValueError, match="needs methods"):
        sfumato.compare([], ROWS, **SETTINGS)


def test_a_comparison_can_be_drawn():
    plotly = pytest.importorskip("plotly.graph_objects")
    found = sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, "runs": 1})
    assert isinstance(found.plot(), plotly.Figure)
