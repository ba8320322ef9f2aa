"""`sfumato fit --model`: density clusters and trees of clusters, as a user types them."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_moons

from sfumato import PrivateDBSCAN, PrivateGaussianMixture, PrivateKMedian, PrivateWard, load
from tests.e2e.cli import assert_refused, files, run

ASKED = ("moons.csv", "--header", "--bounds", "x=-1.5,2.5", "--bounds", "y=-1,1.5")
SPENT = ("--epsilon", 5, "-o", "model.json")


@pytest.fixture(autouse=True)
def moons(here):
    rows, _ = make_moons(5000, noise=0.05, random_state=0)
    np.savetxt("moons.csv", rows, delimiter=",", header="x,y", comments="")


def labels(name):
    return np.loadtxt(name, skiprows=1, dtype=int)


def test_density_clusters_are_fitted_printed_and_used():
    shown = run("fit", *ASKED, *SPENT, "--model", "density", "--set", "min_cluster_size=200")
    assert shown.exit_code == 0
    assert "2 private clusters of moons.csv, --model density" in shown.stdout
    assert " to " in shown.stdout
    model = load("model.json")
    assert isinstance(model, PrivateDBSCAN)
    assert model.min_cluster_size == 200
    assert run("predict", "model.json", "moons.csv", "--header", "-o", "l.csv").exit_code == 0
    assert set(labels("l.csv")) <= {-1, 0, 1}
    assert run("sample", "model.json", "-n", 7, "-o", "rows.csv").exit_code == 0


def test_trees_are_fitted_printed_and_used():
    words = ("--model", "ward", "-k", 4, "--set", "n_leaves=50", "--json")
    told = json.loads(run("fit", *ASKED, *SPENT, *words).stdout)
    assert told["model"] == "ward"
    assert len(told["linkage"]) == len(told["leaves"]) - 1 <= 49
    assert len(told["cluster_sizes"]) == 4
    assert isinstance(load("model.json"), PrivateWard)
    run("predict", "model.json", "moons.csv", "--header", "-o", "l.csv")
    rows = np.loadtxt("moons.csv", skiprows=1, delimiter=",")
    np.testing.assert_array_equal(labels("l.csv"), load("model.json").labels_of(rows))
    assert set(labels("l.csv")) == {0, 1, 2, 3}


def test_mixtures_are_fitted_printed_and_used():
    words = ("--model", "mixture", "-k", 3, "--set", "covariance_type=diag")
    shown = run("fit", *ASKED, *SPENT, *words)
    assert shown.exit_code == 0
    assert "3 private components of moons.csv" in shown.stdout
    model = load("model.json")
    assert isinstance(model, PrivateGaussianMixture)
    assert model.covariances_.shape == (3, 2)
    assert run("predict", "model.json", "moons.csv", "--header", "-o", "l.csv").exit_code == 0
    assert set(labels("l.csv")) <= {0, 1, 2}


def test_medians_are_fitted_and_printed():
    shown = run("fit", *ASKED, *SPENT, "--model", "median", "-k", 2)
    assert "2 private centres of moons.csv, by --model median" in shown.stdout
    assert isinstance(load("model.json"), PrivateKMedian)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "density", "-k", 3), "leave -k out"),
        (("--model", "ward"), "-k is needed"),
        (("--model", "ward", "-k", "auto"), "give a number"),
        (("--model", "ward", "-k", 3, "--method", "auto"), "--method is for --model kmeans"),
        (("--model", "ward", "-k", 3, "--set", "foo=1"), "settings of --model ward are n_leaves"),
        (("--model", "ward", "-k", 9, "--set", "n_leaves=2"), "n_leaves"),
        (("--model", "density", "--set", "min_cluster_size=-1"), "min_cluster_size"),
    ],
)
def test_what_a_model_does_not_take_is_refused(here, words, said):
    before = files(here)
    assert_refused(run("fit", *ASKED, *SPENT, *words), said)
    assert files(here) == before


def test_explanations_are_of_centres():
    run("fit", *ASKED, *SPENT, "--model", "density")
    words = ("explain", "model.json", "moons.csv", "--header", "--epsilon", 0.1)
    assert_refused(run(*words), "kind density")
