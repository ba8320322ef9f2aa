"""demo, check, predict and help: what they print, what they write, and how they refuse."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import sfumato
from sfumato.cli._show import number
from tests.e2e.cli import BOUNDS, assert_refused, files, fit, run


def test_help_and_version_load_nothing_heavy():
    heavy = {"numpy", "scipy", "sklearn", "numba", "pyarrow", "mpmath", "cryptography"}
    for words in (["--help"], ["fit", "--help"], ["--version"], ["fit"]):
        code = (
            f"import sys; sys.argv = ['sfumato', *{words!r}]\n"
            "from sfumato.cli import app\n"
            "try: app()\n"
            f"finally: print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
        )
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert shown.stderr.splitlines()[-1] == "[]", shown.stderr
        assert (shown.returncode == 0) == (words != ["fit"])


def test_every_command_explains_itself():
    assert "[lower, upper]" in " ".join(run("fit", "--help").stdout.split())
    for command in ("demo", "check", "fit", "predict"):
        assert command in run().stdout
        assert "--json" in run(command, "-h").stdout
    assert run("--version").stdout.startswith("sfumato ")


def test_the_picture_is_ascii_where_the_terminal_is():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    code = "from sfumato.cli import app; app()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo"], env=environment, capture_output=True
    )
    assert done.returncode == 0
    assert done.stdout.isascii()
    picture = [line for line in done.stdout.decode().splitlines() if line.startswith("  |")]
    assert len(picture) == 20
    assert not any("?" in line for line in picture)
    assert any("#" in line for line in picture)


def test_demo(here):
    shown = run("demo")
    assert shown.exit_code == 0
    for words in ("invented people", "█", "noisy size", "Receipt", "Promise: ε = 1.", "2.7"):
        assert words in shown.stdout
    assert max(map(len, run("demo").stdout.splitlines())) <= 100
    centers = np.array(json.loads(run("demo", "--json").stdout)["cluster_centers"])
    assert centers.shape == (5, 2)
    assert not files(here)


def test_a_demo_can_write_its_report(here):
    assert "The same as a page: page.html" in run("demo", "--report", "page.html").stdout
    written = files(here)["page.html"]
    assert "cups of coffee" in written.decode()
    assert_refused(run("demo", "--report", "page.html"), "--force")
    assert files(here)["page.html"] == written
    assert run("demo", "--report", "page.html", "--force", "--json").exit_code == 0
    assert files(here)["page.html"] != written


def test_missing_options_are_named(people):
    assert_refused(run("fit", "people.csv", "-k", 2, "-o", "m.json"), "--epsilon", "--help")
    assert_refused(run("fit"), "DATA")
    assert_refused(run("paint"), "No such command 'paint'")
    assert_refused(run("--paint"), "--paint")


def test_predict_writes_one_label_per_row(people, here):
    fit("people.csv", *BOUNDS)
    model = sfumato.load("model.json")
    del model.feature_names_in_
    expected = model.predict(people)
    for data in ("people.csv", "people.csv.gz", "people.npy", "bare.csv", "visits.csv"):
        words = ("--no-header",) if data == "bare.csv" else ()
        shown = run("predict", "model.json", data, "-o", "labels.csv", "--json", *words)
        told = json.loads(shown.stdout)
        assert told == {"written_to": "labels.csv", "rows": 1000, "rows_with_missing_cells": 0}
        header, *labels = (here / "labels.csv").read_text().splitlines()
        assert header == "cluster"
        np.testing.assert_array_equal(np.array(labels, dtype=int), expected)
    assert "1,000 labels" in run("predict", "model.json", "people.csv", "-o", "labels.csv").stdout


def test_predict_matches_columns_by_name(people, here):
    fit("people.csv", *BOUNDS, "--random-state", 0, epsilon=1000)
    (here / "new.csv").write_text("hours,name,age\n10,x,25\n45,y,60\n,z,\n")
    shown = run("predict", "model.json", "new.csv", "-o", "labels.csv")
    told = "1 row has missing cells: their distances are over the columns they have."
    assert told in " ".join(shown.stdout.split())
    a, b, _ = (here / "labels.csv").read_text().split()[1:]
    assert a != b
    (here / "other.csv").write_text("years,hours\n25,10\n")
    before = files(here)
    words = ("predict", "model.json", "other.csv", "-o", "new_labels.csv")
    assert_refused(run(*words), "There is no 'age' in it", "--columns")
    assert_refused(run(*words, "--header"), "lacks columns", "age", "--columns")
    assert files(here) == before
    renamed = ("--columns", "years,hours")
    assert run("predict", "model.json", "other.csv", "-o", "l.csv", *renamed).exit_code == 0
    assert (here / "l.csv").read_text() == f"cluster\n{a}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model.json", "gone.csv", "-o", "l.csv"], "no such file: gone.csv"),
        (["gone.json", "people.csv", "-o", "l.csv"], "gone.json"),
        (["people.csv", "model.json", "-o", "l.csv"], "people.csv is not a sfumato model"),
        (["torn.json", "people.csv", "-o", "l.csv"], "damaged"),
        (["model.json", "people.csv", "-o", "people.csv"], "is an input"),
        (["model.json", "people.csv", "-o", "model.json"], "is an input"),
        (
            ["model.json", "wide.csv", "-o", "l.csv", "--no-header", "--columns", "3"],
            "fitted on 2 columns, wide.csv has 3",
        ),
        (["model.json", "wide.csv", "-o", "l.csv"], "--no-header"),
        (["model.json", "people.csv"], "--output"),
    ],
)
def test_predict_refuses_and_writes_nothing(people, here, words, said):
    fit("people.csv", *BOUNDS)
    (here / "torn.json").write_text('{"format": 2}')
    (here / "wide.csv").write_text("1,2,3\n")
    before = files(here)
    assert_refused(run("predict", *words), said)
    assert files(here) == before


def test_labels_appear_whole_or_not_at_all(people, here, monkeypatch):
    fit("people.csv", *BOUNDS)
    before = files(here)

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr("sfumato._private_kmeans.PrivateKMeans.labels_of", fail)
    refused = run("predict", "model.json", "people.csv", "-o", "labels.csv")
    assert_refused(refused, "the disk is full")
    assert files(here) == before


def test_predict_of_no_rows(people, here):
    fit("people.csv", *BOUNDS)
    (here / "none.csv").write_text("age,hours\n")
    assert run("predict", "model.json", "none.csv", "-o", "labels.csv").exit_code == 0
    assert (here / "labels.csv").read_text() == "cluster\n"


def test_check_counts_exactly_and_names_no_value(people, here):
    shown = run("check", "people.csv", "--bounds", "0,100", "--bounds", "hours=0,20")
    assert shown.exit_code == 0
    assert "people.csv: 1,000 rows" in shown.stdout
    assert "outside bounds" in shown.stdout
    assert "Nothing wrong." in shown.stdout
    assert "seems to name the columns: other commands need --header" in shown.stdout
    assert "seems" not in run("check", "people.csv", "--header").stdout
    with open("people.csv", "a") as file:
        file.write("secret,1\n,2\n3\n")
    shown = run("check", "people.csv")
    assert shown.exit_code == 2
    told = " ".join(shown.stdout.split())
    assert "2 rows have missing cells. In `fit` such a row counts with the columns it has" in told
    assert "--nan center puts missing cells" in told
    assert "--nan drop leaves their rows out" in told
    assert "line 1002, column 'age'; line 1004." in " ".join(shown.stdout.split())
    told = json.loads(run("check", "people.csv", "--json").stdout)
    assert (told["clean"], told["rows"], told["ragged"]) == (False, 1003, 1)
    assert told["columns"][0] == {
        "name": "age",
        "numbers": 1001,
        "missing": 1,
        "text": 1,
        "outside": None,
    }
    assert "secret" not in shown.stdout + str(told)
    assert run("check", "people.csv", "--columns", "hours", "--json").exit_code == 2


def test_check_says_what_it_has_guessed(people, here):
    (here / "bare.csv").write_text("1;2\n3;4\n")
    shown = " ".join(run("check", "bare.csv").stdout.split())
    assert "to be a row: other commands need --no-header --columns 2 --sep ';'." in shown
    told = json.loads(run("check", "bare.csv", "--json").stdout)
    assert told["guessed"] == {"header": False, "sep": ";", "columns": 2}
    assert "guessed" not in json.loads(run("check", "people.npy", "--json").stdout)


def test_check_of_one_column_sees_only_that_one(people):
    assert run("check", "visits.csv").exit_code == 2
    assert run("check", "visits.csv", "--columns", "age,2").exit_code == 0
    assert_refused(run("check", "visits.csv", "--columns", "age,9"), "no column '9'")
    assert_refused(run("check", "gone.csv"), "no such file")


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (512345.678, 0, 1e6, "512,346"),
        (38.2134, 17, 90, "38.21"),
        (0.51234, 0, 1, "0.512"),
        (-0.00001, -1, 1, "0.000"),
        (1.23456e-9, 0, 1e-8, "1.2346e-09"),
        (1.23456e15, 0, 2e15, "1.2346e+15"),
    ],
)
def test_coordinates_have_the_digits_that_their_bounds_make_meaningful(value, low, high, text):
    assert number(value, low, high) == text


def test_the_installed_command(people, here):
    command = [sys.executable, "-c", "from sfumato.cli import app; app()"]
    words = ["fit", "people.csv", "-k", "2", "--epsilon", "1", *BOUNDS, "-o", "model.json"]
    shown = subprocess.run([*command, *words], capture_output=True, text=True)
    assert (shown.returncode, shown.stderr) == (0, "")
    shown = subprocess.run([*command, *words, "--epsilon", "0"], capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("sfumato: epsilon must be")
