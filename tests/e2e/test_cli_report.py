"""`sfumato report`, `receipt`, `verify`, `sign`, `keygen` and `fit --report`."""

import json
import stat

import pytest

from tests.e2e.cli import BOUNDS, assert_refused, files, fit, header, run


@pytest.fixture
def model(people, here):
    """A model of two clusters, and a key."""
    assert fit("people.csv", *header("people.csv"), *BOUNDS).exit_code == 0
    assert run("keygen", "owner.pem").exit_code == 0
    return here / "model.json"


def checks(*words):
    result = run("verify", *words, "--json")
    return result.exit_code, json.loads(result.stdout)


def test_a_fit_writes_its_report_with_its_own_command(people, here):
    done = fit("people.csv", *header("people.csv"), *BOUNDS, "--report", "report.html")
    assert done.exit_code == 0
    text = (here / "report.html").read_text("utf-8")
    assert "sfumato fit people.csv -k 2 --epsilon 5" in text
    assert "--report report.html" in text
    code, found = checks("report.html", "model.json")
    assert (code, found["right"], found["same_model"]) == (0, True, True)


def test_a_place_where_no_report_can_be_written_costs_nothing(people, here):
    words = (*header("people.csv"), *BOUNDS)
    assert_refused(fit("people.csv", *words, "--report", "nowhere/report.html"), "nowhere")
    assert_refused(fit("people.csv", *words, "--report", "people.csv"), "people.csv")
    assert_refused(fit("people.csv", *words, "--report", "model.json"), "model.json")
    assert not (here / "model.json").exists()


def test_report_dossier_signature_and_checks(model, here):
    words = ("-o", "report.html", "--dossier", "dossier.json", "--sign", "owner.pem")
    done = run("report", model.name, *words, "--bounds-from", "a law", "--title", "Two kinds")
    assert done.exit_code == 0, done.stderr
    assert run("sign", model.name, "--key", "owner.pem").exit_code == 0
    written = ("report.html", "dossier.json", "model.json")
    code, found = checks(*written, "--key", "owner.pub.pem")
    assert (code, found["right"], found["same_model"]) == (0, True, True)
    assert all(check["right"] for each in found["files"] for check in each["checks"])
    facts = json.loads((here / "dossier.json").read_text("utf-8"))
    assert facts["title"] == "Two kinds"
    assert {each["source"] for each in facts["bounds"]} == {"a law"}
    # A signed model is a model.
    assert run("receipt", model.name).exit_code == 0
    said = run("verify", *written).stdout
    assert "Nothing is wrong." in said
    assert "cannot be checked" in " ".join(said.split())


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("report.html", " rows", " raws"),
        ("dossier.json", '"one row"', '"no row"'),
        ("model.json", '"epsilon": "5"', '"epsilon": "4"'),
    ],
)
def test_a_changed_file_ends_with_4(model, here, name, right, wrong):
    words = ("-o", "report.html", "--dossier", "dossier.json", "--sign", "owner.pem")
    run("report", model.name, *words)
    run("sign", model.name, "--key", "owner.pem")
    text = (here / name).read_text("utf-8")
    assert right in text
    (here / name).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    result = run("verify", name)
    assert result.exit_code == 4
    assert "WRONG" in result.stdout


def test_another_key_and_another_model_end_with_4(model, here):
    run("report", model.name, "-o", "report.html", "--sign", "owner.pem")
    run("keygen", "other.pem")
    assert run("verify", "report.html", "--key", "other.pub.pem").exit_code == 4
    assert run("verify", "model.json", "--key", "owner.pub.pem").exit_code == 4
    fit("people.csv", *header("people.csv"), *BOUNDS, output="second.json")
    code, found = checks("report.html", "second.json")
    assert (code, found["same_model"]) == (4, False)


def test_a_private_key_is_for_its_owner(model, here):
    assert stat.S_IMODE((here / "owner.pem").stat().st_mode) == 0o600
    assert_refused(run("keygen", "owner.pem"), "owner.pem", "--force")
    assert_refused(run("sign", "model.json", "--key", "owner.pub.pem"), "not a private key")
    assert_refused(run("verify", "model.json", "--key", "owner.pem"), "not a public key")


def test_what_does_not_add_up_is_not_signed(model, here):
    data = json.loads(model.read_text("utf-8"))
    data["receipt"]["queries"][0]["cost"] = "100"
    (here / "forged.json").write_text(json.dumps(data))
    before = files(here)
    assert_refused(run("sign", "forged.json", "--key", "owner.pem"), "cost more than their cap")
    assert_refused(run("report", "people.csv", "-o", "report.html"))
    assert_refused(run("verify", "nothing.json"), "nothing.json")
    assert files(here) == before
