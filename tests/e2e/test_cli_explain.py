"""`sfumato explain`: what it prints and writes, what it charges, and how it refuses."""

import json

import pytest

from tests.e2e.cli import BOUNDS, assert_refused, files, fit, run

SCHEMA = """\
groups = "id"

[columns.age]
kind = "number"
lower = 0
upper = 100

[columns.hours]
kind = "number"
lower = 0
upper = 80

[columns.kind]
kind = "category"
levels = ["young", "old"]
weight = 0
"""


@pytest.fixture
def fitted(people, here):
    """A thousand rows with a column that took no part in the fit, and a model of them."""
    lines = [
        f"p{i},{age},{hours},{'young' if i < 500 else 'old'}"
        for i, (age, hours) in enumerate(people)
    ]
    (here / "told.csv").write_text("\n".join(["id,age,hours,kind", *lines]) + "\n")
    (here / "told.toml").write_text(SCHEMA)
    shown = fit("told.csv", "--schema", "told.toml", epsilon=1000)
    assert shown.exit_code == 0, shown.stderr


def explain(*words, epsilon=5):
    return run("explain", "model.json", "told.csv", "--epsilon", epsilon, *words)


def test_explain_prints_sentences_a_table_and_a_receipt(fitted, here, monkeypatch):
    shown = explain("--columns", "age,kind")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stderr == ""
    for words in ("Cluster 0", "people", "young", "in the rest", "Receipt", "Promise: ε = 5."):
        assert words in shown.stdout
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        assert max(map(len, explain().stdout.splitlines())) <= width


def test_explain_as_json(fitted, here):
    shown = explain("--json", "-o", "said.json", "--columns", "kind")
    told = json.loads(shown.stdout)
    assert told.pop("written_to") == "said.json"
    assert json.loads((here / "said.json").read_text()) == told
    (column,) = told["columns"]
    assert column["name"] == "kind"
    assert sorted(max(shares) > 0.9 for shares in column["shares"]) == [True, True]
    assert told["receipt"]["guarantee"]["neighbours"] == "one group of at most 1 row"
    assert_refused(explain("-o", "said.json"), "--force")
    assert explain("-o", "said.json", "--force").exit_code == 0


def test_columns_may_be_declared_later(fitted, here):
    (here / "short.toml").write_text(SCHEMA.partition("[columns.kind]")[0])
    assert fit("told.csv", "--schema", "short.toml", epsilon=1000).exit_code == 0
    assert_refused(explain("--columns", "kind"), "'kind' is not declared", "--schema FILE")
    told = json.loads(explain("--columns", "kind", "--schema", "told.toml", "--json").stdout)
    assert [column["name"] for column in told["columns"]] == ["kind"]
    (here / "other.toml").write_text(SCHEMA.replace("80", "81"))
    assert_refused(explain("--schema", "other.toml"), "other facts of column 'hours'")


def test_a_model_without_a_schema_is_explained(people, here):
    fit("visits.csv", *BOUNDS, "--columns", "age,hours", "--header", epsilon=1000)
    words = ("explain", "model.json", "visits.csv", "--epsilon", 5)
    told = json.loads(run(*words, "--groups", "id", "--max-rows-per-group", 4, "--json").stdout)
    assert {column["name"] for column in told["columns"]} == {"age", "hours"}
    assert told["receipt"]["guarantee"]["neighbours"] == "one group of at most 4 rows"
    (here / "s.toml").write_text(SCHEMA)
    assert_refused(run(*words, "--schema", "s.toml"), "fitted without a schema")
    assert_refused(run(*words, "--columns", "town"), "no column 'town'")


def test_explanations_are_charged_to_a_ledger(fitted, here):
    words = ("--dataset", "told", "--max-rows-per-group", 1)
    assert run("ledger", "create", "l.db", "--epsilon", 1, *words).exit_code == 0
    charged = ("--ledger", "l.db", "--purpose", "a report")
    assert explain(*charged, epsilon=0.75).exit_code == 0
    assert "a report" in run("ledger", "history", "l.db").stdout
    refused = explain(*charged, "-o", "said.json", epsilon=0.75)
    assert_refused(refused, "does not cover", code=3)
    assert not (here / "said.json").exists()
    assert_refused(explain("--purpose", "a report"), "goes with --ledger")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--columns", "id"), "'id' is not declared"),
        (("--columns", "age,"), "--columns must be"),
        (("--groups", "kind"), "groups"),
        (("--max-rows-per-group", "private"), "give a number"),
        (("--epsilon", "0"), "epsilon must be a positive"),
        (("--epsilon", "11"), "--yes-epsilon"),
        (("--delta", "1"), "delta must lie"),
        (("-o", "told.csv"), "is an input"),
        (("-o", "told.toml", "--schema", "told.toml"), "is an input"),
        (("-o", "nowhere/said.json"), "no such directory"),
    ],
)
def test_explain_refuses_and_writes_nothing(fitted, here, words, said):
    before = files(here)
    assert_refused(explain(*words), said)
    assert files(here) == before


def test_cells_that_cannot_be_read_are_refused_before_the_charge(fitted, here):
    with open("told.csv", "a") as file:
        file.write("p9,1,1,secret\n")
    refused = explain("--columns", "kind")
    assert_refused(refused, "column kind", "line 1002", "Nothing was spent")
    assert "secret" not in refused.stderr
    assert explain("--columns", "kind", "--on-bad-row", "policy").exit_code == 0
    assert explain("--columns", "age").exit_code == 0


def test_what_was_spent_is_not_lost(fitted, here, monkeypatch):
    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("sfumato.cli._model.write_whole", fail)
    shown = explain("-o", "said.json", "--columns", "age")
    assert shown.exit_code == 2
    assert "the disk is full" in shown.stderr
    assert "ε = 5 is spent" in shown.stderr
    assert json.loads(shown.stdout)["columns"][0]["name"] == "age"
