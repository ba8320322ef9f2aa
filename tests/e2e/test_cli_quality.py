"""`sfumato quality`: what it prints and writes, what it charges, and how it refuses."""

import json

import pytest

from tests.e2e.cli import BOUNDS, assert_refused, files, fit, run


@pytest.fixture
def fitted(people, here):
    """A thousand rows of two columns, and a model of them."""
    lines = [f"{age},{hours}" for age, hours in people]
    (here / "told.csv").write_text("\n".join(["age,hours", *lines]) + "\n")
    shown = fit("told.csv", *BOUNDS, "--columns", "age,hours", epsilon=1000)
    assert shown.exit_code == 0, shown.stderr


def quality(*words, epsilon=5):
    return run("quality", "model.json", "told.csv", "--epsilon", epsilon, *words)


def test_it_prints_a_table_and_a_receipt(fitted, here, monkeypatch):
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = quality()
        assert shown.exit_code == 0, shown.stderr
        assert "silhouette" in shown.stdout
        assert "Promise: ε = 5" in shown.stdout
        assert max(map(len, shown.stdout.splitlines())) <= width


def test_as_json_and_in_a_file(fitted, here):
    shown = quality("--json", "-o", "said.json", "--level", "0.8", "--clip", "0.5")
    told, said = json.loads(shown.stdout), json.loads((here / "said.json").read_text())
    assert told.pop("written_to") == "said.json"
    assert told == said
    assert told["level"] == 0.8
    assert all(c["radius"] == pytest.approx(0.5, abs=1e-4) for c in told["clusters"])
    assert sum(c["size"]["value"] for c in told["clusters"]) == pytest.approx(1000, abs=60)
    assert_refused(quality("-o", "said.json"), "--force")


def test_it_is_charged_to_a_ledger(fitted, here):
    assert run("ledger", "create", "l.db", "--epsilon", 1, "--dataset", "told").exit_code == 0
    charged = ("--ledger", "l.db", "--purpose", "a report")
    assert quality(*charged, epsilon=0.75).exit_code == 0
    assert "a report" in run("ledger", "history", "l.db").stdout
    assert_refused(quality(*charged, "-o", "said.json", epsilon=0.75), "does not cover", code=3)
    assert not (here / "said.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--columns", "age"), "leave --columns out"),
        (("--level", "1"), "level must be"),
        (("--clip", "0"), "clip must be"),
        (("--epsilon", "0"), "epsilon must be a positive"),
        (("--epsilon", "11"), "--yes-epsilon"),
        (("--delta", "1"), "delta must lie"),
        (("-o", "told.csv"), "is an input"),
    ],
)
def test_it_refuses_and_writes_nothing(fitted, here, words, said):
    before = files(here)
    assert_refused(quality(*words), said)
    assert files(here) == before


def test_other_kinds_of_models_are_refused(fitted, here):
    shown = fit("told.csv", *BOUNDS, "--columns", "age,hours", "--model", "mixture", "--force")
    assert shown.exit_code == 0, shown.stderr
    assert_refused(quality(), "of kind mixture", "--model kmeans or median")
