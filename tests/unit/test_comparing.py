"""Methods side by side, for the owner of rows: a tidy table that goes on where it was stopped."""

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Category, Number, Schema
from sfumato.methods import DPLloyd, Sukpisit

ROWS = np.random.default_rng(0).normal([[0, 0]] * 300 + [[3, 3]] * 300, 0.3)
SETTINGS = {"n_clusters": 2, "bounds": (-2, 5), "epsilons": [0.5, 2.0], "runs": 2}


def test_every_method_has_every_epsilon_and_run():
    found = sfumato.compare(["dplloyd", DPLloyd(iterations=2)], ROWS, **SETTINGS)
    names = ["dplloyd", "dplloyd(iterations=2)"]
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


@pytest.mark.parametrize(
    "text", ["", "1,2\n", "# sfumato compare, for the owner of the rows: []\n"]
)
def test_a_file_of_something_else_is_refused_and_stays(tmp_path, text):
    path = tmp_path / "compare.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match="other rows or settings"):
        sfumato.compare(["sukpisit"], ROWS, **SETTINGS, results=path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    "other",
    [{"n_clusters": 3}, {"delta": 1e-6}, {"bounds": (-3, 5)}, {"random_state": 1}, {"X": ROWS[1:]}],
)
def test_a_file_of_other_settings_is_refused(tmp_path, other):
    path = tmp_path / "compare.csv"
    sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, "runs": 1}, results=path)
    with pytest.raises(ValueError, match="other rows or settings"):
        sfumato.compare(["sukpisit"], **{"X": ROWS, **SETTINGS, **other}, results=path)


def patients(n=3000, without=0.2):
    """Two clusters of people; a fifth of the cells of either column is missing."""
    rng = np.random.default_rng(1)
    old = rng.random(n) < 0.4
    age = np.where(old, rng.normal(70, 5, n), rng.normal(25, 5, n))
    sex = np.where(rng.random(n) < np.where(old, 0.9, 0.1), "F", "M").astype(object)
    age[rng.random(n) < without] = np.nan
    sex[rng.random(n) < without] = None
    return pd.DataFrame({"age": age, "sex": sex})


def test_tables_with_a_schema_and_missing_cells():
    schema, table = Schema(age=Number(0, 100), sex=Category("F", "M")), patients()
    assert table.isna().to_numpy().mean() > 0.15
    found = sfumato.compare(["auto"], table, schema=schema, n_clusters=2, epsilons=[50], runs=2)
    reference = found["cost"][0] / found["ratio"][0]
    means = sfumato.nonprivate.kmeans(table, 2, schema=schema, random_state=0)
    assert reference == pytest.approx(sfumato.nonprivate.inertia(table, means, schema=schema))
    assert found["ratio"] == pytest.approx([1, 1], abs=0.01)


def test_bounds_may_go_by_name():
    table = patients(without=0)
    found = sfumato.compare(
        ["eugkm"], table, bounds={"age": (0, 100)}, n_clusters=2, epsilons=[50], runs=1
    )
    assert found["ratio"] == pytest.approx([1], abs=0.01)


def test_runs_begin_at_other_places():
    found = sfumato.compare(["dplloyd"], ROWS, n_clusters=7, bounds=(-9, 9), epsilons=[900], runs=4)
    assert max(found["ratio"]) > 1.05 * min(found["ratio"])


def test_a_method_of_another_package_is_taken_by_its_name(monkeypatch):
    class Middle(DPLloyd):
        pass

    monkeypatch.setitem(sfumato.METHODS._loaded, "middle", Middle)
    monkeypatch.setitem(sfumato.METHODS.__dict__, "_registered", {"middle": []})
    found = sfumato.compare(["middle"], ROWS, **{**SETTINGS, "runs": 1})
    assert found["method"] == ["middle", "middle"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bounds": None}, "bounds of the columns, or a schema"),
        ({"epsilons": []}, "needs methods and epsilons"),
        ({"epsilons": [0.0]}, "epsilon"),
        ({"runs": 0}, "runs"),
        ({"n_clusters": 600}, "costs nothing with 600 centres"),
        ({"n_clusters": 601}, "at least 601 rows"),
        ({"bounds": "private"}, "bounds of the columns, or a schema"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_settings_are_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, **changed})


def test_a_method_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="unknown"):
        sfumato.compare(["unknown"], ROWS, **SETTINGS)
    with pytest.raises(ValueError, match="same name: sukpisit, sukpisit"):
        sfumato.compare(["sukpisit", Sukpisit()], ROWS, **SETTINGS)
    with pytest.raises(ValueError, match="needs methods"):
        sfumato.compare([], ROWS, **SETTINGS)


def test_a_comparison_can_be_drawn():
    plotly = pytest.importorskip("plotly.graph_objects")
    found = sfumato.compare(["sukpisit"], ROWS, **{**SETTINGS, "runs": 1})
    assert isinstance(found.plot(), plotly.Figure)
