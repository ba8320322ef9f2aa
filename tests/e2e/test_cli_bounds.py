"""`sfumato bounds` and `fit --bounds private`: what they print, write, cost, and refuse."""

import json

import numpy as np
import pytest

import sfumato
from tests.e2e.cli import assert_refused, files, fit, header, run

# So large a budget that the noise cannot matter.
PLENTY = 10_000


def test_bounds_are_printed_with_their_receipt(people):
    shown = run("bounds", "people.csv", "--epsilon", PLENTY, "--yes-epsilon", "--header")
    assert (shown.exit_code, shown.stderr) == (0, "")
    for words in ("Private bounds of people.csv", "age", "hours", "half octaves", "total, pure"):
        assert words in shown.stdout
    assert f"Promise: ε = {PLENTY}." in shown.stdout
    assert "1,000" not in shown.stdout


@pytest.mark.parametrize("data", ["people.csv", "people.csv.gz", "people.npy", "bare.csv"])
def test_bounds_go_into_a_fit(people, here, data):
    words = ("--epsilon", PLENTY, "--yes-epsilon", "-o", "b.json", "--json", *header(data))
    told = json.loads(run("bounds", data, *words).stdout)
    assert json.loads((here / "b.json").read_text()) == told["bounds"]
    assert list(told["bounds"]) == (["age", "hours"] if "people.csv" in data else ["0", "1"])
    lower, upper = np.array(list(told["bounds"].values())).T
    assert (lower < np.quantile(people, 0.02, axis=0)).all()
    assert (upper > np.quantile(people, 0.98, axis=0)).all()
    assert (upper - lower < 1.5 * np.ptp(people, axis=0)).all()
    assert told["receipt"]["guarantee"]["epsilon"] == str(PLENTY)
    # The bounds name the columns, or say how many there are.
    words = ("--no-header",) if data == "bare.csv" else ()
    assert fit(data, "--bounds-file", "b.json", *words).exit_code == 0
    assert sfumato.load("model.json").box_.lower == tuple(lower)


def test_fit_buys_bounds_on_the_way(people):
    words = ("--bounds", "private", "--method", "dplloyd", "--random-state", 0, "--header")
    shown = fit("people.csv", *words, epsilon=PLENTY)
    assert (shown.exit_code, shown.stderr) == (0, "")
    for words in ("histograms", f"Promise: ε = {PLENTY}.", "bounds estimated with ε 2500"):
        assert words in shown.stdout
    model = sfumato.load("model.json")
    found = model.cluster_centers_[model.cluster_centers_[:, 0].argsort()]
    np.testing.assert_allclose(found, [[25, 10], [60, 45]], atol=1)
    costs = [line.cost for line in model.receipt_.lines[:2]]
    assert costs == ["1750", "750"]


def test_columns_and_groups(people):
    words = ("--columns", "age,hours", "--groups", "id", "--max-rows-per-group", 4)
    told = json.loads(
        run("bounds", "visits.csv", "--epsilon", PLENTY, "--yes-epsilon", *words, "--json").stdout
    )
    assert list(told["bounds"]) == ["age", "hours"]
    assert told["receipt"]["guarantee"]["neighbours"] == "one group of at most 4 rows"
    assert told["receipt"]["queries"][0]["scale"] == "1/875"


def test_a_thousand_rows_and_little_budget_are_no_error(people):
    for _ in range(3):
        told = json.loads(
            run("bounds", "people.csv", "--epsilon", 0.001, "--json", "--header").stdout
        )
        for low, high in told["bounds"].values():
            assert low < high
        assert fit("people.csv", "--bounds", "private", "--header", epsilon=0.01).exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["people.csv"], "--epsilon"),
        (["people.csv", "--epsilon", 0], "epsilon must be"),
        (["gone.csv", "--epsilon", 1], "no such file"),
        (["visits.csv", "--epsilon", 1], "does the first line of visits.csv name the columns"),
        (["visits.csv", "--epsilon", 1, "--header"], "cells that are not numbers"),
        (["bare.csv", "--epsilon", 1, "--no-header"], "--columns N"),
        (["people.csv", "--epsilon", 1, "-o", "people.csv"], "is an input"),
        (["people.csv", "--epsilon", 1, "--max-rows-per-group", 2], "needs --groups"),
        (
            ["visits.csv", "--epsilon", 1, "--groups", "id", "--max-rows-per-group", "private"],
            "is for `sfumato fit`",
        ),
        (["people.csv", "--epsilon", 1, "--columns", "age,size"], "no 'size'"),
    ],
)
def test_bounds_refuses_and_writes_nothing(people, here, words, said):
    before = files(here)
    assert_refused(run("bounds", *words), said)
    assert files(here) == before


@pytest.mark.parametrize(
    "words",
    [
        ("--bounds", "private", "--bounds", "age=0,100"),
        ("--bounds", "private", "--bounds", "private"),
    ],
)
def test_private_stands_alone(people, here, words):
    before = files(here)
    assert_refused(fit("people.csv", "--header", *words), "give no other bounds")
    assert files(here) == before
