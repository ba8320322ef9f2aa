"""`sfumato audit`: a broken promise ends with 4, another with 0, and what is wrong with 2."""

import json

import pytest

from tests.e2e.cli import assert_refused, files, run

# The means of a scaler are exact. A number of fits ends the audit, never a clock.
CAUGHT = ("audit", "--demo", "--pair", "outlier", "--attribute", "mean_", "--trials", 1000)


def test_a_broken_promise_ends_with_4(here, seeded_noise):
    shown = run(*CAUGHT, "-o", "verdict.json", "--figure", "audit.png")
    assert shown.exit_code == 4
    said = " ".join(shown.stdout.split())
    assert "The claim ε = 1 is refuted" in said
    assert "standardscaler.mean_" in said
    assert "Written to verdict.json" in said
    assert shown.stderr == ""
    told = json.loads((here / "verdict.json").read_text())
    assert told["broken"]
    assert told["epsilon_lower"] > 1
    assert (here / "audit.png").read_bytes()[:4] == b"\x89PNG"
    assert_refused(run(*CAUGHT, "-o", "verdict.json"), "verdict.json is there already")
    assert_refused(run(*CAUGHT, "--figure", "audit.png"), "audit.png is there already")


def test_ours_ends_with_0_and_json(here, seeded_noise):
    words = ("--method", "dplloyd", "--set", "iterations=1", "-k", 2, "--pair", "two-rows")
    shown = run("audit", *words, "--pair", "empty", "--trials", 300, "--json")
    assert shown.exit_code == 0
    told = json.loads(shown.stdout)
    assert not told["broken"]
    assert set(told["by_pair"]) == {"two-rows", "empty"}
    assert 150 < told["trials"] <= 300
    assert not files(here)


def test_an_estimator_of_the_users_own(here):
    (here / "my_audited_model.py").write_text(
        "class Exact:\n"
        "    def fit(self, X):\n"
        "        self.count_ = len(X)\n"
        "class nested:\n"
        "    made = Exact()\n"
        "number = 5\n"
    )
    empty = ("--pair", "empty", "--trials", 1000)
    for name in ("Exact", "nested.made"):
        shown = run("audit", "--estimator", f"my_audited_model:{name}", *empty)
        assert shown.exit_code == 4
        assert "count_" in shown.stdout
    refused = run("audit", "--estimator", "my_audited_model:number")
    assert_refused(refused, "neither an estimator with `fit` nor callable")
    assert_refused(run("audit", "--estimator", "my_audited_model:gone"), "AttributeError")


def test_an_interrupted_audit_ends_with_130(here, monkeypatch):
    def interrupted(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.audit.run", interrupted)
    assert_refused(run("audit"), "interrupted", code=130)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--pair", "none"), "--pair must be one of outlier, empty, duplicate"),
        (("--method", "none"), "--method must be one of auto"),
        (("--demo", "--method", "auto"), "one of --method, --demo and --estimator"),
        (("--estimator", "a:b", "--demo"), "one of --method, --demo and --estimator"),
        (("--estimator", "no_colon"), "MODULE:NAME is needed"),
        (("--estimator", "no_such_module:x"), "ModuleNotFoundError"),
        (("--epsilon", 0), "epsilon must be"),
        (("--delta", 1), "delta must lie"),
        (("--minutes", 0), "minutes must be"),
        (("--trials", 3), "trials must be"),
        (("--alpha", 2), "alpha must lie"),
        (("--jobs", 0), "n_jobs must be"),
        (("--figure", "audit.txt"), "ends in .png, .svg, .pdf"),
        (("--output", "nowhere/verdict.json"), "no such directory"),
        (("--method", "dplloyd", "--set", "iterations=none"), "iterations must be a whole number"),
    ],
)
def test_what_is_wrong_is_refused(here, words, said):
    assert_refused(run("audit", *words), said)


def test_help_says_that_code_is_run():
    shown = " ".join(run("audit", "--help").stdout.split())
    assert "Ends with 4 if it succeeds" in shown
    assert "imports and runs the module" in shown
