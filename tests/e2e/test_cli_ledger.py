"""`sfumato ledger …` and `sfumato fit --ledger`: a budget that lasts, as a team uses it."""

import json
import os
import subprocess
import sys

import pytest

import sfumato
from sfumato._ledger.durable import open_store
from tests.e2e.cli import BOUNDS, assert_refused, fit, run

LEDGER = ("--ledger", "clinic.db", "--dataset", "clinic")


@pytest.fixture
def clinic(people, here):
    """A ledger of ε = 2 that declares the bounds."""
    (here / "bounds.json").write_text('{"age": [0, 100], "hours": [0, 80]}')
    words = ("--bounds-file", "bounds.json", "--bounds-from", "the registry's manual")
    made = run("ledger", "create", "clinic.db", "--dataset", "clinic", "--epsilon", 2, *words)
    assert made.exit_code == 0
    return here


def shown(*words):
    return json.loads(run(*words, "--json").stdout)


def test_three_fits_on_one_file_share_one_budget(clinic):
    for output in ("one.json", "two.json"):
        assert fit("people.csv", *LEDGER, epsilon=1, output=output).exit_code == 0
    refused = fit("people.csv", *LEDGER, epsilon=0.5, output="three.json")
    assert_refused(refused, "does not cover", "Largest affordable ε = 0", code=3)
    assert not (clinic / "three.json").exists()
    (one,) = shown("ledger", "show", "clinic.db")["datasets"]
    assert one["spent"] == {"epsilon": 2.0, "delta": 0.0}
    assert one["bounds_source"] == "the registry's manual"


def test_the_refusal_names_what_could_be_afforded(clinic):
    fit("people.csv", *LEDGER, epsilon=1.75)
    refused = fit("people.csv", *LEDGER, epsilon=1, output="b.json")
    assert_refused(refused, "Largest affordable ε = 0.25", code=3)
    assert fit("people.csv", *LEDGER, epsilon=0.25, output="b.json").exit_code == 0


def test_the_bounds_come_from_the_ledger_and_no_others_are_taken(clinic):
    fit("people.csv", *LEDGER, epsilon=1)
    model = sfumato.load("model.json")
    assert (model.box_.lower, model.box_.upper) == ((0, 0), (100, 80))
    assert model.feature_names_in_.tolist() == ["age", "hours"]
    other = ("--bounds", "0,99", "--bounds", "hours=0,80")
    assert_refused(fit("people.csv", *LEDGER, *other, epsilon=1, output="b.json"), "other bounds")
    assert fit("people.csv", *LEDGER, *BOUNDS, epsilon=1, output="b.json").exit_code == 0


def test_the_same_request_brings_back_the_same_release(clinic):
    words = (*LEDGER, "--request", "report-7")
    fit("people.csv", *words, epsilon=1.5, output="a.json")
    again = fit("people.csv", *words, epsilon=1.5, output="b.json")
    assert again.exit_code == 0
    assert (clinic / "a.json").read_bytes() == (clinic / "b.json").read_bytes()
    assert shown("ledger", "show", "clinic.db")["datasets"][0]["spent"]["epsilon"] == 1.5
    other = fit("people.csv", *words, k=3, epsilon=1.5, output="c.json")
    assert_refused(other, "for another fit")
    other = fit("people.csv", *words, "--nan", "drop", epsilon=1.5, output="c.json")
    assert_refused(other, "for another fit")


def test_grants_are_kept_apart(clinic):
    run("ledger", "grant", "clinic.db", "--to", "ana", "--epsilon", 0.5)
    assert_refused(fit("people.csv", *LEDGER, epsilon=1.6), "Largest affordable ε = 1.5", code=3)
    ana = (*LEDGER, "--as", "ana", "--purpose", "a talk")
    assert_refused(fit("people.csv", *ana, epsilon=0.6), "ana's budget", code=3)
    assert fit("people.csv", *ana, epsilon=0.5).exit_code == 0
    assert_refused(fit("people.csv", *LEDGER, "--as", "bob", epsilon=0.1), "bob has no grant")
    last = shown("ledger", "history", "clinic.db")["history"][-1]
    assert (last["person"], last["purpose"], last["epsilon"]) == ("ana", "a talk", 0.5)
    assert last["state"] == "released"
    refused = run("ledger", "grant", "clinic.db", "--to", "eve", "--epsilon", 1.6)
    assert_refused(refused, "does not cover", code=3)


def test_a_second_ledger_of_one_name_is_refused(clinic):
    words = ("ledger", "create", "clinic.db", "--dataset", "clinic", "--epsilon", 9)
    assert_refused(run(*words), "already")
    assert run(*words[:4], "other", *words[5:]).exit_code == 0
    assert_refused(fit("people.csv", "--ledger", "clinic.db", *BOUNDS), "clinic, other")


def test_releases_come_back_for_free(clinic):
    fit("people.csv", *LEDGER, "--request", "q1", epsilon=1)
    (line,) = shown("ledger", "releases", "clinic.db")["releases"]
    assert (line["request"], line["guarantee"]) == ("q1", "ε = 1, one row")
    get = ("ledger", "releases", "clinic.db", "--get", "q1")
    assert run(*get, "-o", "again.json").exit_code == 0
    assert (clinic / "again.json").read_bytes() == (clinic / "model.json").read_bytes()
    assert_refused(run(*get, "-o", "again.json"), "--force")
    assert_refused(run(*get), "--output")
    assert_refused(run("ledger", "releases", "clinic.db", "--get", "q2", "-o", "x"), "no release")


def test_private_bounds_are_charged_and_kept(clinic):
    words = ("bounds", "people.csv", "--header", "--epsilon", 0.5, *LEDGER)
    assert run(*words, "-o", "found.json").exit_code == 0
    (line,) = shown("ledger", "releases", "clinic.db")["releases"]
    run("ledger", "releases", "clinic.db", "--get", line["request"], "-o", "again.json")
    assert json.loads((clinic / "again.json").read_text()) == json.loads(
        (clinic / "found.json").read_text()
    )
    assert_refused(fit("people.csv", *LEDGER, "--bounds", "private", "--header"), "sfumato bounds")


def test_planned_fits_have_a_price(clinic):
    planned = [
        {"name": "weekly", "k": 5, "columns": 6, "epsilon": 0.1, "times": 10},
        {"k": 3, "columns": 2, "epsilon": 1.5, "method": "dplloyd", "settings": {"iterations": 3}},
    ]
    (clinic / "fits.json").write_text(json.dumps(planned))
    told = shown("ledger", "price", "clinic.db", "fits.json")
    assert [line["covered"] for line in told["fits"]] == [True] * 10 + [False]
    assert told["total"] == {"epsilon": 2.5}
    assert told["left_after"] == {"epsilon": 1.0}
    (clinic / "fits.toml").write_text("[[fits]]\nk = 2\ncolumns = 2\nepsilon = 0.5\n")
    assert shown("ledger", "price", "clinic.db", "fits.toml")["left_after"] == {"epsilon": 1.5}
    (clinic / "fits.json").write_text('[{"k": 2}]')
    refused = run("ledger", "price", "clinic.db", "fits.json")
    assert_refused(refused, "fit 1 has no columns, epsilon")
    assert shown("ledger", "show", "clinic.db")["datasets"][0]["spent"]["epsilon"] == 0


def test_a_changed_ledger_is_found_out(clinic):
    fit("people.csv", *LEDGER, epsilon=1)
    assert "in order" in run("ledger", "verify", "clinic.db").stdout
    store = open_store("clinic.db")
    store.execute("DROP TRIGGER movement_UPDATE")
    store.execute("UPDATE movement SET amount = 0 WHERE amount < 0")
    found = run("ledger", "verify", "clinic.db", "--json")
    assert found.exit_code == 4
    assert "movements of budget" in json.loads(found.stdout)["flaws"][0]["what"]


def test_unknown_datasets_are_refused_and_help_is_given(clinic):
    for words in (("history", "clinic.db"), ("releases", "clinic.db"), ("show", "clinic.db")):
        assert_refused(run("ledger", *words, "--dataset", "other"), "no dataset 'other'", "clinic")
    told = run("ledger")
    assert told.exit_code == 0
    assert "history" in told.stdout


def test_everything_can_be_exported(clinic):
    fit("people.csv", *LEDGER, epsilon=1)
    data = shown("ledger", "export", "clinic.db")
    assert [event["seq"] for event in data["events"]] == list(range(1, len(data["events"]) + 1))
    assert list(data["releases"].values()) == [(clinic / "model.json").read_text()]


def test_each_mode_says_how_many_fits_it_carries(here):
    words = ("--epsilon", 1, "--delta", 1e-6, "--fit-epsilon", 0.1, "--fit-delta", 1e-7)
    told = shown("ledger", "create", "a.db", "--dataset", "a", "--mode", "gaussian", *words)
    assert told["fits"]["add"] == {"pure": 10, "gaussian": 10}
    # The part of pure ε is 0.6; beside it μ² is left for about twenty such fits.
    assert told["fits"]["gaussian"]["pure"] == 6
    assert told["fits"]["gaussian"]["gaussian"] > 10
    assert told["fits"]["zcdp"]["gaussian"] > 20
    refused = run("ledger", "create", "b.db", "--dataset", "b", "--mode", "zcdp", "--epsilon", 1)
    assert_refused(refused, "needs a δ")


def test_an_unknown_place_is_refused_before_any_charge(people, here):
    assert_refused(fit("people.csv", *LEDGER, *BOUNDS), "no ledger")
    assert_refused(fit("people.csv", "--ledger", "no/clinic.db", *BOUNDS), "no folder")
    assert_refused(fit("people.csv", "--dataset", "clinic", *BOUNDS), "--ledger")


def test_a_model_is_not_overwritten_unless_forced(people, here):
    words = ("fit", "people.csv", "-k", 2, "--epsilon", 1, *BOUNDS, "-o", "model.json")
    run(*words)
    before = (here / "model.json").read_bytes()
    assert_refused(run(*words), "--force")
    assert (here / "model.json").read_bytes() == before
    assert run(*words, "--force").exit_code == 0


def test_a_large_epsilon_is_explained(people, here):
    words = ("fit", "people.csv", "-k", 2, "--epsilon", 12, *BOUNDS, "-o", "model.json")
    assert_refused(run(*words), "162,755 times", "99.9994 % sure", "--yes-epsilon")
    assert run(*words, "--yes-epsilon").exit_code == 0


# The folder of the model goes while the fit is running.
LOST = """
import shutil, sys
from sfumato._private_kmeans import PrivateKMeans
from sfumato.cli import app
fit = PrivateKMeans.fit
def fit_and_lose(*args, **kwargs):
    model = fit(*args, **kwargs)
    shutil.rmtree("out")
    return model
PrivateKMeans.fit = fit_and_lose
app(sys.argv[1:])
"""


def in_process(code, *words):
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_model_that_cannot_be_written_is_not_lost(clinic):
    words = ("fit", "people.csv", "-k", 2, "--epsilon", 1, "-o", "out/model.json")
    (clinic / "out").mkdir()
    kept = in_process(LOST, *words, *LEDGER)
    assert kept.returncode == 2
    assert "out/model.json was not written" in kept.stderr
    assert "ε = 1 is spent" in kept.stderr
    request = kept.stderr.partition("--get ")[2].split()[0]
    back = run("ledger", "releases", "clinic.db", "--get", request, "-o", "model.json")
    assert back.exit_code == 0
    assert len(sfumato.load("model.json").cluster_centers_) == 2
    (clinic / "out").mkdir()
    printed = in_process(LOST, *words, *BOUNDS)
    assert printed.returncode == 2
    assert "ε = 1 is spent" in printed.stderr
    assert len(json.loads(printed.stdout)["cluster_centers"]) == 2


# Ctrl-C arrives when the first query has been charged.
INTERRUPT = """
import os, signal, sys
from sfumato._core.private_data import PrivateData
from sfumato.cli import app
perturb = PrivateData.perturb
def interrupted(*args):
    os.kill(os.getpid(), signal.SIGINT)
    return perturb(*args)
PrivateData.perturb = interrupted
app(sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal of POSIX")
def test_an_interrupted_fit_says_what_it_cost(clinic):
    words = ("fit", "people.csv", "-k", 2, "--epsilon", 1, "-o", "model.json")
    ended = in_process(INTERRUPT, *words, *LEDGER)
    assert ended.returncode == 130
    assert "ε = 1 stays spent: 1 query was charged; recorded in clinic.db" in ended.stderr
    (line,) = shown("ledger", "show", "clinic.db")["datasets"][0]["without_release"]
    assert line["request"] in ended.stderr
    assert sorted(p.name for p in clinic.glob("*model*")) == []
    ended = in_process(INTERRUPT, *words, *BOUNDS)
    assert ended.returncode == 130
    assert "ε = 1 stays spent: 1 query was charged" in ended.stderr
