"""`sfumato schema`, `check --schema` and `sample`: templates, what does not fit, and refusals."""

import csv
import gzip
import json
import tomllib

import numpy as np
import pytest

from sfumato import Schema
from tests.e2e.cli import assert_refused, files, fit, run

N = 400

SCHEMA = """\
groups = "patient_id"

[columns.age]
kind = "number"
lower = 17
upper = 90
source = "adults only"

[columns.sex]
kind = "category"
levels = ["F", "M", "X"]

[columns.smoker]
kind = "flag"

[columns.seen]
kind = "date"
first = "2019-01-01"
last = "2026-01-01"
format = "%d/%m/%Y"

[columns.grade]
kind = "ordinal"
levels = [1, 2, 3]
weight = 0
"""


@pytest.fixture
def clinic(here):
    """A table of visits of patients, two kinds of them, and its schema."""
    rng = np.random.default_rng(0)
    lines = ["patient_id,visit,age,sex,smoker,seen,grade,note"]
    for i in range(N):
        old = i // 2 % 2
        age = rng.normal(70 if old else 30, 3)
        words = ("M", "yes", "14/03/2024") if old else ("F", "no", "27/10/2020")
        lines.append(f"P{i // 2:04d},{i},{age:.2f},{','.join(words)},{i % 3 + 1},said {i} words")
    text = "\n".join(lines) + "\n"
    (here / "clinic.csv").write_text(text)
    (here / "clinic.toml").write_text(SCHEMA)
    return text


def test_a_template_has_the_kinds_and_no_value_of_a_row(clinic, here):
    shown = run("schema", "init", "clinic.csv")
    assert shown.exit_code == 0
    assert "outside the guarantee" in shown.stderr
    data = tomllib.loads(shown.stdout)
    kinds = {name: facts["kind"] for name, facts in data["columns"].items()}
    assert kinds == {
        "age": "number",
        "sex": "category",
        "smoker": "flag",
        "seen": "date",
        "grade": "number",
    }
    assert data["columns"]["seen"]["format"] == "%d/%m/%Y"
    assert '# groups = "patient_id"\n' in shown.stdout
    assert '# "note" is left out' in shown.stdout
    _, *rows = csv.reader(clinic.splitlines())
    # A category of two levels looks as one of three does; yes and no are the words of flags.
    values = {cell for row in rows for cell in row if len(cell) > 3}
    assert not [value for value in values if value in shown.stdout]
    (here / "more.csv").write_text(clinic + f"P9,{N},40,X,yes,14/03/2024,4,something\n")
    more = run("schema", "init", "more.csv").stdout
    assert more.replace("more.csv", "clinic.csv") == shown.stdout


@pytest.mark.parametrize("format", ["tsv", "csv.gz", "parquet", "npy"])
def test_templates_of_every_format(clinic, here, format):
    name = f"other.{format}"
    columns = dict.fromkeys(["age", "sex", "smoker", "seen", "grade"])
    if format == "tsv":
        (here / name).write_text(clinic.replace(",", "\t"))
    elif format == "csv.gz":
        (here / name).write_bytes(gzip.compress(clinic.encode()))
    elif format == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        rows = list(csv.DictReader(clinic.splitlines()))
        cells = {column: [row[column] for row in rows] for column in rows[0]}
        cells["age"] = [float(x) for x in cells["age"]]
        cells["smoker"] = [x == "yes" for x in cells["smoker"]]
        cells["seen"] = pa.array([18000 + i for i in range(N)], pa.date32())
        pq.write_table(pa.table({**cells, "tags": [["a"]] * N}), name)
    else:
        np.save(name, np.random.default_rng(0).normal(size=(50, 2)))
        columns = {"0": None, "1": None}
    shown = run("schema", "init", name)
    assert tomllib.loads(shown.stdout)["columns"].keys() == columns.keys()


def test_blanks_are_named_all_at_once(clinic, here):
    shown = run("schema", "init", "clinic.csv", "-o", "new.toml")
    assert "with 7 blanks to fill in" in shown.stdout
    text = (here / "new.toml").read_text()
    for words in (("schema", "show", "new.toml"), ("check", "clinic.csv", "--schema", "new.toml")):
        assert_refused(run(*words), "age: lower, upper; sex: levels; seen: first, last; grade")
    assert_refused(run("schema", "init", "clinic.csv", "-o", "new.toml"), "--force")
    assert_refused(run("schema", "init", "clinic.csv", "-o", "clinic.csv"), "is an input")
    filled = {'lower = "?"': "lower = 0", 'upper = "?"': "upper = 99"}
    filled |= {'levels = "?"': 'levels = ["F", "M"]'}
    filled |= {'first = "?"': 'first = "2020-01-01"', 'last = "?"': 'last = "2025-01-01"'}
    for blank, fact in filled.items():
        text = text.replace(blank, fact)
    (here / "new.toml").write_text(text)
    assert list(Schema.read("new.toml").columns) == ["age", "sex", "smoker", "seen", "grade"]
    told = json.loads(run("schema", "init", "clinic.csv", "--json").stdout)
    assert told["groups"] == ["patient_id"]
    assert tomllib.loads(told["template"])["columns"].keys() == told["kinds"].keys()


def test_what_a_template_guesses(here):
    lines = ["when,day,hour,bare,name,empty,a b"]
    lines += [f"2020-01-{i % 28 + 1:02d},{i % 12 + 1:02d}/{i % 12 + 1:02d}/2020" for i in range(60)]
    lines[1:] = [f"{line},{i % 24},{i % 2},n{i},,{i / 7}" for i, line in enumerate(lines[1:])]
    (here / "odd.csv").write_text("\n".join(lines) + "\n")
    text = run("schema", "init", "odd.csv").stdout
    data = tomllib.loads(text)["columns"]
    kinds = {name: facts["kind"] for name, facts in data.items()}
    wanted = {"when": "date", "day": "date", "hour": "number", "bare": "flag", "a b": "number"}
    assert kinds == wanted
    assert 'format = "%d/%m/%Y"  # or "%m/%d/%Y"' in text
    assert 'kind = "cycle", period' in text
    assert '# "empty" is left out: no cell' in text
    few = run("schema", "init", "odd.csv", "--columns", "hour,bare").stdout
    assert list(tomllib.loads(few)["columns"]) == ["hour", "bare"]
    assert_refused(run("schema", "init", "odd.csv", "--columns", "gone"), "no column 'gone'")
    assert_refused(run("schema", "init", "none.csv"), "no such file")


def test_a_schema_is_shown(clinic, here):
    shown = run("schema", "show", "clinic.toml").stdout
    for words in ("5 columns, 6 coordinates", "17 to 90", "F, M, X", "adults only", "'patient_id'"):
        assert words in shown
    told = json.loads(run("schema", "show", "clinic.toml", "--json").stdout)
    assert told["columns"]["sex"] == {"kind": "category", "levels": ["F", "M", "X"]}
    assert (told["groups"], told["dimensions"]) == ("patient_id", 6)
    assert "template" in run("schema").stdout
    (here / "bad.toml").write_text('[columns.sex]\nkind = "category"\nlevels = "FM"\n')
    assert_refused(run("schema", "show", "bad.toml"), "bad.toml", "'sex' must be a list")
    (here / "bad.toml").write_text("[columns")
    assert_refused(run("schema", "show", "bad.toml"), "bad.toml is not TOML")


def test_check_finds_nothing_where_all_fits(clinic):
    shown = run("check", "clinic.csv", "--schema", "clinic.toml")
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    for words in ("400 rows", "All fits.", "200 groups, the largest of 2 rows", "guarantee"):
        assert words in text
    assert "Left alone: visit, note." in text


def test_check_says_what_does_not_fit(clinic, here):
    bad = "P8,1000,17.5,Male,perhaps,2020-01-01,9,x\nP8,1001,5,,,,,\nP8,1\n"
    (here / "clinic.csv").write_text(clinic + bad)
    text = SCHEMA.replace('groups = "patient_id"', "") + '[columns.height]\nkind = "flag"\n'
    (here / "other.toml").write_text(text)
    shown = run("check", "clinic.csv", "--schema", "other.toml")
    assert shown.exit_code == 2
    words = " ".join(shown.stdout.split())
    for said in (
        "Not in the file, but declared: height.",
        "1 row has too few or too many fields, the first at line 404.",
        "sex: 1 cell is none of its levels, the first at line 402. 1 distinct value: 'Male' (1).",
        "smoker: 1 cell is no flag",
        "seen: 1 cell is no date, the first at line 402. 1 distinct value: '2020-01-01' (1). ",
        "age: 1 cell lies outside",
        "patient_id repeats: 201 values in 403 rows. If it says whose rows are whose, declare",
    ):
        assert said in words
    told = json.loads(run("check", "clinic.csv", "--schema", "other.toml", "--json").stdout)
    assert (told["clean"], told["rows"], told["ragged"]) == (False, 403, 1)
    assert told["absent"] == ["height"]
    assert told["groups_suggested"] == ["patient_id"]
    by_name = {column["name"]: column for column in told["columns"]}
    assert by_name["sex"] == {
        "name": "sex",
        "kind": "category",
        "read": 400,
        "missing": 2,
        "unreadable": 1,
        "outside": None,
        "missing_share": 2 / 403,
        "first_unreadable_line": 402,
        "unreadable_distinct": 1,
        "examples": {"Male": 1},
    }
    assert by_name["age"]["outside"] == 1


def test_check_says_how_dates_are_written(clinic, here):
    (here / "other.toml").write_text(SCHEMA.replace('format = "%d/%m/%Y"', ""))
    shown = run("check", "clinic.csv", "--schema", "other.toml")
    assert 'Declare format = "%d/%m/%Y", which fits' in " ".join(shown.stdout.split())


def test_check_of_many_columns_shows_those_that_do_not_fit(here):
    (here / "wide.csv").write_text(",".join(f"c{i}" for i in range(50)) + "\n" + "5" + ",1" * 49)
    facts = 'kind = "number"\nlower = 0\nupper = 2\n'
    (here / "wide.toml").write_text("".join(f"[columns.c{i}]\n{facts}" for i in range(50)))
    shown = run("check", "wide.csv", "--schema", "wide.toml").stdout
    assert "… and 49 more columns, see --json." in shown
    assert "c0: 1 cell lies outside" in shown


def test_an_id_is_no_feature(clinic, here):
    text = SCHEMA + '[columns.visit]\nkind = "number"\nlower = 0\nupper = 1000\n'
    (here / "other.toml").write_text(text)
    shown = run("check", "clinic.csv", "--schema", "other.toml")
    assert "visit looks like an id: 400 values in 400 rows" in " ".join(shown.stdout.split())
    assert shown.exit_code == 0


def test_unknown_levels_count_where_missing_is_a_level(clinic, here):
    text = SCHEMA.replace('["F", "M", "X"]', '["F", "X"]\nmissing = "level"')
    (here / "other.toml").write_text(text)
    told = json.loads(run("check", "clinic.csv", "--schema", "other.toml", "--json").stdout)
    assert told["columns"][1]["unreadable"] == 200


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--bounds", "0,1"), "leave --bounds out"),
        (("--columns", "age"), "leave --columns out"),
        (("--bounds-file", "b.json"), "leave --bounds-file out"),
    ],
)
def test_a_schema_is_not_mixed_with_other_declarations(clinic, words, said):
    assert_refused(run("check", "clinic.csv", "--schema", "clinic.toml", *words), said)
    assert_refused(fit("clinic.csv", "--schema", "clinic.toml", *words), said)


def test_fit_with_a_schema(clinic, here):
    shown = fit("clinic.csv", "--schema", "clinic.toml", epsilon=1000)
    assert shown.exit_code == 0, shown.stderr
    for words in ("noisy size", "F 100%", "M 100%", "0% yes", "2024-03-1", "age", "one group"):
        assert words in shown.stdout
    assert "Columns left alone: visit, grade, note" in shown.stdout
    told = json.loads(fit("clinic.csv", "--schema", "clinic.toml", "--json", epsilon=1000).stdout)
    young = min(told["profiles"], key=lambda profile: profile["age"])
    assert young["age"] == pytest.approx(30, abs=2)
    assert young["sex"]["leading"] == "F"
    assert young["seen"].startswith("2020-10")
    assert told["schema"]["groups"] == "patient_id"
    assert told["receipt"]["guarantee"]["neighbours"] == "one group of at most 1 row"


@pytest.mark.parametrize("data", ["people.npy", "bare.csv"])
def test_a_schema_goes_by_position_where_there_are_no_names(people, here, data):
    facts = 'kind = "number"\nlower = 0\nupper = 100\n'
    (here / "s.toml").write_text("".join(f"[columns.{i}]\n{facts}" for i in range(2)))
    words = ("--no-header",) if data == "bare.csv" else ()
    told = json.loads(fit(data, "--schema", "s.toml", "--json", *words, epsilon=1000).stdout)
    found = sorted(profile["0"] for profile in told["profiles"])
    assert found == pytest.approx([25, 60], abs=2)
    assert run("check", data, "--schema", "s.toml").exit_code == 0
    assert run("predict", "model.json", data, "-o", "l.csv", *words).exit_code == 0


def test_several_files_are_read_with_one_schema(clinic, here):
    header, *lines = clinic.splitlines()
    (here / "parts").mkdir()
    for i in range(2):
        text = "\n".join([header, *lines[i::2]]) + "\n"
        (here / "parts" / f"{i}.csv").write_text(text)
    words = ("--schema", "clinic.toml", "--max-rows-per-group", 2)
    told = json.loads(fit("parts", *words, "--json", epsilon=1000).stdout)
    assert sum(told["cluster_sizes"]) == pytest.approx(N, abs=20)
    (here / "parts" / "1.csv").write_text(f"{header}\nP,1,x,F,no,27/10/2020,1,x\n")
    assert_refused(fit("parts", *words), "1.csv", "column age", "line 2")


def test_fit_with_a_schema_refuses_before_anything_is_spent(clinic, here):
    words = ("clinic.csv", "--schema", "clinic.toml")
    assert_refused(fit(*words, "--groups", "visit"), "leave --groups out")
    assert_refused(fit(*words, "--nan", "drop"), "--nan drop", "missing = …")
    assert_refused(fit(*words, output="clinic.toml"), "is an input")
    (here / "other.toml").write_text(SCHEMA.replace("columns.age", "columns.years"))
    assert_refused(fit("clinic.csv", "--schema", "other.toml"), "'years'")
    (here / "clinic.csv").write_text(clinic + "P7,7,7,secret,yes,14/03/2024,1,x\n")
    before = files(here)
    refused = fit(*words)
    assert_refused(refused, "column sex", "line 402", "Nothing was spent", "--on-bad-row policy")
    assert "secret" not in refused.stderr
    (here / "clinic.csv").write_text(clinic + "P7,7\n")
    assert_refused(fit(*words), "too few or too many fields, the first at line 402")
    (here / "clinic.csv").write_text(clinic + "P7,7,7,secret,yes,14/03/2024,1,x\n")
    assert files(here) == before
    assert fit(*words, "--on-bad-row", "policy").exit_code == 0


def test_labels_by_a_model_with_a_schema(clinic, here):
    assert fit("clinic.csv", "--schema", "clinic.toml", epsilon=1000).exit_code == 0
    shown = run("predict", "model.json", "clinic.csv", "-o", "labels.csv", "--json")
    assert json.loads(shown.stdout)["rows_with_missing_cells"] == 0
    labels = (here / "labels.csv").read_text().split()[1:]
    assert labels == [labels[2 * (i // 2 % 2)] for i in range(N)]
    assert labels[0] != labels[2]
    (here / "new.csv").write_text("seen,sex,age,smoker\n,M,,yes\n27/10/2020,F,31,no\n")
    words = ("predict", "model.json", "new.csv", "-o", "labels.csv", "--schema")
    assert "1 row has missing cells" in run(*words, "clinic.toml").stdout
    assert (here / "labels.csv").read_text().split()[1:] == [labels[2], labels[0]]
    (here / "other.toml").write_text(SCHEMA.replace("90", "91"))
    assert_refused(run(*words, "other.toml"), "with another schema")
    (here / "short.csv").write_text("sex,age,smoker\nM,1,yes\n")
    refused = run("predict", "model.json", "short.csv", "-o", "labels.csv", "--header")
    assert_refused(refused, "no column 'seen'")


def test_synthetic_rows_are_in_the_words_of_the_schema(clinic, here):
    words = ("--schema", "clinic.toml", "--method", "eugkm")
    assert fit("clinic.csv", *words, epsilon=50).exit_code == 0
    draw = ("sample", "model.json", "-n", 50, "--random-state", 1)
    told = json.loads(run(*draw, "-o", "drawn.csv", "--json").stdout)
    assert told == {
        "written_to": "drawn.csv",
        "rows": 50,
        "columns": ["age", "sex", "smoker", "seen"],
    }
    (here / "alone.toml").write_text(SCHEMA.partition("[columns.grade]")[0].partition("\n")[2])
    assert run("check", "drawn.csv", "--schema", "alone.toml").exit_code == 0
    rows = list(csv.DictReader((here / "drawn.csv").read_text().splitlines()))
    assert len(rows) == 50
    assert {row["sex"] for row in rows} <= {"F", "M", "X"}
    first = (here / "drawn.csv").read_bytes()
    assert "50 synthetic rows" in run(*draw, "-o", "drawn.csv", "--force").stdout
    assert (here / "drawn.csv").read_bytes() == first
    assert run(*draw, "-o", "drawn.tsv.gz").exit_code == 0
    lines = gzip.decompress((here / "drawn.tsv.gz").read_bytes()).decode().splitlines()
    assert lines[0].split("\t") == told["columns"]


def test_synthetic_rows_without_a_schema(people, here):
    fit("people.csv", "--bounds", "0,100", "--header")
    assert run("sample", "model.json", "-n", 5, "-o", "drawn.csv").exit_code == 0
    header, *lines = (here / "drawn.csv").read_text().splitlines()
    assert (header, len(lines)) == ("age,hours", 5)
    pytest.importorskip("pyarrow")
    assert run("sample", "model.json", "-n", 5, "-o", "drawn.parquet").exit_code == 0
    assert_refused(run("sample", "model.json", "-n", 5, "-o", "drawn.csv"), "--force")
    assert_refused(run("sample", "model.json", "-n", 0, "-o", "d.csv"), "--n must be")
    assert_refused(run("sample", "model.json", "-n", 5, "-o", "d.txt"), ".csv", "'d.txt'")
    (here / "s.toml").write_text(SCHEMA)
    words = ("sample", "model.json", "-n", 5, "-o", "d.csv", "--schema", "s.toml")
    assert_refused(run(*words), "without a schema")
    fit("people.csv", "--bounds", "0,100", "--header", "--method", "dplloyd")
    assert_refused(run("sample", "model.json", "-n", 5, "-o", "d.csv"), "no synopsis", "eugkm")


def test_plan_with_a_schema(clinic):
    words = ("plan", "--n", 1000, "-k", 2, "--epsilon", 1, "--json")
    by_schema = json.loads(run(*words, "--schema", "clinic.toml").stdout)
    assert by_schema == json.loads(run(*words, "--d", 6).stdout)
    assert_refused(run(*words), "--d D or --schema FILE")
    assert_refused(run(*words, "--d", 6, "--schema", "clinic.toml"), "one of them")
    refused = run(*words, "--schema", "clinic.toml", "--bounds", "0,1")
    assert_refused(refused, "leave --bounds out")


def test_ledgers_take_a_schema(clinic, here):
    words = ("--dataset", "clinic", "--max-rows-per-group", 1)
    made = run("ledger", "create", "l.db", "--epsilon", 3, *words, "--schema", "clinic.toml")
    assert made.exit_code == 0, made.stderr
    assert "[17.0, 90.0]" in made.stdout
    assert "adults only" in made.stdout
    charged = ("--schema", "clinic.toml", "--ledger", "l.db")
    shown = fit("clinic.csv", *charged, epsilon=2)
    assert shown.exit_code == 0, shown.stderr
    assert_refused(fit("clinic.csv", *charged, epsilon=2), "does not cover", code=3)
    (here / "other.toml").write_text(SCHEMA.replace("90", "91"))
    refused = fit("clinic.csv", "--schema", "other.toml", "--ledger", "l.db", epsilon=0.5)
    assert_refused(refused, "other bounds of column 'age'")
    (here / "flags.toml").write_text('[columns.smoker]\nkind = "flag"\n')
    create = ("ledger", "create", "m.db", "--epsilon", 3, *words, "--schema")
    assert_refused(run(*create, "flags.toml"), "no number")
    assert_refused(run(*create, "clinic.toml", "--bounds-file", "b.json"), "not from both")
