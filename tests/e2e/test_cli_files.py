"""Files as people have them: encodings, decimal commas, and what is no table. By every command."""

import gzip
import json
import os

import numpy as np
import pytest

from sfumato import Ledger
from tests.e2e.cli import assert_refused, files, fit, run

OPTIONS = ("--encoding", "cp1252", "--decimal", ",")
BOUNDS = ("--bounds", "größe=0,100", "--bounds", "hours=0,80")
SECRET = "Müller"


@pytest.fixture
def clinic(here):
    """A thousand rows in two clouds, as Excel writes them in much of Europe."""
    rng = np.random.default_rng(0)
    rows = rng.normal(np.repeat([[25.0, 10.0], [60.0, 45.0]], 500, axis=0), (4, 3)).round(2)
    town = ["Köln", "Málaga"]
    lines = [
        f"{SECRET} {i // 4};{x};{y};{town[i % 2]}".replace(".", ",")
        for i, (x, y) in enumerate(rows)
    ]
    text = "\r\n".join(["wer;größe;hours;Städte", *lines])
    (here / "clinic.csv").write_bytes(text.encode("cp1252"))
    plain = text.replace(",", ".").replace(";", ",")
    (here / "plain.csv").write_text(plain, encoding="utf-8")
    (here / "schema.toml").write_text(
        '[columns."größe"]\nkind = "number"\nlower = 0\nupper = 100\n'
        '[columns."Städte"]\nkind = "category"\nlevels = ["Köln", "Málaga"]\n',
        encoding="utf-8",
    )
    return rows


def test_check_counts_the_same_in_both_files(clinic):
    told = json.loads(run("check", "clinic.csv", *OPTIONS, *BOUNDS, "--json").stdout)
    plain = json.loads(run("check", "plain.csv", *BOUNDS, "--json").stdout)
    assert told["clean"]
    assert {**told, "file": ""} == {**plain, "file": ""} | {"guessed": told["guessed"]}
    schema = json.loads(
        run("check", "clinic.csv", *OPTIONS, "--schema", "schema.toml", "--json").stdout
    )
    assert schema["clean"]
    assert [column["read"] for column in schema["columns"]] == [1000, 1000]
    # Without the decimal comma no cell is a number, and a cell with a point is none with it.
    wrong = json.loads(run("check", "clinic.csv", *OPTIONS[:2], *BOUNDS, "--json").stdout)
    assert not wrong["clean"]
    wrong = run("check", "plain.csv", "--sep", ",", "--decimal", ".", *BOUNDS)
    assert wrong.exit_code == 0


def test_a_point_is_no_decimal_comma_for_fit_and_check(clinic, here):
    lines = (here / "plain.csv").read_text(encoding="utf-8").replace(",", ";")
    (here / "points.csv").write_text(lines, encoding="utf-8")
    words = ("--decimal", ",", "--schema", "schema.toml")
    checked = json.loads(run("check", "points.csv", *words, "--json").stdout)
    assert checked["columns"][0]["unreadable"] > 900
    assert_refused(fit("points.csv", *words), "not as the schema declares")


def test_fit_predict_explain_bounds_and_perturb_read_it(clinic, here):
    told = json.loads(fit("clinic.csv", *OPTIONS, *BOUNDS, "--json", epsilon=1000).stdout)
    found = np.array(sorted(told["cluster_centers"]))
    np.testing.assert_allclose(found, [[25, 10], [60, 45]], atol=2)
    grouped = fit("clinic.csv", *OPTIONS, "--schema", "schema.toml", output="s.json", epsilon=1000)
    assert grouped.exit_code == 0
    assert run("predict", "s.json", "clinic.csv", *OPTIONS, "-o", "labels.csv").exit_code == 0
    explained = run("explain", "s.json", "clinic.csv", *OPTIONS, "--epsilon", 5)
    assert explained.exit_code == 0
    assert "Köln" in explained.stdout or "Málaga" in explained.stdout
    bounds = ("--columns", "größe,hours", "--epsilon", 5, "--json")
    assert run("bounds", "clinic.csv", *OPTIONS, *bounds).exit_code == 0
    # Reports are written in UTF-8 with a point; what is kept stays as it is.
    perturbed = ("--epsilon", 1000, "--keep", "Städte", "-o", "out.csv")
    assert run("perturb", "clinic.csv", *OPTIONS, *BOUNDS, *perturbed).exit_code == 0
    lines = (here / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "größe;hours;Städte"
    assert lines[1].endswith(";Köln")
    np.testing.assert_allclose(float(lines[1].split(";")[0]), clinic[0, 0], atol=1)


def test_schema_init_guesses_numbers_with_a_comma(clinic):
    template = run("schema", "init", "clinic.csv", *OPTIONS).stdout
    assert '[columns."größe"]\nkind = "number"' in template
    assert "\ufffd" not in template


@pytest.mark.parametrize("other", [(), ("--encoding", "utf-16")])
def test_a_header_in_another_encoding_costs_nothing(clinic, here, other):
    Ledger.create("budget.db", "clinic", epsilon=5)
    before = (here / "budget.db").read_bytes()
    refused = fit(
        "clinic.csv", "--decimal", ",", *BOUNDS, *other, "--ledger", "budget.db", epsilon=1
    )
    assert_refused(refused, "clinic.csv", "--encoding")
    assert "\ufffd" not in refused.stderr
    assert SECRET not in refused.stderr
    assert (here / "budget.db").read_bytes() == before
    assert "model.json" not in files(here)


BAD = {
    "fake.csv.gz": b"SECRET,b\n1,2\n",
    "cut.csv.gz": gzip.compress(b"SECRET,b\n" * 99)[:-9],
    "more.csv.gz": gzip.compress(b"SECRET,b\n" * 99) + b"SECRET",
    "zip.csv": b"PK\x03\x04SECRET",
    "xz.csv": b"\xfd7zXZ\0SECRET",
    "none.csv": b"",
    "no.parquet": b"SECRET",
    "no.npy": b"SECRET",
}


@pytest.mark.parametrize("name", [*BAD, "pipe.csv", "folder.csv", "absent.csv"])
def test_what_is_no_table_is_refused_by_name_and_not_shown(here, name):
    if name in BAD:
        (here / name).write_bytes(BAD[name])
    elif name == "pipe.csv":
        os.mkfifo(name)
    elif name == "folder.csv":
        (here / name).mkdir()
    header = ("--header",) if "csv" in name else ()
    refused = [
        fit(name, "--bounds", "0,1", *header),
        run("check", name, *header),
        run("schema", "init", name),
        run("bounds", name, "--epsilon", 1, *header),
        run("perturb", name, "--epsilon", 1, "--bounds", "0,1", "-o", "out.csv", *header),
    ]
    for result in refused:
        assert_refused(result, name)
        assert "SECR" not in result.stderr
    assert not (here / "model.json").exists()
