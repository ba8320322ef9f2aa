"""`sfumato fit`: what it prints, what it writes, and how it refuses."""

import json

import numpy as np
import pytest

import sfumato
from sfumato._accounting.budget import Overspent
from sfumato.methods import METHODS
from tests.e2e.cli import BOUNDS, assert_refused, files, fit, header, run

NAMES = ["age", "hours"]


def test_fit_writes_a_model_and_prints_it(people, here):
    # So large a budget that the noise cannot matter.
    shown = fit("people.csv", *BOUNDS, "--random-state", 0, epsilon=1000)
    assert shown.exit_code == 0
    assert shown.stderr == ""
    for words in ("2 private centres of people.csv", "noisy size", *NAMES, "Promise: ε = 1000."):
        assert words in shown.stdout
    assert "Model written to model.json" in shown.stdout
    model = sfumato.load("model.json")
    assert model.feature_names_in_.tolist() == NAMES
    assert (model.box_.lower, model.box_.upper) == ((0, 0), (100, 80))
    found = model.cluster_centers_[model.cluster_centers_[:, 0].argsort()]
    np.testing.assert_allclose(found, [[25, 10], [60, 45]], atol=1)


def test_fit_publishes_no_exact_number_of_rows(people):
    shown = fit("people.csv", *BOUNDS, epsilon=0.01)
    assert shown.exit_code == 0
    assert "1,000 rows" not in shown.stdout
    numbers = []
    text = fit("people.csv", *BOUNDS, "--json", epsilon=0.01).stdout
    json.loads(text, parse_int=numbers.append, parse_float=numbers.append)
    assert numbers
    assert 1000 not in map(float, numbers)


@pytest.mark.parametrize("data", ["people.csv", "people.csv.gz", "people.npy", "bare.csv"])
def test_fit_json_is_the_model_and_the_path(people, data):
    told = json.loads(fit(data, *_bounds(data), "--json", *header(data)).stdout)
    assert told.pop("written_to") == "model.json"
    with open("model.json", encoding="utf-8") as file:
        saved = json.load(file)
    # The synopsis is for the file: it can be large.
    assert len(saved.pop("synopsis")["weights"]) > 1
    # Worked out from it when it is asked for.
    assert all(0 <= each <= 1 for each in told.pop("evidence"))
    assert told == saved
    assert told["feature_names"] == (NAMES if "people.csv" in data else None)


def test_fit_chooses_how_many(people):
    fit("people.csv", *BOUNDS, k="auto")
    with open("model.json", encoding="utf-8") as file:
        saved = json.load(file)
    assert 2 <= len(saved["cluster_centers"]) <= 20
    assert any("chosen on the released counts" in note for note in saved["receipt"]["notes"])


def _bounds(data):
    hours = "hours" if "people.csv" in data else "1"
    return ("--bounds", "0,100", "--bounds", f"{hours}=0,80")


def test_fit_parquet(people):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"name": ["x"] * len(people), "age": people[:, 0], "hours": people[:, 1]})
    pq.write_table(table, "people.parquet")
    assert_refused(fit("people.parquet", *BOUNDS), "name (string)")
    shown = fit("people.parquet", *BOUNDS, "--columns", "age,hours", "--json")
    assert json.loads(shown.stdout)["feature_names"] == NAMES


@pytest.mark.parametrize(
    "bounds",
    [{"hours": [0, 80], "age": [0, 100]}, [[0, 0], [100, 80]], [0, [100, 80]]],
)
def test_bounds_from_a_file(people, here, bounds):
    (here / "bounds.json").write_text(json.dumps(bounds))
    words = ("--bounds-file", "bounds.json", "--json", "--header")
    told = json.loads(fit("people.csv", *words).stdout)
    assert told["bounds"] == {"lower": [0, 0], "upper": [100, 80]}


def test_columns_that_bounds_do_not_name_are_left_alone(people, here):
    (here / "bounds.json").write_text('{"hours": [0, 80], "age": [0, 100]}')
    named = ("--bounds", "hours=0,80", "--bounds", "age=0,100")
    for words in (named, ("--bounds-file", "bounds.json", "--header")):
        told = json.loads(fit("visits.csv", *words, "--json").stdout)
        assert told["feature_names"] == NAMES
        assert told["bounds"] == {"lower": [0, 0], "upper": [100, 80]}
    shown = fit("visits.csv", "--bounds", "hours=0,80", "--groups", "id")
    assert "Columns left alone: age, town" in shown.stdout
    assert "left alone" not in fit("people.csv", *BOUNDS).stdout
    refused = fit("visits.csv", "--bounds", "0,100", "--bounds", "hours=0,80")
    assert_refused(refused, "cells that are not numbers (column id, town)")


@pytest.mark.parametrize(
    "words",
    [
        ("--bounds", "0=0,100", "--bounds", "1=0,80"),
        ("--bounds-file", "bounds.json"),
        ("--columns", "2", *BOUNDS[:2]),
        ("--columns", "0,1", *BOUNDS[:2]),
        ("--columns", "2", *BOUNDS[:2], "--sep", ","),
    ],
)
def test_without_a_header_columns_are_declared(people, here, words):
    (here / "bounds.json").write_text("[0, [100, 80]]")
    told = json.loads(fit("bare.csv", "--no-header", *words, "--json").stdout)
    assert told["feature_names"] is None
    assert len(told["bounds"]["lower"]) == 2


def test_other_separators_are_declared(people, here):
    lines = (here / "bare.csv").read_text().replace(",", ";")
    (here / "bare.csv").write_text("1,5\n" + lines)
    bounds = ("--bounds", "0=0,100", "--bounds", "1=0,80")
    refused = fit("bare.csv", "--no-header", "--sep", ";", *bounds)
    assert_refused(refused, "the first at line 1")
    told = fit("bare.csv", "--no-header", "--sep", ";", *bounds, "--on-bad-row", "policy", "--json")
    assert sum(json.loads(told.stdout)["cluster_sizes"]) == pytest.approx(1000, abs=50)
    (here / "tabs.csv").write_text("age\thours\n1\t2\n")
    assert fit("tabs.csv", *BOUNDS, "--sep", "tab").exit_code == 0


def test_every_option_reaches_the_model(people):
    shown = fit(
        "visits.csv",
        *("--columns", "hours,age", "--bounds", "-1,101", "--bounds", "hours=-2.5,1e2"),
        *("--method", "sukpisit", "--delta", "1e-6", "--nan", "drop", "--n-rows", "1000"),
        *("--groups", "id", "--max-rows-per-group", "4", "--random-state", "3", "--header"),
        "--json",
        epsilon=0.5,
    )
    told = json.loads(shown.stdout)
    assert told["feature_names"] == ["hours", "age"]
    assert told["bounds"] == {"lower": [-2.5, -1], "upper": [100, 101]}
    assert (told["epsilon"], told["delta"], told["nan"]) == (0.5, 1e-6, "drop")
    assert told["method"]["name"] == "sukpisit"
    assert told["receipt"]["guarantee"]["neighbours"] == "one group of at most 4 rows"


def test_groups_are_protected_as_a_whole(people):
    columns = ("--columns", "age,hours", *BOUNDS, "--json")

    def noise(*words):
        lines = json.loads(fit("visits.csv", *columns, *words).stdout)["receipt"]["queries"]
        return float(lines[0]["noise"].split()[1])

    groups = noise("--groups", "id", "--max-rows-per-group", "4")
    assert groups == pytest.approx(4 * noise(), rel=0.02)


def test_rows_per_group_can_be_chosen(people):
    words = ("--columns", "age,hours", "--groups", "id", "--max-rows-per-group", "private")
    told = json.loads(fit("visits.csv", *words, *BOUNDS, "--json", epsilon=5).stdout)["receipt"]
    assert (told["queries"][0]["query"], told["queries"][0]["cost"]) == ("rows per group", "1/4")
    (note,) = (note for note in told["notes"] if note.startswith("max_rows_per_group"))
    number = note.split()[1].rstrip(",")
    assert told["guarantee"]["neighbours"].startswith(f"one group of at most {number} row")
    both = json.loads(
        fit("visits.csv", *words, "--bounds", "private", "--json", "--force", epsilon=5).stdout
    )
    assert sum(note.startswith(("max_rows", "bounds")) for note in both["receipt"]["notes"]) == 2


def test_the_default_method_is_the_estimators():
    assert f"[default: {sfumato.PrivateKMeans().method}]" in " ".join(
        run("fit", "--help").stdout.split()
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gone.csv", "--bounds", "0,1"], "no such file: gone.csv"),
        ([".", "--header", "--bounds", "0,1"], "has other columns than"),
        (["people.csv", "--header"], "bounds are required"),
        (["people.csv", "--header", "--bounds", "0"], "two numbers LOW,HIGH"),
        (["people.csv", "--header", "--bounds", "0,1,2"], "two numbers LOW,HIGH"),
        (["people.csv", "--header", "--bounds", "a,b"], "two numbers LOW,HIGH"),
        (["people.csv", "--header", "--bounds", "5,5"], "the lower one first, got 5,5"),
        (["people.csv", "--header", "--bounds", "0,inf"], "finite"),
        (["people.csv", "--header", "--bounds", "0,1", "--bounds", "0,2"], "given twice"),
        (["people.csv", "--bounds", "0,1"], "does the first line of people.csv name the columns"),
        (["bare.csv", "--no-header", "--bounds", "0,1"], "--columns N"),
        (["people.csv", *BOUNDS, "--sep", "ab"], "a separator is one character"),
        (
            ["people.csv", "--header", "--columns", "age,hours", "--bounds", "age=0,1"],
            "no bounds for column hours",
        ),
        (["people.csv", "--bounds", "ages=0,1"], "There is no 'ages' in it"),
        (["people.csv", "--header", "--bounds", "ages=0,1"], "the columns are age, hours"),
        (["people.csv", *BOUNDS, "--bounds", "hours=1,2"], "'hours' is given twice"),
        (["people.csv", "--bounds-file", "gone.json"], "No such file"),
        (["people.csv", "--bounds-file", "people.csv"], "not JSON"),
        (["people.csv", *BOUNDS, "--bounds-file", "people.csv"], "not from both"),
        (["people.csv", *BOUNDS, "--columns", "age,town"], "no 'town' in it"),
        (["people.csv", *BOUNDS, "--columns", "age"], "not among the features"),
        (["people.csv", *BOUNDS, "--columns", "age,"], "--columns must be"),
        (["people.csv", *BOUNDS, "--groups", "id"], "no 'id' in it"),
        (["people.csv", *BOUNDS, "--max-rows-per-group", "2"], "needs --groups"),
        (["people.csv", *BOUNDS, "--groups", "age", "--max-rows-per-group", "0"], "at least 1"),
        (["people.csv", *BOUNDS, "--max-rows-per-group", "private"], "needs --groups"),
        (["people.csv", *BOUNDS, "--groups", "age", "--max-rows-per-group", "few"], "or private"),
        (["people.csv", *BOUNDS, "--method", "magic"], f"one of {', '.join(METHODS)}, got 'magic'"),
        (["people.csv", *BOUNDS, "--epsilon", "0"], "epsilon must be a positive"),
        (["people.csv", *BOUNDS, "--epsilon", "-1"], "epsilon must be a positive"),
        (["people.csv", *BOUNDS, "--epsilon", "nan"], "epsilon must be a positive"),
        (["people.csv", *BOUNDS, "--epsilon", "one"], "--epsilon"),
        (["people.csv", *BOUNDS, "--delta", "1"], "delta must lie in [0, 1)"),
        (["people.csv", *BOUNDS, "-k", "0"], "-k must be a whole number"),
        (["people.csv", *BOUNDS, "-k", "2.5"], "whole number or auto, got '2.5'"),
        (["people.csv", *BOUNDS, "-k", "many"], "whole number or auto, got 'many'"),
        (["people.csv", *BOUNDS, "--n-rows", "-1"], "--n-rows must be"),
        (["people.csv", *BOUNDS, "--random-state", "-1"], "--random-state must be"),
        (["people.csv", *BOUNDS, "--nan", "keep"], "--nan"),
        (["people.csv", *BOUNDS, "--on-bad-row", "skip"], "--on-bad-row"),
        (["people.csv", *BOUNDS, "-o", "people.csv"], "is an input"),
        (["people.csv", *BOUNDS, "-o", "./people.csv"], "is an input"),
        (["people.csv", *BOUNDS, "-o", "nowhere/model.json"], "no such directory"),
        (["people.csv", *BOUNDS, "-o", "."], "is a directory"),
        (["people.csv", *BOUNDS, "-o", "/dev/null"], "no regular file"),
        (["people.csv", *BOUNDS, "--no-such-option"], "--no-such-option"),
        (["people.csv", "bare.csv", *BOUNDS], "bare.csv"),
        (["bare.csv", "--no-header", "--bounds", "age=0,100"], "the columns have no names"),
    ],
)
def test_fit_refuses_and_writes_nothing(people, here, words, said):
    before = files(here)
    assert_refused(fit(words[0], *words[1:]), said)
    assert files(here) == before


def test_links_to_the_input_are_not_written_over(people, here):
    (here / "soft.json").symlink_to(here / "people.csv")
    (here / "hard.json").hardlink_to(here / "people.csv")
    before = files(here)
    for name in ("soft.json", "hard.json"):
        assert_refused(fit("people.csv", *BOUNDS, output=name), "is an input")
    assert files(here) == before


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (
            "secret,3",
            "cells that are not numbers (column age), the first at line 1002, column 'age'",
        ),
        ("4", "rows with too few or too many fields, the first at line 1002"),
        ("4,5,6", "rows with too few or too many fields, the first at line 1002"),
    ],
)
def test_bad_rows_are_refused_before_the_charge_or_follow_the_policy(people, here, line, place):
    with open("people.csv", "a") as file:
        file.write(f"{line}\n")
    refused = fit("people.csv", *BOUNDS)
    assert_refused(refused, place, "Nothing was spent", "--on-bad-row policy")
    assert "secret" not in refused.stderr
    assert "model.json" not in files(here)
    assert fit("people.csv", *BOUNDS, "--on-bad-row", "policy").exit_code == 0


@pytest.mark.parametrize("line", [",3", "NA,nan", " ,", "inf,5"])
def test_missing_cells_follow_the_nan_policy(people, here, line):
    with open("people.csv", "a") as file:
        file.write(f"{line}\n")
    words = {
        "ignore": "were ignored: a row counts with the columns it has",
        "center": "put at the centre of their column",
        "drop": "were left out",
    }
    for policy, said in words.items():
        shown = fit("people.csv", *BOUNDS, "--nan", policy, "--json")
        assert shown.exit_code == 0
        assert shown.stderr == ""
        assert said in json.loads(shown.stdout)["receipt"]["notes"][-1]
        assert json.loads((here / "model.json").read_text())["nan"] == policy
    shown = fit("people.csv", *BOUNDS, "--json")
    assert words["ignore"] in json.loads(shown.stdout)["receipt"]["notes"][-1]


def test_a_note_of_many_lines_is_one_person(people):
    """Its lines were once 200 rows, and a cluster of their own."""
    note = "\n".join(["77,77"] * 200)
    with open("people.csv", "a") as file:
        file.write(f'"{note}",70\n')
    checked = json.loads(run("check", "people.csv", "--json").stdout)
    assert (checked["rows"], checked["ragged"], checked["clean"]) == (1001, 0, False)
    refused = fit("people.csv", *BOUNDS)
    assert_refused(refused, "the first at line 1002, column 'age'", "--on-bad-row policy")
    words = ("--on-bad-row", "policy", "--method", "eugkm", "--json")
    told = json.loads(fit("people.csv", *BOUNDS, *words, epsilon=1000, k=3).stdout)
    assert sum(told["cluster_sizes"]) == pytest.approx(1001, abs=1)


def test_quotes_without_one_meaning_cost_nothing(people, here):
    with open("people.csv", "a") as file:
        file.write('5" disk,3\n')
    refused = fit("people.csv", *BOUNDS, "--on-bad-row", "policy")
    assert_refused(refused, "people.csv, line 1002:", "not guessed")
    assert "disk" not in refused.stderr
    assert "model.json" not in files(here)


def test_a_damaged_file_is_refused_in_one_line(people, here):
    (here / "half.csv.gz").write_bytes((here / "people.csv.gz").read_bytes()[:-500])
    assert_refused(fit("half.csv.gz", *BOUNDS), "damaged or incomplete")
    (here / "no.csv.gz").write_bytes(b"age,hours\n1,2\n")
    assert_refused(fit("no.csv.gz", *BOUNDS), "gzip")


def test_a_refused_budget_exits_with_3_and_writes_nothing(people, here, monkeypatch):
    def refuse(*_, **__):
        raise Overspent("the budget does not cover this")

    monkeypatch.setattr("sfumato._core.curator.Curator.reserve", refuse)
    before = files(here)
    assert_refused(fit("people.csv", *BOUNDS), "the budget does not cover this", code=3)
    assert files(here) == before


def test_a_bug_is_not_dressed_up(people, monkeypatch):
    def slip(*_, **__):
        raise AssertionError

    monkeypatch.setattr("sfumato._private_kmeans.PrivateKMeans.fit", slip)
    with pytest.raises(AssertionError):
        fit("people.csv", *BOUNDS)


def test_an_old_model_survives_a_failed_fit(people, here):
    (here / "model.json").write_text("old")
    assert_refused(fit("people.csv", "--header", "--bounds", "1,0"))
    assert (here / "model.json").read_text() == "old"


@pytest.mark.parametrize("width", [80, 120])
def test_wide_tables_fit_the_terminal(here, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"a rather long [bold]name[/bold] :smile: {i}" for i in range(50)]
    (here / "wide.csv").write_text(",".join(names) + "\n" + ",".join("1" * 50) + "\n")
    shown = fit("wide.csv", "--header", "--bounds", "0,1000000", k=60)
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= width
    assert "… and 20 more centres and" in shown.stdout
    assert "a rather long [bold" in shown.stdout
    checked = run("check", "wide.csv").stdout
    assert max(map(len, checked.splitlines())) <= width
    assert "… and 50 more columns, see --json." in checked
