"""`sfumato fit --append`: one more batch of a model, as a user types it."""

import json

import numpy as np
import pytest

from sfumato import Ledger, load
from tests.e2e.cli import assert_refused, run

ASKED = ("--bounds", "x=0,1", "--bounds", "y=0,1", "-k", 3, "--epsilon", 2, "-o", "model.json")
PLACES = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]])


@pytest.fixture(autouse=True)
def days(here):
    rng = np.random.default_rng(0)
    for name, shift in (("mon", 0), ("tue", 0), ("wed", 0), ("thu", 0.1)):
        rows = PLACES[rng.integers(3, size=2000)] + rng.normal(0, 0.04, (2000, 2)) + shift
        table = np.column_stack([rows[:, 1], np.arange(2000) % 500, rows[:, 0]])
        np.savetxt(f"{name}.csv", table, delimiter=",", header="y,who,x", comments="")
    assert run("fit", "mon.csv", *ASKED).exit_code == 0


def append(*words):
    return run("fit", "--append", "model.json", *words)


def test_days_are_taken_in_and_compared():
    shown = append("tue.csv")
    assert shown.exit_code == 0
    assert "3 private centres after batch 2, tue.csv" in shown.stdout
    assert "Model written to model.json" in shown.stdout
    told = json.loads(append("wed.csv", "--json").stdout)
    assert told["stream"]["batches"] == 3
    assert told["stream"]["drift"]["alarm"] is False
    assert told["receipt"]["guarantee"]["neighbours"] == "one row of one batch"
    shown = append("thu.csv", "-o", "other.json", "--epsilon", 2)
    assert "Compared: drift: clusters 0, 1, 2 changed" in shown.stdout
    assert load("model.json").n_batches_ == 3
    model = load("other.json")
    assert model.n_batches_ == 4
    assert list(model.feature_names_in_) == ["y", "x"]
    # Columns go by their names: those of the file are in another order.
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_[:, 1]), np.sort(PLACES[:, 0]) + 0.025, atol=0.02
    )


REFUSED = {
    "epsilon": (["--epsilon", 1], "every batch of model.json costs ε = 2, got --epsilon 1"),
    "k": (["-k", 4], "-k is that of model.json, as in all batches: leave it out"),
    "bounds": (["--bounds", "0,1"], "--bounds is that of model.json"),
    "delta": (["--delta", "1e-6"], "--delta is that of model.json"),
    "method": (["--method", "dplloyd"], "--method is that of model.json"),
    "half life": (["--half-life", 2], "--half-life is that of model.json"),
    "groups": (["--groups", "who"], "max_batches"),
    "output": (["-o", "mon.csv"], "is there already"),
    "its own file": (["-o", "tue.csv"], "tue.csv is an input"),
    "dataset": (["--dataset", "clinic"], "--dataset goes with --ledger"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_leaves_the_model_as_it_was(here, words, said):
    before = (here / "model.json").read_bytes()
    assert_refused(append("tue.csv", *words), said)
    assert (here / "model.json").read_bytes() == before


def test_other_models_and_other_columns_are_refused():
    run("fit", "mon.csv", *ASKED[:-2], "-o", "median.json", "--model", "median")
    assert_refused(run("fit", "--append", "median.json", "tue.csv"), "a model of kind median")
    assert_refused(run("fit", "--append", "none.json", "tue.csv"), "none.json")
    np.savetxt("ab.csv", np.zeros((9, 2)), delimiter=",", header="a,b", comments="")
    assert_refused(append("ab.csv"), "y")


def test_what_a_fit_without_append_needs():
    assert_refused(run("fit", "mon.csv", *ASKED[:6], "-o", "m.json"), "--epsilon ε is needed")
    assert_refused(run("fit", "mon.csv", *ASKED[:8]), "--output FILE is needed")
    late = ("--half-life", 3, "--model", "ward")
    words = [*ASKED[:6], "--epsilon", 1, "-o", "m.json", *late]
    assert_refused(run("fit", "mon.csv", *words), "--half-life is for batches")
    assert_refused(run("fit", "mon.csv", *words[:-4], "--half-life", 0), "half_life must be")
    assert_refused(run("fit", "mon.csv", *words[:-4], "--max-batches", 0), "--max-batches must be")


def test_groups_are_given_in_every_batch_up_to_the_number_declared():
    words = ("--groups", "who", "--max-rows-per-group", 2)
    asked = [*ASKED[:-2], "-o", "people.json", *words, "--max-batches", 2]
    assert run("fit", "mon.csv", *asked).exit_code == 0
    told = json.loads(run("fit", "--append", "people.json", "tue.csv", *words, "--json").stdout)
    assert told["receipt"]["guarantee"]["epsilon"] == "4"
    assert_refused(run("fit", "--append", "people.json", "wed.csv", *words), "max_batches = 2")


def test_each_day_is_a_dataset_of_a_ledger_and_is_charged_once():
    bounds = {"x": (0, 1), "y": (0, 1)}
    ledger = Ledger.create("l.db", "tue", epsilon=2.0, bounds=bounds)
    words = ("--ledger", "l.db", "--dataset", "tue", "--request", "tuesday", "-o", "two.json")
    assert append("tue.csv", *words).exit_code == 0
    assert ledger.left[0] == 0
    first = load("two.json")
    assert append("tue.csv", *words, "--force").exit_code == 0
    np.testing.assert_array_equal(load("two.json").cluster_centers_, first.cluster_centers_)
    assert_refused(append("tue.csv", *words[:4], "-o", "b.json"), "does not cover this", code=3)
    again = ("fit", "--append", "two.json", "tue.csv", *words[:6])
    assert_refused(run(*again), "was made before, for another fit")
